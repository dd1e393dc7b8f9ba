"""Binomial reduce: the root ends with the sum over all ranks; the others keep their vectors.

In round k every rank whose number (counted from the root) has bit k as its lowest set bit sends its
partial sum to the rank without that bit. Cost: ceil(lg p) steps, p-1 messages, nobody sends more than n.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.4 (binomial tree).
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_op, check_tensor, finish, index


def reduce(comm: Comm, tensor: torch.Tensor, root: int = 0, op: str = "sum") -> torch.Tensor:
    """Reduce `tensor` over all ranks into the root's; returned. Other ranks' tensors are unchanged.

    tensor: any shape and strides, same shape and dtype on every rank. Cost: `reduce.cost`; a rank inside
    the tree also copies its vector once. Raises ValueError for an op that the dtype has not, or no such
    root; TypeError for what is no tensor; MismatchError if ranks differ.
    """
    check_tensor("reduce", tensor)
    check_op(op, tensor.dtype)
    check_root(comm, root)
    comm.agree("reduce", tensor.numel(), tensor.dtype, op, f"root={root}")
    with torch.no_grad(), comm.phase("reduce"):
        mine = tensor.detach()
        inside = comm.rank != root and has_children((comm.rank - root) % comm.size, comm.size)
        binomial_reduce(comm, mine.clone() if inside else mine, root, op)
        if comm.rank == root:
            finish(mine, op, comm.size)
    return tensor


def binomial_reduce(comm: Comm, x: torch.Tensor, root: int, op: str) -> None:
    """The root's `x` becomes the sum; the others' `x` is used up (holds a partial sum)."""
    p = comm.size
    me = (comm.rank - root) % p
    distance = 1
    while distance < p:
        if me & distance:
            comm.send(x, (me - distance + root) % p)
            return
        if me + distance < p:
            comm.recv_reduce(x, (me + distance + root) % p, op)
        distance *= 2
        # x holds the sum of ranks me, me + 1, ... me + distance - 1 (counted from the root).


def has_children(me: int, p: int) -> bool:
    """Whether rank `me`, counted from the root, receives in a binomial tree of p ranks."""
    return me % 2 == 0 and me + 1 < p


def check_root(comm: Comm, root: int) -> None:
    if not 0 <= index(root, f"rank {comm.rank}: root is") < comm.size:
        raise ValueError(f"rank {comm.rank}: root {root} is not a rank; there are 0 to {comm.size - 1}")


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n, depth = count * itemsize, (p - 1).bit_length()
    return Cost(
        messages=p - 1,
        bytes_total=(p - 1) * n,
        bytes_busiest=n if p > 1 else 0,
        steps=depth,
        path_latencies=depth,
        path_bytes=depth * n,
        path_reduced=depth * n,
    )
