"""`explore_balance`: the load-balance lab on the Mandelbrot set."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoint.balance import simulate
from counterpoint.mandelbrot import VIEWS, View, draw, tiles
from counterpoint.viz import LoadBalanceLab

SIZE, GRID = 256, 16
"""Pixels and tiles a side: 256 tiles of 16 x 16 pixels, numbered along rows from the top."""


def explore_balance(
    view: str = "skewed",
    schedule: str = "static",
    workers: int = 2,
    chunk: int = 1,
    *,
    seconds_per_iteration: float = 2e-9,
    take_seconds: float = 5e-6,
    steal_seconds: float = 5e-6,
    **traits: Any,
) -> LoadBalanceLab:
    """A picture of the Mandelbrot set in 256 tiles, shared among workers by a schedule of your choice.

    view: "full", "skewed", "zoom"; drag over the picture to zoom in. schedule: "static", "cyclic" (static with a
    chunk), "dynamic", "guided", "work_stealing". A tile costs its true number of iterations times
    `seconds_per_iteration`; a visit to the shared counter `take_seconds`, a steal `steal_seconds`, in turn. These are
    about what the scalar kernel and `parallel_for` need on a laptop. Times are virtual (`balance.simulate`).
    traits: the lab's, such as `reveal=False`. Raises ValueError for what there is not.
    """
    if view not in VIEWS:
        raise ValueError(f"explore_balance: no view {view!r}; there are {', '.join(VIEWS)}")

    def scene_of(name: str, window: Sequence[float]) -> dict[str, Any]:
        return scene(VIEWS[name], window, seconds_per_iteration)

    def run_of(costs: Sequence[float], count: int, how: str) -> dict[str, Any]:
        made = simulate(costs, count, how, take_seconds=take_seconds, steal_seconds=steal_seconds)
        return made.to_json()

    return LoadBalanceLab(
        list(VIEWS), scene_of, run_of, view=view, schedule=schedule, workers=workers, chunk=chunk, **traits
    )


def scene(view: View, window: Sequence[float], seconds_per_iteration: float) -> dict[str, Any]:
    """A part of a view (fractions left, top, right, bottom; empty: all of it): its shades, and its tiles' costs."""
    view = view.resized(SIZE)
    if len(window) == 4:
        left, top, right, bottom = window
        part = max(right - left, bottom - top, 1e-3)  # square, as the picture is
        view = view.zoom(SIZE * (left + right) / 2 - 0.5, SIZE * (top + bottom) / 2 - 0.5, part)
    counts = draw(view, workers=2, tasks=64).counts
    cut = tiles(view, SIZE // GRID)
    costs = [float(counts[tile.where].sum()) * seconds_per_iteration for tile in cut]
    return {
        "size": SIZE,
        "grid": GRID,
        "costs": costs,
        "shade": base64.b64encode(_shades(counts, view.iterations).tobytes()).decode("ascii"),
        "about": f"{view.width:.3g} wide around {view.center_x:.6g} {view.center_y:+.6g}i",
    }


def _shades(counts: np.ndarray, iterations: int) -> np.ndarray:
    """A byte a pixel: 0 inside, and from 1, light, to 255, dark, by rank among the counts outside."""
    outside = counts < iterations
    shades = np.zeros(counts.shape, np.uint8)
    if outside.any():
        _, place, how_many = np.unique(counts[outside], return_inverse=True, return_counts=True)
        position = np.cumsum(how_many) / how_many.sum()
        shades[outside] = (1 + 254 * position[place] ** 2).astype(np.uint8)
    return shades
