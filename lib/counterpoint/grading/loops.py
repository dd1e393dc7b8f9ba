"""What the exercises of load balance share: their runs, and a watch over answers that send no messages."""

import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from counterpoint.grading.child.attempt import Attempt
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case

TOPIC = "02_load_balance"
ENDLESS = 200_000
"""Lines that an answer may run for one question; the longest right one runs a few thousand."""


@dataclass(frozen=True)
class Loop(Case):
    """A loop to share: one rank asks the answer for every worker. `count` is its place in the list of runs, and of
    the wrong ones the first is shown."""

    workers: int = 1
    tasks: int = 0
    chunk: int = 1

    @property
    def whole(self) -> bool:
        """Whether chunks come out even."""
        return self.tasks % self.chunk == 0

    def __str__(self) -> str:
        return f"{many(self.workers, 'worker')} and {many(self.tasks, 'task')}"


def loops(*triples: tuple[int, int, int]) -> tuple[Loop, ...]:
    """Runs with (workers, tasks, chunk), the most telling first."""
    return tuple(Loop(1, number, "int64", 8192, *triple) for number, triple in enumerate(triples, 1))


def of(case: Case) -> Loop:
    assert isinstance(case, Loop)
    return case


def many(n: int, word: str) -> str:
    """ "1 task", "3 tasks"."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def numbers(case: Case) -> torch.Tensor:
    """The loop as data, with its sum behind it, by which `read` knows that nobody has put other values there."""
    loop = of(case)
    three = [loop.workers, loop.tasks, loop.chunk]
    return torch.tensor([*three, sum(three)])


def read(loop: torch.Tensor) -> tuple[int, int, int] | None:
    """(workers, tasks, chunk); None where `explain` has replaced the values."""
    workers, tasks, chunk, total = loop.tolist()
    return (workers, tasks, chunk) if total == workers + tasks + chunk and workers and chunk else None


# -- watching an answer ----------------------------------------------------------------------------------


class Endless(Exception):
    """The answer ran far more lines than it can need; the text is the whole numbers of its longest list so far."""


class Library(Exception):
    """The answer lets the library do the work; the text is the library's file."""


class Unusable(Exception):
    """What the answer returned is not of the wanted kind; the text is a sentence."""


def watched(answer: Callable, *arguments: Any) -> Any:
    """What the answer returns. Raises Endless and Library: there are no messages here whose trace would show them."""
    before, lines = sys.gettrace(), 0

    def trace(frame: FrameType, event: str, _: Any) -> Callable | None:
        nonlocal lines
        if event == "call":
            place = frame.f_code.co_filename.replace("\\", "/").rpartition("counterpoint/balance/")
            if place[1]:
                raise Library(place[1] + place[2])
        lines += event == "line"
        if lines > ENDLESS:
            raise Endless(",".join(map(str, _longest(frame)[:50])))
        return trace

    sys.settrace(trace)
    try:
        return answer(*arguments)
    finally:
        sys.settrace(before)


def _longest(frame: FrameType) -> list[int]:
    """Of the lists of whole numbers that a function has in hand, the longest."""
    lists = [value for value in frame.f_locals.values() if isinstance(value, list)]
    found = max(lists, key=len, default=[])
    return [n for n in found[:50] if isinstance(n, int)]


def whole(values: Any, who: str, what: str) -> list[int]:
    """The values as whole numbers. Raises Unusable with a sentence that names the first that is none."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise Unusable(f"{who} returned `{values!r:.60}`; it should return {what}.")
    found = []
    for value in values:
        try:
            number = operator.index(value)
        except (TypeError, ValueError):
            if not isinstance(value, float) or not value.is_integer():
                hint = "; `/` makes fractions, `//` whole numbers" if isinstance(value, float) else ""
                raise Unusable(
                    f"{who} returned `{value!r:.60}` where a whole number is wanted{hint}."
                ) from None
            number = int(value)
        if abs(number) > 10**12:
            raise Unusable(f"{who} returned {number:.3g}, far beyond the tasks that there are.")
        found.append(number)
    return found


def stopped(evidence: Evidence) -> Finding | None:
    """The shown run ended before its time."""
    return failed(evidence.shown)


def failed(attempt: Attempt) -> Finding | None:
    """The answer raised, or something raised for it."""
    case, failure = attempt.case, attempt.failure
    if failure is None:
        return None
    at = f" at your line {failure.line} (`{failure.code}`)" if failure.line else ""
    if failure.exception == "Unusable":
        return Finding(f"With {case}, {failure.message}")
    if failure.exception == "Library":
        return Finding(
            f"Your function leaves the work to the library (`{failure.message}`). Here you build it yourself."
        )
    if failure.exception == "Endless":
        return Finding(f"With {case}, your loop **never ends**: it was stopped after {ENDLESS:,} lines{at}.")
    return Finding(f"With {case}, your function raised {failure.exception}{at}: {failure.message}")
