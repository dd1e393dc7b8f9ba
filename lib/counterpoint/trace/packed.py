"""A recorder for worlds that take millions of messages: an event of a message is 48 bytes, and no object.

What many events share is kept once and told by its number. A *site* is a call in the program: communicator,
operation, tag, phase and line. A *piece* is what a tensor is: its chunk and its bytes. The rest of an event is
packed: `recorder.packed[rank] += pack_event(...)`, from the rank itself. Everything else is recorded by `add`, as
ever, and the trace has both in program order.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any

import numpy as np

from counterpoint.trace.event import KINDS, UNKNOWN
from counterpoint.trace.recorder import Recorder
from counterpoint.trace.trace import COLUMNS
from counterpoint.trace.words import Line, Words

EVENT = np.dtype([
    ("site", "i4"), ("piece", "i4"), ("peer", "i4"), ("step", "i4"), ("message", "i8"), ("before", "f8"),
    ("start", "f8"), ("end", "f8"),
])  # fmt: skip
"""An event as it is packed. site: its complement for a send. before: since when the rank was there; if that is
earlier than `start`, the trace has a wait between them."""

pack_event = Struct("=4iq3d").pack
"""Pack one event: the fields of `EVENT`, in that order."""

BLOCK = 1 << 14
"""Events that are unpacked at a time: few enough to stay in the cache, enough to be worth NumPy's calls."""

SEND, RECEIVE, WAIT = range(3)
"""What an event can be at a site; a table has a row for each."""


class PackedRecorder(Recorder):
    """A `Recorder` whose ranks may pack events of messages."""

    def __init__(self, ranks: int) -> None:
        super().__init__(ranks)
        self.packed = [bytearray() for _ in range(ranks)]
        self._places: list[list[int]] = [[] for _ in range(ranks)]
        """For each row of `add`, the packed bytes that were there before it."""
        self._numbers: dict[tuple, int] = {}
        self._sites: list[tuple[tuple, str, int, str, Line]] = []
        self._pieces: dict[tuple[int, int, int, int], int] = {(UNKNOWN, UNKNOWN, UNKNOWN, 0): 0}

    def add(self, *event: Any, **named: Any) -> int:
        rank = named["rank"] if "rank" in named else event[2]
        self._places[rank].append(len(self.packed[rank]))
        return super().add(*event, **named)

    def site(self, comm: tuple, op: str, tag: int, phase: str, line: Line) -> int:
        """The number of a call: `op` is "" unless what it receives is reduced."""
        number = self._numbers.setdefault((comm, op, tag, phase, id(line[0]), line[1]), len(self._sites))
        if number == len(self._sites):
            self._sites.append((comm, op, tag, phase, line))
        return number

    def piece(self, chunk: tuple[int, int, int], nbytes: int) -> int:
        """The number of a tensor with this `(buffer, offset, length)` and size."""
        return self._pieces.setdefault((*chunk, nbytes), len(self._pieces))

    def _columns(self, words: Words) -> dict[str, np.ndarray]:
        """Rows and packed events in columns; the packed bytes are given up."""
        rows = super()._columns(words)
        if not any(self.packed):
            return rows
        at_site, of_piece = self._site_table(words), self._piece_table()
        blocks = []
        for ranks in self._blocks():
            count = [len(self.packed[rank]) // EVENT.itemsize for rank in ranks]
            events = np.frombuffer(b"".join(self.packed[rank] for rank in ranks), EVENT)
            blocks.append(self._merged(rows, ranks, count, *_unpacked(events, ranks, count, at_site, of_piece)))
            for rank in ranks:
                self.packed[rank].clear()
        return {name: np.concatenate([block.pop(name) for block in blocks]) for name in COLUMNS}

    def _blocks(self) -> Iterator[range]:
        """All ranks, as many at a time as have some `BLOCK` events."""
        first = size = 0
        for rank, packed in enumerate(self.packed):
            size += len(packed)
            if size >= BLOCK * EVENT.itemsize or rank == len(self.packed) - 1:
                yield range(first, rank + 1)
                first, size = rank + 1, 0

    def _site_table(self, words: Words) -> dict[str, np.ndarray]:
        """Columns that the site tells: row 3 * site + (SEND, RECEIVE or WAIT)."""
        table: dict[str, list] = {name: [] for name in ("comm", "kind", "op", "tag", "phase", "line")}
        for comm, op, tag, phase, line in self._sites:
            kind = "reduce" if op else "recv"
            table["comm"] += [comm, comm, ()]
            table["kind"] += ["send", kind, "wait"]
            table["op"] += ["", op, kind]
            table["tag"] += [tag, tag, 0]
            table["phase"] += [phase] * 3
            table["line"] += [line] * 3
        coded = {name: words.codes(name, values) for name, values in table.items() if name != "tag"}
        return {name: np.array(coded.get(name, table[name]), COLUMNS[name]) for name in table}

    def _piece_table(self) -> dict[str, np.ndarray]:
        """Columns that the piece tells; row 0 is no piece."""
        values = zip(("buffer", "offset", "length", "nbytes"), zip(*self._pieces, strict=True), strict=True)
        return {name: np.array(column, COLUMNS[name]) for name, column in values}

    def _merged(
        self, rows: dict[str, np.ndarray], ranks: range, count: list[int], columns: dict[str, np.ndarray], ends: np.ndarray
    ) -> dict[str, np.ndarray]:
        """A block's columns with the rows of its ranks between them; ends[i]: the columns' length after i events."""
        own = slice(*np.searchsorted(rows["rank"], (ranks.start, ranks.stop)))
        begins = np.cumsum([0, *count])
        before = [b + place // EVENT.itemsize for b, rank in zip(begins, ranks) for place in self._places[rank]]
        if not before:
            return columns
        places = ends[before] + np.arange(len(before))
        free = np.ones(len(columns["rank"]) + len(before), bool)
        free[places] = False
        merged = {name: np.empty(len(free), dtype) for name, dtype in COLUMNS.items()}
        for name, column in merged.items():
            column[free], column[places] = columns[name], rows[name][own]
        return merged


def _unpacked(
    events: np.ndarray, ranks: range, count: list[int], at_site: dict[str, np.ndarray], of_piece: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(columns of packed events, each after its wait if it had one; their length after each number of events)."""
    waited = events["start"] > events["before"]
    ends = np.zeros(len(events) + 1, np.int64)
    np.cumsum(1 + waited, out=ends[1:])
    event = np.repeat(np.arange(len(events)), 1 + waited)
    wait = np.zeros(len(event), bool)
    wait[ends[:-1][waited]] = True

    sent = events["site"] < 0
    site = 3 * np.where(sent, ~events["site"], events["site"]) + np.where(sent, SEND, RECEIVE)
    site = np.where(wait, site[event] - RECEIVE + WAIT, site[event])
    piece = np.where(wait, 0, events["piece"][event])
    start, rank = events["start"][event], np.repeat(np.arange(ranks.start, ranks.stop), count)
    columns = {
        "message": np.where(wait, UNKNOWN, events["message"][event]),
        "rank": rank[event],
        "peer": events["peer"][event],
        "step": np.where(wait, 0, events["step"][event]),
        "start": np.where(wait, events["before"][event], start),
        "end": np.where(wait, start, events["end"][event]),
        **{name: column[site] for name, column in at_site.items()},
        **{name: column[piece] for name, column in of_piece.items()},
    }
    return {name: column.astype(COLUMNS[name], copy=False) for name, column in columns.items()}, ends
