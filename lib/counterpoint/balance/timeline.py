"""Rows that workers append while a loop runs, and the `Trace` that they become."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from counterpoint.trace import KINDS, UNKNOWN, Trace
from counterpoint.trace.trace import COLUMNS


class Row(NamedTuple):
    """One event of a worker; appended to the worker's own list, so that recording takes no lock."""

    kind: str
    worker: int
    source: int
    first: int
    length: int
    start: float
    end: float


def as_trace(rows: Iterable[Row], workers: int, clock: str) -> Trace:
    """The rows as a `Trace` of workers: `rank` is the worker, `offset` and `length` the tasks."""
    ordered = list(rows)
    n = len(ordered)
    columns = {name: np.full(n, UNKNOWN, dtype) for name, dtype in COLUMNS.items()}
    for name in ("comm", "op", "tag", "nbytes", "step", "phase", "line"):
        columns[name][:] = 0
    for name, values in zip(
        ("kind", "rank", "peer", "offset", "length", "start", "end"), zip(*ordered, strict=True), strict=False
    ):
        columns[name][:] = [KINDS.index(v) for v in values] if name == "kind" else values
    columns["op"][:] = np.where(columns["kind"] == KINDS.index("wait"), 1, 0)
    words = {"kind": list(KINDS), "op": ["", "queue"], "phase": [""], "line": [""]}
    return Trace(columns, words, ranks=workers, clock=clock, actor="worker")
