"""Bruck's all-to-all: rank r ends with every rank's r-th piece, in few messages.

A piece for the rank j above travels as j is written in binary: for each bit, in one step, all pieces whose j has
this bit move on together by so many ranks. Cost: ceil(lg p) steps instead of p-1, but a piece moves as often as
its j has ones, half of ceil(lg p) times on average: for small pieces.
Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 3 (index operation, radix 2).
"""

import torch

from counterpoint.models import Cost
from counterpoint.ranks import Comm


def bruck_all_to_all(comm: Comm, incoming: list[torch.Tensor], outgoing: list[torch.Tensor]) -> None:
    """`incoming[j]` becomes rank j's `outgoing[rank]`; all pieces have the same number of elements."""
    p, rank = comm.size, comm.rank
    blocks = torch.stack([outgoing[(rank + j) % p].reshape(-1) for j in range(p)])
    # Row j is for the rank j above.

    distance = 1
    while distance < p:
        rows = [j for j in range(p) if j & distance]
        moving = blocks[rows]
        arriving = comm.sendrecv(
            moving, (rank + distance) % p, torch.empty_like(moving), (rank - distance) % p
        )
        blocks[rows] = arriving
        distance *= 2
        # Row j has come j mod distance ranks up.

    for j, row in enumerate(blocks):
        piece = incoming[(rank - j) % p]
        piece.copy_(row.view_as(piece))
    # Row j came from the rank j below.


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p; `count` is the whole of a rank's input, a multiple of p."""
    piece, depth = count // p * itemsize, (p - 1).bit_length()
    moves = sum(j.bit_count() for j in range(p))
    return Cost(
        messages=p * depth,
        bytes_total=p * moves * piece,
        bytes_busiest=moves * piece,
        steps=depth,
        path_latencies=depth,
        path_bytes=moves * piece,
        path_reduced=0,
    )
