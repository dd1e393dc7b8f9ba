"""The GPU's kernels, run by Triton's interpreter: `TRITON_INTERPRET=1 python interpreted.py FILE`.

The interpreter is chosen when triton is imported, for a whole process, so the tests start this one and compare what it
leaves in FILE: counts and owners by case, and what each bad call was answered.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl

from counterpoint.mandelbrot import gpu

DTYPES = {"float32": torch.float32, "float64": torch.float64}
KERNELS = {"tile": False, "persistent": True}
PICTURES = [(dtype, kernel, block) for dtype in DTYPES for kernel in KERNELS for block in (16, 32)]
SMALL = [(1, 1, 60), (0, 3, 9), (3, 0, 9), (0, 0, 9), (33, 1, 9), (1, 17, 8), (16, 16, 7), (5, 3, 1)]
COLUMNS, ROWS, ITERATIONS = 50, 40, 60


def axes(columns: int, rows: int, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A window on the set whose first column begins at -2, and whose middle row is at 0: there, |z| stays at 2."""
    xs = -2 + torch.arange(columns, dtype=torch.float64) * 2.6 / max(columns, 1)
    ys = (torch.arange(rows, dtype=torch.float64) - rows // 2) * 2.4 / max(rows, 1)
    return xs.to(DTYPES[dtype]), ys.to(DTYPES[dtype])


# Two kernels that are nearly right.


@triton.jit
def without_the_edge(
    cx: tl.tensor, cy: tl.tensor, zx: tl.tensor, zy: tl.tensor, inside: tl.tensor, count: tl.tensor
) -> Any:  # fmt: skip
    zx2, zy2 = zx * zx, zy * zy
    inside = inside & (zx2 + zy2 < 4.0)
    count += inside.to(tl.int32)
    zy = (zx + zx) * zy + cy
    zx = zx2 - zy2 + cx
    return zx, zy, inside, count


@triton.jit
def new_x_too_early(
    cx: tl.tensor, cy: tl.tensor, zx: tl.tensor, zy: tl.tensor, inside: tl.tensor, count: tl.tensor
) -> Any:  # fmt: skip
    zx2, zy2 = zx * zx, zy * zy
    inside = inside & (zx2 + zy2 <= 4.0)
    count += inside.to(tl.int32)
    zx = zx2 - zy2 + cx
    zy = (zx + zx) * zy + cy
    return zx, zy, inside, count


WRONG = {"without the edge": without_the_edge, "new x too early": new_x_too_early}


def pictures() -> Iterator[tuple[Any, Any]]:
    for dtype, kernel, block in PICTURES:
        xs, ys = axes(COLUMNS, ROWS, dtype)
        counts, record = gpu.escape_counts(xs, ys, ITERATIONS, block=block, persistent=KERNELS[kernel])
        yield (dtype, kernel, block), (counts, record.owner, record.across)
    for columns, rows, iterations in SMALL:
        for kernel, persistent in KERNELS.items():
            xs, ys = axes(columns, rows, "float32")
            counts, record = gpu.escape_counts(
                xs, ys, iterations, block=16, persistent=persistent, programs=None
            )
            yield (columns, rows, iterations, kernel), (counts, record.owner, record.across)
    xs, ys = axes(2 * COLUMNS, 3 * ROWS, "float64")
    yield "every other", (gpu.escape_counts(xs[::2], ys[::3], ITERATIONS, block=64)[0],)
    right = gpu._iterate
    for name, wrong in WRONG.items():
        gpu._iterate = wrong
        yield name, (gpu.escape_counts(*axes(COLUMNS, ROWS, "float32"), ITERATIONS)[0],)
    gpu._iterate = right


def answers() -> Iterator[tuple[str, str]]:
    x, y = axes(4, 4, "float32")
    calls: dict[str, Callable[[], object]] = {
        "half": lambda: gpu.escape_counts(x.half(), y.half(), 5),
        "integers": lambda: gpu.escape_counts(x.int(), y.int(), 5),
        "two dtypes": lambda: gpu.escape_counts(x, y.double(), 5),
        "a grid": lambda: gpu.escape_counts(x[None], y, 5),
        "two devices": lambda: gpu.escape_counts(x, y.to("meta"), 5),
        "meta": lambda: gpu.escape_counts(x.to("meta"), y.to("meta"), 5),
        "block 24": lambda: gpu.escape_counts(x, y, 5, block=24),
        "block 128": lambda: gpu.escape_counts(x, y, 5, block=128),
        "no iterations": lambda: gpu.escape_counts(x, y, 0),
        "half an iteration": lambda: gpu.escape_counts(x, y, 0.5),  # type: ignore[arg-type]
        "too many iterations": lambda: gpu.escape_counts(x, y, 2**31),
        "no programs": lambda: gpu.escape_counts(x, y, 5, persistent=True, programs=0),
        "programs of tiles": lambda: gpu.escape_counts(x, y, 5, programs=3),
        "a record": lambda: gpu.escape_counts(x, y, 5, record=True),
    }
    for name, call in calls.items():
        try:
            call()
        except ValueError as error:
            yield name, str(error)
        else:
            yield name, "was done"


if __name__ == "__main__":
    assert gpu.INTERPRETED, "set TRITON_INTERPRET=1"
    torch.save({"pictures": dict(pictures()), "answers": dict(answers())}, sys.argv[1])
