"""Escape counts by Triton: a program a tile, or a few programs that take tiles from a queue.

All pixels of a tile iterate together until the last of them has escaped, so a tile costs what its slowest
pixel costs, and tiles differ by a factor of `iterations`. `tile` leaves it to the device when each of its
programs runs; `persistent` starts as many as run at once, and each takes the next tile when it is done with
one: dynamic scheduling. Both note which program did which tile; on NVIDIA's devices, also where and when.
Source of the queue: T. Aila and S. Laine, High-Performance Graphics 2009 ("persistent threads").
"""

import contextlib
import itertools
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

BLOCKS = (16, 32, 64)
"""Sides of a tile that there are."""

LOOK = 8
"""Iterations between two looks at whether anything is left: at a look, the warps of a program wait for one
another. What escapes meanwhile is masked, so that counts do not depend on it."""

PIXELS = 8
"""Pixels a thread: their operations do not depend on one another, and hide each other's latency."""

_one_at_a_time = threading.Lock()  # the interpreter keeps the running program's number in one place


# -- the kernels -----------------------------------------------------------------------------------------

# Nothing is compiled for what an argument happens to be (1, or a multiple of 16): that would save little, and
# so what LAUNCHES lists is all that is ever compiled.
ARGUMENTS = ("xs", "ys", "counts", "rows", "columns", "iterations", "queue", "owner", "sm", "start", "end")


@triton.jit
def _iterate(
    cx: tl.tensor, cy: tl.tensor, zx: tl.tensor, zy: tl.tensor, inside: tl.tensor, count: tl.tensor
) -> Any:  # fmt: skip
    """One iteration of every pixel. Those outside go on to infinity or NaN, and are never inside again."""
    zx2, zy2 = zx * zx, zy * zy
    inside = inside & (zx2 + zy2 <= 4.0)
    count += inside.to(tl.int32)
    zy = (zx + zx) * zy + cy
    zx = zx2 - zy2 + cx
    return zx, zy, inside, count


@triton.jit
def _now(after: tl.tensor) -> tl.tensor:
    """Nanoseconds on the device's clock. It asks for `after`, and so is not read before that is known."""
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l,r", [after], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def _multiprocessor() -> tl.tensor:
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def _one_tile(
    number: tl.tensor, xs: tl.tensor, ys: tl.tensor, counts: tl.tensor,
    rows: tl.tensor, columns: tl.tensor, iterations: tl.tensor,
    owner: tl.tensor, sm: tl.tensor, start: tl.tensor, end: tl.tensor,
    BLOCK: tl.constexpr, LOOK: tl.constexpr, RECORD: tl.constexpr,
) -> None:  # fmt: skip
    """The counts of tile `number`, row-major, and who made them."""
    across = tl.cdiv(columns, BLOCK)
    row, column = number // across * BLOCK, number % across * BLOCK
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    here = (r < rows - row)[:, None] & (c < columns - column)[None, :]
    if RECORD:
        tl.store(start + number, _now(number))
    cx = tl.load(xs + column + c, mask=c < columns - column, other=0)[None, :]
    cy = tl.load(ys + row + r, mask=r < rows - row, other=0)[:, None]

    zx = tl.zeros([BLOCK, BLOCK], xs.dtype.element_ty)
    zy = tl.zeros([BLOCK, BLOCK], xs.dtype.element_ty)
    count = tl.zeros([BLOCK, BLOCK], tl.int32)
    inside = here
    done = 0
    left = 1
    while (left > 0) & (done <= iterations - LOOK):
        for _ in tl.static_range(LOOK):
            zx, zy, inside, count = _iterate(cx, cy, zx, zy, inside, count)
        done += LOOK
        left = tl.max(inside.to(tl.int32))
    # Nothing is left inside, or fewer than LOOK iterations are left.
    while (left > 0) & (done < iterations):
        zx, zy, inside, count = _iterate(cx, cy, zx, zy, inside, count)
        done += 1

    # Beyond the picture `row + r` may wrap; nothing is stored there.
    at = (row + r).to(tl.int64)[:, None] * columns + (column + c)[None, :]
    tl.store(counts + at, count, mask=here)
    tl.store(owner + number, tl.program_id(0))
    if RECORD:
        tl.store(sm + number, _multiprocessor())
        tl.store(end + number, _now(left))


@triton.jit(do_not_specialize=ARGUMENTS)
def tile(
    xs: tl.tensor, ys: tl.tensor, counts: tl.tensor,
    rows: tl.tensor, columns: tl.tensor, iterations: tl.tensor,
    queue: tl.tensor, owner: tl.tensor, sm: tl.tensor, start: tl.tensor, end: tl.tensor,
    BLOCK: tl.constexpr, LOOK: tl.constexpr, RECORD: tl.constexpr,
) -> None:  # fmt: skip
    """Program i does tile i."""
    number = tl.program_id(0)
    _one_tile(
        number, xs, ys, counts, rows, columns, iterations, owner, sm, start, end, BLOCK, LOOK, RECORD
    )  # fmt: skip


@triton.jit(do_not_specialize=ARGUMENTS)
def persistent(
    xs: tl.tensor, ys: tl.tensor, counts: tl.tensor,
    rows: tl.tensor, columns: tl.tensor, iterations: tl.tensor,
    queue: tl.tensor, owner: tl.tensor, sm: tl.tensor, start: tl.tensor, end: tl.tensor,
    BLOCK: tl.constexpr, LOOK: tl.constexpr, RECORD: tl.constexpr,
) -> None:  # fmt: skip
    """Every program takes the next tile's number from `queue` until there is none."""
    tiles = tl.cdiv(rows, BLOCK) * tl.cdiv(columns, BLOCK)
    # Relaxed: programs hand one another numbers, and no data.
    number = tl.atomic_add(queue, 1, sem="relaxed")
    while number < tiles:
        _one_tile(
            number, xs, ys, counts, rows, columns, iterations, owner, sm, start, end, BLOCK, LOOK, RECORD
        )  # fmt: skip
        number = tl.atomic_add(queue, 1, sem="relaxed")


# -- every way to launch them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Launch:
    """A kernel as it is compiled: for which arguments, for how many warps, with which options."""

    name: str
    kernel: Any
    signature: dict[str, str]
    constexprs: dict[str, Any]
    num_warps: int
    options: dict[str, Any]


def _launch(kernel: Any, dtype: torch.dtype, block: int, exact: bool, record: bool) -> Launch:
    name = f"{kernel.__name__} {_FLOATS[dtype]} block={block}{' exact' * exact}{' record' * record}"
    real, integer, long = f"*{_FLOATS[dtype]}", "*i32", "*i64"
    types = (real, real, integer, "i32", "i32", "i32", integer, integer, integer, long, long)
    return Launch(
        name,
        kernel,
        dict(zip(ARGUMENTS, types, strict=True)),
        {"BLOCK": block, "LOOK": LOOK, "RECORD": record},
        num_warps=block * block // (32 * PIXELS),
        # A product and a sum in one instruction are rounded once, not twice: some counts differ.
        options={"enable_fp_fusion": not exact},
    )


_FLOATS = {torch.float32: "fp32", torch.float64: "fp64"}
_WAYS = {
    (which, dtype, block, exact, record): _launch(kernel, dtype, block, exact, record)
    for (which, kernel), dtype, block, exact, record in itertools.product(
        enumerate((tile, persistent)), _FLOATS, BLOCKS, (True, False), (False, True)
    )
}
LAUNCHES = list(_WAYS.values())
"""All that `escape_counts` ever launches, to be compiled and measured ahead of time."""


# -- from the host ---------------------------------------------------------------------------------------

INTERPRETED = not isinstance(tile, triton.runtime.JITFunction)
"""Whether TRITON_INTERPRET was set when triton was imported: kernels are then run by NumPy, on the CPU."""


@dataclass(frozen=True)
class Record:
    """Who did which tile: tensors of one number a tile, row-major, `across` tiles in a row of them.

    owner: int32, the program. And where `record` was asked for, else empty: sm: int32, the multiprocessor;
    start, end: int64, nanoseconds on the device's clock, whose steps may be as long as a microsecond.
    """

    owner: torch.Tensor
    sm: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor
    block: int
    across: int


def escape_counts(
    xs: torch.Tensor,
    ys: torch.Tensor,
    iterations: int,
    *,
    block: int = 32,
    persistent: bool = False,
    programs: int | None = None,
    exact: bool = True,
    record: bool = False,
) -> tuple[torch.Tensor, Record]:
    """After how many iterations of z = z*z + c each c = x + iy left |z| <= 2; `iterations` if it never did.

    xs: float32 or float64 (columns,), ys: the same (rows,), on one CUDA device; neither changed. block: a
    tile's side in pixels, one of BLOCKS. persistent: by a queue, with `programs` programs (else as many
    as run at once). exact: the counts of `reference`; else products and sums are contracted, and a few pixels
    differ. record: multiprocessors and times too. Returns int32 (rows, columns), contiguous, and the Record;
    does not wait for the device. Cost: of each tile block * block times the iterations of its slowest pixel,
    rounded up to LOOK. On the CPU it works, slowly, where TRITON_INTERPRET=1 was set before triton was first
    imported. Raises ValueError for any other input.
    """
    _check(xs, ys, iterations, block, persistent, programs, record)
    rows, columns, device = len(ys), len(xs), xs.device
    across = triton.cdiv(columns, block)
    tiles = triton.cdiv(rows, block) * across
    counts = torch.empty((rows, columns), dtype=torch.int32, device=device)
    owner = torch.full((tiles,), -1, dtype=torch.int32, device=device)
    sm = torch.empty(tiles if record else 0, dtype=torch.int32, device=device)
    start = torch.empty_like(sm, dtype=torch.int64)
    end = torch.empty_like(start)
    made = Record(owner, sm, start, end, block, across)
    if tiles == 0:
        return counts, made

    way = _WAYS[int(persistent), xs.dtype, block, exact, record]
    grid = (min(tiles, programs or _resident(device, way.num_warps)) if persistent else tiles,)
    queue = torch.zeros(1, dtype=torch.int32, device=device)
    arguments = (
        xs.contiguous(), ys.contiguous(), counts, rows, columns, int(iterations), queue, owner, sm, start, end
    )  # fmt: skip
    with _place(device):
        way.kernel[grid](*arguments, **way.constexprs, num_warps=way.num_warps, **way.options)
    return counts, made


@contextlib.contextmanager
def _place(device: torch.device) -> Any:
    """Where a launch goes: to this device, or to the interpreter, alone and without warning of infinities."""
    if INTERPRETED:
        with _one_at_a_time, np.errstate(over="ignore", invalid="ignore"):
            yield
    else:
        with torch.cuda.device(device):
            yield


def _resident(device: torch.device, warps: int) -> int:
    """How many programs run at once, or a few more: those begin when the queue is empty, and end."""
    if INTERPRETED:
        return 1  # they run one after the other, and the first does everything
    # 1,024 threads a multiprocessor: that leaves each 64 of its registers, and each takes 60 or more.
    return torch.cuda.get_device_properties(device).multi_processor_count * (32 // warps)


def _check(
    xs: torch.Tensor, ys: torch.Tensor, iterations: int,
    block: int, persistent: bool, programs: int | None, record: bool,
) -> None:  # fmt: skip
    who = "escape_counts:"
    if xs.ndim != 1 or ys.ndim != 1:
        raise ValueError(f"{who} xs has {xs.ndim} dimensions and ys {ys.ndim}; each has one")
    if xs.dtype not in _FLOATS or ys.dtype != xs.dtype:
        raise ValueError(f"{who} xs is {xs.dtype} and ys {ys.dtype}; both are float32, or both float64")
    if xs.device != ys.device:
        raise ValueError(f"{who} xs is on {xs.device} and ys on {ys.device}; move one of them to the other")
    if xs.device.type != "cuda" and not (INTERPRETED and xs.device.type == "cpu"):
        raise ValueError(
            f"{who} xs is on {xs.device}, and Triton compiles for CUDA devices; move xs and ys there, set "
            "TRITON_INTERPRET=1 before triton is first imported, or use counterpoint.mandelbrot.cpu"
        )
    if max(len(xs), len(ys)) >= 2**31:
        raise ValueError(f"{who} {len(xs)} columns and {len(ys)} rows; there are at most 2**31 - 1 of each")
    if not _whole(iterations) or not 1 <= iterations < 2**31:
        raise ValueError(f"{who} iterations is {iterations!r}; it is an integer from 1 to 2**31 - 1")
    if block not in BLOCKS:
        raise ValueError(f"{who} block is {block!r}; it is one of these powers of two: {BLOCKS}")
    if programs is not None and not (persistent and _whole(programs) and programs >= 1):
        raise ValueError(f"{who} programs is {programs}; an integer from 1, and for persistent=True only")
    if record and (INTERPRETED or torch.version.hip is not None):
        raise ValueError(f"{who} record=True reads registers that only NVIDIA's devices have; leave it out")


def _whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
