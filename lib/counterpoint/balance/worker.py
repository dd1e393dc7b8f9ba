"""One worker of a crew: its thread, what it is on, and its part of the trace."""

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from counterpoint.balance.lifetime import run
from counterpoint.trace import UNKNOWN, Line, Recorder

if TYPE_CHECKING:
    from counterpoint.balance.conditions import Condition

_HERE = os.path.dirname(__file__)
_NO_CHUNK = (UNKNOWN, UNKNOWN, UNKNOWN)


class Worker:
    """Started by `Crew.start`. `result` is what its function returned, once it has `ended`."""

    def __init__(self, name: str, number: int, recorder: Recorder) -> None:
        self.name, self.number = name, number
        """As in the trace: `rank` is the number; UNKNOWN for the thread that made the crew, which is not traced."""
        self.result: Any = None
        self.begun = self.ended = False
        self.thread: threading.Thread | None = None
        self.end: Condition | None = None
        """Where others wait for its end."""
        self.item: Any = None
        """The item it got last; `held` is that item's number, `queue` where it came from."""
        self.held, self.queue = UNKNOWN, ""
        self.doing = "compute", "", UNKNOWN
        """What its own code does now: kind, label, and a task's number; where that is UNKNOWN, the item's counts."""
        self._recorder, self._since, self._sent = recorder, 0.0, 0

    def is_alive(self) -> bool:
        """Whether it has not ended; also before its thread has begun."""
        return not self.ended

    def begin(self, now: float) -> None:
        """Its function begins."""
        self._since, self.begun = now, True

    def hold(self, item: Any, number: int, queue: str) -> None:
        """It has got an item."""
        self.item, self.held, self.queue = item, number, queue

    def next_message(self) -> int:
        """How many items it had put before this one."""
        self._sent += 1
        return self._sent - 1

    def add(
        self,
        kind: str,
        op: str,
        tag: int,
        start: float,
        end: float,
        peer: int = UNKNOWN,
        message: int | None = None,
    ) -> None:
        """Record an event; what lies between the last one and this was work.

        Cost: some 2 us. Only from its own thread.
        """
        if self.number == UNKNOWN:
            return
        self.worked(start)
        self._row(kind, op, tag, start, end, peer, message)
        self._since = end

    def worked(self, now: float) -> None:
        """What it did since the last event is an event: it begins something else, or ends."""
        if self.number != UNKNOWN and now > self._since:
            kind, label, task = self.doing
            self._row(kind, label, self.held if task == UNKNOWN else task, self._since, now)
            self._since = now

    def _row(
        self,
        kind: str,
        op: str,
        tag: int,
        start: float,
        end: float,
        peer: int = UNKNOWN,
        message: int | None = None,
    ) -> None:
        self._recorder.add(
            message, (), self.number, peer, kind, op, tag, 0, 0, start, end, "", _NO_CHUNK, caller_line()
        )


class Doing:
    """A context in which what the worker does has a kind and a label of its own in the trace."""

    __slots__ = ("_before", "_clock", "_inside", "_worker")

    def __init__(self, worker: Worker, clock: Callable[[], float], kind: str, label: str, tag: int) -> None:
        self._worker, self._clock, self._inside = worker, clock, (kind, label, tag)

    def __enter__(self) -> None:
        self._before = self._worker.doing
        self._worker.worked(self._clock())
        self._worker.doing = self._inside

    def __exit__(self, *_: object) -> None:
        self._worker.worked(self._clock())
        self._worker.doing = self._before


def caller_line() -> Line | None:
    """Where the nearest caller outside this folder stands; None where a worker's own function is inside it too."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code is run.__code__:
            return None
        frame = frame.f_back
    return None if frame is None else (frame.f_code, ~frame.f_lasti)
