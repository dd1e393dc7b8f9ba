"""What each rank's buffer holds, event by event: cells, changes, and what each message does to them."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from counterpoint.trace import Provenance, Trace
from counterpoint.viz.player.matching import MOVES, match, moves
from counterpoint.viz.player.vectors import UNKNOWN_VECTOR, Vectors

_SEND = MOVES[0]
_MOST_CELLS = 128


@dataclass
class Change:
    """`cell` of `rank` holds vector `holds` from the moment `row` is over; `by` is the receive that did it.

    row -1: seen only when the rank was done. by -1: the rank's own arithmetic, before any receive.
    """

    row: int
    rank: int
    cell: int
    holds: int
    by: int


@dataclass
class Holdings:
    """Everything the film says about contents. Vectors are numbers in `vectors`, rows are the trace's."""

    cells: list[list[int]]
    vectors: Vectors
    initial: list[list[int]]
    note: str = ""
    changes: list[Change] = field(default_factory=list)
    sent: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    """For each sending: cells that left, and what they held."""
    into: dict[int, tuple[list[int], list[int], list[int]]] = field(default_factory=dict)
    """For each receive: cells it arrived in, what they held before, and after."""


def holdings(trace: Trace, provenance: Provenance | None) -> Holdings:
    """The contents of `trace`, as far as `provenance` knows them."""
    if provenance is None:
        return _unknown(trace, "not known")
    if not provenance.exact:
        return _unknown(trace, "not known, since the function does more than add and move its inputs")
    mapping, note = match(trace, provenance)
    if not mapping and note:
        return _unknown(trace, note)
    small, vectors = provenance.trace, Vectors(trace.ranks)
    cells = [[int(n) for n in cell] for cell in provenance.cells]
    initial = [[vectors.number(v) for v in held] for held in provenance.initial]
    found = Holdings(cells, vectors, initial, note)
    for row, parts in provenance.carried.items():
        if row in mapping:
            known = [(int(c), vectors.number(v)) for c, v in parts]
            found.sent[mapping[row]] = ([c for c, _ in known if c >= 0], [v for _, v in known])
    at: dict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)
    for row, cell, counts in provenance.changes:
        at[row].append((int(cell), counts))

    def changes(row: int) -> list[tuple[int, int]]:
        return [(cell, vectors.number(counts)) for cell, counts in at[row]]

    back = {here: row for row, here in mapping.items()}
    for rank in range(trace.ranks):
        rows = [row for row in moves(trace, rank).tolist() if row in back]
        final = provenance.final[rank] if len(provenance.final) > rank else None
        complete = len(rows) == len(moves(small, rank))
        last = [vectors.number(v) for v in final] if final is not None and complete else None
        _follow(found, trace, rank, rows, lambda row: changes(back[row]), small, back, last)
    return found


def _follow(
    found: Holdings,
    trace: Trace,
    rank: int,
    rows: list[int],
    changes: Callable[[int], list[tuple[int, int]]],
    small: Trace,
    back: dict[int, int],
    last: list[int] | None,
) -> None:
    """Run through one rank's events, giving every change to the receive that brought it.

    A receive into a buffer of the learner's own changes no cell by itself; what the rank then adds or
    copies from it shows up at the next event, and is this receive's doing.
    """
    state, pending = list(found.initial[rank]), -1

    def apply(row: int, new: list[tuple[int, int]], by: int) -> None:
        if by >= 0 and new:
            cells = [c for c, _ in new]
            found.into[by] = (cells, [state[c] for c in cells], [v for _, v in new])
        for cell, holds in new:
            found.changes.append(Change(row, rank, cell, holds, by))
            state[cell] = holds

    for row in rows:
        new = [(c, v) for c, v in changes(row) if state[c] != v]
        if trace.kind[row] == _SEND:
            if new:
                apply(row, new, pending)
                pending = -1
            continue
        target = _covered(small, back[row], found.cells)
        local = [(c, v) for c, v in new if c not in target]
        if local:
            apply(row, local, pending)
        had = [state[c] for c in target]
        apply(row, [(c, v) for c, v in new if c in target], -1 if not target else row)
        if target:
            found.into[row] = (target, had, [state[c] for c in target])
        pending = -1 if target else row
    if last is not None:
        new = [(c, v) for c, v in enumerate(last) if state[c] != v]
        apply(-1, new, pending)


def _covered(trace: Trace, row: int, cells: list[list[int]]) -> list[int]:
    """The cells that lie inside the chunk of the trace's `row`."""
    buffer, offset, length = (int(trace.columns[n][row]) for n in ("buffer", "offset", "length"))
    if buffer < 0 or length <= 0:
        return []
    return [
        number
        for number, (b, first, count) in enumerate(cells)
        if b == buffer and offset <= first and first + count <= offset + length
    ]


def _unknown(trace: Trace, note: str) -> Holdings:
    """Cells cut from the trace's own chunks, with contents not known."""
    rows = np.flatnonzero((trace.buffer >= 0) & (trace.length > 0) & np.isin(trace.kind, MOVES))
    cuts: dict[int, set[int]] = defaultdict(set)
    for buffer, offset, length in {
        (int(trace.buffer[i]), int(trace.offset[i]), int(trace.length[i])) for i in rows
    }:
        cuts[buffer] |= {offset, offset + length}
    cells = []
    for buffer, points in sorted(cuts.items()):
        edges = sorted(points)
        if len(edges) - 1 > _MOST_CELLS:
            edges = [edges[0], edges[-1]]
        cells += [[buffer, a, b - a] for a, b in pairwise(edges)]
    nothing = [UNKNOWN_VECTOR] * len(cells)
    found = Holdings(cells, Vectors(trace.ranks), [list(nothing) for _ in range(trace.ranks)], note)
    for row in rows.tolist():
        covered = _covered(trace, row, cells)
        blank = [UNKNOWN_VECTOR] * len(covered)
        if trace.kind[row] == _SEND:
            found.sent[row] = (covered, blank)
        else:
            found.into[row] = (covered, blank, blank)
    return found
