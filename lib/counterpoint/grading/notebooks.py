"""Exercise notebooks as files: where they are, and their cells in nbgrader's terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from counterpoint.grading.workbook import course_source

SOLUTIONS, EXERCISES = "solutions", "exercises"

Notebook = dict[str, Any]
Cell = dict[str, Any]


def source_of(topic: str, part: str) -> Path | None:
    """The course's own notebook of a topic in `part` (solutions or exercises), where it is present."""
    path = course_source() / part / topic / f"{topic}.ipynb"
    return path if path.is_file() else None


def read(path: Path) -> Notebook:
    """The notebook. Raises ValueError that names the file if it is none."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(notebook["cells"], list):
            raise TypeError("cells is no list")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from None
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    """As Jupyter writes it."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")


def text(cell: Cell) -> str:
    """The cell's source as one string."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def marked(cell: Cell) -> dict[str, Any]:
    """nbgrader's metadata of the cell; empty if it has none."""
    return cell.get("metadata", {}).get("nbgrader") or {}


def grade_id(cell: Cell) -> str:
    return marked(cell).get("grade_id", "")


def find_cell(notebook: Notebook, wanted: str) -> Cell | None:
    """The cell with that grade_id."""
    return next((cell for cell in notebook["cells"] if grade_id(cell) == wanted), None)


def cell_of(name: str, topic: str, part: str) -> Cell | None:
    """The course's cell with that grade_id in a topic's notebook, where it is present."""
    path = source_of(topic, part)
    return find_cell(read(path), name) if path is not None else None
