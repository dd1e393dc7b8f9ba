"""Two-shot direct all-reduce: every rank ends with the sum over all ranks, and nobody sends a message.

Each rank reads its slice of every rank's vector, block by block, adds them up, and writes the sum to every rank's.
Nobody else touches that slice, so two fences are all: one when all vectors are there, one when all sums are.
Cost: each rank reads and writes (p-1)/p n of others' memory, like the ring, but every vector is read once and
written once: no all-reduce in place does with less memory traffic. Source: the two-phase all-reduce over symmetric
memory, as in NCCL's symmetric kernels and torch's two_shot_all_reduce_, whose two phases are here one pass.
"""

import torch

from counterpoint.collectives.ring import chunk_sizes
from counterpoint.models import Cost
from counterpoint.ranks import Comm

BLOCK = 128 << 10
"""Bytes that are added up and written before the next ones are read: they stay in the cache meanwhile."""


def two_shot_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, contiguous, same length and dtype on every rank) over all ranks, in place; returned."""
    p, rank = comm.size, comm.rank
    others = [(rank + k) % p for k in range(1, p)]
    window = comm.window_with(x)
    # Every rank's vector is there.

    for block in blocks(p, rank, len(x), x.element_size()):
        total = window.local[block]
        for source in others:
            window.reduce_from(total, source, op, block)
        for dest in others:
            window.put(total, dest, block)
        # This block is complete on every rank.

    window.fence()
    # All blocks of all slices are.
    window.copy_back()
    return x


def blocks(p: int, rank: int, count: int, itemsize: int) -> list[slice]:
    """The slice of `rank`, in pieces of at most BLOCK bytes; none if it is empty."""
    sizes = chunk_sizes(p, count)
    low = sum(sizes[:rank])
    return pieces(low, low + sizes[rank], itemsize)


def pieces(low: int, high: int, itemsize: int) -> list[slice]:
    """Elements `low` to `high` in pieces of at most BLOCK bytes."""
    most = BLOCK // itemsize
    return [slice(start, min(start + most, high)) for start in range(low, high, most)]


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count: a transfer for each block, read from, and written to, each other rank."""
    n, sizes = count * itemsize, chunk_sizes(p, count)
    cut = [len(pieces(0, size, itemsize)) for size in sizes]
    return Cost(
        messages=2 * (p - 1) * sum(cut),
        bytes_total=2 * (p - 1) * n,
        bytes_busiest=n + (p - 2) * sizes[0] * itemsize if p > 1 else 0,
        steps=2,
        path_latencies=2 * (p - 1) * cut[0],
        path_bytes=2 * (p - 1) * sizes[0] * itemsize,
        path_reduced=(p - 1) * sizes[0] * itemsize,
    )
