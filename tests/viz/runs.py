"""Real runs for the player's tests: right ones, a wrong one, stuck ones."""

import torch

from counterpoint.collectives import all_reduce, explain
from counterpoint.models import Link
from counterpoint.ranks import CommError, launch
from counterpoint.trace import Provenance, Trace

LINK = Link(alpha=1e-5, beta=1e-9, gamma=1e-10)


def ring(comm, x):
    return all_reduce(comm, x, algorithm="ring")


def tree(comm, x):
    return all_reduce(comm, x, algorithm="tree")


def star(comm, x):
    return all_reduce(comm, x, algorithm="star")


def by_hand(comm, x, extra=0):
    """A learner's reduce-scatter: receives into a buffer of its own, then adds. `extra` steps too many."""
    p, rank = comm.size, comm.rank
    chunks, arrived = list(x.tensor_split(p)), torch.empty(-(-len(x) // p))
    comm.phase("reduce-scatter")
    for step in range(p - 1 + extra):
        outgoing, incoming = chunks[(rank - step) % p], chunks[(rank - step - 1) % p]
        comm.sendrecv(outgoing, (rank + 1) % p, arrived[: len(incoming)], (rank - 1) % p)
        incoming += arrived[: len(incoming)]
    return x


def too_long(comm, x):
    return by_hand(comm, x, extra=1)


def send_first(comm, x):
    chunks = list(x.tensor_split(comm.size))
    comm.send(chunks[comm.rank], (comm.rank + 1) % comm.size)
    comm.recv_reduce(chunks[comm.rank - 1], (comm.rank - 1) % comm.size)


def run(function, ranks: int, count: int | None = None, **settings):
    """Launch on `count` float32 zeros a rank (default 4 a chunk), on the virtual clock."""
    x = torch.zeros(4 * ranks if count is None else count)
    return launch(function, ranks, (x,), **{"network": LINK} | settings)


def explained(function, ranks: int, **settings) -> tuple[Trace, Provenance]:
    done = run(function, ranks, **settings)
    assert done.trace is not None
    return done.trace, explain(function, like=done)


def failed(function, ranks: int, **settings) -> CommError:
    """The error that the run ends in."""
    try:
        run(function, ranks, **settings)
    except CommError as error:
        return error
    raise AssertionError(f"{function.__name__} did not fail")
