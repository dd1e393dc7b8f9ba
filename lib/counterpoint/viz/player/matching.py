"""Provenance comes from a small run of the same function; this finds its events in the run shown.

Both runs are deterministic rank by rank, so the n-th message that a rank sends or receives is the same
message in both, as long as it goes the same way to the same peer.
"""

import numpy as np

from counterpoint.trace import Provenance, Trace
from counterpoint.trace.event import KINDS

MOVES = tuple(KINDS.index(kind) for kind in ("send", "recv", "reduce"))


def moves(trace: Trace, rank: int) -> np.ndarray:
    """Rows of the trace in which `rank` sends or receives, in the rank's order."""
    return np.flatnonzero((trace.rank == rank) & np.isin(trace.kind, MOVES))


def match(trace: Trace, provenance: Provenance) -> tuple[dict[int, int], str]:
    """Which row of `trace` each row of the provenance's own trace stands for, and what to say of it.

    Returns the mapping and "", or an empty mapping and the reason why the two are different runs. A run
    that stopped early (deadlock, failure) may be the beginning of the other.
    """
    small = provenance.trace
    if small is trace:
        return {row: row for row in range(len(trace))}, ""
    if small.ranks != trace.ranks:
        return {}, f"they are known for a run of {small.ranks} ranks, and this one has {trace.ranks}"
    mapping: dict[int, int] = {}
    missing = 0
    for rank in range(trace.ranks):
        here, there = moves(trace, rank), moves(small, rank)
        both = min(len(here), len(there))
        a, b = here[:both], there[:both]
        if (trace.kind[a] != small.kind[b]).any() or (trace.peer[a] != small.peer[b]).any():
            return {}, f"rank {rank} sends or receives otherwise on the small input they come from"
        mapping |= dict(zip(b.tolist(), a.tolist(), strict=True))
        missing += len(here) - both
    if missing and provenance.error is None:
        return {}, "on the small input they come from the function sends fewer messages"
    note = "they are known up to where the run on a small input stopped" if missing else ""
    return mapping, note
