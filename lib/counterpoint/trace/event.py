"""One event: something one rank did, between two moments, in one call.

The same few kinds serve ranks, workers, pipeline stages and serving replicas.
"""

from typing import Any, NamedTuple

UNKNOWN = -1
"""Stands in an integer field for what is not known or does not apply."""

KINDS = ("send", "recv", "reduce", "copy", "get", "put", "fence", "wait", "compute", "take")
"""send: a message left. recv: one was stored. reduce: one was received into an accumulator.
copy: a local move. get, put, fence: one-sided access to a window and its only synchronisation.
wait: the rank could not go on. compute: it worked, or spent virtual time.
take: a worker got tasks, from `peer` or from a shared counter."""


def message_number(sender: Any, count: Any) -> Any:
    """A number for the sender's `count`-th message, no other's, in the order of ranks and sendings; also of arrays."""
    return sender << 40 | count


class Event(NamedTuple):
    """One row of a `Trace`. Times are seconds since the run began; bytes are bytes."""

    message: int
    """Shared by the two ends of one transfer; UNKNOWN for events without one."""
    comm: int
    """0 is the world; each sub-communicator has its own number."""
    rank: int
    """Who, numbered in the world."""
    peer: int
    """The other end, numbered in the world; UNKNOWN if there is none."""
    kind: str
    op: str
    """The reduction of a `reduce`, and of a `get` that reduced; what a `wait` waited in; the label of a `compute`."""
    tag: int
    nbytes: int
    step: int
    """The port step (one send and one receive fit in a step; a fence is one, and gets and puts are in the one
    of the fence that ends them); 0 for events that take no port."""
    start: float
    end: float
    phase: str
    buffer: int
    """Which of the rank's own arguments the data lies in; UNKNOWN for a clone or a temporary."""
    offset: int
    """First element of the chunk in that buffer."""
    length: int
    """Elements in the chunk."""
    line: str
    """`file:number` of the statement outside the library's ranks that made the call."""
