"""Recursive doubling all-reduce: every rank ends with the sum over all ranks.

Pairs exchange what they hold and add, then pairs of pairs, and so on: each step doubles how many ranks are in
a sum. If p is not a power of two, the first 2r ranks (p = 2^k + r) begin as r neighbours folded into one.
Cost: lg p steps, in each of which everyone sends n; 2 more steps if r > 0. Fewest steps, but most bytes.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5 (the fold: 4.5, "non-power-of-two").
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm


def recursive_doubling_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, same length and dtype on every rank) over all ranks, in place; returned."""
    rank, (power, extra) = comm.rank, fold(comm.size)
    odd, even = (rank < 2 * extra and rank % 2 == which for which in (1, 0))

    comm.phase("fold")
    if odd:
        comm.send(x, rank - 1)
    elif even:
        comm.recv_reduce(x, rank + 1, op)
    # `power` ranks go on, numbered in their order; they hold the sums of neighbouring blocks of ranks.

    comm.phase("doubling")
    if not odd:
        me, distance = (rank // 2 if even else rank - extra), 1
        theirs = torch.empty_like(x)
        while distance < power:
            other = me ^ distance
            peer = 2 * other if other < extra else other + extra
            comm.sendrecv(x, peer, theirs, peer)
            low, high = (x, theirs) if me < other else (theirs, x)
            comm.reduce_local(low, high, op, out=x)
            distance *= 2
            # x holds the sum of the `distance` blocks around mine, in one order on all of their ranks.

    comm.phase("unfold")
    if even:
        comm.send(x, rank + 1)
    elif odd:
        comm.recv(x, rank - 1)
    # Every rank holds the sum of all ranks.
    return x


def fold(p: int) -> tuple[int, int]:
    """(2^k, r) with p = 2^k + r and r < 2^k."""
    power = 1 << p.bit_length() - 1
    return power, p - power


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n, (power, extra) = count * itemsize, fold(p)
    k, folded = power.bit_length() - 1, extra > 0
    messages = power * k + 2 * extra
    return Cost(
        messages=messages,
        bytes_total=messages * n,
        bytes_busiest=(k + folded) * n,
        steps=k + 2 * folded,
        path_latencies=k + 2 * folded,
        path_bytes=(k + 2 * folded) * n,
        path_reduced=(k + folded) * n,
    )
