"""One-shot direct all-reduce: every rank ends with the sum over all ranks, and nobody sends a message.

Each rank reads every other rank's whole vector, block by block, and adds them up for itself. It reads its right
neighbour's first, so that nobody is read by two at once, and adds in rank order, so that all get the same bits.
Cost: two fences and no wait between them, which is what counts when vectors are small; each rank reads (p-1)n.
Source: the one-phase all-reduce over symmetric memory, as in torch's one_shot_all_reduce (torch.ops.symm_mem).
"""

import torch

from counterpoint.collectives.two_shot import pieces
from counterpoint.models import Cost
from counterpoint.ranks import Comm


def one_shot_all_reduce(comm: Comm, x: torch.Tensor, op: str = "sum") -> torch.Tensor:
    """Reduce `x` (1-D, contiguous, same length and dtype on every rank) over all ranks, in place; returned."""
    p, rank = comm.size, comm.rank
    result = torch.empty_like(x)
    window = comm.window_with(x)
    # Every rank's vector is there.

    for block in pieces(0, len(x), x.element_size()):
        theirs = x.new_empty(p, block.stop - block.start)
        for source in [(rank + k) % p for k in range(p)]:
            window.get(theirs[source], source, block)
        total = theirs[0]
        for source in range(1, p):
            comm.reduce_local(total, theirs[source], op, out=total)
        result[block] = total
        # This block of the result is complete, here.

    window.fence()
    # Nobody reads x any more.
    window.put(result, rank)
    window.copy_back()
    return x


def cost(p: int, count: int, itemsize: int) -> Cost:
    """Exact for every p and count: a transfer for each block that is read from each other rank."""
    n, reads = count * itemsize, (p - 1) * len(pieces(0, count, itemsize))
    return Cost(
        messages=p * reads,
        bytes_total=p * (p - 1) * n,
        bytes_busiest=(p - 1) * n,
        steps=2,
        path_latencies=reads,
        path_bytes=(p - 1) * n,
        path_reduced=(p - 1) * n,
    )
