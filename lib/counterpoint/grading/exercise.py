"""What an exercise is, as data: its card, points, hints, the runs it is judged by, and its diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from counterpoint.trace import Totals

if TYPE_CHECKING:
    from counterpoint.grading.diagnoses import Evidence, Finding


@dataclass(frozen=True)
class Case:
    """One run of the answer: on how many ranks, with how much data of which kind."""

    ranks: int
    count: int
    dtype: str = "float32"
    eager_limit: int = 8192
    """Sends of fewer bytes are buffered; 0 makes every send wait for its receive."""

    @property
    def itemsize(self) -> int:
        return torch.empty(0, dtype=self.torch_dtype).element_size()

    @property
    def torch_dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype)

    @property
    def synchronous(self) -> bool:
        """Whether a send of all the data waits for its receive."""
        return self.count * self.itemsize >= self.eager_limit

    @property
    def on(self) -> str:
        """ "1 rank", "4 ranks"."""
        return "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"

    def __str__(self) -> str:
        sends = ", every send waiting for its receive" if self.eager_limit == 0 else ""
        elements = "1 element" if self.count == 1 else f"{self.count} elements"
        return f"{self.on}, {elements} of {self.dtype}{sends}"


RANKS = (4, 2, 3, 5, 8, 1, 6, 7)


def cases(ranks: Sequence[int] = RANKS, counts: Sequence[int] | None = None) -> tuple[Case, ...]:
    """The runs that most exercises are judged by: lengths around p, zero, large; three dtypes.

    Half of them with buffered and half with synchronous sends, so both meet every p.
    """
    found: list[Case] = []
    for p in ranks:
        lengths = counts or (2 * p, 3 * p + 1, p - 1, 1, 0, 11 * p - 1)
        for number, count in enumerate(lengths):
            found.append(Case(p, count, eager_limit=0 if (number + p) % 2 else 8192))
    for p in ranks[:4]:
        found.append(Case(p, 2 * p + 1, "float64", eager_limit=0))
        found.append(Case(p, 3 * p, "int64"))
    found.append(Case(max(ranks), 1000))
    found.append(Case(max(ranks), 20_001, "float64"))
    return tuple(found)


def vector(case: Case, rank: int) -> torch.Tensor:
    """Rank's input: one-dimensional, every element unique in the run, every sum exact."""
    first = 1 + rank * case.count
    return torch.arange(first, first + case.count).to(case.torch_dtype)


@dataclass(frozen=True)
class Want:
    """What one rank must hold in one place when the run is over."""

    what: str
    """Words for a sentence: "chunk 3", "its tensor", "what it returned"."""
    where: int | None
    """The number of the input that holds it; None: what the answer returned."""
    value: torch.Tensor
    offset: int = 0
    """Its first element in that input."""
    part: str = "correct"
    holds: tuple[int, ...] | None = None
    """Whose inputs belong there, once each; None: everyone's."""


@dataclass(frozen=True)
class Part:
    """Some of the points, for one property of the answer."""

    name: str
    points: int
    says: str
    """What is true of an answer that earns it, as a sentence without a full stop."""
    partly: tuple[tuple[int, str, Callable[[Case], bool]], ...] = ()
    """(points, words, which runs): earned when only those runs are right, best first."""


@dataclass(frozen=True)
class Target:
    """A cost that the answer is asked to meet in every run: at most `most(case)`."""

    part: str
    count: Callable[[Totals], int]
    """Which of a trace's totals it bounds."""
    most: Callable[[Case], int]
    says: Callable[[Case, int, int], str]
    """The sentence for a miss: (case, counted, target)."""


Diagnosis = Callable[["Evidence"], "Finding | None"]


@dataclass(frozen=True)
class Exercise:
    """Everything that `check`, the hints and the card need to know of one exercise."""

    name: str
    topic: str
    title: str
    function: str
    """The name of the stub."""
    parameters: tuple[str, ...]
    minutes: int
    difficulty: int
    """1 to 3 dots."""
    parts: tuple[Part, ...]
    hints: tuple[str, ...]
    cases: tuple[Case, ...] = ()
    inputs: Callable[[Case, int], tuple[torch.Tensor, ...]] = lambda case, rank: (vector(case, rank),)
    """(case, rank) -> the tensors that this rank starts with."""
    call: Callable[..., Any] = lambda comm, answer, *inputs: answer(comm, *inputs)
    """How a rank calls the answer: `call(comm, answer, *inputs)`."""
    wants: Callable[[Case, int], Sequence[Want]] = lambda case, rank: ()
    """(case, rank) -> what the rank must end with."""
    targets: tuple[Target, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    """The mistakes that this exercise invites, most telling first; general ones follow."""
    remarks: tuple[Diagnosis, ...] = field(default=())
    """What is worth saying of a right answer."""
    value: Callable[[Any], tuple[int, str]] | None = None
    """For an answer that is a value and not a function: the points it earns, and why."""

    @property
    def max_points(self) -> int:
        return sum(part.points for part in self.parts)

    @property
    def card(self) -> str:
        """The exercise's first line, as in its notebook."""
        dots = "●" * self.difficulty + "○" * (3 - self.difficulty)
        parts = ", ".join(
            f"{part.points} {'' if part.name == 'correct' else 'for '}{part.name}" for part in self.parts
        )
        points = f"{self.max_points} points" + (f" ({parts})" if len(self.parts) > 1 else "")
        return f"**{self.title}** · {self.minutes} minutes · {dots} · {points}"
