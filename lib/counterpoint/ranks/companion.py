"""A thread that waits in gloo so that its rank need not.

A wait of gloo's need not end: when a connection breaks, gloo tells everyone whose turn on it is still to come,
but not who waits for a payload or a packet of which a part has moved (`signalException` in its
transport/tcp/pair.cc). So the rank sleeps where a failure of the run wakes it, and its companion, which waits in
its stead, may stay behind.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from counterpoint.ranks.wire import give_way

if TYPE_CHECKING:
    from counterpoint.ranks.station import Station

Wait = Callable[[], None]
Ending = list[RuntimeError | None]
"""Empty until its wait has ended; then has the error, or None."""


class Companion:
    """One station's. `jobs` takes waits, each with the list that gets how it ended; None ends the thread."""

    def __init__(self, station: "Station") -> None:
        self.station = station
        self.jobs: queue.SimpleQueue[list[tuple[Wait, Ending]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=f"companion of rank {station.rank}", daemon=True).start()

    def begin(self, waits: Sequence[Wait]) -> list[Ending]:
        """Do these one after another; how each ends is told in its list."""
        job: list[tuple[Wait, Ending]] = [(wait, []) for wait in waits]
        endings = [ending for _, ending in job]
        self.jobs.put(job)  # from here on it is the thread's
        return endings

    def _work(self) -> None:
        give_way({threading.get_native_id()})
        while (job := self.jobs.get()) is not None:
            job.reverse()
            while job:  # keep nothing of a wait that is over: the memory it was for is wanted again
                wait, ending = job.pop()
                error = None
                try:
                    wait()
                except RuntimeError as broken:
                    error = broken
                del wait
                with self.station.lock:
                    ending.append(error)
                    self.station.wake()
