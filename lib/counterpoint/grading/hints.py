"""Hints in levels, and the explained solution: shown text, kept with the progress."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.grading import notebooks, registry
from counterpoint.grading.exercise import Exercise
from counterpoint.grading.record import Progress

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Shown:
    """Text in Markdown, which a notebook renders and a terminal prints."""

    markdown: str

    def __str__(self) -> str:
        return self.markdown.replace("**", "")

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return self.markdown


def hint(name: str) -> Shown:
    """The next hint of the exercise `name`, below those you have had. Each call goes one level further."""
    try:
        exercise = registry.find(name)
    except ValueError as error:
        return Shown(f"{str(error)[0].upper()}{str(error)[1:]}")
    progress = Progress.here()
    taken = progress.take_hint(exercise)
    total = len(exercise.hints)
    lines = [f"**Hint {i + 1} of {total}.** {exercise.hints[i]}" for i in range(taken)]
    if taken == total:
        lines.append(f'That was the last one. `cp.solution("{name}", show=True)` shows the solution.')
    return Shown("\n\n".join(lines + progress.notes))


def solution(name: str, show: bool = False) -> Shown:
    """The explained solution of the exercise `name`: once you have passed it, or with `show=True`."""
    try:
        exercise = registry.find(name)
    except ValueError as error:
        return Shown(f"{str(error)[0].upper()}{str(error)[1:]}")
    if not show and "passed" not in Progress.here().of(name):
        return Shown(
            f"The solution of **{exercise.title}** opens when you have passed it. To see it now: "
            f'`cp.solution("{name}", show=True)`.'
        )
    found = explained(exercise)
    if found is None:
        return Shown(
            f"The explained solutions are not part of this installation. In the course's repository it is in "
            f"`solutions/{exercise.topic}/{exercise.topic}.ipynb`, the cell `{name}`."
        )
    prose, code = found
    return Shown(f"**{exercise.title}**\n\n{prose}\n\n```python\n{code}\n```")


def explained(exercise: Exercise) -> tuple[str, str] | None:
    """(prose, code) of the solution, read from the text of solutions/; None where that is absent.

    The prose is the comment with which the solution's region begins.
    """
    cell = notebooks.cell_of(exercise.name, exercise.topic, notebooks.SOLUTIONS)
    if cell is None:
        return None
    prose: list[str] = []
    code: list[str] = []
    opening = False
    for line in notebooks.text(cell).split("\n"):
        bare = line.strip()
        if bare in (BEGIN, END):
            opening = bare == BEGIN
        elif opening and bare.startswith("#"):
            prose.append(bare.lstrip("#").strip())
        else:
            opening = False
            code.append(line)
    return " ".join(prose), "\n".join(code)
