"""A recorder for worlds that take millions of messages: an event of a message is 48 bytes, and no object.

What events share is kept once and told by a number. A *site* is a call in the program: communicator, operation,
tag, phase and line. A *piece* is what a tensor is: its chunk and its bytes. The rest of an event is
packed: `recorder.packed += pack_event(...)`. Everything else is recorded by `add`, as ever, and the trace has both,
in program order. For ranks in one thread: they pack into the same bytes, in the order in which they run.
"""

from struct import Struct
from typing import Any

import numpy as np

from counterpoint.trace.event import UNKNOWN, message_number
from counterpoint.trace.recorder import Recorder
from counterpoint.trace.trace import COLUMNS
from counterpoint.trace.words import Line, Words

EVENT = np.dtype([
    ("site", "i4"), ("piece", "i4"), ("rank", "i4"), ("peer", "i4"), ("step", "i4"), ("count", "i4"),
    ("before", "f8"), ("start", "f8"), ("end", "f8"),
])  # fmt: skip
"""An event as it is packed. site: with SENT or RECEIVED added. count: the how manyth of its sender's messages.
before: since when the rank was there; a receipt that starts later than that has a wait before it in the trace."""

pack_event = Struct("=6i3d").pack
"""Pack one event: the fields of `EVENT`, in that order."""

SENT, RECEIVED, _WAITED, _KINDS = range(4)
"""What may happen at a site; a table of sites has a row for each."""

BLOCK = 1 << 14
"""Events that are unpacked at a time: few enough to stay in the cache, enough to be worth NumPy's calls."""


class PackedRecorder(Recorder):
    """A `Recorder` whose ranks may pack events of messages."""

    def __init__(self, ranks: int) -> None:
        super().__init__(ranks)
        self.packed = bytearray()
        self._places: list[list[int]] = [[] for _ in range(ranks)]
        """For each row of `add`, the packed bytes that were there before it."""
        self._sites: list[tuple[tuple, str, int, str, Line]] = []
        self._pieces: dict[tuple[int, int, int, int], int] = {(UNKNOWN, UNKNOWN, UNKNOWN, 0): 0}

    def add(self, *event: Any, **named: Any) -> int:
        rank = named["rank"] if "rank" in named else event[2]
        self._places[rank].append(len(self.packed))
        return super().add(*event, **named)

    def site(self, comm: tuple, op: str, tag: int, phase: str, line: Line) -> int:
        """A number for this call; op: "" unless what it receives is reduced. Ask once a site."""
        self._sites.append((comm, op, tag, phase, line))
        return _KINDS * (len(self._sites) - 1)

    def piece(self, chunk: tuple[int, int, int], nbytes: int) -> int:
        """The number of a tensor with this `(buffer, offset, length)` and size."""
        return self._pieces.setdefault((*chunk, nbytes), len(self._pieces))

    def _columns(self, words: Words) -> dict[str, np.ndarray]:
        """Rows and packed events in columns; the packed bytes are given up."""
        rows = super()._columns(words)
        if not self.packed:
            return rows
        sites, pieces = self._site_table(words), self._piece_table()
        events = np.frombuffer(self.packed, EVENT)
        small = events["rank"].astype(np.uint16 if len(self.rows) <= 1 << 16 else np.int32)
        order = np.argsort(small, kind="stable")  # of 16 bits in time proportional to their number
        blocks = [
            _unpacked(events.take(order[first : first + BLOCK]), sites, pieces)
            for first in range(0, len(order), BLOCK)
        ]
        columns = {name: np.concatenate([block.pop(name) for block in blocks]) for name in COLUMNS}
        if len(rows["rank"]):
            columns = self._merged(columns, rows, events["rank"].take(order).astype(np.int64), order)
        del events
        self.packed.clear()
        return columns

    def _site_table(self, words: Words) -> dict[str, np.ndarray]:
        """Columns that the site tells: a row for each site and what may happen there."""
        table: dict[str, list] = {name: [] for name in ("comm", "kind", "op", "tag", "phase", "line")}
        for comm, op, tag, phase, line in self._sites:
            kind = "reduce" if op else "recv"
            table["comm"] += [comm, comm, ()]
            table["kind"] += ["send", kind, "wait"]
            table["op"] += ["", op, kind]
            table["tag"] += [tag, tag, 0]
            table["phase"] += [phase] * _KINDS
            table["line"] += [line] * _KINDS
        return {
            name: np.array(words.codes(name, values) if name in Words.CODED else values, COLUMNS[name])
            for name, values in table.items()
        }

    def _piece_table(self) -> dict[str, np.ndarray]:
        """Columns that the piece tells; row 0 is no piece."""
        parts = zip(("buffer", "offset", "length", "nbytes"), zip(*self._pieces, strict=True), strict=True)
        return {name: np.array(values, COLUMNS[name]) for name, values in parts}

    def _merged(
        self,
        columns: dict[str, np.ndarray],
        rows: dict[str, np.ndarray],
        ranks: np.ndarray,
        order: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """The columns of all events: each row after what its rank had packed before it.

        ranks, order: of each packed event in `columns`, in that order, its rank and when it was packed.
        """
        packed = len(order)
        first = np.flatnonzero(columns["message"] != UNKNOWN)  # where each packed event is, behind its wait
        ends = np.concatenate(([0], first + 1))
        places = np.array([place for own in self._places for place in own], np.int64) // EVENT.itemsize
        before = np.searchsorted(ranks * (packed + 1) + order, rows["rank"] * (packed + 1) + places)
        at = ends[before] + np.arange(len(before))
        free = np.ones(len(columns["rank"]) + len(at), bool)
        free[at] = False
        merged = {}
        for name, dtype in COLUMNS.items():
            merged[name] = np.empty(len(free), dtype)
            merged[name][free], merged[name][at] = columns.pop(name), rows[name]
        return merged


def _unpacked(
    events: np.ndarray, sites: dict[str, np.ndarray], pieces: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Columns of packed events, each behind its wait if it had one."""
    waited = events["start"] > events["before"]
    event = np.repeat(np.arange(len(events)), 1 + waited)
    wait = np.zeros(len(event), bool)
    wait[np.flatnonzero(waited) + np.arange(np.count_nonzero(waited))] = True

    events = events.take(event)  # not events[event], which takes far longer for records
    site = np.where(wait, events["site"] - RECEIVED + _WAITED, events["site"])
    sender = np.where(site % _KINDS == SENT, events["rank"], events["peer"])
    piece = np.where(wait, 0, events["piece"])
    columns = {
        "message": np.where(wait, UNKNOWN, message_number(sender.astype(np.int64), events["count"])),
        "rank": events["rank"],
        "peer": events["peer"],
        "step": np.where(wait, 0, events["step"]),
        "start": np.where(wait, events["before"], events["start"]),
        "end": np.where(wait, events["start"], events["end"]),
        **{name: values[site] for name, values in sites.items()},
        **{name: values[piece] for name, values in pieces.items()},
    }
    return {name: np.ascontiguousarray(values, COLUMNS[name]) for name, values in columns.items()}
