"""Binomial broadcast: every rank ends with the root's vector.

The root sends to the rank half-way round, and both go on in their halves: the reduce tree, backwards.
Cost: ceil(lg p) steps, p-1 messages; the root sends ceil(lg p) n.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.2 (binomial tree).
"""

from functools import lru_cache

import torch

from counterpoint.collectives import logp_broadcast, scatter_all_gather
from counterpoint.collectives.choice import Algorithms, known, quickest
from counterpoint.collectives.reduce import check_root
from counterpoint.models import Cost, Link, LogGP
from counterpoint.ranks import Comm, check_tensor


def broadcast(
    comm: Comm, tensor: torch.Tensor, root: int = 0, algorithm: str = "auto", machine: LogGP | None = None
) -> torch.Tensor:
    """Overwrite every rank's `tensor` with the root's; returned.

    tensor: any shape and strides, same shape and dtype on every rank. algorithm: "binomial"; "scatter-all-gather",
    for long vectors; "auto" for the cheaper of these; or "logp", the fastest one on `machine`, whose L, o, g and G
    it takes. Cost: the algorithm's; scatter-all-gather copies twice what is not contiguous. Raises ValueError for
    an unknown root or algorithm, or if "logp" has no machine; TypeError for what is no tensor; MismatchError if
    ranks differ.
    """
    check_tensor("broadcast", tensor)
    check_root(comm, root)
    if not (isinstance(machine, LogGP) if algorithm == "logp" else machine is None):
        raise ValueError(
            f"rank {comm.rank}: broadcast by {algorithm!r} with machine {machine!r}; a models.LogGP goes with "
            f"algorithm='logp', which needs one, and with no other"
        )
    if algorithm == "auto":
        algorithm = cheapest(comm.size, tensor.numel(), tensor.element_size())
    known("broadcast", algorithm, [*ALGORITHMS, "logp"])
    how = algorithm if machine is None else f"{algorithm} for {machine}"
    comm.agree("broadcast", tensor.numel(), tensor.dtype, f"root={root}", how)
    with torch.no_grad(), comm.phase("broadcast"):
        whole = tensor.detach()
        if machine is not None:
            logp_broadcast.logp_broadcast(comm, whole, root, machine)
        elif algorithm == "binomial":
            binomial_broadcast(comm, whole, root)
        else:
            flat = whole.contiguous().view(-1)
            scatter_all_gather.scatter_all_gather_broadcast(comm, flat, root)
            if not whole.is_contiguous():
                whole.copy_(flat.view(whole.shape))
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


ALGORITHMS: Algorithms = {
    "binomial": (binomial_broadcast, cost),
    "scatter-all-gather": (scatter_all_gather.scatter_all_gather_broadcast, scatter_all_gather.cost),
}
"""Each algorithm's function `(comm, x, root)` for a 1-D tensor, and its `cost(p, count, itemsize)`."""


@lru_cache(maxsize=1024)
def cheapest(p: int, count: int, itemsize: int, link: Link | None = None) -> str:
    """The broadcast (not "logp") that takes least time on `link` (default: on rank threads); ties: binomial."""
    return quickest(ALGORITHMS, p, count, itemsize, link, fresh={})
