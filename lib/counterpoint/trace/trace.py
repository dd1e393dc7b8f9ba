"""The record of a run: events in columns, and the questions that are asked of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoint.trace.event import KINDS, Event

COLUMNS = {
    "message": np.int64, "comm": np.int32, "rank": np.int32, "peer": np.int32, "kind": np.int8,
    "op": np.int16, "tag": np.int64, "nbytes": np.int64, "step": np.int32, "start": np.float64,
    "end": np.float64, "phase": np.int16, "buffer": np.int32, "offset": np.int64,
    "length": np.int64, "line": np.int32,
}  # fmt: skip
"""Each column and its dtype. kind, op, phase and line hold codes: indices into `words`."""

_CODED = ("kind", "op", "phase", "line")


@dataclass(frozen=True)
class Totals:
    """What a run cost, counted: compare with a `Cost`."""

    messages: int
    bytes_total: int
    bytes_busiest: int
    """Bytes sent by the rank that sent most; what others read from it is counted as sent."""
    steps: int


class Trace:
    """Events of one run, in columns (NumPy arrays of equal length, named as in `Event`).

    `trace.rank`, `trace.nbytes`, … are the columns; `trace[i]` and iteration give `Event`s;
    `trace.where(rank=2, kind="send")` is a smaller `Trace`. Rows are in rank order and, within a
    rank, program order. `ranks` is how many ranks ran; `clock` says whether times are "wall" or
    "virtual" seconds; `sources` maps each file that appears in `line` to its lines of text; `actor` says what
    `rank` numbers: "rank", or "worker" in the trace of a shared loop.
    """

    def __init__(
        self,
        columns: dict[str, np.ndarray],
        words: dict[str, list[str]],
        *,
        ranks: int,
        clock: str = "wall",
        sources: dict[str, list[str]] | None = None,
        actor: str = "rank",
    ) -> None:
        self.columns, self.words = columns, words
        self.ranks, self.clock, self.sources = ranks, clock, sources or {}
        self.actor = actor

    def __getattr__(self, name: str) -> np.ndarray:
        if name in COLUMNS:
            return self.columns[name]
        raise AttributeError(f"a Trace has no {name!r}; its columns are {', '.join(COLUMNS)}")

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def __getitem__(self, i: int) -> Event:
        values = [self.columns[name][i].item() for name in COLUMNS]
        named = dict(zip(COLUMNS, values, strict=True))
        for name in _CODED:
            named[name] = self.words[name][named[name]]
        return Event(**named)

    def __iter__(self) -> Iterator[Event]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        t = self.totals()
        return (
            f"Trace({self.ranks} ranks, {len(self)} events, {t.messages} messages, "
            f"{t.bytes_total} bytes, {t.steps} steps)"
        )

    def text(self, column: str) -> list[str]:
        """The words of a coded column (kind, op, phase or line), one for each event."""
        words = self.words[column]
        return [words[code] for code in self.columns[column]]

    def select(self, rows: np.ndarray) -> "Trace":
        """The events at `rows` (indices, or one boolean for each event)."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Trace(
            columns, self.words, ranks=self.ranks, clock=self.clock, sources=self.sources, actor=self.actor
        )

    def where(self, **wanted: object) -> "Trace":
        """The events whose columns have the wanted value, or one of several (a tuple or list).

        >>> trace.where(rank=0, kind=("recv", "reduce"), phase="reduce-scatter")
        """
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            if name not in COLUMNS:
                raise ValueError(f"no column {name!r} to select by; there are {', '.join(COLUMNS)}")
            values = value if isinstance(value, list | tuple) else (value,)
            if name in _CODED:
                if name == "kind" and (odd := [v for v in values if v not in KINDS]):
                    raise ValueError(f"no kind {odd[0]!r}; there are {', '.join(KINDS)}")
                values = [self.words[name].index(v) for v in values if v in self.words[name]]
            keep &= np.isin(self.columns[name], list(values))
        return self.select(keep)

    @property
    def sends(self) -> "Trace":
        """One event for each message: its sending."""
        return self.where(kind="send")

    @property
    def transfers(self) -> "Trace":
        """One event for each time that bytes went from one rank to another: sends, gets and puts."""
        return self.where(kind=("send", "get", "put"))

    @property
    def steps(self) -> int:
        """Port steps from the first message to the last (DESIGN: not Lamport time); a fence is a step."""
        return int(self.step.max(initial=0))

    @property
    def unreceived(self) -> "Trace":
        """The sendings of messages that nobody received."""
        received = self.where(kind=("recv", "reduce")).message
        sends = self.sends
        return sends.select(~np.isin(sends.message, received))

    def byte_matrix(self) -> np.ndarray:
        """Bytes moved, int64 of shape (ranks, ranks): from the row's rank, or its memory, to the column's."""
        matrix = np.zeros((self.ranks, self.ranks), np.int64)
        moves = self.transfers
        gets = moves.kind == KINDS.index("get")
        source, dest = np.where(gets, moves.peer, moves.rank), np.where(gets, moves.rank, moves.peer)
        np.add.at(matrix, (source, dest), moves.nbytes)
        return matrix

    def bytes_sent(self) -> np.ndarray:
        """Bytes sent by each rank, or read from it, int64 of shape (ranks,)."""
        return self.byte_matrix().sum(1)

    def bytes_received(self) -> np.ndarray:
        """Bytes sent to each rank, written to it, or read by it, int64 of shape (ranks,)."""
        return self.byte_matrix().sum(0)

    def totals(self) -> Totals:
        """Messages, bytes and steps: what a `Cost` predicts."""
        sent = self.bytes_sent()
        return Totals(len(self.transfers), int(sent.sum()), int(sent.max(initial=0)), self.steps)

    def by_step(self) -> list["Trace"]:
        """The transfers, step by step: item s - 1 holds those of step s."""
        moves = self.transfers
        return [moves.select(moves.step == s) for s in range(1, self.steps + 1)]

    def waiting(self) -> np.ndarray:
        """Seconds that each rank spent unable to go on, float64 of shape (ranks,)."""
        waits = self.where(kind="wait")
        return np.bincount(waits.rank, waits.end - waits.start, minlength=self.ranks)
