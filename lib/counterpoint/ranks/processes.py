"""Ranks as processes of this machine, launched from here: started, attended, ended.

The kernel keeps the run's notice board. Each rank is forked by the nursery, gets its function and arguments
by cloudpickle (with the text of the cells they were written in), and sends home what it printed, returned and
recorded. Several machines: `connect.py`.
"""

import linecache
import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from counterpoint.pipes import frames, pickles
from counterpoint.ranks.board import Board
from counterpoint.ranks.errors import CommError, LaunchTimeout, RankFailed, gone
from counterpoint.ranks.lanes import check_backend
from counterpoint.ranks.notices import Notices
from counterpoint.ranks.nursery import NURSERY, kill
from counterpoint.ranks.plan import Outcome, Plan, late
from counterpoint.ranks.setting import ThreadState
from counterpoint.ranks.standstill import seen
from counterpoint.trace import Recorder

START = 120.0
"""Seconds within which all ranks must have started; the launch's timeout begins then."""

GRACE = 5.0
"""Seconds that ranks may take to send home what they have when the run is over early."""

PATIENCE = 1.0
"""Seconds of those in which a rank may find out by itself, at its next call, before it is interrupted."""

LOOK = 0.1
"""Seconds between two looks at the clock, and for an interrupt."""


@dataclass
class _Child:
    """One rank's process, as the kernel sees it."""

    rank: int
    pid: int
    socket: Any
    home: dict[str, Any] | None = None
    """What it has sent home, when it is done."""
    ready: bool = False
    ended: bool = False
    inbox: Any = field(default=None)
    outbox: Any = field(default=None)
    telling: Any = field(default_factory=threading.Lock)

    def tell(self, word: str, value: Any = None) -> None:
        try:
            with self.telling:
                frames.write(self.outbox, (word, value))
        except (OSError, ValueError):  # it has ended; its listener says so
            pass

    def answer(self, number: int, value: Any) -> None:
        self.tell("answer", (number, value))


def run(plan: Plan) -> Outcome:
    """Run the plan's function on processes. Options: backend="gloo", or "nccl" for tensors on GPUs.

    With nccl each rank has a GPU of its own, and its arguments lie there; tensors of the CPU travel by gloo.
    """
    options = dict(plan.options)
    backend = options.pop("backend", "gloo")
    if options:
        raise TypeError(f"launch: the processes world has no option {sorted(options)[0]!r}")
    check_backend("launch", backend)
    if plan.network is not None:
        raise ValueError("launch: processes keep the wall clock; network= is for threads and the simulator")
    if plan.sampler is not None:
        raise ValueError("launch: sampler= watches ranks of this process; use world='threads'")
    attendant = _Attendant(plan, backend)
    try:
        attendant.start()
        error = attendant.attend()
    finally:
        attendant.end()
    homes = [child.home or {} for child in attendant.children]
    results = [pickles.loads(home["result"]) if home else None for home in homes]
    for rank, home in enumerate(homes):
        if home.get("arguments") is not None:
            plan.arguments[rank] = pickles.loads(home["arguments"])
    seconds = max((home["seconds"] for home in homes if home), default=0.0)
    return Outcome(results, plan.arguments, _trace(plan, homes), seconds, "wall", error)


class _Attendant:
    """Looks after the processes of one run."""

    def __init__(self, plan: Plan, backend: str) -> None:
        self.plan, self.backend, self.notices = plan, backend, Notices()
        self.board = Board(self.notices, plan.ranks)
        self.children: list[_Child] = []
        self.mail: queue.SimpleQueue = queue.SimpleQueue()
        self.began = 0.0
        """When all ranks were there: the run's second 0, on a clock that all processes of the machine share."""
        self.deadline: float | None = time.monotonic() + START

    def start(self) -> None:
        """Fork the ranks and give each its task."""
        plan = self.plan
        common = {
            "size": plan.ranks, "backend": self.backend, "eager_limit": plan.eager_limit,
            "trace": plan.trace, "path": list(sys.path), "folder": os.getcwd(), "sources": _cells(),
            "state": ThreadState(plan.ranks), "function": _pickled(plan.function, "the function"),
        }  # fmt: skip
        arguments = [_pickled(own, f"rank {rank}'s arguments") for rank, own in enumerate(plan.arguments)]
        for rank in range(plan.ranks):
            pid, socket = NURSERY.fork()
            child = _Child(rank, pid, socket, inbox=socket.makefile("rb"), outbox=socket.makefile("wb"))
            self.children.append(child)
            threading.Thread(target=self._listen, args=(child,), daemon=True).start()
            child.tell("task", common | {"rank": rank, "arguments": arguments[rank]})

    def _listen(self, child: _Child) -> None:
        try:
            while True:
                kind, value = frames.read(child.inbox)
                if kind == "ask":
                    number, word, given = value
                    self.notices.answer(word, given, partial(child.answer, number))
                else:
                    self.mail.put((child, kind, value))
        except (OSError, EOFError, ValueError):
            self.mail.put((child, "ended", None))

    def attend(self) -> BaseException | None:
        """Pass on what ranks print until all are done; the error that ended the run, if one did."""
        while not all(child.home for child in self.children):
            left = LOOK if self.deadline is None else self.deadline - time.monotonic()
            try:
                child, kind, value = self.mail.get(timeout=min(LOOK, max(0.0, left)))
            except queue.Empty:
                if self.deadline is not None and left <= 0:
                    return self._stop(self.board.fail(self._late()))
                continue
            if kind == "ready":
                child.ready = True
                if all(other.ready for other in self.children):
                    timeout = self.plan.timeout
                    self.deadline = None if timeout is None else time.monotonic() + timeout
                    self.began = time.perf_counter()
                    self._tell_all("go", self.began)
            elif (error := self._take(child, kind, value)) is not None:
                return self._stop(self.board.fail(error))
            if (failure := self.board.failure()) is not None:
                return self._stop(failure)
        return self.board.failure()

    def _take(self, child: _Child, kind: str, value: Any) -> BaseException | None:
        """What came from a rank; an error if it means the end of the run."""
        if kind == "print":
            self.plan.output.write(value)
        elif kind == "done":
            child.home = value
        elif kind == "broken":
            return value
        elif kind == "ended" and not child.ended:
            child.ended = True
            if child.home is None:
                return _died(child)
        return None

    def _stop(self, error: BaseException) -> BaseException:
        """The run is over early: every rank learns why, and sends home what it has; those that compute are ended."""
        self._tell_all("stop", error)
        began = time.monotonic()
        interrupt = began + PATIENCE
        while not all(child.home or child.ended for child in self.children):
            now = time.monotonic()
            if now > began + GRACE:
                break
            if now > interrupt:  # again and again: a handler in the rank's function may have caught it
                self._tell_all("end")
                interrupt = now + LOOK
            try:
                child, kind, value = self.mail.get(timeout=LOOK)
            except queue.Empty:
                continue
            word = self._take(child, kind, value)
            # A connection that breaks says less than how the process ended.
            if isinstance(word, RankFailed) and isinstance(error, RankFailed) and word.rank == error.rank:
                error = word if error.__cause__ is None else error
        return error

    def _late(self) -> CommError:
        """Who waits and who is busy, by notices put up after the time was up."""
        if not all(child.ready for child in self.children):
            missing = [child.rank for child in self.children if not child.ready]
            return LaunchTimeout(f"ranks {missing} had not started after {START:g} s", [])
        first = states = self.board.states()
        end = time.monotonic() + 1.0
        while any(now.tick == then.tick for now, then in zip(states, first, strict=True)):
            if time.monotonic() > end:
                break
            time.sleep(0.02)
            states = self.board.states()
        return late(self.plan.timeout, seen(states))

    def _tell_all(self, word: str, value: Any = None) -> None:
        for child in self.children:
            if not child.ended:
                child.tell(word, value)

    def end(self) -> None:
        """No process is left, however the run went."""
        for child in self.children:
            child.tell("over")
            kill(child.pid)
        for child in self.children:
            NURSERY.exit_of(child.pid)
            for end in (child.inbox, child.outbox, child.socket):
                try:
                    end.close()
                except OSError:
                    pass


def _died(child: _Child) -> RankFailed:
    status = NURSERY.exit_of(child.pid)
    if status is None:
        return gone(child.rank)
    how = f"was ended by {_signal(-status)}" if status < 0 else f"ended with exit status {status}"
    return RankFailed(f"rank {child.rank}'s process {how} in the middle of the run", child.rank)


def _signal(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _pickled(value: Any, what: str) -> bytes:
    try:
        with pickles.traveling(value):
            return pickles.dumps(value)
    except Exception as error:
        raise TypeError(
            f"launch: {what} cannot be sent to another process ({type(error).__name__}: {error}); "
            f"give plain values and tensors, or use world='threads'"
        ) from error


def _cells() -> dict[str, list[str]]:
    """The text of what was not read from a file: a notebook's cells."""
    return {
        name: list(entry[2])
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and not os.path.exists(name)
    }


def _trace(plan: Plan, homes: Iterable[dict[str, Any]]) -> Any:
    """All ranks' events in one trace. A send lasts from when its receiver began to read to when it was read."""
    if not plan.trace:
        return None
    recorder = Recorder(plan.ranks)
    waits = []
    for rank, home in enumerate(homes):
        if home:
            rows, sources, sends = home["rows"]
            recorder.join(rank, rows, sources)
            waits += [(rank, *wait) for wait in sends]
    recorder.match_sends(waits)
    return recorder.finish("wall")
