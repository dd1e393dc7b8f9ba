"""Binomial broadcast: every rank ends with the root's vector.

The root sends to the rank half-way round, and both go on in their halves: the reduce tree, backwards.
Cost: ceil(lg p) steps, p-1 messages; the root sends ceil(lg p) n.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.2 (binomial tree).
"""

import torch

from counterpoint.collectives.reduce import check_root
from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_tensor


def broadcast(comm: Comm, tensor: torch.Tensor, root: int = 0) -> torch.Tensor:
    """Overwrite every rank's `tensor` with the root's; returned.

    tensor: any shape and strides, same shape and dtype on every rank. Cost: `broadcast.cost`. Raises
    ValueError if there is no such root; TypeError for what is no tensor; MismatchError if ranks differ.
    """
    check_tensor("broadcast", tensor)
    check_root(comm, root)
    comm.agree("broadcast", tensor.numel(), tensor.dtype, f"root={root}")
    with torch.no_grad(), comm.phase("broadcast"):
        binomial_broadcast(comm, tensor.detach(), root)
    return tensor


def binomial_broadcast(comm: Comm, x: torch.Tensor, root: int) -> None:
    """Every rank's `x` becomes the root's."""
    p = comm.size
    me = (comm.rank - root) % p
    distance = 1
    while distance < p and not me & distance:
        distance *= 2
    # distance is my lowest set bit (for the root: the first power of two that is at least p).

    if me:
        comm.recv(x, (me - distance + root) % p)
    while distance > 1:
        distance //= 2
        if me + distance < p:
            comm.send(x, (me + distance + root) % p)
    # Ranks me ... me + (my first distance) - 1 have been served.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count."""
    n, depth = count * itemsize, (p - 1).bit_length()
    return Cost(
        messages=p - 1,
        bytes_total=(p - 1) * n,
        bytes_busiest=depth * n,
        steps=depth,
        path_latencies=depth,
        path_bytes=depth * n,
        path_reduced=0,
    )
