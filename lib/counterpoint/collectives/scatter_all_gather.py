"""Scatter and all-gather: a broadcast that sends nothing twice over the root's way out.

The root scatters its vector, a chunk for each rank; round a ring the chunks are handed on until everyone has all.
Cost: ceil(lg p) + p-1 steps, but the root sends less than 2n, and so does everyone: for long vectors.
Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, SC 1994 (InterCom); Thakur, Rabenseifner, Gropp, IJHPCA
19(1), 2005, section 4.2 (van de Geijn).
"""

from itertools import accumulate

import torch

from counterpoint.collectives.gather import subtree_end
from counterpoint.collectives.ring import chunk_sizes, ring_all_gather
from counterpoint.collectives.scatter import binomial_scatter
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def scatter_all_gather_broadcast(comm: Comm, x: torch.Tensor, root: int) -> None:
    """Every rank's `x` (1-D) becomes the root's. Chunk i is that of the rank i above the root."""
    p, rank = comm.size, comm.rank
    me = (rank - root) % p
    chunks = list(x.tensor_split(p))
    starts = [0, *accumulate(chunk.numel() for chunk in chunks)]

    comm.phase("scatter")
    binomial_scatter(comm, x[starts[me] : starts[subtree_end(me, p)]], starts, root)
    # Every rank has its chunk, and perhaps some of those behind it.

    first = (root + 1) % p  # the ring takes the chunk of rank i as number i + 1, and ranks from 0
    ring_all_gather(comm, [chunks[(i - first) % p] for i in range(p)])
    # Every rank has every chunk.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count. The root is the last to have sent away its chunks, and has a largest one, which
    then goes all the way round."""
    n, sizes, depth = count * itemsize, chunk_sizes(p, count), (p - 1).bit_length()
    handed_out = [sum(sizes[me + 1 : subtree_end(me, p)]) for me in range(p)]
    handed_on = [count - sizes[(me + 1) % p] for me in range(p)] if p > 1 else [0]
    scattered = sum(sum(sizes[me : subtree_end(me, p)]) for me in range(1, p))
    return Cost(
        messages=(p - 1) * (p + 1),
        bytes_total=scattered * itemsize + (p - 1) * n,
        bytes_busiest=max(a + b for a, b in zip(handed_out, handed_on, strict=True)) * itemsize,
        steps=depth + p - 1,
        path_latencies=depth + p - 1,
        path_bytes=(count - sizes[0] + (p - 1) * sizes[0]) * itemsize if p > 1 else 0,
        path_reduced=0,
    )
