"""What a shared loop did: its trace, and the measures that are read off it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from counterpoint.balance.bounds import lower_bound
from counterpoint.trace import Trace


@dataclass(frozen=True)
class LoopRun:
    """A loop that was run by `parallel_for` (wall seconds) or by `simulate` (virtual seconds).

    Its trace has two kinds of events, `rank` being the worker: `take` (from asking for tasks until it had them:
    `offset` the first, `length` how many, `peer` whose they were, the worker itself, the victim, or UNKNOWN for the
    shared counter), and `compute` (`offset`: the task). Where a simulated worker queued for the counter or a deque,
    that part of the take is a `wait` too; a measured take does not tell how much of it was queueing.
    """

    schedule: str
    tasks: int
    workers: int
    trace: Trace
    results: Sequence[Any] = field(default=(), repr=False)
    """What the body returned, task by task; empty for a simulated loop."""

    @cached_property
    def computed(self) -> Trace:
        """One event for each task: who did it, from when to when."""
        return self.trace.where(kind="compute")

    @cached_property
    def takes(self) -> Trace:
        """One event for each taking of tasks."""
        return self.trace.where(kind="take")

    @cached_property
    def steals(self) -> Trace:
        """The takings from another worker."""
        takes = self.takes
        return takes.select((takes.peer >= 0) & (takes.peer != takes.rank))

    @cached_property
    def owner(self) -> np.ndarray:
        """The worker of each task, int64 of shape (tasks,)."""
        owner = np.full(self.tasks, -1)
        owner[self.computed.offset] = self.computed.rank
        return owner

    @cached_property
    def costs(self) -> np.ndarray:
        """Seconds that each task took, float64 of shape (tasks,): what `simulate` wants."""
        costs = np.zeros(self.tasks)
        costs[self.computed.offset] = self.computed.end - self.computed.start
        return costs

    @cached_property
    def busy(self) -> np.ndarray:
        """Seconds of tasks that each worker did, float64 of shape (workers,)."""
        done = self.computed
        return np.bincount(done.rank, done.end - done.start, minlength=self.workers)

    @cached_property
    def finish(self) -> np.ndarray:
        """When each worker ended its last task, float64 of shape (workers,)."""
        last = np.zeros(self.workers)
        np.maximum.at(last, self.computed.rank, self.computed.end)
        return last

    @property
    def makespan(self) -> float:
        """Seconds until the last worker ended."""
        return float(self.finish.max())

    @property
    def work(self) -> float:
        """Seconds of all tasks together: what one worker would have needed."""
        return float(self.busy.sum())

    @property
    def ideal(self) -> float:
        """work / workers: the makespan, were everything perfectly even."""
        return self.work / self.workers

    @property
    def lower_bound(self) -> float:
        """No schedule ends earlier: the ideal, or the longest task where that is longer."""
        return lower_bound(self.costs, self.workers)

    @property
    def speedup(self) -> float:
        """work / makespan: at most `workers`."""
        return self.work / self.makespan if self.makespan else 1.0

    @property
    def efficiency(self) -> float:
        """The share of the workers' time that was tasks: speedup / workers."""
        return self.speedup / self.workers

    @property
    def imbalance(self) -> float:
        """The busiest worker's seconds over the mean: 1 is even, `workers` is one worker alone."""
        mean = self.busy.mean()
        return float(self.busy.max() / mean) if mean else 1.0

    @property
    def overhead(self) -> float:
        """Seconds spent on taking tasks, of all workers together, queueing included."""
        return float((self.takes.end - self.takes.start).sum())

    @property
    def waiting(self) -> float:
        """Seconds of the overhead spent in a queue for the shared counter or a victim's deque."""
        return float(self.trace.waiting().sum())

    def to_json(self) -> dict[str, Any]:
        """What a widget draws.

        tasks: [task, worker, start, end]; takes: [worker, source, start, end, first, length].
        Times are seconds; source is -1 for the shared counter. The rows are in the order of their beginnings.
        """
        done, taken = self.computed, self.takes
        by_start = np.argsort(done.start, kind="stable")
        done = done.select(by_start)
        taken = taken.select(np.argsort(taken.start, kind="stable"))
        tasks = [done.offset, done.rank, done.start, done.end]
        takes = [taken.rank, taken.peer, taken.start, taken.end, taken.offset, taken.length]
        return {
            "schedule": self.schedule,
            "workers": self.workers,
            "clock": self.trace.clock,
            "tasks": [list(row) for row in zip(*(column.tolist() for column in tasks), strict=True)],
            "takes": [list(row) for row in zip(*(column.tolist() for column in takes), strict=True)],
            "measures": self.measures(),
        }

    def measures(self) -> dict[str, Any]:
        """Every measure by its name, as plain numbers; busy and finish are lists, one number a worker."""
        single = (
            "makespan",
            "work",
            "ideal",
            "lower_bound",
            "speedup",
            "efficiency",
            "imbalance",
            "overhead",
            "waiting",
        )
        return {name: getattr(self, name) for name in single} | {
            "busy": self.busy.tolist(),
            "finish": self.finish.tolist(),
            "takes": len(self.takes),
            "steals": len(self.steals),
        }

    def __str__(self) -> str:
        return (
            f"{self.schedule}: {self.tasks} tasks, {self.workers} workers, makespan {self.makespan:.4g} s "
            f"({self.trace.clock}), lower bound {self.lower_bound:.4g} s, efficiency {self.efficiency:.0%}, "
            f"imbalance {self.imbalance:.2f}, {len(self.takes)} takes, {len(self.steals)} of them steals"
        )
