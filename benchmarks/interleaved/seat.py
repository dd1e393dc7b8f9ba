"""One rank's part in a benchmark: it sleeps until a command comes, and answers it.

The same commands go to rank threads and to other libraries' processes, so that all are timed alike:

    {"do": "prepare", "count": n}            memory for n float32; one call; answer how many elements are wrong
    {"do": "time", "iters": k, "warm": bool} one call unseen if warm; k calls from a barrier on; answer seconds a call
    {"do": "stop"}

A command may carry "algorithm". Imports NumPy alone, because an MPI rank needs no more.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

Command = dict[str, Any]

PATTERN = np.arange(7 * 4096, dtype=np.float32) % 7
"""What rank 0's vector holds, over and over; rank r's holds r more."""


class Seat:
    """What a library gives a rank: memory, a barrier and the call that is timed.

    new: count -> a vector of float32 in the library's own type. values: that vector, seen as NumPy.
    call: (vector, algorithm), all-reduces it in place. reduces: False for a call that is no reduction, of
    which nothing is checked.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        *,
        new: Callable[[int], Any],
        call: Callable[[Any, str], object],
        barrier: Callable[[], object],
        values: Callable[[Any], np.ndarray] = np.asarray,
        reduces: bool = True,
    ) -> None:
        self.rank, self.size, self.reduces = rank, size, reduces
        self.new, self.call, self.barrier, self.values = new, call, barrier, values
        self.vector: Any = None

    def answer(self, command: Command) -> Any:
        """Do what `command` says."""
        algorithm = command.get("algorithm", "")
        if command["do"] == "time":
            return self.seconds(algorithm, command["iters"], command["warm"])
        if self.vector is None or len(self.vector) != command["count"]:
            self.vector = None  # the old one's memory first
            self.vector = self.new(command["count"])
        return self.wrong(algorithm)

    def wrong(self, algorithm: str) -> int:
        """Elements of one call's result that are not the sum over all ranks; then all are zero.

        The sums are exact, whatever the order of addition: small whole numbers.
        """
        values = self.values(self.vector)
        blocks = [values[start : start + len(PATTERN)] for start in range(0, len(values), len(PATTERN))]
        for block in blocks:
            np.add(PATTERN[: len(block)], self.rank, out=block)
        self.call(self.vector, algorithm)
        total = PATTERN * self.size + sum(range(self.size))
        wrong = sum(int(np.count_nonzero(block != total[: len(block)])) for block in blocks)
        values.fill(0)  # sums of zeros stay finite, however often
        return wrong if self.reduces else 0

    def seconds(self, algorithm: str, iters: int, warm: bool) -> float:
        """A call's time, averaged over `iters` calls from a barrier on, as this rank sees it."""
        if warm:
            self.call(self.vector, algorithm)
        self.barrier()
        start = time.perf_counter()
        for _ in range(iters):
            self.call(self.vector, algorithm)
        return (time.perf_counter() - start) / iters
