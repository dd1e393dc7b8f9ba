"""Any number of ranks made a power of two: the fold before a doubling algorithm, and the unfold after it.

With p = 2^k + r, the last 2r ranks are r pairs of neighbours. In each the upper rank gives its vector to the lower
one, which adds it to its own and goes on for both; at the end it gives back the result. So those who go on hold
sums of neighbouring blocks of ranks, each in rank order. (MPICH folds the first 2r ranks, and the upper of each pair
goes on: then the first operand would be the one that comes in.)
Cost: one step and n each way; nothing if r = 0.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section "Reduce and Allreduce".
"""

import torch

from counterpoint.ranks import Comm


def folded(p: int) -> tuple[int, int]:
    """(2^k, r) with p = 2^k + r and r < 2^k: how many go on, and how many of these for two."""
    power = 1 << p.bit_length() - 1
    return power, p - power


def fold(comm: Comm, x: torch.Tensor, op: str) -> int | None:
    """My number among the ranks that go on, counted in their order; None if I do not."""
    power, pairs = folded(comm.size)
    alone = power - pairs
    comm.phase("fold")
    if comm.rank < alone:
        return comm.rank
    place = comm.rank - alone
    if place % 2:
        comm.send(x, comm.rank - 1)
        return None
    comm.recv_reduce(x, comm.rank + 1, op)
    return alone + place // 2


def unfolded(number: int, p: int) -> int:
    """The rank of one that goes on, from its number."""
    power, pairs = folded(p)
    return number + max(number - (power - pairs), 0)


def unfold(comm: Comm, x: torch.Tensor) -> None:
    """Who went on for two gives `x` to the other one."""
    power, pairs = folded(comm.size)
    place = comm.rank - (power - pairs)
    comm.phase("unfold")
    if place >= 0 and place % 2:
        comm.recv(x, comm.rank - 1)
    elif place >= 0:
        comm.send(x, comm.rank + 1)
