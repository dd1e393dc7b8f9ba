"""Ring reduce-scatter: rank r ends with the sum over all ranks of the r-th piece.

The first half of the ring all-reduce, started one place further so that piece r ends on rank r.
Cost: p-1 steps, p(p-1) messages, each rank sends (p-1)/p of the whole.
Source: Patarasuk and Yuan, JPDC 69(2), 2009, section 4.
"""

import torch

from counterpoint.collectives.ring import ring_reduce_scatter
from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_op, check_tensor, finish


def reduce_scatter(comm: Comm, output: torch.Tensor, tensor: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `tensor` over all ranks and leave piece `rank` in `output`; returned. `tensor` is unchanged.

    tensor: p times as many elements as `output`, read in order as p pieces; same size and dtype on every
    rank. Cost: `reduce_scatter.cost`, and one copy of `tensor`. Raises ValueError if the sizes do not fit
    or the dtype has not this op; TypeError for what is no tensor; MismatchError if ranks differ.
    """
    check_tensor("reduce_scatter", output, tensor)
    check_op(op, tensor.dtype)
    check_pieces(comm, "reduce_scatter", output, tensor)
    comm.agree("reduce_scatter", tensor.numel(), tensor.dtype, op)
    with torch.no_grad(), comm.phase("reduce-scatter"):
        pieces = list(tensor.detach().flatten().clone().tensor_split(comm.size))
        ring_reduce_scatter(comm, pieces[-1:] + pieces[:-1], op)
        mine = finish(pieces[comm.rank], op, comm.size)
        output.detach().copy_(mine.view(output.shape))
    return output


def check_pieces(comm: Comm, name: str, piece: torch.Tensor, whole: torch.Tensor) -> None:
    """Raise ValueError unless `whole` is p pieces like `piece`."""
    if whole.numel() != comm.size * piece.numel() or whole.dtype != piece.dtype:
        raise ValueError(
            f"rank {comm.rank}: {name} has {whole.numel()} x {whole.dtype} in all and "
            f"{piece.numel()} x {piece.dtype} a rank; with {comm.size} ranks the whole needs "
            f"{comm.size * piece.numel()} elements of the same dtype"
        )


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
        path_reduced=(p - 1) * piece,
    )
