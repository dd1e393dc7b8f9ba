"""LogP's optimal broadcast: every rank ends with the root's vector, as early as a machine's L, o and g allow.

Whoever has the vector keeps sending it, as fast as the gap lets it, each time to the rank that could not get it
earlier from anybody else. Where messages may follow each other closely (g well below L + 2o) the tree is broader
than the binomial one. Cost: p-1 messages; the time is that of `optimal_broadcast`'s last message.
Source: Karp, Sahay, Santos, Schauser, "Optimal broadcast and summation in the LogP model", SPAA 1993.
"""

from collections import Counter

import torch

from counterpoint.models import Cost, LogGP, optimal_broadcast
from counterpoint.ranks import Comm


def logp_broadcast(comm: Comm, x: torch.Tensor, root: int, machine: LogGP) -> None:
    """Every rank's `x` becomes the root's. `machine`: its L, o, g and G are used, whatever its ranks."""
    p = comm.size
    me = (comm.rank - root) % p
    for source, dest in schedule(machine, p, x.numel() * x.element_size()):
        if dest == me:
            comm.recv(x, (source + root) % p)
        elif source == me:
            comm.send(x, (dest + root) % p)
        # Ranks up to dest (counted from the root) have been served, or will be without me.


def schedule(machine: LogGP, p: int, nbytes: int) -> list[tuple[int, int]]:
    """(source, dest) of each message, counted from the root. A long message has a longer latency and gap."""
    bytes_after_first = max(nbytes - 1, 0) * machine.G
    gap = max(machine.g, machine.o)
    sends = optimal_broadcast(p, machine.L + bytes_after_first, machine.o, gap + bytes_after_first)
    return [(send.source, send.dest) for send in sends]


def cost(p: int, count: int, itemsize: int, machine: LogGP) -> Cost:
    """Exact for every p and count. On a `Link` all messages take equally long, one after another from each rank."""
    n, sends = count * itemsize, schedule(machine, p, count * itemsize)
    has = {0: 0}  # the step in which a rank got the vector, or last sent it
    for source, dest in sends:
        has[source] += 1
        has[dest] = has[source]
    steps = max(has.values())
    return Cost(
        messages=p - 1,
        bytes_total=(p - 1) * n,
        bytes_busiest=max(Counter(source for source, _ in sends).values(), default=0) * n,
        steps=steps,
        path_latencies=steps,
        path_bytes=steps * n,
        path_reduced=0,
    )
