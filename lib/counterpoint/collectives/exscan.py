"""Exclusive scan: rank r ends with the sum over ranks 0 ... r-1, the ranks before it.

Everyone passes its vector one rank up; then ranks 1 ... p-1 scan what they got. Rank 0, with nobody before it,
gets the op's identity: 0 for a sum. The exscan of counts says where each rank's part begins.
Cost: 1 + ceil(lg (p-1)) steps, of which the first adds nothing.
Source: MPI 4.1, section 6.11.2 (MPI_Exscan, which leaves rank 0 undefined); Blelloch, "Prefix sums and their
applications", 1990 (prescan, which begins with the identity).
"""

import torch

from counterpoint.collectives.scan import check_prefix, hillis_steele
from counterpoint.collectives.scan import cost as scan_cost
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def exscan(comm: Comm, tensor: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """`tensor` becomes (rank 0's) op ... op (rank - 1's), on rank 0 the identity of `op`; in place, and returned.

    tensor: any shape and strides, same shape and dtype on every rank. Cost: `exscan.cost`, and two copies. Raises
    ValueError for "avg" or an op that the dtype has not; TypeError for what is no tensor; MismatchError if ranks
    differ.
    """
    check_prefix(comm, "exscan", tensor, op)
    with torch.no_grad(), comm.phase("exscan"):
        mine = tensor.detach().contiguous()
        x = torch.full_like(mine, identity(op, tensor.dtype))
        shift_up(comm, mine, x)
        hillis_steele(comm, x, op, first=1)
        tensor.detach().copy_(x)
    return tensor


def shift_up(comm: Comm, outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """`incoming` becomes the `outgoing` of the rank below; rank 0's stays."""
    above, below = comm.rank + 1, comm.rank - 1
    sending = [comm.isend(outgoing, above)] if above < comm.size else []
    if below >= 0:
        comm.recv(incoming, below)
    for request in sending:
        request.wait()


def identity(op: str, dtype: torch.dtype) -> float | int | bool:
    """The value that changes nothing: identity op x = x."""
    if op in ("sum", "or", "xor", "product"):
        return int(op == "product")
    if dtype == torch.bool:
        return op != "max"
    if op == "and":
        return -1 if dtype.is_signed else torch.iinfo(dtype).max
    if dtype.is_floating_point:
        return float("inf") if op == "min" else float("-inf")
    return torch.iinfo(dtype).max if op == "min" else torch.iinfo(dtype).min


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count, if sends wait for their receives; if p is no power of two, buffered ones may end
    a reduction earlier."""
    shifts, rest = p - 1, scan_cost(max(p - 1, 1), count, itemsize)
    n, begun = count * itemsize, int(p > 1)
    return Cost(
        messages=shifts + rest.messages,
        bytes_total=shifts * n + rest.bytes_total,
        bytes_busiest=begun * n + rest.bytes_busiest,
        steps=begun + rest.steps,
        path_latencies=begun + rest.path_latencies,
        path_bytes=begun * n + rest.path_bytes,
        path_reduced=rest.path_reduced,
    )
