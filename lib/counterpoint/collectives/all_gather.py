"""Ring all-gather: every rank ends with every rank's piece, in rank order.

The second half of the ring all-reduce: hand on to the right what has just come from the left.
Cost: p-1 steps, p(p-1) messages, each rank sends (p-1)/p of the whole.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1 (ring).
"""

from functools import lru_cache

import torch

from counterpoint.collectives import bruck_all_gather
from counterpoint.collectives.choice import Algorithms, known, quickest
from counterpoint.collectives.reduce_scatter import check_pieces
from counterpoint.collectives.ring import ring_all_gather
from counterpoint.models import Cost, Link
from counterpoint.ranks import Comm, check_tensor


def all_gather(
    comm: Comm, output: torch.Tensor, tensor: torch.Tensor, algorithm: str = "auto"
) -> torch.Tensor:
    """Fill `output` with every rank's `tensor`, piece r from rank r; returned. `tensor` is unchanged.

    output: p times as many elements as `tensor`; any shape and strides; same sizes and dtype on every
    rank. algorithm: "ring"; "bruck", for short pieces; or "auto" for the cheaper one. Cost: the algorithm's.
    Raises ValueError if the sizes do not fit or there is no such algorithm; TypeError for what is no tensor;
    MismatchError if ranks differ.
    """
    check_tensor("all_gather", output, tensor)
    check_pieces(comm, "all_gather", tensor, output)
    if algorithm == "auto":
        algorithm = cheapest(comm.size, output.numel(), output.element_size())
    known("all_gather", algorithm, ALGORITHMS)
    comm.agree("all_gather", tensor.numel(), tensor.dtype, algorithm)
    with torch.no_grad(), comm.phase("all-gather"):
        whole = output.detach()
        flat = whole.view(-1) if whole.is_contiguous() else whole.new_empty(whole.numel())
        ALGORITHMS[algorithm][0](comm, flat, tensor.detach().reshape(-1))
        if not whole.is_contiguous():
            whole.copy_(flat.view(whole.shape))
    return output


def all_gather_round_the_ring(comm: Comm, flat: torch.Tensor, piece: torch.Tensor) -> None:
    """`flat` (1-D, p times as long as `piece`) becomes all ranks' pieces, in rank order."""
    pieces = list(flat.tensor_split(comm.size))
    pieces[comm.rank].copy_(piece)
    ring_all_gather(comm, pieces[-1:] + pieces[:-1])  # which takes rank r's piece as chunk r + 1


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p; `count` is the whole, a multiple of p."""
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
    "ring": (all_gather_round_the_ring, cost),
    "bruck": (bruck_all_gather.bruck_all_gather, bruck_all_gather.cost),
}
"""Each algorithm's function `(comm, flat, piece)` for 1-D tensors, and its `cost(p, count, itemsize)`."""


@lru_cache(maxsize=1024)
def cheapest(p: int, count: int, itemsize: int, link: Link | None = None) -> str:
    """The all-gather that takes least time on `link` (default: on rank threads); the first of equals."""
    return quickest(ALGORITHMS, p, count, itemsize, link, fresh={"bruck": 1})
