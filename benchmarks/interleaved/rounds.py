"""Contestants timed in rounds, each once a round, so that what disturbs one disturbs all; medians taken."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MOST_CALLS = 500


@dataclass(frozen=True)
class Timing:
    """What the rounds of one contestant came to; seconds of one call."""

    median: float
    least: float
    most: float
    iters: int
    """Calls in a turn."""
    turns: int
    """One in each round."""


def interleave(
    contestants: Mapping[str, Callable[[int], float]],
    *,
    rounds: int,
    segment: float,
    enough: Callable[[int], bool] = lambda done: False,
) -> dict[str, Timing]:
    """Time every contestant once a round. A contestant is `seconds(iters)`: one call's time, averaged.

    segment: seconds that a contestant's turn should last: its first, uncounted turn of one call decides how
    many calls that takes. enough(done): whether to stop after `done` rounds, before `rounds` of them; if
    already after none, the first turns are what counts. Every other round goes backwards, so nobody always
    comes after the same.
    """
    first = {name: seconds(1) for name, seconds in contestants.items()}
    if enough(0):
        return {name: Timing(each, each, each, 1, 1) for name, each in first.items()}
    iters = {name: max(1, min(MOST_CALLS, round(segment / max(each, 1e-9)))) for name, each in first.items()}
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for done in range(1, rounds + 1):
        order = list(contestants)
        for name in order if done % 2 else reversed(order):
            taken[name].append(contestants[name](iters[name]))
        if enough(done):
            break
    return {
        name: Timing(statistics.median(times), min(times), max(times), iters[name], len(times))
        for name, times in taken.items()
    }
