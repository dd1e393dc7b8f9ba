"""A picture of the set, its tiles shared among threads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoint.balance import LoopRun, Schedule, parallel_for
from counterpoint.mandelbrot.tiles import Tile, tiles
from counterpoint.mandelbrot.view import View


@dataclass(frozen=True)
class Picture:
    """Escape counts, and how the work was shared."""

    view: View
    counts: np.ndarray
    """int32 of shape (rows, columns): the iterations of each pixel; `view.iterations` for those inside."""
    tasks: Sequence[Tile]
    run: LoopRun
    """Task k of the run is `tasks[k]`."""


def draw(
    view: View,
    workers: int = 2,
    schedule: str | Schedule = "dynamic",
    tasks: Sequence[Tile] | int = 32,
    *,
    kernel: str = "lanes",
    dtype: str = "float64",
    exact: bool = True,
    progress: bool = False,
) -> Picture:
    """The set in a view, by `workers` threads.

    tasks: the side of square tiles, or tiles as `bands(view)` gives. kernel: "scalar", "lanes", "speculative". exact:
    no multiply-adds, so that counts are those of `reference`. Needs Numba. The kernel is compiled before the clock
    starts. Raises ValueError for a view deeper than `dtype` can show, and for unknown kernels and schedules.
    """
    from counterpoint.mandelbrot import cpu

    xs, ys = view.axes(dtype)
    compute = cpu.kernel(kernel, exact)
    counts = np.zeros((view.rows, view.columns), np.int32)
    pieces = tiles(view, tasks) if isinstance(tasks, int) else tasks
    compute(xs[:1], ys[:1], 1, np.zeros((len(ys[:1]), len(xs[:1])), np.int32))

    def body(tile: Tile) -> None:
        rows, columns = tile.where
        compute(xs[columns], ys[rows], view.iterations, counts[tile.where])

    return Picture(view, counts, pieces, parallel_for(body, pieces, workers, schedule, progress=progress))
