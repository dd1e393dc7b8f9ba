"""What rank threads hand over in compiled code: shared words, and the wait in Python for those who are late.

`words` are int64, in lines of LINE so that no two ranks write to one line of a cache: how many have arrived, in
all, since the beginning; how many sleep; then a line for each rank, with the last barrier it has arrived at and
what it has brought. `cpu.py` does the quick part. A rank that gave up there sleeps in Python as in any other
wait, with all it needs: it has announced its collective, is part of the search for deadlocks, and is woken by
whoever completes the barrier, or by the failure of the run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from counterpoint.ranks.deadlock import Blocked
from counterpoint.ranks.port import caller_line

if TYPE_CHECKING:
    from counterpoint.ranks.comm import Comm

LINE = 8
"""Words in a line: 64 bytes."""

COUNT, SLEEPERS, SLOTS = 0, LINE, 2 * LINE
"""Where the two counts are, and the first rank's line."""

ARRIVED, ADDRESS, ELEMENTS, CODE, STEPS = range(5)
"""What is where in a rank's line: its last barrier; its tensor; how many elements, and what is to be done with
them, which must be the same on all; its steps so far."""


class Handoff:
    """One communicator's words, as one of its ranks sees them. Made for all of its ranks at once."""

    def __init__(self, comm: "Comm", words: np.ndarray, held: list[torch.Tensor | None]) -> None:
        self.key, self.members, self.rank, self.size = comm._key, comm._members, comm.rank, comm.size
        self.port: Any = comm._port
        self.words, self.held = words, held
        """What each rank has brought: nobody's memory goes away while another reads it, whatever happens."""
        self.number = -1
        """The first barrier of this rank's last call; its second is the next number."""
        self.kernels: dict[Any, Any] = {}
        """Compiled code by dtype and op, that all ranks have and know that all have."""
        self.refused: set[Any] = set()
        """Dtypes for which one of them cannot have any."""
        self.calls: dict[Any, int] = {}
        """Calls that did without."""

    def sleep(self, number: int, call: str, agreement: int = 0, signature: tuple = ()) -> None:
        """Wait until all have arrived at barrier `number`. agreement: as which collective to announce itself."""
        port, world = self.port, self.port.world
        cpu = import_module("counterpoint.ranks.cpu")
        world.check()
        try:
            if cpu.doze(self.words, self.size, number):
                return
            if agreement:
                port.agree(self.key, self.members, agreement, signature)
            line, begin = caller_line(), port.seconds()
            port.sleep(Gathering(self, call, number, line))
            port.waited(call, [], begin, port.seconds(), line)
            if agreement:
                self._unsay(agreement)
        finally:
            cpu.rise(self.words)

    def wake(self) -> None:
        """This rank has completed a barrier, and others sleep."""
        with self.port.world.lock:
            for member in self.members:
                self.port.world.ports[member].wake_if_ready()

    def _unsay(self, agreement: int) -> None:
        """All have come, and those who were in time have announced nothing: nobody will clear this away."""
        world, key = self.port.world, (self.key, agreement)
        with world.lock:
            said = world.announced.get(key, {})
            said.pop(self.port.rank, None)
            if not said:
                world.announced.pop(key, None)

    def steps(self) -> int:
        """The most steps that any rank had taken when it brought its tensor."""
        return int(self.words[SLOTS + STEPS :: LINE][: self.size].max())


class Gathering(Blocked):
    """A rank's wait for the others to arrive at a barrier."""

    def __init__(self, handoff: Handoff, call: str, number: int, line: Any) -> None:
        self.handoff, self.number = handoff, number
        super().__init__(handoff.port, call, (), (), handoff.members, line)

    def ready(self) -> bool:
        return bool(self.handoff.words[COUNT] >= self.number * self.handoff.size)

    def peers(self) -> list[int]:
        arrived = self.handoff.words[SLOTS + ARRIVED :: LINE][: self.handoff.size].tolist()
        return [m for m, last in zip(self.members, arrived, strict=True) if last < self.number]


def new_words(size: int) -> np.ndarray:
    """Zeros for `size` ranks, at the beginning of a line."""
    words = np.zeros(SLOTS + (size + 1) * LINE, np.int64)
    skip = -(words.ctypes.data // 8) % LINE
    return words[skip : skip + SLOTS + size * LINE]
