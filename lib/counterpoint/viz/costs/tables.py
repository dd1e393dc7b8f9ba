"""What the cost explorer shows, as plain values: exact counts for a grid of ranks and sizes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from counterpoint.models import Cost, Link

RANKS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
SIZES = tuple(64 * 2**k for k in range(25))
"""Bytes, 64 to 1 GiB; for each number of ranks rounded up to whole equal chunks."""

ITEMSIZE = 4

CostOf = Callable[[int, int, int], Cost]


def tables(
    collective: str, costs: Mapping[str, CostOf], factor: Callable[[int], float], presets: Mapping[str, Link]
) -> dict[str, Any]:
    """The explorer's data. Seconds are latencies * alpha + bytes * beta + reduced * gamma: any link's, exactly.

    costs: each algorithm's `cost(p, count, itemsize)`. factor: busbw / algbw for p ranks. presets: links by name.
    """
    sizes = {p: [size_at(p, size) for size in SIZES] for p in RANKS}
    return {
        "collective": collective,
        "ranks": list(RANKS),
        "factor": [factor(p) for p in RANKS],
        "sizes": [sizes[p] for p in RANKS],
        "algorithms": [
            {"name": name} | columns([[cost(p, n // ITEMSIZE, ITEMSIZE) for n in sizes[p]] for p in RANKS])
            for name, cost in costs.items()
        ],
        "presets": {name: [link.alpha, link.beta, link.gamma] for name, link in presets.items()},
    }


def size_at(p: int, nbytes: int) -> int:
    """The next size that is p equal chunks of whole elements."""
    chunk = p * ITEMSIZE
    return -(-nbytes // chunk) * chunk


def columns(grid: Sequence[Sequence[Cost]]) -> dict[str, list[list[int]]]:
    """Each count as a list for each number of ranks, by size."""
    names = ("path_latencies", "path_bytes", "path_reduced", "messages", "steps", "bytes_busiest")
    return {name: [[getattr(cost, name) for cost in row] for row in grid] for name in names}


def seconds(data: Mapping[str, Any], algorithm: int, rank_index: int, link: Link) -> list[float]:
    """The algorithm's time at each size."""
    found = data["algorithms"][algorithm]
    parts = (found[name][rank_index] for name in ("path_latencies", "path_bytes", "path_reduced"))
    return [a * link.alpha + b * link.beta + c * link.gamma for a, b, c in zip(*parts, strict=True)]


def overtakings(
    names: Sequence[str], sizes: Sequence[int], times: Sequence[Sequence[float]]
) -> list[tuple[float, str, str]]:
    """(bytes, who was fastest below, who is above) for every change; between sizes, times are straight lines."""
    found = []
    best = [min(range(len(names)), key=lambda a: times[a][i]) for i in range(len(sizes))]
    for i in range(1, len(sizes)):
        old, new = best[i - 1], best[i]
        if old != new:
            before, after = times[old][i - 1] - times[new][i - 1], times[old][i] - times[new][i]
            share = before / (before - after) if before != after else 0.0
            found.append((sizes[i - 1] + share * (sizes[i] - sizes[i - 1]), names[old], names[new]))
    return found
