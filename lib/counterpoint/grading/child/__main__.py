"""The child: takes an answer and its cases from standard input, sends back an `Attempt` for each.

It says "ready" once torch is imported. Asked "where" while it runs, it tells at which of the learner's
lines it is. What the learner prints goes to the attempt; everything else is thrown away.
"""

import faulthandler
import io
import linecache
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable
from typing import IO, Any

from counterpoint.pipes import frames

PRINTED = 2000
"""Characters of each run's print that are kept."""
GRACE = 10
"""Seconds after its limit at which the child ends itself, should nobody be left to do it."""


class Printed(io.TextIOBase):
    """A standard output that keeps its first characters and drops the rest."""

    def __init__(self) -> None:
        self.kept = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.kept) < PRINTED:
            self.kept = (self.kept + text)[:PRINTED]
        return len(text)


def main() -> None:
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    warnings.simplefilter("ignore")
    tasks: queue.SimpleQueue = queue.SimpleQueue()
    sending = threading.Lock()

    def send(message: Any) -> None:
        with sending:
            frames.write(outbox, message)

    files: set[str] = set()
    threading.Thread(target=_receive, args=(inbox, tasks, send, files), daemon=True).start()
    from counterpoint.grading.child import run  # imports torch

    limited = False
    send(("ready", None))
    while True:
        task = tasks.get()
        if not limited:
            _limit_memory(task["memory"])
            limited = True
        faulthandler.dump_traceback_later(task["seconds"] + GRACE, exit=True, file=2)
        files.clear()
        files.update(task["sources"])
        for name, lines in task["sources"].items():
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
        sys.path[:] = task["path"] + [entry for entry in sys.path if entry not in task["path"]]
        try:
            run.run(task, send, Printed)
        except BaseException as error:  # whatever it was, the parent is told
            send(("broken", f"{type(error).__name__}: {error}"))
        else:
            send(("done", None))
        faulthandler.cancel_dump_traceback_later()


def _receive(
    inbox: IO[bytes], tasks: queue.SimpleQueue, send: Callable[[Any], None], files: set[str]
) -> None:
    """Take messages while the learner's code runs; the end of the pipe is the end of the process."""
    try:
        while True:
            message = frames.read(inbox)
            if message == "where":
                send(("where", _lines(files)))
            else:
                tasks.put(message)
    except BaseException:
        pass
    os._exit(0)


def _lines(files: set[str]) -> list[tuple[int, str]]:
    """(line number, text) of the learner's innermost line in each thread that is in their code."""
    found = []
    for frame in sys._current_frames().values():
        inner = frame
        while inner is not None and inner.f_code.co_filename not in files:
            inner = inner.f_back  # type: ignore[assignment]
        if inner is not None:
            text = linecache.getline(inner.f_code.co_filename, inner.f_lineno)
            found.append((inner.f_lineno, text.strip()))
    return found


def _limit_memory(extra: int) -> None:
    """At most `extra` bytes of data more than now. Only Linux counts it; elsewhere there is no limit."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + extra
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


if __name__ == "__main__":
    main()
