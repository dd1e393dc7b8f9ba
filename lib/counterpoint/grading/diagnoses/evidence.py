"""All that is known of an answer once it has run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from counterpoint.grading.child.attempt import Attempt, Other
from counterpoint.grading.exercise import Case, Exercise, Want
from counterpoint.trace import Provenance


@dataclass(frozen=True)
class Finding:
    """What a diagnosis has to say. `message` is the number of the message, in the provenance's trace,
    at which the picture stops; -1 for none."""

    sentence: str
    message: int = -1


@dataclass(frozen=True)
class Difference:
    """One place of one rank that does not hold what it should. kind: "missing" (None returned),
    "type", "shape", "dtype" or "value"; `element` is the first that differs."""

    rank: int
    want: Want
    kind: str
    actual: Any
    element: int = -1

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """For the comparison table: the first difference, and a few elements around it."""
        place = f"rank {self.rank}, {self.want.what}"
        if self.kind != "value":
            return [(place, describe(self.actual), describe(self.want.value))]
        yours, right = self.actual.flatten(), self.want.value.flatten()
        low = max(0, self.element - 1)
        few = slice(low, low + 4)
        return [
            (f"{place}, element {self.element}", _number(yours[self.element]), _number(right[self.element])),
            (f"elements {low} to {min(low + 4, len(right)) - 1}", _numbers(yours[few]), _numbers(right[few])),
        ]  # fmt: skip


@dataclass
class Evidence:
    """The attempts, which of them are wrong and in what, and a closer look at the one that is shown."""

    exercise: Exercise
    attempts: list[Attempt]
    differences: dict[int, list[Difference]]
    """By the attempt's index; only for attempts that ended."""
    shown: Attempt
    provenance: Provenance | None = None
    returned: list[np.ndarray | None] = field(default_factory=list)
    """What each rank returned, as contributors by elements: how often each rank's input is in it."""

    @property
    def wrong(self) -> list[Attempt]:
        return [a for i, a in enumerate(self.attempts) if a.failure or self.differences.get(i)]

    @property
    def right(self) -> list[Attempt]:
        wrong = {id(a) for a in self.wrong}
        return [a for a in self.attempts if id(a) not in wrong]

    @property
    def case(self) -> Case:
        return self.shown.case

    @property
    def here(self) -> list[Difference]:
        """The differences of the attempt that is shown."""
        index = next(i for i, a in enumerate(self.attempts) if a is self.shown)
        return self.differences.get(index, [])

    def messages(self) -> list[Message]:
        """The shown run's messages in order of step and sender, with what they carried."""
        return sorted(_messages(self.provenance), key=lambda m: (m.step, m.rank)) if self.provenance else []

    def chunk_of(self, cell: int) -> int | None:
        """Which of the `tensor_split` chunks a cell of the provenance is, if it is one."""
        if self.provenance is None or cell < 0:
            return None
        buffer, offset, length = (int(x) for x in self.provenance.cells[cell])
        starts, p = 0, self.case.ranks
        for chunk, piece in enumerate(torch.arange(self.case.count).tensor_split(p)):
            if buffer == 0 and (offset, length) == (starts, len(piece)) and length:
                return chunk
            starts += len(piece)
        return None


@dataclass(frozen=True)
class Message:
    """One sending of the shown run. `cells` are (cell, counts) of what it carried."""

    number: int
    event: int
    step: int
    rank: int
    peer: int
    nbytes: int
    cells: list[tuple[int, np.ndarray | None]]
    line: int


def _messages(provenance: Provenance) -> Iterator[Message]:
    trace = provenance.trace
    for event in np.flatnonzero(np.array(trace.text("kind")) == "send"):
        e = trace[int(event)]
        line = int(e.line.rpartition(":")[2] or 0)
        cells = provenance.carried.get(int(event), [])
        yield Message(e.message, int(event), e.step, e.rank, e.peer, e.nbytes, cells, line)


def holding(counts: Any) -> str:
    """As in "ranks {0, 2}", "rank 1 alone", "nothing", "rank 0 twice and rank 2"."""
    present = {rank: int(n) for rank, n in enumerate(counts) if n}
    if not present:
        return "nothing of any rank"
    if set(present.values()) == {1}:
        if len(present) == 1:
            return f"rank {next(iter(present))} alone"
        return "ranks {" + ", ".join(map(str, present)) + "}"
    parts = [f"rank {rank}{times(n)}" for rank, n in present.items()]
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


def times(n: int) -> str:
    """How often, with a space before it; nothing for once."""
    return {1: "", 2: " twice", 3: " three times", 4: " four times"}.get(n, f" {n} times")


def describe(value: Any) -> str:
    """A value's kind, for people: "a float32 tensor of 4 elements", "None", "a list"."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.dim() == 1:
            elements = "1 element" if value.numel() == 1 else f"{value.numel()} elements"
            return f"a tensor of {elements} of {dtype}"
        return f"a tensor of shape {tuple(value.shape)} of {dtype}"
    if isinstance(value, Other):
        return f"a {value.kind}"
    return repr(value)


def _number(value: torch.Tensor) -> str:
    number = value.item()
    return f"{number:g}" if isinstance(number, float) else str(number)


def _numbers(values: torch.Tensor) -> str:
    return "[" + ", ".join(_number(v) for v in values) + "]"
