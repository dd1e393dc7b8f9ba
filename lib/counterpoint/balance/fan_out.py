"""One function on many items, by a limited number of workers: results in order, errors with their item.

The items' numbers are in a closed queue, so workers share them and end by themselves; what is done comes back by a
second one. For work that waits (for a network, a disk) or lets go of Python's lock; see `parallel_for` for loops
whose schedule matters.
"""

import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from counterpoint.balance.cancellation import Cancellation
from counterpoint.balance.crew import Crew
from counterpoint.balance.failures import Cancelled
from counterpoint.balance.queues import FifoQueue
from counterpoint.balance.task_failed import TaskFailed
from counterpoint.trace import Trace

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class FanOut(Generic[R]):
    """What `fan_out` brought home."""

    results: list[R]
    """What the function returned, in the order of the items."""
    attempts: list[int]
    """How often each item was tried: 1 where nothing went wrong."""
    trace: Trace = field(repr=False)
    """As a crew's: the items' numbers are the tags, each attempt is a `compute`."""


class ItemFailed(TaskFailed):
    """An item failed for good; no other has begun since. `__cause__` and `.cause` are what its last attempt raised.

    `.index` is the item's number, `.item` itself, `.attempts` how often it was tried, `.worker` who did so, `.trace`
    what was done until then.
    """

    def __init__(
        self,
        index: int,
        worker: int,
        cause: BaseException,
        item: object,
        attempts: int,
        rest: str,
        trace: Trace,
    ) -> None:
        super().__init__(index, worker, cause)
        self.index, self.item, self.attempts, self.trace = index, item, attempts, trace
        self.__cause__ = cause
        tried = "" if attempts == 1 else f" {attempts} times, at last"
        what = f"item {index} ({reprlib.repr(item)}) failed on worker {worker}:{tried} {type(cause).__name__}: {cause}"
        self.args = (f"{what}; {rest}",)


def fan_out(
    fn: Callable[[T], R],
    items: Iterable[T],
    workers: int,
    *,
    retries: int = 0,
    backoff: Callable[[int], float] | None = None,
    cancellation: Cancellation | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> FanOut[R]:
    """Call fn(item) once for each item, at most `workers` at a time.

    items: read to the end at once. retries: so many more attempts for an item whose attempt raised an Exception.
    backoff: seconds to wait before the next attempt, from the number of those that failed (1, 2, …); None: no wait.
    cancellation: requested by the first failure, by an interrupt, or by you; fn may ask it. progress: called in
    this thread with (done, all) after each item.
    Returns a `FanOut`. Cost: some 50 us an item; threads for min(workers, items).
    Raises ItemFailed (a TaskFailed) when an item has failed for good: no other begins, those that have begun are
    waited for. Cancelled if you requested that before all were done. KeyboardInterrupt and what progress raises end
    the workers as a crew's. ValueError for workers below 1 and retries below 0.
    """
    for name, value, least in (("workers", workers, 1), ("retries", retries, 0)):
        if type(value) is not int or value < least:
            raise ValueError(f"fan_out: {name} is a whole number of at least {least}, not {value!r}")
    run = _FanOut(fn, list(items), retries, backoff or (lambda failed: 0.0), cancellation or Cancellation())
    return run.go(workers, progress)


class _FanOut:
    """One run, while it runs."""

    def __init__(
        self,
        fn: Callable[[Any], Any],
        items: list[Any],
        retries: int,
        backoff: Callable[[int], float],
        cancellation: Cancellation,
    ) -> None:
        self.fn, self.items, self.cancellation = fn, items, cancellation
        self.retries, self.backoff = retries, backoff
        self.results: list[Any] = [None] * len(items)
        self.attempts = [0] * len(items)
        self.failures: list[tuple[int, int, Exception]] = []
        """The items that failed for good: number, worker, cause."""
        self.done = 0
        self.crew = Crew()
        self.tasks = FifoQueue[int](name="tasks", crew=self.crew)
        self.home = FifoQueue[int | None](name="done", crew=self.crew)
        """The numbers of items that are done; None from a worker that ends."""

    def go(self, workers: int, progress: Callable[[int, int], object] | None) -> FanOut[Any]:
        with self.crew as crew:
            try:
                for index in range(len(self.items)):
                    self.tasks.put(index)
                self.tasks.close()
                at_work = min(workers, len(self.items))
                if at_work:
                    crew.start("worker", self.work, count=at_work)
                while at_work:
                    if self.home.get() is None:
                        at_work -= 1
                    else:
                        self.done += 1
                        if progress is not None:
                            progress(self.done, len(self.items))
            except BaseException:
                self.cancellation.request()
                raise
        done = f"{self.done} of {len(self.items)} items were done"
        if self.failures:
            index, worker, cause = self.failures[0]
            rest = f"{done}, no more are begun"
            raise ItemFailed(index, worker, cause, self.items[index], self.attempts[index], rest, crew.trace)
        if self.done < len(self.items):
            error = Cancelled(f"fan_out: cancelled, as was requested; {done}")
            error.trace = crew.trace
            raise error
        return FanOut(self.results, self.attempts, crew.trace)

    def work(self) -> None:
        """One worker: items until none is left."""
        for index in self.tasks:
            if self.succeeds(index):
                self.home.put(index)
            if self.cancellation.requested:
                break
        self.home.put(None)

    def succeeds(self, index: int) -> bool:
        """Try an item as often as it takes and is allowed."""
        item, label = self.items[index], getattr(self.fn, "__name__", type(self.fn).__name__)
        while not self.cancellation.wait(0):
            self.attempts[index] += 1
            try:
                with self.crew.compute(label, index):
                    self.results[index] = self.fn(item)
                return True
            except Exception as error:
                if self.cancellation.requested and isinstance(error, Cancelled):
                    return False
                failed = self.attempts[index]
                if failed > self.retries:
                    self.failures.append((index, self.crew.me().number, error))
                    self.cancellation.request()
                    return False
            with self.crew.waiting("backoff", index):
                self.cancellation.wait(self.backoff(failed))
        return False
