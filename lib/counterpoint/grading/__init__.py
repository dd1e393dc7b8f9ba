"""Grading: checks with their reasons, hints, explained solutions, guesses and progress.

Each name is fetched when it is first used: the workbook and the batch grader need no torch.
"""

from importlib import import_module
from typing import Any

__all__ = ["Exercise", "Verdict", "check", "hint", "predict", "progress", "solution"]


def __getattr__(name: str) -> Any:
    places = {
        "check": "checking",
        "Exercise": "exercise",
        "predict": "guesses",
        "hint": "hints",
        "solution": "hints",
        "progress": "record",
        "Verdict": "verdict",
    }
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no {name!r}; it has {', '.join(places)}")
    value = getattr(import_module(f"{__name__}.{places[name]}"), name)
    globals()[name] = value
    return value
