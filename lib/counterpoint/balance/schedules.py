"""Who gets which tasks of a loop: OpenMP's schedules, and work stealing.

A schedule is a small value; `share(tasks, workers)` begins a `Share`, which gives out each task once. The threads of
`parallel_for` and the virtual workers of `simulate` take from the same shares, so they follow the same rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from counterpoint.balance.shares import Counter, Dealt, Deques, Share


class Schedule(Protocol):
    """How the tasks of a loop are shared among workers."""

    @property
    def name(self) -> str: ...

    def share(self, tasks: int, workers: int) -> Share:
        """The tasks 0 … tasks - 1, ready to be taken."""
        ...


class Part(NamedTuple):
    """Contiguous tasks: `first`, and how many."""

    first: int
    length: int


def even_parts(tasks: int, parts: int) -> list[Part]:
    """Contiguous parts as even as can be, the longer ones first (libgomp's static schedule)."""
    short, longer = divmod(tasks, parts)
    return [Part(k * short + min(k, longer), short + (k < longer)) for k in range(parts)]


@dataclass(frozen=True)
class Static:
    """Shared before the loop begins: each worker one contiguous part, or with `chunk` parts of that many in turn.

    Cost: nothing while the loop runs. Good where tasks are alike (chunk: where neighbours are).
    """

    chunk: int | None = None

    def __post_init__(self) -> None:
        if self.chunk is not None:
            _at_least_one(self.chunk, "static")

    @property
    def name(self) -> str:
        return "static" if self.chunk is None else f"static,{self.chunk}"

    def share(self, tasks: int, workers: int) -> Share:
        if self.chunk is None:
            return Dealt([[part] if part.length else [] for part in even_parts(tasks, workers)])
        parts = [Part(first, min(self.chunk, tasks - first)) for first in range(0, tasks, self.chunk)]
        return Dealt([parts[worker::workers] for worker in range(workers)])


@dataclass(frozen=True)
class Dynamic:
    """Whoever is free takes the next `chunk` tasks from a shared counter.

    Cost: one visit to the counter for every `chunk` tasks. No worker ends more than one chunk after the others.
    """

    chunk: int = 1

    def __post_init__(self) -> None:
        _at_least_one(self.chunk, "dynamic")

    @property
    def name(self) -> str:
        return f"dynamic,{self.chunk}"

    def share(self, tasks: int, workers: int) -> Share:
        return Counter(tasks, lambda left: self.chunk)


@dataclass(frozen=True)
class Guided:
    """Whoever is free takes an even share of what is left, ceil(left / workers), but at least `chunk`.

    Cost: about workers · ln(tasks / (workers · chunk)) visits to the counter. The first part is as large as a static
    one: where the expensive tasks come first, guided is no better than static.
    Source: C. D. Polychronopoulos, D. J. Kuck, Guided self-scheduling, IEEE Trans. Computers C-36 (1987).
    """

    chunk: int = 1

    def __post_init__(self) -> None:
        _at_least_one(self.chunk, "guided")

    @property
    def name(self) -> str:
        return f"guided,{self.chunk}"

    def share(self, tasks: int, workers: int) -> Share:
        return Counter(tasks, lambda left: max(self.chunk, -(-left // workers)))


@dataclass(frozen=True)
class WorkStealing:
    """Each begins with a static part, in a deque of its own, and takes `chunk` tasks at a time from its front.

    Who has none left takes the back half of the longest deque. Cost: nothing shared while there is own work; then one
    visit to a victim for each steal. Sources: R. D. Blumofe, C. E. Leiserson, Scheduling multithreaded computations
    by work stealing, J. ACM 46 (1999), who choose the victim at random; the longest is chosen here, so that a
    simulated run can be repeated.
    """

    chunk: int = 1

    def __post_init__(self) -> None:
        _at_least_one(self.chunk, "work_stealing")

    @property
    def name(self) -> str:
        return f"work_stealing,{self.chunk}"

    def share(self, tasks: int, workers: int) -> Share:
        return Deques(even_parts(tasks, workers), self.chunk)


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "static": Static,
    "dynamic": Dynamic,
    "guided": Guided,
    "work_stealing": WorkStealing,
}
"""By the word that `as_schedule` reads."""


def as_schedule(schedule: "str | Schedule") -> Schedule:
    """A schedule from its text, as in OMP_SCHEDULE: a word, or a word and a chunk: "static", "dynamic,4".

    Raises ValueError for other words and for chunks below 1; what is a schedule already is returned.
    """
    if not isinstance(schedule, str):
        if not hasattr(schedule, "share"):
            raise TypeError(f"{schedule!r} is no schedule; give one of {', '.join(SCHEDULES)}, or Dynamic(4)")
        return schedule
    word, comma, chunk = schedule.replace(" ", "").partition(",")
    if word not in SCHEDULES:
        raise ValueError(
            f"no schedule {word!r}; there are {', '.join(SCHEDULES)}, each with a chunk: 'dynamic,4'"
        )
    if not comma:
        return SCHEDULES[word]()
    if not chunk.isdigit():
        raise ValueError(
            f"schedule {schedule!r}: the chunk after the comma is a number of tasks, as in '{word},4'"
        )
    return SCHEDULES[word](int(chunk))


def _at_least_one(chunk: int, word: str) -> None:
    if not isinstance(chunk, int) or chunk < 1:
        raise ValueError(f"{word}: a chunk is at least 1 task, not {chunk!r}")
