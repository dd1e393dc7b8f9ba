"""`show_source`: a definition of the library, as it stands there."""

import inspect
from pathlib import Path
from typing import Any

from IPython.display import Markdown

PACKAGE = Path(__file__).parents[1]


def show_source(definition: Any) -> Markdown:
    """The text of a function, class or module, below the file and line where it stands.

    It is Markdown, so the notebook colours it in its own theme.
    """
    lines, first = inspect.getsourcelines(definition)
    path = Path(inspect.getsourcefile(definition) or "")
    place = path.relative_to(PACKAGE.parent) if path.is_relative_to(PACKAGE) else path
    where = f"`{place.as_posix()}`" + (f", line {first}" if first else "")
    return Markdown(f"{where}\n```python\n{''.join(lines).rstrip()}\n```")
