"""Collectives timed by size, in the columns of nccl-tests, so that the two can be laid side by side.

size is the bytes of the larger of a rank's two buffers; time is one call's: `iters` calls in a few spans, each
begun together after a barrier and ended when the slowest rank has made its last call, and the median of the
spans' means; algbw = size / time; busbw = algbw times the factor that
makes it comparable with the speed of one link, whatever the algorithm and the number of ranks:
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md

Ranks are threads of one process, which share memory, so that the "bus" is the memory bus; or processes; or
simulated, on phantom tensors, and then the seconds are virtual and one call is enough. #wrong counts the elements,
over all ranks, that differ from the right result in a first call that is not timed; N/A where there is no data.
"""

import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from counterpoint import collectives
from counterpoint.operations import OPERATIONS, Case, case, filled
from counterpoint.ranks import Comm, launch

__all__ = [
    "HEADER",
    "OPERATIONS",
    "Row",
    "measure",
    "measure_on",
    "parse_dtype",
    "parse_sizes",
    "row",
    "summary",
]

WARM_UP = 5  # calls, as nccl-tests has it
SPANS = 5  # of `iters` calls in all; their median is not moved by one interruption
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
    wrong: int | None

    def __str__(self) -> str:
        return (
            f"{self.nbytes:>12} {self.count:>13} {self.type:>9} {self.op:>7} {self.seconds * 1e6:>10.1f}"
            f" {_gb_per_s(self.algbw):>8} {_gb_per_s(self.busbw):>8}"
            f" {'N/A' if self.wrong is None else self.wrong:>7}"
        )


HEADER = """\
#
#       size         count      type   redop       time    algbw    busbw  #wrong
#        (B)    (elements)                         (us)   (GB/s)   (GB/s)"""


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
    algorithm: str = "auto",
    dtype: torch.dtype = torch.float32,
    iters: int = 20,
    world: str = "threads",
) -> Row:
    """Launch `ranks` ranks and time one collective on `nbytes` bytes each, on the wall clock.

    world: "threads", "processes", or "cuda" for threads with GPU tensors. Raises ValueError if there is no such
    collective, no choice of its algorithm, or nothing to time.
    """
    if iters < 1:
        raise ValueError(f"iters = {iters}; give at least 1 call to time")
    if world == "simulated":
        raise ValueError("simulated ranks have a virtual clock; counterpoint.simulate reads it")
    timed = case(collective, ranks, nbytes, algorithm, dtype=dtype)
    if algorithm == "direct" and world == "threads":
        collectives.kernels.compile_for(dtype)  # before the clock starts, and not beside it
    spans = _spans(iters)
    where: dict[str, Any] = {"device": "cuda"} if world == "cuda" else {"world": world}
    results = launch(_turn, ranks, (timed, spans), trace=False, **where).results
    seconds = _slowest([times for _, times in results], spans)
    return row(timed, seconds, wrong=sum(wrong for wrong, _ in results))


def measure_on(
    comm: Comm,
    collective: str,
    nbytes: int,
    *,
    algorithm: str = "auto",
    dtype: torch.dtype = torch.float32,
    iters: int = 20,
) -> Row:
    """The same on ranks that are there already, such as those of `connect()`: every rank calls it and has the row.

    The clocks of several hosts agree only to about half a round trip, so a span counts from each rank's own leaving
    of the barrier, and the rank with the longest is taken. Raises ValueError as `measure` does.
    """
    if iters < 1:
        raise ValueError(f"iters = {iters}; give at least 1 call to time")
    timed, spans = case(collective, comm.size, nbytes, algorithm, dtype=dtype), _spans(iters)
    wrong, times = _turn(comm, timed, spans)
    means = torch.tensor(
        [(end - start) / calls for calls, (start, end) in zip(spans, times, strict=True)], dtype=torch.float64
    )
    collectives.all_reduce(comm, means, op="max", algorithm="star")
    found = collectives.all_reduce(comm, torch.tensor([wrong]), algorithm="star")
    return row(timed, statistics.median(means.tolist()), wrong=int(found))


def _spans(iters: int) -> list[int]:
    """How many calls each span has."""
    return [len(span) for span in torch.arange(iters).tensor_split(min(SPANS, iters))]


def _turn(comm: Comm, timed: Case, spans: list[int]) -> tuple[int, list[tuple[float, float]]]:
    """A rank's part: wrong elements of a first call, and (start, end) of each span of calls."""
    whole = filled(timed.total, comm.rank, timed.dtype).to(comm.device)
    piece = filled(timed.other, comm.rank, timed.dtype).to(comm.device)
    timed.call(comm, whole, piece)
    wrong = timed.wrong(comm.rank, whole, piece)
    whole.zero_()  # its sums stay finite, however often
    for _ in range(WARM_UP):
        timed.call(comm, whole, piece)
    times = []
    for calls in spans:
        _settle(comm)
        comm.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            timed.call(comm, whole, piece)
        _settle(comm)
        times.append((start, time.perf_counter()))
    return wrong, times


def row(timed: Case, seconds: float, wrong: int | None) -> Row:
    """What a call of so many seconds is, in nccl-tests' columns."""
    algbw = timed.nbytes / seconds if seconds else 0.0
    return Row(
        nbytes=timed.nbytes,
        count=timed.length,
        type=SHORT.get(timed.dtype, str(timed.dtype).removeprefix("torch.")),
        op=timed.way.get("op", "none"),
        seconds=seconds,
        algbw=algbw,
        busbw=algbw * timed.operation.factor(timed.ranks),
        wrong=wrong,
    )


def summary(rows: list[Row]) -> Iterator[str]:
    """The two lines that nccl-tests ends with."""
    wrong = [row.wrong for row in rows if row.wrong is not None]
    verdict = "FAILED" if any(wrong) else "OK" if wrong else "not checked: no data"
    yield f"# Out of bounds values : {sum(wrong)} {verdict}"
    yield f"# Avg bus bandwidth    : {sum(row.busbw for row in rows) / len(rows) / 1e9:.4g}"


def _settle(comm: Comm) -> None:
    """On a GPU: wait until what has been queued has run."""
    if comm.device.type == "cuda":
        torch.cuda.current_stream(comm.device).synchronize()


def _slowest(times: list[list[tuple[float, float]]], spans: list[int]) -> float:
    """Seconds of a call, from each rank's (start, end) of each span: the median span's mean.

    From the first rank's start, not each rank's own: a rank that is late out of the barrier is part of it.
    """
    taken = []
    for calls, of_ranks in zip(spans, zip(*times, strict=True), strict=True):
        taken.append((max(end for _, end in of_ranks) - min(start for start, _ in of_ranks)) / calls)
    return statistics.median(taken)


def _gb_per_s(bandwidth: float) -> str:
    """Three digits at least, however slow: 0.000456, 0.123, 12.35."""
    giga = bandwidth / 1e9
    return f"{giga:.2f}" if giga >= 1 or not giga else f"{giga:#.3g}"


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([A-Za-z]*)", text.strip())
    if match is None or match[2] not in UNITS:
        raise ValueError(f"size {text!r}: give a number and one of B, KiB, MiB, GiB, such as 64MiB")
    return int(match[1]) * UNITS[match[2]]
