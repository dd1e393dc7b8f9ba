"""Tree all-reduce: every rank ends with the sum over all ranks.

A binomial reduce to rank 0, then a binomial broadcast down the same tree.
Cost: 2 ceil(lg p) steps, 2(p-1) messages: time 2 ceil(lg p)(alpha + n beta) + ceil(lg p) n gamma.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, sections 4.2 and 4.4.
"""

import torch

from counterpoint.collectives.broadcast import binomial_broadcast
from counterpoint.collectives.reduce import binomial_reduce
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def tree_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (same shape and dtype on every rank) over all ranks, in place; returned."""
    comm.phase("reduce")
    binomial_reduce(comm, x, 0, op)
    # Rank 0 holds the sum of all ranks.

    comm.phase("broadcast")
    binomial_broadcast(comm, x, 0)
    # Every rank holds rank 0's sum.
    return x


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n, depth = count * itemsize, (p - 1).bit_length()
    return Cost(
        messages=2 * (p - 1),
        bytes_total=2 * (p - 1) * n,
        bytes_busiest=depth * n,
        steps=2 * depth,
        path_latencies=2 * depth,
        path_bytes=2 * depth * n,
        path_reduced=depth * n,
    )
