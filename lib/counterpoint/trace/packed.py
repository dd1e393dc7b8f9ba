"""A recorder for worlds that take millions of messages: an event of a message is 48 bytes, and no object.

What events share is kept once and told by a number. A *site* is a call in the program: operation, phase and line.
A *piece* is what a tensor is: its chunk and its bytes. A *channel* is communicator, sender, receiver and tag. The
rest of an event is packed: `recorder.packed += pack_event(...)`. Everything else is recorded by `add`, as ever, and
the trace has both, in program order. For ranks in one thread: they pack into the same bytes, in the order in which
they run.
"""

import mmap
from struct import Struct
from typing import Any

import numpy as np

from counterpoint.trace.event import UNKNOWN, message_number
from counterpoint.trace.recorder import Recorder
from counterpoint.trace.trace import COLUMNS
from counterpoint.trace.words import Line, Words

EVENT = np.dtype([
    ("site", "i4"), ("piece", "i4"), ("channel", "i4"), ("step", "i4"), ("count", "i4"), ("nothing", "i4"),
    ("before", "f8"), ("start", "f8"), ("end", "f8"),
])  # fmt: skip
"""An event as it is packed. site: with SENT or RECEIVED added. count: the how manyth of its sender's messages.
before: since when the rank was there; an event that starts later than that has a wait before it in the trace."""

pack_event = Struct("=5i4x3d").pack
"""Pack one event: the fields of `EVENT`, in that order, but for the one that makes the times lie on 8 bytes."""

pack_events = Struct("=5i4x3d5i4x3d").pack
"""Pack two events, one behind the other."""

SENT, RECEIVED = 0, 1
"""What may happen at a site. The table of sites has a row for each, and one for the wait before each."""
_WAIT, _ROWS = 2, 4

BLOCK = 1 << 14
"""Events that are unpacked at a time: few enough to stay in the cache, enough to be worth NumPy's calls."""


class PackedRecorder(Recorder):
    """A `Recorder` whose ranks may pack events of messages."""

    def __init__(self, ranks: int) -> None:
        super().__init__(ranks)
        self.packed = bytearray()
        self._places: list[list[int]] = [[] for _ in range(ranks)]
        """For each row of `add`, the packed bytes that were there before it."""
        self._sites: list[tuple[str, str, Line]] = []
        self._channels: list[tuple[tuple, int, int, int]] = []
        self._pieces: dict[tuple[int, int, int, int], int] = {(UNKNOWN, UNKNOWN, UNKNOWN, 0): 0}

    def add(self, *event: Any, **named: Any) -> int:
        rank = named["rank"] if "rank" in named else event[2]
        self._places[rank].append(len(self.packed))
        return super().add(*event, **named)

    def site(self, op: str, phase: str, line: Line) -> int:
        """A number for this call; op: "" unless what it receives is reduced. Ask once a site."""
        self._sites.append((op, phase, line))
        return _ROWS * (len(self._sites) - 1)

    def channel(self, comm: tuple, source: int, dest: int, tag: int) -> int:
        """A number for this channel, its ends numbered in the world. Ask once a channel."""
        self._channels.append((comm, source, dest, tag))
        return len(self._channels) - 1

    def piece(self, chunk: tuple[int, int, int], nbytes: int) -> int:
        """The number of a tensor with this `(buffer, offset, length)` and size."""
        return self._pieces.setdefault((*chunk, nbytes), len(self._pieces))

    def _columns(self, words: Words) -> dict[str, np.ndarray]:
        """Rows and packed events in columns; the packed bytes are given up."""
        rows = super()._columns(words)
        if not self.packed:
            return rows
        tables = self._site_table(words), self._channel_table(words), self._piece_table()
        events = np.frombuffer(self.packed, EVENT)
        ranks = _room(len(events), np.uint16 if len(self.rows) <= 1 << 16 else np.int32)
        waits = 0
        for first in range(0, len(events), BLOCK):
            block = events[first : first + BLOCK]
            ranks[first : first + BLOCK] = _ranks(block, tables[1])
            waits += int(np.count_nonzero(block["start"] > block["before"]))
        order = np.argsort(ranks, kind="stable")  # of 16 bits in time proportional to their number
        columns = {name: _room(len(events) + waits, dtype) for name, dtype in COLUMNS.items()}
        filled = 0
        for first in range(0, len(order), BLOCK):
            found = _unpacked(events.take(order[first : first + BLOCK]), *tables)
            begin, filled = filled, filled + len(found["rank"])
            for name, values in found.items():
                columns[name][begin:filled] = values
        if len(rows["rank"]):
            columns = self._merged(columns, rows, ranks.take(order).astype(np.int64), order)
        del events, block
        self.packed.clear()
        return columns

    def _site_table(self, words: Words) -> dict[str, np.ndarray]:
        """Columns that the site tells: a row for each site and what may happen there."""
        table: dict[str, list] = {name: [] for name in ("kind", "op", "phase", "line")}
        for op, phase, line in self._sites:
            kind = "reduce" if op else "recv"
            table["kind"] += ["send", kind, "wait", "wait"]
            table["op"] += ["", op, "send", kind]
            table["phase"] += [phase] * _ROWS
            table["line"] += [line] * _ROWS
        return {name: np.array(words.codes(name, values), COLUMNS[name]) for name, values in table.items()}

    def _channel_table(self, words: Words) -> dict[str, np.ndarray]:
        """Columns that the channel tells, and its two ends."""
        comm, source, dest, tag = (list(values) for values in zip(*self._channels, strict=True))
        parts = {"comm": words.codes("comm", comm), "tag": tag, "rank": source, "peer": dest}
        return {name: np.array(values, COLUMNS[name]) for name, values in parts.items()}

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


def _room(count: Any, dtype: Any) -> np.ndarray:
    """An array to be filled, of pages of the usual size.

    NumPy asks for huge ones. On a virtual machine, filling the columns of four million events took 1.1 s with those
    and 0.5 s with usual ones.
    """
    nbytes = count * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, nbytes), dtype) if nbytes else np.empty(0, dtype)


def _ranks(events: np.ndarray, channels: dict[str, np.ndarray]) -> np.ndarray:
    """Whose event each is."""
    sent, channel = events["site"] & (_ROWS - 1) == SENT, events["channel"]
    return np.where(sent, channels["rank"][channel], channels["peer"][channel])


def _unpacked(
    events: np.ndarray,
    sites: dict[str, np.ndarray],
    channels: dict[str, np.ndarray],
    pieces: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Columns of packed events, each behind its wait if it had one."""
    waited = events["start"] > events["before"]
    wait = np.zeros(len(events) + np.count_nonzero(waited), bool)
    wait[np.flatnonzero(waited) + np.arange(len(wait) - len(events))] = True
    events = events.take(np.repeat(np.arange(len(events)), 1 + waited))  # [] would be slow on records

    rank, channel = _ranks(events, channels), events["channel"]
    sender, receiver = channels["rank"][channel], channels["peer"][channel]
    site = np.where(wait, events["site"] + _WAIT, events["site"])
    piece = np.where(wait, 0, events["piece"])
    return {
        "message": np.where(wait, UNKNOWN, message_number(sender.astype(np.int64), events["count"])),
        "comm": np.where(wait, 0, channels["comm"][channel]),
        "rank": rank,
        "peer": sender + receiver - rank,
        "tag": np.where(wait, 0, channels["tag"][channel]),
        "step": np.where(wait, 0, events["step"]),
        "start": np.where(wait, events["before"], events["start"]),
        "end": np.where(wait, events["start"], events["end"]),
        **{name: values[site] for name, values in sites.items()},
        **{name: values[piece] for name, values in pieces.items()},
    }
