"""The kernel's end of the nursery: a warm process whose only work is to fork rank processes.

It is started at the first launch on processes, imports torch once, and forks each rank in milliseconds. Each
rank keeps a socket to the kernel, and ends when that is closed: none outlives the kernel, however it ends.
"""

import array
import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import counterpoint
from counterpoint.pipes import frames

START = 120.0
"""Seconds within which the nursery must have imported torch."""


class Nursery:
    """One warm process; `fork` may be called by several threads."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._owner = 0
        self._lock = threading.Lock()
        atexit.register(self.stop)

    def fork(self) -> tuple[int, socket.socket]:
        """A new rank process: its number, and the kernel's end of its socket."""
        with self._lock:
            self._start()
            ours, theirs = socket.socketpair()
            try:
                descriptors = array.array("i", [theirs.fileno()])
                self._socket.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
                pid = frames.read(self._answers)
            except (OSError, EOFError) as error:
                ours.close()
                self._forget()
                raise RuntimeError(
                    f"launch: the process that starts rank processes has ended ({error or 'killed'}); launch again "
                    f"to start another"
                ) from None
            finally:
                theirs.close()
        return pid, ours

    def exit_of(self, pid: int) -> int | None:
        """How a rank process ended: its exit status, or minus the signal; None if that is not known."""
        with self._lock:
            if not self._alive():
                return None
            try:
                self._socket.sendall(b"w")
                frames.write(self._questions, pid)
                return frames.read(self._answers)
            except (OSError, EOFError):
                return None

    def _start(self) -> None:
        if self._alive():
            return
        self._forget()
        if not hasattr(os, "fork"):
            raise RuntimeError(
                "launch: world='processes' forks its ranks, which this system cannot; use threads, or start the "
                "program with torchrun and call counterpoint.connect()"
            )
        self._socket, theirs = socket.socketpair()
        library = str(Path(counterpoint.__file__).parents[1])
        path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint.ranks.zygote", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=os.environ | {"PYTHONPATH": path, "TORCH_CPP_LOG_LEVEL": "ERROR"},
            start_new_session=True,  # the kernel's interrupt is not for the ranks
        )
        self._owner = os.getpid()
        theirs.close()
        self._answers = self._socket.makefile("rb")
        self._questions = self._socket.makefile("wb")
        self._socket.settimeout(START)
        try:
            frames.read(self._answers)  # torch is imported
        except (OSError, EOFError) as error:
            self._forget()
            raise RuntimeError(
                f"launch: the process that starts rank processes did not start ({error})"
            ) from None
        self._socket.settimeout(None)

    def _alive(self) -> bool:
        """Whether there is one, and it is this process's own (not a forked parent's)."""
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if self._owner == os.getpid():
                process.kill()
                process.wait()
            for end in (self._answers, self._questions, self._socket):
                try:
                    end.close()
                except OSError:
                    pass

    def stop(self) -> None:
        """End it; its ranks end by themselves, as their sockets close."""
        with self._lock:
            self._forget()


def kill(pid: int) -> None:
    """End a rank process, whatever it does."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


NURSERY = Nursery()
"""The kernel's own, shared by all launches: no state of a run is in it."""
