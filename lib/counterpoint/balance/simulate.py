"""A shared loop on a virtual clock: any number of workers, from the tasks' costs, the same every time."""

import heapq
from collections.abc import Sequence

import numpy as np

from counterpoint.balance.checks import count_of_workers
from counterpoint.balance.loop_run import LoopRun
from counterpoint.balance.schedules import Schedule, as_schedule
from counterpoint.balance.shares import QUEUE
from counterpoint.balance.timeline import Row, as_trace


def simulate(
    costs: Sequence[float] | np.ndarray,
    workers: int,
    schedule: str | Schedule = "dynamic",
    *,
    take_seconds: float = 0.0,
    steal_seconds: float = 0.0,
    speeds: Sequence[float] | None = None,
) -> LoopRun:
    """What `workers` would have done with tasks of these costs, in virtual seconds.

    costs: seconds of each task on a worker of speed 1; `LoopRun.costs` of a measured loop, for instance.
    take_seconds: a visit to the shared counter, which serves one worker at a time: others wait in the order in which
    they came. steal_seconds: a visit to a victim's deque, likewise. Own parts and deques cost nothing. speeds: each
    worker's, 1 if not given.
    Returns a `LoopRun` without results. Cost: O(takes · log workers + tasks). Raises ValueError for negative or
    non-finite costs, workers below 1, and speeds that are not one positive number a worker.
    """
    count_of_workers(workers, "simulate")
    chosen = as_schedule(schedule)
    seconds = _costs(costs)
    pace = _speeds(speeds, workers)
    for name, value in (("take_seconds", take_seconds), ("steal_seconds", steal_seconds)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"simulate: {name} is a number of seconds, at least 0, not {value!r}")
    share = chosen.share(len(seconds), workers)
    free_at = dict.fromkeys(range(QUEUE, workers), 0.0)  # when the counter, and each deque, serves the next
    asking = [(0.0, worker) for worker in range(workers)]
    rows: list[list[Row]] = [[] for _ in range(workers)]
    while asking:
        now, worker = heapq.heappop(asking)  # the earliest; of several, the lowest number
        taken = share.take(worker)
        if taken is None:
            continue
        first, length, source = taken
        begin = now
        if source != worker:
            begin = max(now, free_at[source])
            if begin > now:
                rows[worker].append(Row("wait", worker, source, first, length, now, begin))
        end = begin + (0.0 if source == worker else take_seconds if source == QUEUE else steal_seconds)
        free_at[source] = end
        rows[worker].append(Row("take", worker, source, first, length, now, end))
        for task in range(first, first + length):
            start, end = end, end + seconds[task] / pace[worker]
            rows[worker].append(Row("compute", worker, worker, task, 1, start, end))
        heapq.heappush(asking, (end, worker))
    trace = as_trace((row for mine in rows for row in mine), workers, "virtual")
    return LoopRun(chosen.name, len(seconds), workers, trace)


def _costs(costs: Sequence[float] | np.ndarray) -> list[float]:
    seconds = np.asarray(costs, float)
    if seconds.ndim != 1:
        raise ValueError(f"simulate: costs are one number of seconds a task, not of shape {seconds.shape}")
    odd = np.flatnonzero(~(np.isfinite(seconds) & (seconds >= 0)))
    if len(odd):
        raise ValueError(
            f"simulate: task {odd[0]} costs {seconds[odd[0]]} seconds; a cost is a finite number, at least 0"
        )
    return seconds.tolist()


def _speeds(speeds: Sequence[float] | None, workers: int) -> list[float]:
    if speeds is None:
        return [1.0] * workers
    pace = [float(s) for s in speeds]
    if len(pace) != workers or not all(np.isfinite(s) and s > 0 for s in pace):
        raise ValueError(f"simulate: speeds are {workers} positive numbers, one a worker, not {list(speeds)}")
    return pace
