"""Ring all-gather: every rank ends with every rank's piece, in rank order.

The second half of the ring all-reduce: hand on to the right what has just come from the left.
Cost: p-1 steps, p(p-1) messages, each rank sends (p-1)/p of the whole.
Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1 (ring).
"""

import torch

from counterpoint.collectives.reduce_scatter import check_pieces
from counterpoint.collectives.ring import ring_all_gather
from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_tensor


def all_gather(comm: Comm, output: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Fill `output` with every rank's `tensor`, piece r from rank r; returned. `tensor` is unchanged.

    output: p times as many elements as `tensor`; any shape and strides; same sizes and dtype on every
    rank. Cost: `all_gather.cost`. Raises ValueError if the sizes do not fit; TypeError for what is
    no tensor; MismatchError if ranks differ.
    """
    check_tensor("all_gather", output, tensor)
    check_pieces(comm, "all_gather", tensor, output)
    comm.agree("all_gather", tensor.numel(), tensor.dtype)
    with torch.no_grad(), comm.phase("all-gather"):
        whole = output.detach()
        flat = whole.view(-1) if whole.is_contiguous() else whole.new_empty(whole.numel())
        pieces = list(flat.tensor_split(comm.size))
        pieces[comm.rank].copy_(tensor.detach().reshape(-1))
        ring_all_gather(comm, pieces[-1:] + pieces[:-1])
        if not whole.is_contiguous():
            whole.copy_(flat.view(whole.shape))
    return output


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
