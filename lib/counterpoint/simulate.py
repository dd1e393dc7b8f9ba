"""One collective on a simulated network: what `counterpoint simulate` prints.

The library's own function runs, on phantom tensors (sizes without data), so a thousand GPUs fit a laptop.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from counterpoint.bench import Row, row
from counterpoint.models import Crossbar, Link, Load, Network, as_network, loads
from counterpoint.operations import Case, case
from counterpoint.ranks import Comm, launch
from counterpoint.trace import KINDS, Totals, Trace

BUFFERED = 1 << 60
"""An eager limit that no message reaches: a network card takes what it is given."""


@dataclass(frozen=True)
class Simulated:
    """One call of a collective, simulated."""

    case: Case
    network: Network
    name: str
    """What the network was given as."""
    row: Row
    """As the bench has it: `row.seconds` is virtual, from the start until the last rank has returned."""
    totals: Totals
    loads: list[Load]
    """Every link that was used, the busiest first."""
    formula: float | None
    """The closed form's seconds, where the network is a full crossbar of equal links."""
    trace: Trace

    def lines(self) -> Iterator[str]:
        """For people."""
        row, totals = self.row, self.totals
        way = [v for k, v in self.case.way.items() if (k, v) != ("op", "sum")]
        many = "1 rank" if self.case.ranks == 1 else f"{self.case.ranks:,} ranks"
        what = self.case.collective + (f" ({', '.join(way)})" if way else "")
        yield f"{what}, {size_text(row.nbytes)} a rank, {many} on {self.name}"
        yield f"  time      {time_text(row.seconds)}, virtual; {totals.steps:,} steps"
        if self.formula is not None:
            off = abs(row.seconds / self.formula - 1) if self.formula else abs(row.seconds)
            yield f"  formula   {time_text(self.formula)} (off by {off:.1e} of it)"
        yield f"  algbw     {row.algbw / 1e9:.4g} GB/s"
        yield f"  busbw     {row.busbw / 1e9:.4g} GB/s"
        most = size_text(totals.bytes_busiest)
        yield f"  messages  {totals.messages:,}; {size_text(totals.bytes_total)} in all, {most} from the busiest rank"
        if self.loads:
            busiest = self.loads[0]
            equals = sum(math.isclose(load.seconds, busiest.seconds) for load in self.loads)
            others = f", and {equals - 1:,} more as busy" if equals > 1 else ""
            share = busiest.seconds / row.seconds if row.seconds else 0.0
            carried = f"{busiest.messages:,} messages, {size_text(busiest.nbytes)}"
            yield f"  busiest   {busiest.name}{others}: busy {share:.1%} of the time; {carried}"


def simulate(
    collective: str,
    ranks: int,
    network: Network | Link | str,
    nbytes: int,
    *,
    algorithm: str = "auto",
    op: str = "",
    dtype: torch.dtype = torch.float32,
) -> Simulated:
    """Run one collective on `ranks` simulated ranks with `nbytes` bytes in the larger buffer of each.

    network: a `Network`, a preset's name, or a `Link` between every two ranks. algorithm: "auto" takes the one
    that the costs favour on the network's link from rank 0 to rank 1. op: a reduction's; "" is "sum". Cost: some 3 us
    a message. Raises ValueError for what there is not: collective, algorithm, op, network, or so many ranks of it.
    """
    made, wires = case(collective, ranks, nbytes, algorithm, op, dtype), as_network(network, ranks)
    if made.way.get("algorithm") == "auto":
        made.way["algorithm"] = made.module.cheapest(ranks, made.total, dtype.itemsize, _link(wires))

    def worker(comm: Comm) -> None:
        whole, piece = (torch.empty(n, dtype=dtype, device="meta") for n in (made.total, made.other))
        made.call(comm, whole, piece)

    run = launch(worker, ranks, world="simulated", network=wires, eager_limit=BUFFERED, timeout=None)
    assert run.trace is not None
    name = network if isinstance(network, str) else repr(wires)
    found = row(made, run.seconds, wrong=None)
    return Simulated(
        made,
        wires,
        name,
        found,
        run.trace.totals(),
        loads(wires, _traffic(run.trace)),
        _formula(made, wires),
        run.trace,
    )


def _link(network: Network) -> Link | None:
    """The way from rank 0 to rank 1 as a `Link`, for the choice of an algorithm."""
    if network.ranks == 1:
        return None
    route = network.route(0, 1)
    return Link(alpha=route.delay, beta=max(route.betas), gamma=network.gamma)


def _formula(made: Case, network: Network) -> float | None:
    """The closed form's seconds, if it is of this network: every two ranks joined by one and the same link."""
    if not isinstance(network, Crossbar) or network.link is None:
        return None
    if "algorithm" in made.way:
        cost = made.module.ALGORITHMS[made.way["algorithm"]][1]
    else:
        cost = made.module.cost
    return cost(made.ranks, made.total, made.dtype.itemsize).seconds(network.link)


def _traffic(trace: Trace) -> Iterator[tuple[int, int, int, int]]:
    """(source, dest, messages, bytes) for every pair between which something went, one-sided access included."""
    moved = trace.where(kind=("send", "put", "get"))
    read = moved.kind == KINDS.index("get")  # its bytes leave the rank that is read
    source, dest = np.where(read, moved.peer, moved.rank), np.where(read, moved.rank, moved.peer)
    pairs, place, messages = np.unique(source * trace.ranks + dest, return_inverse=True, return_counts=True)
    nbytes = np.zeros(len(pairs), np.int64)
    np.add.at(nbytes, place, moved.nbytes)
    for pair, count, size in zip(pairs.tolist(), messages.tolist(), nbytes.tolist(), strict=True):
        yield pair // trace.ranks, pair % trace.ranks, count, size


def size_text(nbytes: int) -> str:
    """Bytes for people, in powers of 1024."""
    if nbytes < 1024:
        return f"{nbytes} bytes"
    power = min(4, (nbytes.bit_length() - 1) // 10)
    return f"{nbytes / 1024**power:.4g} {'KMGT'[power - 1]}iB"


def time_text(seconds: float) -> str:
    """Seconds for people."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"
