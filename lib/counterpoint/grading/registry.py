"""Which exercises there are: the `EXERCISE` of each file in `checks/`."""

import difflib
import pkgutil
from functools import cache
from importlib import import_module

from counterpoint.grading import checks
from counterpoint.grading.exercise import Exercise

ORDER = (
    "hello-neighbour",
    "split-evenly",
    "deal-the-tasks",
    "guided-chunks",
    "shared-counter",
    "phase-barrier",
    "ping-pong",
    "binomial-broadcast",
    "scatter-all-gather-broadcast",
    "bruck-all-gather",
    "pairwise-all-to-all",
    "star-all-reduce",
    "binomial-reduce",
    "ring-reduce-scatter",
    "ring-all-gather",
    "ring-all-reduce",
    "read-a-deadlock",
    "repair-a-deadlock",
)
"""The order within a topic; a new exercise is added here and in `checks/`."""


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the course's order: by topic, then as in ORDER."""
    found: list[tuple[str, int, Exercise]] = []
    for module in pkgutil.iter_modules(checks.__path__):
        exercise: Exercise = import_module(f"{checks.__name__}.{module.name}").EXERCISE
        order = ORDER.index(exercise.name) if exercise.name in ORDER else len(ORDER)
        found.append((exercise.topic, order, exercise))
    found.sort(key=lambda item: item[:2])
    return {exercise.name: exercise for _, _, exercise in found}


def find(name: str) -> Exercise:
    """The exercise called `name`. Raises ValueError that lists the nearest names."""
    known = exercises()
    if name in known:
        return known[name]
    raise ValueError(f"no exercise {name!r}; {nearest(name)}")


def nearest(name: object) -> str:
    """Words that lead from a misspelt name to the right one."""
    known = exercises()
    asked = str(name).lower().replace("_", "-").replace(" ", "-")
    close = difflib.get_close_matches(asked, known, n=3, cutoff=0.5)
    close += [other for other in known if asked and asked in other and other not in close]
    if close:
        return "did you mean " + " or ".join(repr(other) for other in close[:3]) + "?"
    return "there are " + ", ".join(known)
