"""How soon any schedule can end, and how near to it a simple one that knows all costs comes."""

import heapq
from collections.abc import Sequence

import numpy as np


def lower_bound(costs: Sequence[float] | np.ndarray, workers: int) -> float:
    """Seconds that no schedule of tasks with these costs beats: the even share, or the longest task."""
    costs = np.asarray(costs, float)
    return float(max(costs.sum() / workers, costs.max(initial=0.0)))


def lpt(costs: Sequence[float] | np.ndarray, workers: int) -> tuple[float, np.ndarray]:
    """Longest processing time first: the makespan, and each task's worker (int64 of shape (tasks,)).

    Takes the tasks from the longest to the shortest, each by whoever is free first. It must know all costs
    beforehand. At most 4/3 - 1/(3 workers) times the best makespan. Cost: O(n log n).
    Source: R. L. Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17 (1969), theorem 2.
    """
    costs = np.asarray(costs, float)
    owner = np.zeros(len(costs), np.int64)
    free = [(0.0, worker) for worker in range(workers)]
    for task in np.argsort(-costs, kind="stable").tolist():
        end, worker = heapq.heappop(free)
        owner[task] = worker
        heapq.heappush(free, (end + costs[task], worker))
    return float(max(free)[0]), owner
