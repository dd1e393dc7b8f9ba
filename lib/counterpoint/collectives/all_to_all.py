"""Pairwise all-to-all: rank r ends with every rank's r-th piece, in rank order.

In step s everyone sends to the rank s above and receives from the rank s below: each step uses every way out and
every way in just once. Cost: p-1 steps, p(p-1) messages; each rank sends (p-1)/p of its input.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section "All-to-All" (pairwise exchange).
"""

from functools import lru_cache

import torch

from counterpoint.collectives import bruck_all_to_all
from counterpoint.collectives.choice import Algorithms, known, quickest
from counterpoint.collectives.pieces import check_apart, check_list
from counterpoint.models import Cost, Link
from counterpoint.ranks import Comm, check_tensor

Pieces = torch.Tensor | list[torch.Tensor]


def all_to_all(comm: Comm, output: Pieces, input: Pieces, algorithm: str = "auto") -> Pieces:
    """Send the i-th piece of `input` to rank i; fill the j-th of `output` with what rank j sent; returned.

    Both are tensors of one size, read in order as p equal pieces, or both are lists of p tensors of any sizes,
    where mine for rank i has as many elements as rank i's from me. Same dtype on every rank; `input` is unchanged,
    and shares no memory with `output`. algorithm: "pairwise"; "bruck", for small equal pieces; or "auto", the
    cheaper one (for lists: pairwise). Cost: the algorithm's; a tensor that is not contiguous is also copied. Raises
    ValueError if pieces or algorithm do not fit; TypeError for what is no tensor or list; MismatchError if ranks
    differ.
    """
    incoming, outgoing = _pieces(comm, output, input)
    check_apart(comm, "all_to_all", incoming, outgoing)
    dtype, sizes = outgoing[0].dtype, {piece.numel() for piece in [*incoming, *outgoing]}
    count, equal = sum(piece.numel() for piece in outgoing), isinstance(input, torch.Tensor)
    if algorithm == "auto":  # of lists a rank sees its own only: others' pieces may differ though its do not
        algorithm = cheapest(comm.size, count, dtype.itemsize) if equal else "pairwise"
    known("all_to_all", algorithm, ALGORITHMS)
    if algorithm == "bruck" and len(sizes) > 1:
        raise ValueError(
            f"rank {comm.rank}: all_to_all by bruck has pieces of {sorted(sizes)} elements; they must be equal, "
            f"so take algorithm='pairwise'"
        )
    comm.agree("all_to_all", count if equal or algorithm == "bruck" else "lists", dtype, algorithm)
    with torch.no_grad(), comm.phase("all-to-all"):
        ALGORITHMS[algorithm][0](comm, incoming, outgoing)
        if isinstance(output, torch.Tensor) and not output.is_contiguous():
            output.detach().copy_(torch.cat(incoming).view(output.shape))
    return output


def pairwise_all_to_all(comm: Comm, incoming: list[torch.Tensor], outgoing: list[torch.Tensor]) -> None:
    """`incoming[j]` becomes rank j's `outgoing[rank]`; an empty piece is still a message."""
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank].view_as(incoming[rank]))
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[dest], dest, incoming[source], source)
        # The pieces of ranks (rank - step) ... rank are here.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and equal pieces; `count` is the whole of a rank's input, a multiple of p."""
    piece = count // p * itemsize
    return Cost(
        messages=p * (p - 1),
        bytes_total=p * (p - 1) * piece,
        bytes_busiest=(p - 1) * piece,
        steps=p - 1,
        path_latencies=p - 1,
        path_bytes=(p - 1) * piece,
        path_reduced=0,
    )


ALGORITHMS: Algorithms = {
    "pairwise": (pairwise_all_to_all, cost),
    "bruck": (bruck_all_to_all.bruck_all_to_all, bruck_all_to_all.cost),
}
"""Each algorithm's function `(comm, incoming, outgoing)` for lists of tensors, and its cost."""


@lru_cache(maxsize=1024)
def cheapest(p: int, count: int, itemsize: int, link: Link | None = None) -> str:
    """The all-to-all (of equal pieces) that takes least time on `link` (default: on rank threads); ties: pairwise."""
    return quickest(ALGORITHMS, p, count, itemsize, link, fresh={"bruck": 5})


def _pieces(comm: Comm, output: Pieces, input: Pieces) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """(output's pieces, input's), each one a rank; ValueError unless they fit together as far as one rank sees."""
    for given in (output, input):
        if not isinstance(given, list | tuple):
            check_tensor("all_to_all", given)
    p, who = comm.size, f"rank {comm.rank}: all_to_all"
    if isinstance(output, torch.Tensor) and isinstance(input, torch.Tensor):
        if output.numel() != input.numel() or output.dtype != input.dtype or input.numel() % p:
            raise ValueError(
                f"{who} has {input.numel()} x {input.dtype} to send and {output.numel()} x {output.dtype} to "
                f"fill; give the same number of the same dtype, a multiple of {p} (or lists, of {p} tensors each)"
            )
        flat = output.detach() if output.is_contiguous() else output.detach().flatten()
        return list(flat.view(-1).tensor_split(p)), list(input.detach().reshape(-1).tensor_split(p))
    if isinstance(output, torch.Tensor) or isinstance(input, torch.Tensor):
        raise TypeError(
            f"{who} has a tensor and a list; give two tensors of equal pieces, or two lists of {p}"
        )
    check_list(comm, "all_to_all", "input", input, None, None)
    check_list(comm, "all_to_all", "output", output, input[0].dtype, None)
    if output[comm.rank].numel() != input[comm.rank].numel():
        raise ValueError(
            f"{who} sends {input[comm.rank].numel()} elements to itself and has room for "
            f"{output[comm.rank].numel()}; the two must be equal"
        )
    return [piece.detach() for piece in output], [piece.detach() for piece in input]
