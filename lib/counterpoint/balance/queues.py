"""Queues between threads: first in first out, last in first out, and by priority.

One lock guards the items. Who finds nothing to get waits on `not_empty` until a put notifies it, who finds no room
waits on `not_full` until a get does; and whoever is woken looks again, for another may have been quicker. This is
the bounded buffer (E. W. Dijkstra, Cooperating sequential processes, 1965) with conditions for its semaphores.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from counterpoint.balance.conditions import Place, Ticket
from counterpoint.balance.failures import QueueClosed
from counterpoint.balance.strangers import Strangers

T = TypeVar("T")


class Entry(NamedTuple):
    """An item in a queue. Entries are ordered by priority and, where that is equal, by number."""

    priority: float
    number: int
    item: Any
    ticket: Ticket


class Queue(ABC, Generic[T]):
    """Items that some threads put and others get; each item is got once.

    capacity: a put waits while so many items are in the queue; None: it never waits. name: for errors and the trace.
    crew: the `Crew` whose workers use it, and no other thread; then it is traced, and nobody waits in vain. None:
    any threads.
    """

    def __init__(self, capacity: int | None = None, *, name: str = "", crew: Place | None = None) -> None:
        place: Place = Strangers() if crew is None else crew
        self.name = name or place.name_for("queue")
        if capacity is not None and (type(capacity) is not int or capacity < 1):
            raise ValueError(
                f"{self.name}: a capacity of {capacity!r} holds no item; give at least 1, or None for no bound"
            )
        self.capacity, self.closed = capacity, False
        self._place, self._lock, self._count = place, place.lock, 0
        self._not_empty = place.condition(
            f"{self.name}.get()",
            lambda: "the queue is empty",
            "Close a queue after its last put, so that those who get from it come to an end.",
        )
        self._not_full = place.condition(
            f"{self.name}.put()",
            lambda: f"the queue is full ({len(self)} of {self.capacity} items)",
            "See that someone gets from a full queue, or give it a larger capacity.",
        )

    def put(self, item: T) -> None:
        """Put an item in; wait while the queue is full.

        Cost: some microseconds, and 10 more where someone has to be woken. Raises QueueClosed once it is closed.
        """
        self._put(item, 0.0)

    def get(self) -> T:
        """Take the next item out; wait while there is none.

        Cost: as `put`. Raises QueueClosed when none is left and the queue is closed.
        """
        with self._lock:
            while not len(self) and not self.closed:
                self._not_empty.wait()
            if not len(self):
                raise QueueClosed(
                    f"{self.name}: get after all {self._count} items, and it is closed; "
                    f"`for item in {self.name}` ends by itself"
                )
            entry = self._take()
            self._place.has_got(self.name, entry.ticket, entry.item)
            self._not_full.notify()
        return entry.item

    def close(self) -> None:
        """No more puts: gets take what is left, then end. Whoever waits to put is refused. Once more does nothing."""
        with self._lock:
            self.closed = True
            self._not_empty.notify_all()
            self._not_full.notify_all()

    def __iter__(self) -> Iterator[T]:
        """Get items until the queue is closed and empty. Several threads may do so: they share the items."""
        while True:
            try:
                item = self.get()
            except QueueClosed:
                return
            yield item

    def _put(self, item: T, priority: float) -> None:
        with self._lock:
            while not self.closed and self.capacity is not None and len(self) >= self.capacity:
                self._not_full.wait()
            if self.closed:
                raise QueueClosed(
                    f"{self.name}: put after close(), {self._count} items had been put; "
                    "close a queue only when all that put into it have ended"
                )
            ticket = self._place.has_put(self.name, self._count)
            self._add(Entry(priority, self._count, item, ticket))
            self._count += 1
            self._not_empty.notify()

    @abstractmethod
    def __len__(self) -> int:
        """Items in the queue now."""

    @abstractmethod
    def _add(self, entry: Entry) -> None: ...

    @abstractmethod
    def _take(self) -> Entry: ...

    def __repr__(self) -> str:
        bound = "" if self.capacity is None else f" of {self.capacity}"
        return f"{type(self).__name__}({self.name}: {len(self)}{bound} items{', closed' * self.closed})"


class FifoQueue(Queue[T]):
    """First in, first out."""

    def __init__(self, capacity: int | None = None, *, name: str = "", crew: Place | None = None) -> None:
        super().__init__(capacity, name=name, crew=crew)
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)

    def _take(self) -> Entry:
        return self._entries.popleft()


class LifoQueue(FifoQueue[T]):
    """Last in, first out: a stack."""

    def _take(self) -> Entry:
        return self._entries.pop()


class PriorityQueue(Queue[T]):
    """The lowest priority comes first, and among equals the one that was put first. Cost: log2 of its length more."""

    def __init__(self, capacity: int | None = None, *, name: str = "", crew: Place | None = None) -> None:
        super().__init__(capacity, name=name, crew=crew)
        self._heap: list[Entry] = []

    def put(self, item: T, priority: float = 0.0) -> None:
        """As in any queue; `priority` is a number, and ValueError is raised for NaN, which is in no order."""
        priority = float(priority)
        if priority != priority:
            raise ValueError(f"{self.name}: NaN is no priority, for it is neither before nor after another")
        self._put(item, priority)

    def __len__(self) -> int:
        return len(self._heap)

    def _add(self, entry: Entry) -> None:
        heapq.heappush(self._heap, entry)

    def _take(self) -> Entry:
        return heapq.heappop(self._heap)
