"""The tasks of one loop while they are given out: each exactly once, whoever asks, from whatever thread."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

QUEUE = -1
"""The source of what came from the shared counter."""


class Take(NamedTuple):
    """Contiguous tasks that a worker has taken."""

    first: int
    length: int
    source: int
    """QUEUE, or the worker whose they were: the taker's own number, or its victim's."""


class Share(Protocol):
    """What is left of a loop's tasks."""

    def take(self, worker: int) -> Take | None:
        """The worker's next tasks; None once there are none left for it. May be called from any thread."""
        ...


class Dealt:
    """Parts dealt out before the loop began: nobody needs a lock."""

    def __init__(self, hands: Sequence[Sequence[tuple[int, int]]]) -> None:
        self._hands = [iter(hand) for hand in hands]

    def take(self, worker: int) -> Take | None:
        part = next(self._hands[worker], None)
        return part and Take(*part, worker)


class Counter:
    """One counter for all: `size(left)` tasks at a time, while any are left."""

    def __init__(self, tasks: int, size: Callable[[int], int]) -> None:
        self._next, self._tasks, self._size = 0, tasks, size
        self._lock = threading.Lock()

    def take(self, worker: int) -> Take | None:
        with self._lock:  # reading and moving the counter is one act, or two workers get the same tasks
            first, left = self._next, self._tasks - self._next
            if not left:
                return None
            length = min(self._size(left), left)
            self._next = first + length
        return Take(first, length, QUEUE)


class Deques:
    """A deque for each worker: its owner takes from the front, thieves from the back."""

    def __init__(self, parts: Sequence[tuple[int, int]], chunk: int) -> None:
        self._parts = [[first, first + length] for first, length in parts]
        self._locks = [threading.Lock() for _ in parts]
        self._chunk = chunk

    def take(self, worker: int) -> Take | None:
        source = worker
        while not (own := self._front(worker)):
            if (stolen := self._steal(worker)) is None:
                return None
            if stolen != worker:
                source = stolen
        return Take(*own, source)

    def _front(self, worker: int) -> tuple[int, int] | None:
        with self._locks[worker]:
            part = self._parts[worker]
            first, length = part[0], min(self._chunk, part[1] - part[0])
            part[0] += length
            return (first, length) if length else None

    def _steal(self, thief: int) -> int | None:
        """Whose back half is the thief's now; the thief itself if another came first; None if nobody has any."""
        lengths = [end - first for first, end in self._parts]
        longest = max(lengths)
        if not longest:
            return None
        victim = lengths.index(longest)
        # Two locks are taken in the order of their numbers, by everyone, so nobody waits in a circle.
        with self._locks[min(thief, victim)], self._locks[max(thief, victim)]:
            first, end = self._parts[victim]
            half = (end - first + 1) // 2
            if not half or self._parts[thief][0] < self._parts[thief][1]:
                return thief
            self._parts[victim][1] = end - half
            self._parts[thief][:] = end - half, end
        return victim
