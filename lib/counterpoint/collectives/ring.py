"""Ring all-reduce: every rank ends with the sum over all ranks.

The vector is cut into p chunks. Round the ring once, each chunk collects every rank's part; round the
ring again, the finished chunks are handed on. Cost: 2(p-1) steps, in each of which everyone sends one
chunk, 2(p-1)/p n in all: time 2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma. Nobody can send less.
Source: Patarasuk and Yuan, JPDC 69(2), 2009, sections 3 and 4.
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm


def ring_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, same length and dtype on every rank) over all ranks, in place; returned."""
    chunks = list(x.tensor_split(comm.size))
    ring_reduce_scatter(comm, chunks, op)
    ring_all_gather(comm, chunks)
    return x


def ring_reduce_scatter(comm: Comm, chunks: list[torch.Tensor], op: str = "sum") -> None:
    """Chunk (rank + 1) mod p becomes the sum over all ranks; the other chunks are used up."""
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p

    comm.phase("reduce-scatter")
    for step in range(p - 1):
        outgoing = chunks[(rank - step) % p]
        incoming = chunks[(rank - step - 1) % p]
        comm.sendrecv_reduce(outgoing, right, incoming, left, op)
        # chunk (rank - step - 1) holds the sum of ranks (rank - step - 1) ... rank.


def ring_all_gather(comm: Comm, chunks: list[torch.Tensor]) -> None:
    """Chunk i of every rank becomes chunk i of rank (i - 1) mod p, where it is complete."""
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p

    comm.phase("all-gather")
    for step in range(p - 1):
        outgoing = chunks[(rank - step + 1) % p]
        incoming = chunks[(rank - step) % p]
        comm.sendrecv(outgoing, right, incoming, left)
        # chunks (rank - step) ... (rank + 1) are complete.


def chunk_sizes(p: int, count: int) -> list[int]:
    """Elements in each of `tensor_split`'s p chunks: the first count mod p have one more."""
    return [count // p + (i < count % p) for i in range(p)]


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count; an empty chunk is still a message.

    Each rank leaves out one chunk in each phase, and they are neighbours; the busiest leaves out the
    smallest pair. The critical path is the way of a largest chunk.
    """
    n, sizes = count * itemsize, chunk_sizes(p, count)
    left_out = min(sizes[i] + sizes[(i + 1) % p] for i in range(p)) * itemsize
    hops = 2 * (p - 1)
    return Cost(
        messages=hops * p,
        bytes_total=hops * n,
        bytes_busiest=2 * n - left_out if p > 1 else 0,
        steps=hops,
        path_latencies=hops,
        path_bytes=hops * sizes[0] * itemsize,
        path_reduced=(p - 1) * sizes[0] * itemsize,
    )
