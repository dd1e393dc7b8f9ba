"""Whose input is in a result: what every wrong reduction or copy is explained by."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from counterpoint.grading.diagnoses.evidence import (
    Difference,
    Evidence,
    Finding,
    Message,
    holding,
    times,
)


def contributions(evidence: Evidence) -> Finding | None:
    """The usual ways in which the wrong ranks' inputs end up in a chunk, each by its name."""
    if evidence.case.ranks == 1 and evidence.messages():
        return Finding(
            f"With 1 rank there is nobody to send to, but yours sends itself "
            f"{len(evidence.messages())} messages (your line {evidence.messages()[0].line})."
        )
    held = [(d, c) for d in evidence.here if (c := counts_at(evidence, d)) is not None]
    odd = [(d, c) for d, c in held if not np.array_equal(c, expected(evidence, d))]
    if not odd:
        return None
    for explain in (_alone, _twice, _replaced, _lacking):
        finding = explain(evidence, odd)
        if finding is not None:
            return finding
    return None


def expected(evidence: Evidence, difference: Difference) -> np.ndarray:
    """How often each rank's input belongs in that place."""
    counts = np.zeros(evidence.case.ranks, int)
    holds = difference.want.holds
    counts[list(range(evidence.case.ranks) if holds is None else holds)] = 1
    return counts


def counts_at(evidence: Evidence, difference: Difference) -> np.ndarray | None:
    """How often each rank's input is in the first wrong element of that place, if it is known."""
    want, rank = difference.want, difference.rank
    element = max(difference.element, 0)
    if want.where is None:
        if rank >= len(evidence.returned) or evidence.returned[rank] is None:
            return None
        table = evidence.returned[rank]
        return _counted(table[:, element]) if table is not None and element < table.shape[1] else None
    provenance = evidence.provenance
    if provenance is None or not provenance.final:
        return None
    place = want.offset + element
    for cell, (buffer, offset, length) in enumerate(provenance.cells):
        if buffer == want.where and offset <= place < offset + length:
            return _counted(provenance.final[rank][cell])
    return None


def _counted(counts: np.ndarray) -> np.ndarray | None:
    """The counts, if they can be counts: what an answer filled with -1 itself is nobody's input."""
    return counts if (counts >= 0).all() else None


def tells(evidence: Evidence, difference: Difference, counts: np.ndarray) -> str:
    """As in "With 4 ranks, rank 2 ends with chunk 3 = ranks {1, 2}; it should hold ranks {0, 1, 2, 3}"."""
    returned = difference.want.where is None
    return (
        f"{_has(evidence, difference, counts)}; it should {'return' if returned else 'hold'} "
        f"{holding(expected(evidence, difference))}."
    )


def _has(evidence: Evidence, difference: Difference, counts: np.ndarray) -> str:
    """As in "With 4 ranks, rank 2 ends with chunk 3 = ranks {1, 2}"."""
    verb = "returns" if difference.want.where is None else f"ends with {difference.want.what} ="
    return f"With {evidence.case.on}, rank {difference.rank} {verb} {holding(counts)}"


Odd = list[tuple[Difference, np.ndarray]]


def _alone(evidence: Evidence, odd: Odd) -> Finding | None:
    """Every rank still has only its own input where it should have everybody's."""
    p = evidence.case.ranks
    own = [d.want.holds is None and c.sum() == c[d.rank] == 1 for d, c in odd]
    if not all(own) or len({d.rank for d, _ in odd}) < max(1, p - 1):
        return None
    difference, counts = odd[0]
    told = tells(evidence, difference, counts)
    if not evidence.messages():
        return Finding(f"{told} Your ranks sent no message at all.")
    if len({d.rank for d, _ in odd}) == p:
        return Finding(
            f"{told} No rank's tensor was changed, though messages travelled: was the result written into "
            f"a copy (`clone`, `a + b`, `tensor = …`)? Write into the tensor itself: `tensor.copy_(…)`, "
            f"`tensor += …`."
        )
    root = next(r for r in range(p) if r not in {d.rank for d, _ in odd})
    return Finding(
        f"{told} Rank {root} has the whole sum, but the others never get it: a phase is missing, the one "
        f"that sends the result back."
    )


def _twice(evidence: Evidence, odd: Odd) -> Finding | None:
    """Somebody is counted more than once."""
    found = next(((d, c) for d, c in odd if c.max(initial=0) > 1), None)
    if found is None:
        return None
    difference, counts = found
    who = int(counts.argmax())
    message = _first_message(evidence, lambda c: c.max(initial=0) > 1)
    told = f"{_has(evidence, difference, counts)}: it **counts rank {who}{times(int(counts[who]))}**."
    lost = [rank for rank, n in enumerate(counts) if n == 0 and expected(evidence, difference)[rank]]
    if lost:
        told += (
            f" And rank {lost[0]} is not in it at all: was its message overwritten by a later one? Two "
            f"names, or two places in a list (`[buffer] * n`), may be **one** tensor (aliased)."
        )
    if message is None:
        return Finding(told)
    return Finding(f"{told} {_sent(evidence, message, holding(_counts(message)))}.", message.number)


def _replaced(evidence: Evidence, odd: Odd) -> Finding | None:
    """Where a sum is wanted stands one other rank's input: it was received over what was there."""
    found = next(((d, c) for d, c in odd if d.want.holds is None and c.sum() == 1 and c[d.rank] == 0), None)
    if found is None or any(c.sum() > 1 for _, c in odd):
        return None
    return Finding(
        f"{tells(evidence, *found)} What arrives **replaces** what was there instead of being added to it: "
        f"`recv` overwrites; receive into a temporary and add, or use `recv_reduce`."
    )


def _lacking(evidence: Evidence, odd: Odd) -> Finding | None:
    """Somebody's input is missing, or another's stands in its place."""
    difference, counts = odd[0]
    told = tells(evidence, difference, counts)
    lost = next((m for m in evidence.messages() if m.number in unreceived(evidence)), None)
    if lost is not None:
        told += (
            f" Rank {lost.rank}'s message to rank {lost.peer}, in step {lost.step} (your line {lost.line}), is **never "
            f"received**: does each loop reach the last rank?"
        )
        return Finding(told, lost.number)
    return Finding(told)


def unreceived(evidence: Evidence) -> set[int]:
    """Messages of the shown run that were sent, and that nobody took."""
    if evidence.provenance is None:
        return set()
    trace = evidence.provenance.trace
    taken = trace.where(kind=("recv", "reduce"))
    return set(trace.sends.message.tolist()) - set(taken.message.tolist())


def scaled(evidence: Evidence) -> Finding | None:
    """Everyone's input is there, once, but divided by p."""
    p = evidence.case.ranks
    values = [d for d in evidence.here if d.kind == "value" and d.actual.is_floating_point()]
    if p == 1 or not values or not all(torch.equal(d.actual * p, d.want.value) for d in values):
        return None
    return Finding(
        f"With {evidence.case.on}, {values[0].want.what} on rank {values[0].rank} is the sum divided by {p}: that is "
        f"the mean, and the **sum** is asked for."
    )


def _first_message(evidence: Evidence, holds: Callable[[np.ndarray], Any]) -> Message | None:
    return next((m for m in evidence.messages() if any(c is not None and holds(c) for _, c in m.cells)), None)


def _counts(message: Message) -> np.ndarray:
    return max((c for _, c in message.cells if c is not None), key=lambda c: c.max(initial=0))


def _sent(evidence: Evidence, message: Message, what: str) -> str:
    """As in "The first message that carries it so is in step 2: rank 1 sends chunk 2 to rank 2 (your line 7)"."""
    return (
        f"The first message that carries it so is in step {message.step}: rank {message.rank} sends "
        f"{name_cells(evidence, message)} ({what}) to rank {message.peer} (your line {message.line})"
    )


def name_cells(evidence: Evidence, message: Message) -> str:
    """As in "chunk 2", "its whole vector", "chunks 0 and 1", or "a temporary"."""
    cells = [cell for cell, _ in message.cells]
    chunks = [evidence.chunk_of(cell) for cell in cells]
    if len(chunks) == 1 and chunks[0] is not None:
        return f"chunk {chunks[0]}"
    if not cells or cells[0] < 0:
        return "a temporary"
    assert evidence.provenance is not None
    length = sum(int(evidence.provenance.cells[cell][2]) for cell in cells)
    if length == evidence.case.count:
        return "its whole vector"
    if None not in chunks:
        return "chunks " + ", ".join(map(str, chunks))
    first = int(evidence.provenance.cells[cells[0]][1])
    return f"elements {first} to {first + length - 1}"
