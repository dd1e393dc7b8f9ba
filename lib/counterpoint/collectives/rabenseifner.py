"""Rabenseifner's all-reduce: every rank ends with the sum over all ranks.

Recursive halving, then recursive doubling: neighbours exchange halves of the vector and each adds its own half, then
pairs of pairs exchange quarters, and so on, until each holds one finished chunk; the same way back, they hand on
what is finished. Cost: 2 lg p steps, in which everyone sends 2(p-1)/p n: the ring's bytes in a tree's steps. If p is
no power of two: floor(lg p), and 2 steps and up to 2n for the fold.
Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, section 2.
"""

from typing import Any

import torch

from counterpoint.collectives.fold import fold, folded, unfold, unfolded
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def rabenseifner_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, same length and dtype on every rank) over all ranks, in place; returned."""
    power, _ = folded(comm.size)
    me = fold(comm, x, op)
    # `power` ranks go on, numbered in rank order; each holds the sum of a block of one or two ranks.

    if me is not None:
        halves = halvings(x, me, power)
        scratch = x.new_empty(max((len(mine) for _, mine, _ in halves), default=0))

        comm.phase("reduce-scatter")
        for other, mine, rest in halves:
            peer, theirs = unfolded(other, comm.size), scratch[: len(mine)]
            comm.sendrecv(rest, peer, theirs, peer)
            low, high = (mine, theirs) if me < other else (theirs, mine)
            comm.reduce_local(low, high, op, out=mine)
            # My half holds the sum of twice as many blocks: the same bits on all of their ranks.

        comm.phase("all-gather")
        for other, mine, rest in reversed(halves):
            peer = unfolded(other, comm.size)
            comm.sendrecv(mine, peer, rest, peer)
            # Both halves hold the sum of all blocks.

    unfold(comm, x)
    # Every rank holds the sum of all ranks.
    return x


def halvings(x: Any, me: int, power: int) -> list[tuple[int, Any, Any]]:
    """Step by step: with whom I share what I have left of `x`, the half that I keep, and the half that it keeps.

    Halves are cut between the `power` chunks of `tensor_split`, until one is left. `x`: what can be sliced.
    """

    def start(chunk: int) -> int:
        return chunk * (len(x) // power) + min(chunk, len(x) % power)

    first, end, steps = 0, power, []
    for bit in range(power.bit_length() - 1):
        other, middle = me ^ (1 << bit), (first + end) // 2
        lower, upper = x[start(first) : start(middle)], x[start(middle) : start(end)]
        if me < other:
            steps.append((other, lower, upper))
            end = middle
        else:
            steps.append((other, upper, lower))
            first = middle
    return steps


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count. The first chunks are the largest, so the longest way is that of the last rank's
    vector to rank 0, which finishes chunk 0, and back."""
    n, (power, pairs) = count * itemsize, folded(p)
    k, folds = power.bit_length() - 1, int(pairs > 0)

    def sent(me: int) -> int:
        return sum(len(mine) + len(rest) for _, mine, rest in halvings(range(count), me, power))

    kept = sum(len(mine) for _, mine, _ in halvings(range(count), 0, power)) * itemsize
    busiest = max(sent(0), *(sent(me) + count for me in range(power - pairs, power)), 0)
    return Cost(
        messages=2 * (power * k + pairs),
        bytes_total=2 * (power - 1 + pairs) * n,
        bytes_busiest=busiest * itemsize,
        steps=2 * (k + folds),
        path_latencies=2 * (k + folds),
        path_bytes=2 * (kept + folds * n),
        path_reduced=kept + folds * n,
    )
