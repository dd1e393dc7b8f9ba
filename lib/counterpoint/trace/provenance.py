"""Whose contributions a rank's chunks hold, and how often, after each event of a run."""

from dataclasses import dataclass, field

import numpy as np

from counterpoint.trace.trace import Trace


@dataclass
class Provenance:
    """For each rank, cell and moment: how many times each rank's input is contained in it.

    A *cell* is a piece of a buffer that no message cuts: `cells[c] = (buffer, offset, length)`, in
    elements; the cells of a ring all-reduce of p ranks are its p chunks. A count vector has one
    int for each contributor: `[1, 1, 0, 0]` is the sum of ranks 0 and 1, `[2, 0, 0, 0]` holds rank 0
    twice, and a finished all-reduce is all ones.

    `initial[rank]` is int of shape (cells, contributors) at the start; `changes` lists, in the
    trace's order, `(event, cell, counts)`: what `cell` of that event's rank holds once that event is
    over, where it differs from before. `carried[event]` is, for a sending, a list of
    `(cell, counts)`: what left, and from which cell (UNKNOWN when the data lay in no buffer, in
    which case counts may be None).
    """

    trace: Trace
    cells: np.ndarray
    initial: list[np.ndarray]
    changes: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    carried: dict[int, list[tuple[int, np.ndarray | None]]] = field(default_factory=dict)
    final: list[np.ndarray] = field(default_factory=list)
    """`final[rank]`, int of shape (cells, contributors), when the rank returned (or was stopped)."""
    origins: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """`origins[event, cell] = (rank, element)`: where a change's first element was copied from, counting
    elements over that rank's buffers; UNKNOWN twice if it is the result of arithmetic."""
    final_origins: list[np.ndarray] = field(default_factory=list)
    """The same when the rank returned, int of shape (cells, 2) for each rank."""
    exact: bool = True
    """False if the function did more with its inputs than add and move: then counts mean nothing."""
    error: Exception | None = None
    """What ended the run, if it deadlocked or failed."""

    @property
    def ranks(self) -> int:
        return self.trace.ranks

    def after(self, rank: int, event: int) -> np.ndarray:
        """What `rank`'s cells hold after the trace's row `event`, int of shape (cells, contributors)."""
        state = self.initial[rank].copy()
        for index, cell, counts in self.changes:
            if index > event:
                break
            if self.trace.rank[index] == rank:
                state[cell] = counts
        return state

    def table(self) -> list[dict]:
        """One row for each change: step, phase, rank, cell, and `{contributor: times}`."""
        phases = self.trace.text("phase")
        return [
            {
                "step": int(self.trace.step[event]),
                "phase": phases[event],
                "rank": int(self.trace.rank[event]),
                "cell": cell,
                "holds": {r: int(n) for r, n in enumerate(counts) if n},
            }
            for event, cell, counts in self.changes
        ]
