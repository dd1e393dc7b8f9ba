"""Scan: rank r ends with the sum over ranks 0 ... r.

In each round every rank passes its sum to the rank `distance` above, and adds what comes from below: the sums
grow downwards, twice as long each time (Hillis and Steele's scan, with ranks for processors).
Cost: ceil(lg p) steps; rank 0 sends n in each of them, a rank at the top in none.
Source: Hillis and Steele, "Data parallel algorithms", CACM 29(12), 1986, section "All partial sums of an array".
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm, check_op, check_tensor


def scan(comm: Comm, tensor: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """`tensor` becomes (rank 0's) op (rank 1's) op ... op (its own), in this order; in place, and returned.

    tensor: any shape and strides, same shape and dtype on every rank. Cost: `scan.cost`; a tensor that is not
    contiguous is also copied twice. Raises ValueError for "avg" or an op that the dtype has not; TypeError for
    what is no tensor; MismatchError if ranks differ.
    """
    check_prefix(comm, "scan", tensor, op)
    with torch.no_grad(), comm.phase("scan"):
        x = tensor.detach().contiguous()
        hillis_steele(comm, x, op)
        if not tensor.is_contiguous():
            tensor.detach().copy_(x)
    return tensor


def hillis_steele(comm: Comm, x: torch.Tensor, op: str, first: int = 0) -> None:
    """`x` becomes the sum over ranks `first` ... rank; ranks below `first` take no part."""
    p, rank = comm.size, comm.rank
    theirs = torch.empty_like(x)
    distance = 1
    while first + distance < p:
        above, below = rank + distance, rank - distance
        sending = [comm.isend(x, above)] if first <= rank and above < p else []
        if below >= first:
            comm.recv(theirs, below)
        for request in sending:
            request.wait()
        if below >= first:
            comm.reduce_local(theirs, x, op, out=x)
        distance *= 2
        # x holds the sum of ranks rank - distance + 1 (or `first`, if that is later) ... rank.


def check_prefix(comm: Comm, call: str, tensor: torch.Tensor, op: str) -> None:
    """What scan and exscan ask of their arguments, and the agreement of the ranks."""
    check_tensor(call, tensor)
    check_op(op, tensor.dtype)
    if op == "avg":
        raise ValueError(
            f"{call}: 'avg' is not defined on prefixes; use 'sum' and divide by how many there are"
        )
    comm.agree(call, tensor.numel(), tensor.dtype, op)


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count, if sends wait for their receives; if p is no power of two, buffered ones may end
    a reduction earlier."""
    n, depth = count * itemsize, (p - 1).bit_length()
    messages = sum(p - 2**k for k in range(depth))
    return Cost(
        messages=messages,
        bytes_total=messages * n,
        bytes_busiest=depth * n,
        steps=depth,
        path_latencies=depth,
        path_bytes=depth * n,
        path_reduced=depth * n,
    )
