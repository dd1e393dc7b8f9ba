"""Binomial scatter: rank r ends with the root's r-th piece.

The gather tree, backwards: the root sends the pieces of the farther half to the rank half-way round, and both go
on in their halves. Cost: ceil(lg p) steps, p-1 messages; the root sends (p-1)/p of the whole.
Source: Chan, Heimlich, Purkayastha, van de Geijn, CCPE 19, 2007 (minimum-spanning-tree scatter).
"""

from collections.abc import Sequence

import torch

from counterpoint.collectives.gather import starts_from, subtree_end
from counterpoint.collectives.pieces import check_list, piece_sizes
from counterpoint.collectives.reduce import check_root
from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_tensor


def scatter(
    comm: Comm,
    output: torch.Tensor,
    inputs: list[torch.Tensor] | None,
    root: int = 0,
    sizes: Sequence[int] | None = None,
) -> torch.Tensor:
    """Fill every rank's `output` with the root's `inputs[rank]`; returned.

    output: any shape and strides, same dtype on every rank. inputs: a list of p tensors on the root, each as
    many elements as its rank's output, unchanged; None on other ranks. sizes: elements on each rank, the same
    list everywhere, if they differ. Cost: `scatter.cost`; a rank also copies once what passes through it. Raises
    ValueError if pieces, sizes or root do not fit; TypeError for what is no tensor; MismatchError if ranks
    differ.
    """
    check_tensor("scatter", output)
    check_root(comm, root)
    elements = piece_sizes(comm, "scatter", output, sizes)
    if comm.rank == root:
        check_list(comm, "scatter", "inputs", inputs, output.dtype, elements)
    comm.agree("scatter", output.numel() if sizes is None else tuple(elements), output.dtype, f"root={root}")
    with torch.no_grad(), comm.phase("scatter"):
        starts, me = starts_from(root, elements), (comm.rank - root) % comm.size
        if comm.rank == root and inputs is not None:
            held = torch.cat([piece.detach().reshape(-1) for piece in [*inputs[root:], *inputs[:root]]])
        else:
            held = output.detach().new_empty(starts[subtree_end(me, comm.size)] - starts[me])
        binomial_scatter(comm, held, starts, root)
        output.detach().copy_(held[: output.numel()].view(output.shape))
    return output


def binomial_scatter(comm: Comm, held: torch.Tensor, starts: list[int], root: int) -> None:
    """`held` begins with my piece: all pieces on the root, its own first; elsewhere room for those of my subtree.
    `starts` says where pieces begin, counted from the root."""
    p = comm.size
    me = (comm.rank - root) % p
    distance = 1
    while distance < p and not me & distance:
        distance *= 2
    # distance is my lowest set bit (for the root: the first power of two that is at least p).

    if me:
        comm.recv(held, (me - distance + root) % p)
    while distance > 1:
        end = min(me + distance, p)
        distance //= 2
        child = me + distance
        if child < p:
            comm.send(held[starts[child] - starts[me] : starts[end] - starts[me]], (child + root) % p)
        # The pieces from child on have been handed out; those of me ... me + distance - 1 have not.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and equal pieces; `count` is the whole, a multiple of p."""
    piece, depth = count // p * itemsize, (p - 1).bit_length()
    sent = [subtree_end(me, p) - me for me in range(1, p)]
    return Cost(
        messages=p - 1,
        bytes_total=sum(sent) * piece,
        bytes_busiest=(p - 1) * piece,
        steps=depth,
        path_latencies=depth,
        path_bytes=(p - 1) * piece,
        path_reduced=0,
    )
