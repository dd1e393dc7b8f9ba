"""Binomial gather: the root ends with every rank's piece, in rank order.

The reduce tree, but what comes in is kept, not added: in round k a rank whose number (counted from the root) has
bit k as its lowest set bit sends all it has to the rank without that bit.
Cost: ceil(lg p) steps, p-1 messages; the root receives (p-1)/p of the whole, nobody else more than half.
Source: Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19, 2007 (minimum-spanning-tree gather).
"""

from collections.abc import Sequence
from itertools import accumulate

import torch

from counterpoint.collectives.pieces import check_list, piece_sizes
from counterpoint.collectives.reduce import check_root
from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_tensor


def gather(
    comm: Comm,
    outputs: list[torch.Tensor] | None,
    tensor: torch.Tensor,
    root: int = 0,
    sizes: Sequence[int] | None = None,
) -> list[torch.Tensor] | None:
    """Fill the root's `outputs`, a list of p tensors, with every rank's `tensor`, the r-th from rank r; returned.

    tensor: any shape and strides, same dtype on every rank; unchanged. outputs: None on other ranks; each as
    many elements as its rank's tensor. sizes: elements on each rank, the same list everywhere, if they differ.
    Cost: `gather.cost`; a rank also copies once what passes through it. Raises ValueError if pieces, sizes or
    root do not fit; TypeError for what is no tensor; MismatchError if ranks differ.
    """
    check_tensor("gather", tensor)
    check_root(comm, root)
    elements = piece_sizes(comm, "gather", tensor, sizes)
    if comm.rank == root:
        check_list(comm, "gather", "outputs", outputs, tensor.dtype, elements)
    comm.agree("gather", tensor.numel() if sizes is None else tuple(elements), tensor.dtype, f"root={root}")
    with torch.no_grad(), comm.phase("gather"):
        starts, me = starts_from(root, elements), (comm.rank - root) % comm.size
        mine = tensor.detach().reshape(-1)
        held = mine.new_empty(starts[subtree_end(me, comm.size)] - starts[me])
        held[: mine.numel()].copy_(mine)
        binomial_gather(comm, held, starts, root)
        if comm.rank == root and outputs is not None:
            for number, piece in enumerate(outputs):
                first = starts[(number - root) % comm.size]
                piece.detach().copy_(held[first : first + piece.numel()].view(piece.shape))
    return outputs


def binomial_gather(comm: Comm, held: torch.Tensor, starts: list[int], root: int) -> None:
    """The root's `held` becomes all pieces, its own first. `held` begins with my piece, and has room for those of
    my subtree; `starts` says where pieces begin, counted from the root."""
    p = comm.size
    me = (comm.rank - root) % p
    distance = 1
    while distance < p:
        if me & distance:
            comm.send(held, (me - distance + root) % p)
            return
        child, end = me + distance, min(me + 2 * distance, p)
        if child < p:
            incoming = held[starts[child] - starts[me] : starts[end] - starts[me]]
            comm.recv(incoming, (child + root) % p)
        distance *= 2
        # held has the pieces of ranks me, me + 1, ... me + distance - 1 (counted from the root).


def starts_from(root: int, sizes: Sequence[int]) -> list[int]:
    """Where each piece begins when they lie in the order root, root + 1, ...; and where the last one ends."""
    return [0, *accumulate([*sizes[root:], *sizes[:root]])]


def subtree_end(me: int, p: int) -> int:
    """The ranks below `me` in a binomial tree, itself included, are me ... this - 1 (counted from the root)."""
    return min(me + (me & -me or p), p)


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and equal pieces; `count` is the whole, a multiple of p."""
    piece, depth = count // p * itemsize, (p - 1).bit_length()
    sent = [subtree_end(me, p) - me for me in range(1, p)]
    return Cost(
        messages=p - 1,
        bytes_total=sum(sent) * piece,
        bytes_busiest=max(sent, default=0) * piece,
        steps=depth,
        path_latencies=depth,
        path_bytes=(p - 1) * piece,
        path_reduced=0,
    )
