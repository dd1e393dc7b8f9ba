"""Bruck's all-gather: every rank ends with every rank's piece, in few messages.

Each step fetches as many pieces as are here already, from the rank that has the next ones; for any p, the last
step fetches what is missing. Cost: ceil(lg p) steps instead of p-1, and no more bytes, each rank sends (p-1)/p of
the whole; but the pieces lie rotated and have to be copied once more.
Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4 (concatenation).
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm


def bruck_all_gather(comm: Comm, flat: torch.Tensor, piece: torch.Tensor) -> None:
    """`flat` (1-D, p times as long as `piece`) becomes all ranks' pieces, in rank order."""
    p, rank, count = comm.size, comm.rank, piece.numel()
    flat[:count].copy_(piece)
    here = 1
    while here < p:
        more = min(here, p - here)
        incoming = flat[here * count : (here + more) * count]
        comm.sendrecv(flat[: more * count], (rank - here) % p, incoming, (rank + here) % p)
        here += more
        # flat begins with the pieces of ranks rank, rank + 1, ... rank + here - 1.

    flat.copy_(flat.roll(rank * count))
    # Rank 0's piece comes first.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p; `count` is the whole, a multiple of p."""
    piece, depth = count // p * itemsize, (p - 1).bit_length()
    return Cost(
        messages=p * depth,
        bytes_total=p * (p - 1) * piece,
        bytes_busiest=(p - 1) * piece,
        steps=depth,
        path_latencies=depth,
        path_bytes=(p - 1) * piece,
        path_reduced=0,
    )
