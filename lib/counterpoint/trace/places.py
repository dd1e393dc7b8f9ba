"""Where a line stands, in words."""

import re

_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


def is_cell(file: str) -> bool:
    """Whether `file` is the temporary file of a notebook's cell."""
    return _CELL.search(file) is not None


def place_of(file: str, number: int) -> str:
    """`file:number`, or for a notebook's cell "your cell, line 4"."""
    return f"your cell, line {number}" if is_cell(file) else f"{file}:{number}"
