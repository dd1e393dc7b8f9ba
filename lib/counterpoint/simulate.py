"""One collective on a simulated network: what `counterpoint simulate` prints.

The library's own function runs, on phantom tensors (sizes without data), so a thousand GPUs fit a laptop.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import torch

from counterpoint.bench import OPERATIONS, Row, type_name
from counterpoint.collectives.choice import known
from counterpoint.models import Cost, Crossbar, Link, Load, Network, as_network, loads
from counterpoint.ranks import Comm, launch
from counterpoint.trace import KINDS, Totals, Trace

BUFFERED = 1 << 60
"""An eager limit that no message reaches: a network card takes what it is given."""


@dataclass(frozen=True)
class Simulated:
    """One call of a collective, simulated."""

    collective: str
    algorithm: str
    network: Network
    name: str
    """What the network was given as."""
    nbytes: int
    seconds: float
    """Virtual: when the last rank had returned."""
    algbw: float
    busbw: float
    totals: Totals
    loads: list[Load]
    """Every link that was used, the busiest first."""
    formula: float | None
    """The closed form's seconds, where the network is a full crossbar of equal links and there is one."""
    trace: Trace

    def lines(self) -> Iterator[str]:
        """For people."""
        totals, way = self.totals, f" ({self.algorithm})" if self.algorithm else ""
        yield f"{self.collective}{way}, {size_text(self.nbytes)} a rank, {self.network.ranks} ranks on {self.name}"
        yield f"  time      {time_text(self.seconds)}, virtual; {totals.steps} steps"
        if self.formula is not None:
            off = abs(self.seconds / self.formula - 1) if self.formula else abs(self.seconds)
            yield f"  formula   {time_text(self.formula)} (off by {off:.1e} of it)"
        yield f"  algbw     {self.algbw / 1e9:.4g} GB/s"
        yield f"  busbw     {self.busbw / 1e9:.4g} GB/s"
        most = size_text(totals.bytes_busiest)
        yield f"  messages  {totals.messages:,}; {size_text(totals.bytes_total)} in all, {most} from the busiest rank"
        if self.loads:
            busiest = self.loads[0]
            equals = sum(load.seconds == busiest.seconds for load in self.loads)
            others = f", and {equals - 1} more as busy" if equals > 1 else ""
            share = busiest.seconds / self.seconds if self.seconds else 0.0
            carried = f"{busiest.messages:,} messages, {size_text(busiest.nbytes)}"
            yield f"  busiest   {busiest.name}{others}: busy {share:.1%} of the time; {carried}"


def simulate(
    collective: str,
    ranks: int,
    network: Network | Link | str,
    nbytes: int,
    *,
    algorithm: str = "auto",
    dtype: torch.dtype = torch.float32,
) -> Simulated:
    """Run one collective on `ranks` simulated ranks with `nbytes` bytes in the larger buffer of each.

    network: a `Network`, a preset's name, or a `Link` between every two ranks. algorithm: "auto" takes the one
    that the costs favour on the network's link from rank 0 to rank 1. Cost: some 3 us a message. Raises
    ValueError for what there is not: collective, algorithm, network, or so many ranks of it.
    """
    if collective not in OPERATIONS:
        raise ValueError(f"no collective {collective!r} to simulate; there are {', '.join(OPERATIONS)}")
    operation, wires = OPERATIONS[collective], as_network(network, ranks)
    if algorithm != "auto" and not operation.algorithms:
        raise ValueError(f"{collective} has one algorithm, so {algorithm!r} cannot be chosen; leave it out")
    length = nbytes // dtype.itemsize // ranks if operation.pieces else nbytes // dtype.itemsize
    total = length * ranks if operation.pieces else length
    module = import_module(f"counterpoint.collectives.{collective}")
    if operation.algorithms and algorithm == "auto":
        algorithm = module.cheapest(ranks, total, dtype.itemsize, _link(wires))
    if operation.algorithms:
        known(collective, algorithm, module.ALGORITHMS)

    def worker(comm: Comm) -> None:
        whole = torch.empty(total, dtype=dtype, device="meta")
        other = total if operation.wholes else length if operation.pieces else 0
        operation.call(comm, whole, torch.empty(other, dtype=dtype, device="meta"), algorithm)

    run = launch(worker, ranks, world="simulated", network=wires, eager_limit=BUFFERED, timeout=None)
    assert run.trace is not None
    size = total * dtype.itemsize
    algbw = size / run.seconds if run.seconds else 0.0
    cost = _cost(module, algorithm)
    name = network if isinstance(network, str) else repr(wires)
    return Simulated(
        collective, algorithm if operation.algorithms else "", wires, name, size, run.seconds,
        algbw, algbw * operation.factor(ranks), run.trace.totals(), loads(wires, _traffic(run.trace)),
        _formula(cost, wires, ranks, total, dtype.itemsize), run.trace,
    )  # fmt: skip


def _link(network: Network) -> Link | None:
    """The way from rank 0 to rank 1 as a `Link`, for the choice of an algorithm."""
    if network.ranks == 1:
        return None
    route = network.route(0, 1)
    return Link(alpha=route.delay, beta=max(route.betas), gamma=network.gamma)


def _cost(module: object, algorithm: str) -> Callable[[int, int, int], Cost] | None:
    """The algorithm's cost, or that of the collective's only one."""
    choice: Mapping = getattr(module, "ALGORITHMS", {})
    return choice[algorithm][1] if algorithm in choice else None if choice else getattr(module, "cost", None)


def _formula(
    cost: Callable[[int, int, int], Cost] | None, network: Network, ranks: int, count: int, itemsize: int
) -> float | None:
    """The closed form's seconds, if it is of this network: every two ranks joined by one and the same link."""
    if cost is None or not isinstance(network, Crossbar) or network.link is None:
        return None
    return cost(ranks, count, itemsize).seconds(network.link)


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


def simulated_row(
    collective: str,
    ranks: int,
    network: Network | Link | str,
    nbytes: int,
    *,
    algorithm: str = "auto",
    dtype: torch.dtype = torch.float32,
) -> Row:
    """A line of the bench's table, in virtual time."""
    found = simulate(collective, ranks, network, nbytes, algorithm=algorithm, dtype=dtype)
    operation = OPERATIONS[collective]
    count = found.nbytes // dtype.itemsize // (ranks if operation.pieces else 1)
    return Row(
        found.nbytes,
        count,
        type_name(dtype),
        operation.op,
        found.seconds,
        found.algbw,
        found.busbw,
        wrong=None,
    )


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
