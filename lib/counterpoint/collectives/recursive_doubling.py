"""Recursive doubling all-reduce: every rank ends with the sum over all ranks.

Neighbours exchange what they hold and add, then pairs of pairs, and so on: each step doubles the ranks in a sum.
Cost: lg p steps, in each of which everyone sends n: time lg p (alpha + n beta + n gamma); the fewest steps, but the
most bytes. If p is no power of two: floor(lg p), and 2 steps for the fold.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section "Reduce and Allreduce".
"""

import torch

from counterpoint.collectives.fold import fold, folded, unfold, unfolded
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def recursive_doubling_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, same length and dtype on every rank) over all ranks, in place; returned."""
    p = comm.size
    power, _ = folded(p)
    me = fold(comm, x, op)
    # `power` ranks go on, numbered in rank order; each holds the sum of a block of one or two ranks.

    comm.phase("doubling")
    if me is not None:
        theirs, distance = torch.empty_like(x), 1
        while distance < power:
            other = me ^ distance
            peer = unfolded(other, p)
            comm.sendrecv(x, peer, theirs, peer)
            low, high = (x, theirs) if me < other else (theirs, x)
            comm.reduce_local(low, high, op, out=x)
            distance *= 2
            # x holds the sum of `distance` blocks, mine among them: the same bits on all of their ranks.

    unfold(comm, x)
    # Every rank holds the sum of all ranks.
    return x


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n, (power, pairs) = count * itemsize, folded(p)
    k, folds = power.bit_length() - 1, int(pairs > 0)
    messages = power * k + 2 * pairs
    return Cost(
        messages=messages,
        bytes_total=messages * n,
        bytes_busiest=(k + folds) * n,
        steps=k + 2 * folds,
        path_latencies=k + 2 * folds,
        path_bytes=(k + 2 * folds) * n,
        path_reduced=(k + folds) * n,
    )
