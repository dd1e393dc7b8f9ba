"""One exercise back to its stub; the learner's work is kept beside it, with the time in its name."""

import copy
import os
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from counterpoint.grading import notebooks, registry
from counterpoint.grading.notebooks import EXERCISES, Cell
from counterpoint.grading.workbook import MARK, course_source


@dataclass(frozen=True)
class Reset:
    """What was done: the notebook that was changed, and the copy of it as it was."""

    name: str
    notebook: Path
    copy: Path

    def __str__(self) -> str:
        return f"{self.name} in {self.notebook} is its stub again; your work is kept in {self.copy}"


def reset(name: str, folder: str | Path, source: str | Path | None = None) -> Reset:
    """Put the exercise `name` in the workbook `folder` back to its stub, and only that.

    The notebook as it was is copied to `.counterpoint/kept/` first. Its answer and test cells lose their
    outputs; all other cells stay as they are. Close the notebook in JupyterLab before, or reload it after.

    Raises ValueError if there is no such exercise or no notebook with it; FileNotFoundError if this
    installation has no exercises.
    """
    exercise = registry.find(name)
    course = Path(source) if source is not None else course_source()
    original = course / EXERCISES / exercise.topic / f"{exercise.topic}.ipynb"
    if not original.is_file():
        raise FileNotFoundError(f"{original} is missing: install counterpoint again")
    stub = notebooks.find_cell(notebooks.read(original), name)
    assert stub is not None, f"the released notebook has no cell {name}"
    folder = Path(folder).resolve()
    mine = _own_notebook(folder, exercise.topic)
    notebook = notebooks.read(mine)
    kept = _keep(mine, folder)
    place = next((i for i, c in enumerate(notebook["cells"]) if notebooks.grade_id(c) == name), None)
    if place is not None:
        notebook["cells"][place] = copy.deepcopy(stub)
    else:
        notebook["cells"].insert(_place(notebook["cells"], name), copy.deepcopy(stub))
    test = notebooks.find_cell(notebook, f"{name}-test")
    if test is not None:
        test["outputs"], test["execution_count"] = [], None
    draft = mine.with_name(f".{mine.name}.draft")
    notebooks.write(draft, notebook)
    os.replace(draft, mine)
    return Reset(name, mine, kept)


def _own_notebook(folder: Path, topic: str) -> Path:
    for below in (folder / EXERCISES, folder):
        path = below / topic / f"{topic}.ipynb"
        if path.is_file():
            return path
    raise ValueError(f"{folder} has no {EXERCISES}/{topic}/{topic}.ipynb; give the workbook's folder")


def _keep(mine: Path, folder: Path) -> Path:
    """A copy of the notebook under a name that is not taken."""
    kept = folder / MARK / "kept"
    kept.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    for number in range(1, 1000):
        again = f"-{number}" if number > 1 else ""
        path = kept / f"{mine.stem}.{stamp}{again}.ipynb"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        shutil.copy2(mine, path)
        return path
    raise FileExistsError(f"{kept} is full; move the copies that you want to keep elsewhere")


def _place(cells: list[Cell], name: str) -> int:
    """Before its test cell if that is there, else at the end."""
    return next((i for i, c in enumerate(cells) if notebooks.grade_id(c) == f"{name}-test"), len(cells))
