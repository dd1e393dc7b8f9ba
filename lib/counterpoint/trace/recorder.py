"""Collects events while ranks run, cheaply, and turns them into a `Trace` when they are done.

Each rank appends plain rows to a list of its own, so recording takes no lock; strings and
source lines are resolved once, at the end.
"""

import linecache
from types import CodeType
from typing import Any

import numpy as np

from counterpoint.trace.event import KINDS, UNKNOWN
from counterpoint.trace.trace import COLUMNS, Trace

Line = tuple[CodeType, int]
"""A code object and a line number in its file: cheap to take while running."""

_KIND_CODE = {kind: code for code, kind in enumerate(KINDS)}


class Recorder:
    """Event lists of `ranks` ranks, one list each.

    Call `add` from the rank's own thread only. `line` is `(code object, line number)` or None;
    `message` is any hashable that both ends share, or None.
    """

    def __init__(self, ranks: int) -> None:
        self.rows: list[list[list]] = [[] for _ in range(ranks)]

    def add(
        self,
        message: Any,
        comm: tuple,
        rank: int,
        peer: int,
        kind: str,
        op: str,
        tag: int,
        nbytes: int,
        step: int,
        start: float,
        end: float,
        phase: str,
        chunk: tuple[int, int, int],
        line: Line | None,
    ) -> int:
        """Append one event; `chunk` is `(buffer, offset, length)`. Returns its number in its rank."""
        rows = self.rows[rank]
        rows.append([message, comm, rank, peer, kind, op, tag, nbytes, step, start, end, phase, chunk, line])
        return len(rows) - 1

    def set_times(self, rank: int, row: int, start: float, end: float) -> None:
        """Say when event `row` of `rank` really began and ended: a send is recorded before it is over."""
        self.rows[rank][row][9:11] = start, end

    def start_of(self, rank: int, row: int) -> float:
        """When event `row` of `rank` began; row -1 is its last."""
        return self.rows[rank][row][9]

    def finish(self, clock: str = "wall") -> Trace:
        """The `Trace` of everything recorded, in rank order and, within a rank, program order.

        That order, and the numbers given to messages and communicators, depend on what the ranks
        did and not on how the threads were scheduled: two runs differ in their times only, and on the
        wall clock in where a rank had to wait.
        """
        rows = [row for rank_rows in self.rows for row in rank_rows]
        messages = {m: i for i, m in enumerate(sorted({r[0] for r in rows if r[0] is not None}))}
        comms = {c: i for i, c in enumerate(sorted({r[1] for r in rows} | {()}))}
        words: dict[str, list[str]] = {"kind": list(KINDS), "op": [], "phase": [], "line": []}
        codes: dict[str, dict] = {name: {} for name in words}
        sources: dict[str, list[str]] = {}

        def code(column: str, value: Any) -> int:
            known = codes[column]
            if value not in known:
                known[value] = len(words[column])
                words[column].append(_text(value, sources) if column == "line" else value)
            return known[value]

        columns = {name: np.empty(len(rows), dtype) for name, dtype in COLUMNS.items()}
        for i, row in enumerate(rows):
            message, comm, rank, peer, kind, op, tag, nbytes, step, start, end, phase, chunk, line = row
            values = (
                UNKNOWN if message is None else messages[message],
                comms[comm], rank, peer, _KIND_CODE[kind], code("op", op), tag, nbytes, step,
                start, end, code("phase", phase), *chunk, code("line", line),
            )  # fmt: skip
            for name, value in zip(COLUMNS, values, strict=True):
                columns[name][i] = value
        return Trace(columns, words, ranks=len(self.rows), clock=clock, sources=sources)


def _text(line: Line | None, sources: dict[str, list[str]]) -> str:
    """`file:number`; the file's text is kept, since a notebook's cells do not outlive its kernel."""
    if line is None:
        return ""
    code, number = line
    name = code.co_filename
    if name not in sources:
        sources[name] = [text.rstrip("\n") for text in linecache.getlines(name)]
    return f"{name}:{number}"
