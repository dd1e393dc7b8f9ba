"""Star all-reduce: every rank ends with the sum over all ranks.

Everyone sends its vector to rank 0, which adds them up, one after another, and sends the sum back.
Cost: 2(p-1) steps and messages; rank 0 sends (p-1)n: time 2(p-1)(alpha + n beta) + (p-1) n gamma.
Source: the "linear" or "flat tree" algorithm, e.g. Chan et al., CCPE 19, 2007, section 2.
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm


def star_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (same shape and dtype on every rank) over all ranks, in place; returned."""
    root = 0

    comm.phase("reduce")
    if comm.rank == root:
        for source in range(1, comm.size):
            comm.recv_reduce(x, source, op)
    else:
        comm.send(x, root)
    # The root holds the sum of all ranks, added in rank order.

    comm.phase("broadcast")
    if comm.rank == root:
        for dest in range(1, comm.size):
            comm.send(x, dest)
    else:
        comm.recv(x, root)
    # Every rank holds the root's sum.
    return x


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n = count * itemsize
    return Cost(
        messages=2 * (p - 1),
        bytes_total=2 * (p - 1) * n,
        bytes_busiest=(p - 1) * n,
        steps=2 * (p - 1),
        path_latencies=2 * (p - 1),
        path_bytes=2 * (p - 1) * n,
        path_reduced=(p - 1) * n,
    )
