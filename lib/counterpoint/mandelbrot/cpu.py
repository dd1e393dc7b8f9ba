"""Escape counts by Numba: one pixel at a time, many in lanes with masks, and many that look only now and then.

The compiled functions let go of Python's lock, so threads run them side by side. Each exists twice: `exact`, where
every product and sum is rounded on its own, as in `reference`; and contracted, where a product and a sum are one
instruction, rounded once, which is what a C compiler makes of it unasked. Counts of a few pixels at the edge differ.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

LANES = 128
"""Pixels side by side: 16 vectors of eight doubles. Loops over lanes have no branch, so LLVM makes vectors of them; one
vector's products are computed while another's are waited for."""

DEPARTURES = 24
"""Lanes that may stand idle before new pixels are put into them: looking for them costs about as much as a block."""

CHECKED, BLIND = 4, 8
"""Iterations in a block of the kernel with masks, and of the speculative one. In a block, a lane lives in registers."""


RADIUS = 256.0
"""Far out, log |z| doubles with each iteration; the fraction of an iteration is read off there."""


def kernel(name: str, exact: bool = True) -> Callable[[np.ndarray, np.ndarray, int, np.ndarray], None]:
    """The compiled function `name`, "scalar", "lanes" or "speculative": (xs, ys, iterations, counts) -> None.

    xs: float32 or float64 (columns,); ys: the same (rows,); counts: int32 (rows, columns), written. It compiles for
    each dtype when it is first called with it, a few seconds. Cost: see `benchmarks/mandelbrot.py`. The speculative one
    supposes that a point that has escaped stays so, which rounding could break only within 1e-15 of c = -2.
    Raises ValueError for another name.
    """
    if name not in ("scalar", *_ADVANCE):
        raise ValueError(f"mandelbrot: no kernel {name!r}; there are scalar, {', '.join(_ADVANCE)}")
    run = _compiled(name, exact)
    if name == "scalar":
        return run

    def with_lanes(xs: np.ndarray, ys: np.ndarray, iterations: int, counts: np.ndarray) -> None:
        lanes = np.zeros((6, LANES), xs.dtype)
        # Integers as wide as the floats: masks of another width would have to be converted, vector by vector.
        run(xs, ys, iterations, counts, lanes, np.zeros((2, LANES), f"i{xs.dtype.itemsize}"))

    return with_lanes


@cache
def _compiled(name: str, exact: bool) -> Callable[..., None]:
    settings: dict[str, Any] = {
        "nogil": True,
        "fastmath": set() if exact else {"contract"},
        "error_model": "numpy",
    }
    if name == "scalar":
        return njit(**settings)(_scalar)
    advance = njit(**settings)(_ADVANCE[name])

    @njit(**settings)
    def stream(xs: Any, ys: Any, iterations: int, counts: Any, lanes: Any, whole: Any) -> None:
        """Keep the lanes filled: whoever is done makes place for the next pixel of the picture."""
        cx, cy, zx, zy = lanes[0], lanes[1], lanes[2], lanes[3]
        inside, count = whole[0], whole[1]  # 1 while the point has not escaped; iterations so far
        row_of, column_of = np.full(LANES, -1), np.zeros(LANES, np.int64)
        idle = np.empty(LANES, np.int64)
        row = column = 0
        while True:
            gone = 0
            for j in range(LANES):  # without a branch, which could not be foretold
                idle[gone] = j
                gone += 1 if inside[j] == 0 or count[j] >= iterations else 0
            for j in idle[:gone]:
                if row_of[j] >= 0:
                    counts[row_of[j], column_of[j]] = min(count[j], iterations)
                count[j] = 0
                if row < len(ys) and len(xs):
                    cx[j], cy[j], zx[j], zy[j] = xs[column], ys[row], 0, 0
                    row_of[j], column_of[j], inside[j] = row, column, 1
                    column += 1
                    if column == len(xs):
                        row, column = row + 1, 0
                else:
                    cx[j] = cy[j] = zx[j] = zy[j] = inside[j] = 0
                    row_of[j] = -1
            alive = most = 0
            for j in range(LANES):
                alive += inside[j]
                most = max(most, count[j])
            if not alive:
                return
            left = alive
            while left > alive - DEPARTURES and left and most < iterations:
                most += advance(lanes, inside, count)
                left = 0
                for j in range(LANES):
                    left += inside[j]

    return stream


def _scalar(xs: Any, ys: Any, iterations: int, counts: Any) -> None:
    """One pixel at a time: each product waits for the one before it, and the processor mostly waits."""
    four = xs.dtype.type(4)
    for r in range(len(ys)):
        for c in range(len(xs)):
            x, y = xs[c], ys[r]
            zx = zy = zx2 = zy2 = xs.dtype.type(0)
            k = 0
            while k < iterations and zx2 + zy2 <= four:
                zy = (zx + zx) * zy + y
                zx = zx2 - zy2 + x
                zx2, zy2 = zx * zx, zy * zy
                k += 1
            counts[r, c] = k


def _masked(lanes: Any, inside: Any, count: Any) -> int:
    """CHECKED iterations of every lane; one that has escaped goes on, but is not counted any more."""
    cx, cy, zx, zy = lanes[0], lanes[1], lanes[2], lanes[3]
    four, whole = lanes.dtype.type(4), inside.dtype.type
    for j in range(LANES):
        x, y, a, b, mask, k = zx[j], zy[j], cx[j], cy[j], inside[j], count[j]
        for _ in range(CHECKED):
            x2, y2 = x * x, y * y
            mask = mask if x2 + y2 <= four else whole(0)
            k = whole(k + mask)  # Numba widens every sum of integers; so it stays as wide as the floats
            y = (x + x) * y + b
            x = x2 - y2 + a
        zx[j], zy[j], inside[j], count[j] = x, y, mask, k
    return CHECKED


def _blind(lanes: Any, inside: Any, count: Any) -> int:
    """BLIND iterations without a look; the few lanes that come out escaped are run again, one by one, to count them."""
    cx, cy, zx, zy, new_x, new_y = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    zero, four, whole = lanes.dtype.type(0), lanes.dtype.type(4), inside.dtype.type
    for j in range(LANES):
        x, y, a, b = zx[j], zy[j], cx[j], cy[j]
        for _ in range(BLIND):
            x2, y2 = x * x, y * y
            y = (x + x) * y + b
            x = x2 - y2 + a
        new_x[j], new_y[j] = x, y
    for j in range(
        LANES
    ):  # on its own: with more arrays in one loop, LLVM gives up proving that they do not overlap
        x, y = new_x[j], new_y[j]
        mask = inside[j] if x * x + y * y <= four else whole(0)  # false for infinity and nan too
        count[j] = whole(count[j] + whole(BLIND) * mask)
        inside[j] = whole(inside[j] + mask + mask)  # 3: inside, 1: has just escaped, 0: had before
    for j in range(LANES):
        if inside[j] == 1:
            x, y = zx[j], zy[j]
            x2, y2 = x * x, y * y
            k = count[j]
            while x2 + y2 <= four:
                y = (x + x) * y + cy[j]
                x = x2 - y2 + cx[j]
                x2, y2 = x * x, y * y
                k += 1
            count[j] = k
            cx[j] = cy[j] = new_x[j] = new_y[j] = zero  # rests at 0, where nothing escapes
        inside[j] = inside[j] >> 1
    for j in range(LANES):
        zx[j], zy[j] = new_x[j], new_y[j]
    return BLIND


_ADVANCE: dict[str, Callable[..., int]] = {"lanes": _masked, "speculative": _blind}


@cache
def _magnitudes() -> Callable[..., None]:
    @njit(nogil=True, error_model="numpy")
    def magnitudes(xs: Any, ys: Any, counts: Any, iterations: int, smooth: Any) -> None:
        for r in range(len(ys)):
            for c in range(len(xs)):
                if counts[r, c] >= iterations:
                    smooth[r, c] = np.nan
                    continue
                zx = zy = 0.0
                k = 0
                while zx * zx + zy * zy < RADIUS * RADIUS:
                    zx, zy = zx * zx - zy * zy + xs[c], 2 * zx * zy + ys[r]
                    k += 1
                smooth[r, c] = k - np.log2(np.log2(np.hypot(zx, zy)))

    return magnitudes


def smooth_counts(xs: np.ndarray, ys: np.ndarray, counts: np.ndarray, iterations: int) -> np.ndarray:
    """Escape counts with a fraction, so that colours have no steps: float64 (rows, columns), nan inside.

    counts: what a kernel found; points inside are not run again. Cost: the iterations of the points outside.
    """
    smooth = np.empty(counts.shape)
    _magnitudes()(xs.astype(float), ys.astype(float), counts, iterations, smooth)
    return smooth
