"""What the ranks of tests/hosts do, one process on each host, under torchrun: several connections in turn.

Prints lines for the tests: "bits", rank, collective, digest; "trace …"; "error", rank, where, what.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch

import counterpoint as cp
from counterpoint.collectives import all_reduce
from counterpoint.collectives.all_reduce import BY_MESSAGES
from counterpoint.ranks import Comm, CommError

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.worlds.everything import every_collective


def say(*words: object) -> None:
    print("\t".join(map(str, words)) + "\n", end="", flush=True)


def everything_traced() -> None:
    """Every collective, and how well the gathered events agree with their messages' order."""
    comm = cp.connect(trace=True)
    began = comm._exchange(comm._port.began, "test")
    for name, bits in every_collective(comm, BY_MESSAGES).items():
        say("bits", comm.rank, name, bits)
    trace = cp.disconnect(comm)
    if trace is None:
        return
    sends = {event.message: event for event in trace.sends}
    receives = [event for event in trace if event.kind in ("recv", "reduce")]
    say("trace", trace.ranks, len(sends), len(receives))
    say("earliest", min(receive.end - sends[receive.message].start for receive in receives))
    say("began", *began)


def errors(where: str, wrong: Callable[[Comm], object]) -> None:
    """A connection on which something goes wrong, and what each rank hears of it."""
    comm = cp.connect()
    try:
        wrong(comm)
    except (CommError, ValueError) as error:
        say("error", comm.rank, where, f"{type(error).__name__}: {error}")
    else:
        say("error", comm.rank, where, "none")


def window(comm: Comm) -> None:
    try:
        comm.window((4,), torch.float32)
    finally:
        cp.disconnect(comm)


def mismatch(comm: Comm) -> None:
    all_reduce(comm, torch.ones(100 + (comm.rank == 2)), algorithm="ring")


def for_ever(comm: Comm) -> None:
    """All-reduces, until somebody does something to a host."""
    x = torch.zeros(10_000)
    if comm.rank == 0:
        say("working")
    while True:
        all_reduce(comm, x, algorithm="ring")


if "all" in sys.argv:
    everything_traced()
    errors("window", window)
    errors("mismatch", mismatch)
errors("lost", for_ever)
