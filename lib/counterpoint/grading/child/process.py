"""The notebook's end of the child: starts it, gives it work, and ends it when a limit is reached."""

import atexit
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import counterpoint
from counterpoint.pipes import frames

START = 120.0
"""Seconds within which a child must have imported torch."""


@dataclass(frozen=True)
class Limits:
    """What one check may use: seconds for all its runs together, and bytes of memory."""

    seconds: float = 20.0
    memory: int = 2 << 30


class Stopped(Exception):
    """The child ended before its work did. `why` is "time", "died" or "broken"; `lines` are where the
    learner's code was, `(number, text)`."""

    def __init__(self, why: str, detail: str = "", lines: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(why)
        self.why, self.detail, self.lines = why, detail, lines


class Child:
    """One warm process. `start` returns at once; `work` waits for it. Not for several threads at once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._owner = 0
        self._inbox: queue.SimpleQueue = queue.SimpleQueue()
        self._ready = False
        atexit.register(self.stop)

    @property
    def pid(self) -> int | None:
        """The process that is warm now, if one is."""
        return self._process.pid if self._alive() and self._process else None

    def start(self) -> None:
        """Begin to start it, if it is not there: it imports torch while the learner thinks."""
        if self._alive():
            return
        library = str(Path(counterpoint.__file__).parents[1])
        path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint.grading.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,  # the notebook's interrupt is not for the child
        )
        self._owner, self._ready = os.getpid(), False
        self._inbox = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(self._process.stdout, self._inbox), daemon=True).start()

    def work(self, task: dict[str, Any], limits: Limits) -> Iterator[tuple[str, Any]]:
        """Send a task and yield what comes back, until it is done. Raises Stopped.

        The seconds are those of the task; starting the process is not counted.
        """
        self.start()
        try:
            if not self._ready:
                self._next(START)
                self._ready = True
            assert self._process and self._process.stdin
            frames.write(self._process.stdin, task | {"seconds": limits.seconds, "memory": limits.memory})
            end = time.monotonic() + limits.seconds
            while True:
                word, value = self._next(end - time.monotonic())
                if word == "done":
                    return
                if word == "broken":
                    raise Stopped("broken", value)
                yield word, value
        except OSError as error:  # the pipe is closed: it died
            self.stop()
            raise Stopped("died", str(error)) from None
        except BaseException:  # a limit, an interrupt: what it is in the middle of is unknown
            self.stop()
            raise

    def stop(self) -> None:
        """End it, whatever it does."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        pass

    def _alive(self) -> bool:
        """Whether there is one, and it is this process's own (not a forked notebook's)."""
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    def _next(self, seconds: float) -> tuple[str, Any]:
        try:
            message = self._inbox.get(timeout=max(seconds, 0))
        except queue.Empty:
            raise Stopped("time", lines=self._where()) from None
        if message is None:
            code = self._process.wait() if self._process else 0
            raise Stopped("died", _died(code))
        return message

    def _where(self) -> tuple[tuple[int, str], ...]:
        """Ask where the learner's code is; a child that holds the interpreter's lock can't say."""
        try:
            assert self._process and self._process.stdin
            frames.write(self._process.stdin, "where")
            while True:
                word, value = self._inbox.get(timeout=2) or ("where", [])
                if word == "where":
                    return tuple(value)
        except (queue.Empty, OSError):
            return ()


def _listen(pipe: Any, inbox: queue.SimpleQueue) -> None:
    """Pass on what the child says; None when it has ended (or says what is no message)."""
    try:
        while True:
            inbox.put(frames.read(pipe))
    except Exception:
        inbox.put(None)


def _died(code: int) -> str:
    if code < 0:
        import signal

        return f"it was ended by signal {signal.Signals(-code).name}"
    return f"it ended with exit status {code}"


CHILD = Child()
"""The kernel's own, shared by all checks: no state of a run is in it."""
