"""Collects events while ranks run, cheaply, and turns them into a `Trace` when they are done.

Each rank appends plain rows to a list of its own, so recording takes no lock; strings and
source lines are resolved once, at the end.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from counterpoint.trace.event import UNKNOWN
from counterpoint.trace.trace import COLUMNS, Trace
from counterpoint.trace.words import Line, Words, text_of

_ROW = (
    "message", "comm", "rank", "peer", "kind", "op", "tag", "nbytes", "step", "start", "end", "phase",
    "chunk", "line",
)  # fmt: skip
"""What a row holds, in the order of `Recorder.add`."""


class Recorder:
    """Event lists of `ranks` ranks, one list each.

    Call `add` from the rank's own thread only. `message` is an integer that both ends share, or None. `line`
    is `(code object, line number)`, or the complement of an instruction's offset for the number, or None.
    """

    def __init__(self, ranks: int) -> None:
        self.rows: list[list[Any]] = [[] for _ in range(ranks)]
        self.sources: dict[str, list[str]] = {}
        """Text of files that only another process can read."""

    def add(
        self,
        message: int | None,
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

    def portable(self, rank: int) -> tuple[list[list[Any]], dict[str, list[str]]]:
        """A rank's rows for another process, each line as text, and the text of the files they lie in."""
        sources: dict[str, list[str]] = {}
        texts: dict[Any, str] = {}
        rows = []
        for *values, line in self.rows[rank]:
            key = None if line is None else (id(line[0]), line[1])
            if key not in texts:
                texts[key] = text_of(line, sources)
            rows.append([*values, texts[key]])
        return rows, sources

    def join(self, rank: int, rows: list[list[Any]], sources: dict[str, list[str]]) -> None:
        """Take a rank's rows from another process."""
        self.rows[rank] = rows
        self.sources.update(sources)

    def match_sends(self, waits: list[tuple[int, int, int]]) -> None:
        """Give each send its receive's times: between processes only the receiver sees the data move.

        waits: (rank, row, message) of waits for a send, which end when its data begins to move.
        """
        moved = {row[0]: row[9:11] for rows in self.rows for row in rows if row[4] in ("recv", "reduce")}
        for rows in self.rows:
            for row in rows:
                if row[4] == "send" and row[0] in moved:
                    row[9:11] = moved[row[0]]
        for rank, number, message in waits:
            if message in moved:
                row = self.rows[rank][number]
                row[10] = max(row[9], min(row[10], moved[message][0]))

    def finish(self, clock: str = "wall") -> Trace:
        """The `Trace` of everything recorded, in rank order and, within a rank, program order.

        That order, and the numbers given to messages and communicators, depend on what the ranks
        did and not on how the threads were scheduled: two runs differ in their times only, and on the
        wall clock in where a rank had to wait.
        """
        with uncollected():
            return self._finish(clock)

    def _finish(self, clock: str) -> Trace:
        words = Words(self.sources)
        columns = self._columns(words)
        columns["message"] = _numbered(columns["message"])
        columns["comm"] = words.in_order("comm")[columns["comm"]]
        return Trace(columns, words.of_trace(), ranks=len(self.rows), clock=clock, sources=words.sources)

    def _columns(self, words: Words) -> dict[str, np.ndarray]:
        """The rows in columns; messages have the numbers they came with, communicators those of `words`."""
        rows = [row for rank_rows in self.rows for row in rank_rows]
        given = dict(zip(_ROW, zip(*rows, strict=True), strict=True)) if rows else {}
        columns = {name: np.empty(0, dtype) for name, dtype in COLUMNS.items()}
        for name, values in given.items():
            if name == "chunk":
                chunks = np.array(values, np.int64).reshape(-1, 3)
                for part, column in zip(("buffer", "offset", "length"), chunks.T, strict=True):
                    columns[part] = column.astype(COLUMNS[part])
            elif name == "message":
                columns[name] = np.array([UNKNOWN if v is None else v for v in values], np.int64)
            elif name in Words.CODED:
                columns[name] = np.array(words.codes(name, values), COLUMNS[name])
            else:
                columns[name] = np.array(values, COLUMNS[name])
        return columns


def _numbered(messages: np.ndarray) -> np.ndarray:
    """The same numbers without gaps, from 0, in the same order; UNKNOWN stays."""
    known = np.sort(messages)
    known = known[np.searchsorted(known, UNKNOWN, "right") :]
    first = np.ones(len(known), bool)
    first[1:] = known[1:] != known[:-1]
    numbers = np.searchsorted(known[first], messages)
    numbers[messages == UNKNOWN] = UNKNOWN
    return numbers


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection: it would look at every row and message there is, again and again, for nothing."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
