"""A rank's process, forked by the nursery: takes its task from the kernel's socket and sends back what came.

It ends when the kernel's end of the socket is closed, whatever it is doing.
"""

import ctypes
import io
import linecache
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from counterpoint.pipes import frames, pickles
from counterpoint.ranks.arguments import buffers_of, copied
from counterpoint.ranks.comm import Comm
from counterpoint.ranks.errors import RankStopped, portable
from counterpoint.ranks.lanes import lanes_for
from counterpoint.ranks.notices import KernelStore
from counterpoint.ranks.output import Prefixed
from counterpoint.ranks.plan import close_rows, what_ended_it
from counterpoint.ranks.process_port import ProcessPort
from counterpoint.ranks.station import Station
from counterpoint.ranks.streams import Streams
from counterpoint.ranks.watch import Watch
from counterpoint.trace import Recorder


def main(descriptor: int) -> None:
    """Run one rank; the process ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel = socket.socket(fileno=descriptor)
    inbox, outbox = kernel.makefile("rb"), kernel.makefile("wb")
    sending = threading.Lock()

    def send(kind: str, value: Any) -> None:
        with sending:
            frames.write(outbox, (kind, value))

    try:
        _, task = frames.read(inbox)
        for name, lines in task["sources"].items():
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
        sys.path[:] = task["path"]
        os.chdir(task["folder"])
        store = KernelStore(lambda *question: send("ask", question))
        run = _Run(task, send, store)
        threading.Thread(target=run.listen, args=(inbox,), daemon=True).start()
        run.go()
    except BaseException as error:  # before or after the rank's own work: the kernel must hear of it
        try:
            send("broken", portable(error))
        except OSError:
            pass
    os._exit(0)


class _Run:
    """One rank's part of a run."""

    def __init__(self, task: dict[str, Any], send: Callable[[str, Any], None], store: KernelStore) -> None:
        self.task, self.send, self.store = task, send, store
        self.rank, self.size = task["rank"], task["size"]
        self.function, self.arguments = pickles.loads(task["function"]), pickles.loads(task["arguments"])
        self.done = False
        """Whether the function has returned."""
        self.working = threading.Event()
        self.over = threading.Event()
        self.main = threading.get_ident()

    def go(self) -> None:
        task = self.task
        self.station = Station(self.store, self.rank, self.size, task["eager_limit"], "127.0.0.1")
        lanes = lanes_for(task["backend"], self.station, self.store, "127.0.0.1", self.rank)
        self.station.lanes = lanes
        self.recorder = Recorder(self.size) if task["trace"] else None
        self.port = ProcessPort(self.station, self.recorder, time.perf_counter())
        if lanes is not None and lanes.device.type == "cuda":
            self.port.device, self.port.streams = lanes.device, Streams(lanes.device)
            self.arguments = copied(self.arguments, lanes.device)
        self.port.buffers = buffers_of(self.arguments)
        watch = Watch(self.port)
        self.send("ready", None)
        self.working.wait()  # until everyone has put up a first notice
        watch.start()
        result = self.work()
        self.done = self.port.returned = True
        if self.station.failure is None:
            watch.tell()
        self.send("done", self.packed(result))
        self.over.wait()  # others may still take what this rank has sent

    def work(self) -> Any:
        state = self.task["state"]
        try:
            printing = Prefixed(self.rank, lambda text: self.send("print", text))
            with state, printing, self.port.streams or nullcontext():
                return self.function(Comm(self.port, tuple(range(self.size)), ()), *self.arguments)
        except RankStopped:
            return None
        except BaseException as error:
            self.station.fail(what_ended_it(self.rank, error, self.station.failure))
            return None

    def packed(self, result: Any) -> dict[str, Any]:
        """What goes home. A result that cannot travel is a failure of its own."""
        try:
            result = pickles.dumps(result)
        except Exception as error:
            kind = type(result).__name__
            self.station.fail(
                what_ended_it(
                    self.rank,
                    TypeError(
                        f"the rank returned a {kind}, which cannot be sent to the process that launched it ({error}); "
                        f"return tensors and plain values"
                    ),
                    None,
                )
            )
            result = pickles.dumps(None)
        try:
            after = pickles.dumps(self.arguments)
        except Exception:  # the launcher's own stay as they are
            after = None
        rows = None
        if self.recorder is not None:
            close_rows(self.port, self.recorder, "wall", 0.0)
            rows = *self.recorder.portable(self.rank), self.port.send_waits
        return {"result": result, "arguments": after, "rows": rows, "seconds": self.port.seconds()}

    def listen(self, inbox: io.BufferedReader) -> None:
        """Do what the kernel says; its end of the socket closed is the end of the process."""
        try:
            while True:
                word, value = frames.read(inbox)
                if word == "answer":
                    self.store.answered(*value)
                elif word == "go":
                    self.port.began = value
                    self.working.set()
                elif word == "stop":
                    self.station.failed(value)
                elif word == "end":
                    if not self.done and self.port.blocked is None:
                        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                        raise_in(ctypes.c_ulong(self.main), ctypes.py_object(RankStopped))
                else:
                    self.over.set()
        except BaseException:
            os._exit(1)
