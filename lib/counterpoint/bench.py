"""Collectives timed by size, in the columns of nccl-tests, so that the two can be laid side by side.

size is the bytes of the larger of a rank's two buffers; time is one call's, averaged over `iters` calls
between two barriers, of the slowest rank; algbw = size / time; busbw = algbw times the factor that
makes it comparable with the speed of one link, whatever the algorithm and the number of ranks:
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md

Ranks are threads of one process here, which share memory: the "bus" is the memory bus. #wrong counts the
elements, over all ranks, that differ from the right result in a first call that is not timed.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from counterpoint import collectives
from counterpoint.ranks import Comm, launch

WARM_UP = 3
UNITS = {
    **{unit: 1024**power for power, unit in enumerate(("", "K", "M", "G"))},
    **{unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB"))},
    **{unit: 1000**power for power, unit in enumerate(("kB", "MB", "GB"), start=1)},
}
SHORT = {torch.float32: "float", torch.float64: "double", torch.float16: "half"}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    nbytes: int
    count: int  # elements
    type: str  # in nccl-tests' words
    op: str
    seconds: float  # of one call
    algbw: float  # bytes per second
    busbw: float
    wrong: int

    def __str__(self) -> str:
        return (
            f"{self.nbytes:>12} {self.count:>13} {self.type:>9} {self.op:>7} {self.seconds * 1e6:>10.1f}"
            f" {self.algbw / 1e9:>8.2f} {self.busbw / 1e9:>8.2f} {self.wrong:>7}"
        )


HEADER = """\
#
#       size         count      type   redop       time    algbw    busbw  #wrong
#        (B)    (elements)                         (us)   (GB/s)   (GB/s)"""


@dataclass(frozen=True)
class Operation:
    """A collective in place on one tensor: how it is called, how right results look, what it is worth."""

    call: Callable[[Comm, torch.Tensor, dict[str, str]], object]
    right: Callable[[torch.Tensor, int, int], torch.Tensor | None]  # (inputs by rank, rank, p)
    factor: Callable[[int], float]  # busbw / algbw on p ranks
    op: str = "none"


OPERATIONS = {
    "all_reduce": Operation(
        call=lambda comm, tensor, choice: collectives.all_reduce(comm, tensor, **choice),
        right=lambda inputs, rank, p: inputs.sum(0),
        factor=lambda p: 2 * (p - 1) / p,
        op="sum",
    ),
    "reduce": Operation(
        call=lambda comm, tensor, choice: collectives.reduce(comm, tensor, **choice),
        right=lambda inputs, rank, p: inputs.sum(0) if rank == 0 else None,
        factor=lambda p: 1.0,
        op="sum",
    ),
    "broadcast": Operation(
        call=lambda comm, tensor, choice: collectives.broadcast(comm, tensor, **choice),
        right=lambda inputs, rank, p: inputs[0],
        factor=lambda p: 1.0,
    ),
}


def parse_sizes(text: str) -> list[int]:
    """The sizes in bytes that "4KiB:64MiB" names: the first, doubled until the last.

    K, M, G and KiB, MiB, GiB are powers of 1024, as in nccl-tests; kB, MB, GB of 1000.
    """
    first, *others = [_parse_size(part) for part in text.split(":")]
    if not others:
        return [first]
    if len(others) > 1 or not 0 < first <= others[0]:
        raise ValueError(f"sizes {text!r}: give one size, or FROM:TO with FROM above 0 and not above TO")
    return [first << doubled for doubled in range((others[0] // first).bit_length())]


def parse_dtype(name: str) -> torch.dtype:
    """The torch dtype of that name."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtype {name!r}: torch has none of that name; try float32, bfloat16, int64")
    return dtype


def measure(
    collective: str,
    ranks: int,
    nbytes: int,
    *,
    algorithm: str | None = None,
    dtype: torch.dtype = torch.float32,
    iters: int = 20,
) -> Row:
    """Launch `ranks` ranks as threads and time one collective on `nbytes` bytes each.

    Raises ValueError if there is no such collective.
    """
    if collective not in OPERATIONS:
        raise ValueError(f"no collective {collective!r} to time; there are {', '.join(OPERATIONS)}")
    operation = OPERATIONS[collective]
    choice = {} if algorithm is None else {"algorithm": algorithm}
    count = nbytes // dtype.itemsize

    def worker(comm: Comm) -> tuple[int, float]:
        tensor = _inputs(comm.rank, count, dtype)
        operation.call(comm, tensor, choice)
        wrong = _wrong(operation, tensor, comm.rank, comm.size)
        tensor.zero_()  # sums of it stay finite, however often
        for _ in range(WARM_UP):
            operation.call(comm, tensor, choice)
        comm.barrier()
        start = time.perf_counter()
        for _ in range(iters):
            operation.call(comm, tensor, choice)
        comm.barrier()
        return wrong, (time.perf_counter() - start) / iters

    results = launch(worker, ranks, trace=False).results
    seconds = max(taken for _, taken in results)
    algbw = count * dtype.itemsize / seconds
    return Row(
        nbytes=count * dtype.itemsize,
        count=count,
        type=SHORT.get(dtype, str(dtype).removeprefix("torch.")),
        op=operation.op,
        seconds=seconds,
        algbw=algbw,
        busbw=algbw * operation.factor(ranks),
        wrong=sum(wrong for wrong, _ in results),
    )


def summary(rows: list[Row]) -> Iterator[str]:
    """The two lines that nccl-tests ends with."""
    wrong = sum(row.wrong for row in rows)
    yield f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}"
    yield f"# Avg bus bandwidth    : {sum(row.busbw for row in rows) / len(rows) / 1e9:.4g}"


def _inputs(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Small integers that differ by position and rank; 85 ranks' sums are exact even in bfloat16."""
    return (torch.arange(count) % 3 + rank % 2).to(dtype)


def _wrong(operation: Operation, tensor: torch.Tensor, rank: int, p: int) -> int:
    """How many elements of a rank's result are not what they should be."""
    # The inputs repeat every three elements, so the right result does too.
    period = torch.stack([_inputs(r, min(3, tensor.numel()), tensor.dtype) for r in range(p)])
    right = operation.right(period, rank, p)
    if right is None or tensor.numel() == 0:
        return 0
    return sum(int((tensor[i::3] != right[i]).sum()) for i in range(len(right)))


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([A-Za-z]*)", text.strip())
    if match is None or match[2] not in UNITS:
        raise ValueError(f"size {text!r}: give a number and one of B, KiB, MiB, GiB, such as 64MiB")
    return int(match[1]) * UNITS[match[2]]
