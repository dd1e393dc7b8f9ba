"""Puts the locked cells of a learner's notebook back to what the course has."""

import copy

from counterpoint.grading import notebooks
from counterpoint.grading.notebooks import Cell, Notebook


def restore(learner: Notebook, original: Notebook) -> Notebook:
    """A copy of the learner's notebook in which every locked cell is the original's.

    An edited one is replaced where it stands; a deleted one is put behind the cell that it follows in the
    original; a copy of one, or a test cell that the original does not have, counts for nothing.
    """
    notebook = copy.deepcopy(learner)
    locked = {
        notebooks.grade_id(cell): cell for cell in original["cells"] if notebooks.marked(cell).get("locked")
    }
    seen: set[str] = set()
    cells: list[Cell] = []
    for cell in notebook["cells"]:
        name = notebooks.grade_id(cell)
        if name in locked and name not in seen:
            seen.add(name)
            cells.append(copy.deepcopy(locked[name]))
        elif name in locked or notebooks.marked(cell).get("grade"):
            cells.append(_unmarked(cell))
        else:
            cells.append(cell)
    before: list[str] = []
    for cell in original["cells"]:
        name = notebooks.grade_id(cell)
        if name in locked and name not in seen:
            cells.insert(_behind(cells, before), copy.deepcopy(locked[name]))
        before.append(cell.get("id", ""))
    notebook["cells"] = cells
    return notebook


def _behind(cells: list[Cell], before: list[str]) -> int:
    """Where a cell belongs that follows the cells `before` in the original."""
    places = {cell.get("id"): place for place, cell in enumerate(cells) if cell.get("id")}
    return next((places[name] + 1 for name in reversed(before) if name in places), 0)


def _unmarked(cell: Cell) -> Cell:
    cell = copy.deepcopy(cell)
    cell["metadata"].pop("nbgrader", None)
    return cell
