"""`counterpoint bench` and `counterpoint simulate`: collectives timed, here and on networks on paper."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import counterpoint
from counterpoint.cli.work import plain_errors

if TYPE_CHECKING:
    from counterpoint.bench import Row
    from counterpoint.models import Link, Network
    from counterpoint.ranks import Comm

WORLDS = ("threads", "processes", "simulated", "cuda")
"""Where ranks can live: `launch`'s worlds, and "cuda" for threads with GPU tensors. Written out, so that --help
imports no torch; a test compares."""

LISTED = "list"
"""What --network takes besides names: to say which there are."""


@click.command()
@click.argument("collective")
@click.option("--ranks", type=click.IntRange(1), help="How many. [default: 4]")
@click.option("--sizes", default="4KiB:64MiB", show_default=True, help="FROM:TO, doubling; or one.")
@click.option("--algorithm", default="auto", show_default=True, help="auto chooses by size.")
@click.option("--dtype", default="float32", show_default=True)
@click.option("--iters", type=click.IntRange(1), default=20, show_default=True)
@click.option("--world", type=click.Choice(WORLDS), help="Where ranks live. [default: threads]")
@click.option("--network", help="For simulated ranks: a preset's name; `list` says which there are.")
@click.option(
    "--hosts", is_flag=True, help="Ranks are the processes that torchrun started, on one host or many."
)
def bench(
    collective: str, ranks: int | None, sizes: str, algorithm: str, dtype: str, iters: int, world: str | None,
    network: str | None, hosts: bool,
) -> None:  # fmt: skip
    """Time COLLECTIVE (all_reduce, …) and print nccl-tests' columns.

    On several hosts, on each: torchrun --nnodes N --node-rank K --master-addr HOST --master-port PORT
    --no-python counterpoint bench COLLECTIVE --hosts
    """
    from counterpoint import bench as table

    if network == LISTED:
        _list()
        return
    if hosts and not (ranks is None and world is None and network is None):
        raise click.UsageError(
            "--hosts goes without --ranks, --world and --network: torchrun says who the ranks are"
        )
    ranks, world = ranks or 4, world or "threads"
    if (network is None) == (world == "simulated"):
        raise click.UsageError(
            "--world simulated and --network NAME go together: wall-clock worlds have no network"
        )
    rows = []
    with plain_errors(), _connected(hosts) as comm:
        measure, where = _measured(table, collective, comm, ranks, world, network)
        say = click.echo if comm is None or comm.rank == 0 else _nothing
        say(f"# counterpoint {counterpoint.__version__} {collective} ({algorithm}), {where}")
        say(table.HEADER)
        kind = table.parse_dtype(dtype)
        for nbytes in table.parse_sizes(sizes):
            rows.append(measure(nbytes, algorithm, kind, iters))
            say(rows[-1])
        for line in table.summary(rows):
            say(line)
    sys.exit(any(row.wrong for row in rows))


@contextmanager
def _connected(hosts: bool) -> "Iterator[Comm | None]":
    """With --hosts: this process's Comm of all that torchrun started, and an orderly parting."""
    if not hosts:
        yield None
        return
    from counterpoint.ranks import connect, disconnect

    comm = connect()
    yield comm
    disconnect(comm)


def _nothing(_: object) -> None:
    """What ranks other than 0 print."""


def _measured(
    table: Any, collective: str, comm: "Comm | None", ranks: int, world: str, network: str | None
) -> "tuple[Callable[[int, str, Any, int], Row], str]":
    """(the row for a size, algorithm, dtype and number of calls; where the ranks are)."""
    from counterpoint.simulate import simulate as run

    if comm is not None:

        def connected(nbytes: int, algorithm: str, kind: Any, iters: int) -> "Row":
            return table.measure_on(comm, collective, nbytes, algorithm=algorithm, dtype=kind, iters=iters)

        return connected, f"{comm.size} processes of torchrun over gloo"
    if network is not None:

        def simulated(nbytes: int, algorithm: str, kind: Any, iters: int) -> "Row":
            return run(collective, ranks, network, nbytes, algorithm=algorithm, dtype=kind).row

        return simulated, f"{ranks} simulated ranks on {network}, virtual time"

    def timed(nbytes: int, algorithm: str, kind: Any, iters: int) -> "Row":
        return table.measure(
            collective, ranks, nbytes, algorithm=algorithm, dtype=kind, iters=iters, world=world
        )

    where = {
        "threads": f"{ranks} ranks as threads on {os.cpu_count()} cores",
        "processes": f"{ranks} ranks as processes over gloo on {os.cpu_count()} cores",
        "cuda": f"{ranks} ranks as threads on CUDA",
    }
    return timed, where[world]


@click.command()
@click.argument("collective")
@click.option("--ranks", type=click.IntRange(1), default=8, show_default=True)
@click.option("--network", help="A preset's name; `list` says which there are.")
@click.option("--alpha", type=float, help="Instead of --network: seconds a message, between any two ranks.")
@click.option("--beta", type=float, help="With --alpha: seconds a byte.")
@click.option("--gamma", type=float, default=0.0, help="With --alpha: seconds a byte reduced.")
@click.option("--size", default="64MiB", show_default=True, help="Bytes in the larger buffer of a rank.")
@click.option(
    "--algorithm", default="auto", show_default=True, help="auto takes the cheapest on the network."
)
@click.option(
    "--op", default="", help="The reduction: sum (if not said), avg, product, min, max, and, or, xor."
)
@click.option("--dtype", default="float32", show_default=True)
@click.option(
    "--trace",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Write the events, for ui.perfetto.dev; compressed if the name ends in .gz.",
)
def simulate(
    collective: str, ranks: int, network: str | None, alpha: float | None, beta: float | None, gamma: float,
    size: str, algorithm: str, op: str, dtype: str, file: Path | None,
) -> None:  # fmt: skip
    """Run COLLECTIVE (all_reduce, …) on simulated ranks: time, bandwidth, messages, the busiest link."""
    from counterpoint import bench as table
    from counterpoint.simulate import simulate as run
    from counterpoint.trace import write_chrome

    if network == LISTED:
        _list()
        return
    wires = _wires(network, alpha, beta, gamma)
    with plain_errors():
        if file is not None and not file.absolute().parent.is_dir():
            raise ValueError(f"--trace {file}: there is no folder {file.parent}; make it, or name another")
        sizes = table.parse_sizes(size)
        if len(sizes) > 1:
            raise ValueError(
                f"size {size!r}: give one size, such as 64MiB (`counterpoint bench` takes FROM:TO)"
            )
        kind = table.parse_dtype(dtype)
        found = run(collective, ranks, wires, sizes[0], algorithm=algorithm, op=op, dtype=kind)
        for line in found.lines():
            click.echo(line)
        if file is not None:
            try:
                write_chrome(found.trace, file, f"{collective} on {found.name}")
            except OSError as error:
                raise ValueError(f"--trace {file}: {error.strerror}") from error
            click.echo(f"  trace     {len(found.trace):,} events in {file}; open it at ui.perfetto.dev")


@click.command()
def networks() -> None:
    """List the networks that have a name, with their figures and where those are from."""
    _list()


def _list() -> None:
    from counterpoint.models import PRESETS, preset

    width = max(map(len, PRESETS))
    for name, found in PRESETS.items():
        click.echo(f"{name:<{width}}  {found.about}; {found.ranks} ranks if not said")
        click.echo(f"{'':<{width}}  {figures(preset(name))}")
        click.echo(f"{'':<{width}}  from {found.source}")


def figures(network: "Network") -> str:
    """A network's parameters, for people."""
    from counterpoint.models import Cluster, Crossbar, LogGP
    from counterpoint.simulate import time_text

    def way(link: "Link") -> str:
        speed = f"{1 / link.beta / 1e9:.4g} GB/s" if link.beta else "no time for bytes"
        return f"{time_text(link.alpha)} a message, {speed}"

    if isinstance(network, LogGP):
        values = ((name, getattr(network, name)) for name in ("L", "o", "g", "G"))
        return ", ".join(f"{name} {time_text(value)}" for name, value in values)
    gamma = f"; reduces {1 / network.gamma / 1e9:.4g} GB/s" if network.gamma else ""
    if isinstance(network, Cluster):
        rails = f"{network.rails} rail{'s' if network.rails > 1 else ''} a node"
        return f"in a node {way(network.inside)}; between nodes {way(network.between)}, {rails}{gamma}"
    if isinstance(network, Crossbar) and network.link is not None:
        return way(network.link) + gamma
    return repr(network)


def _wires(network: str | None, alpha: float | None, beta: float | None, gamma: float) -> "str | Link":
    """What the options say of the network. A wrong mix of them is the user's error."""
    from counterpoint.models import Link

    if (network is None) == (alpha is None) or (beta is not None and alpha is None):
        raise click.UsageError(
            "give --network NAME (`counterpoint networks` lists them), or --alpha and --beta"
        )
    if network is not None:
        return network
    values: dict[str, Any] = {"alpha": alpha, "beta": beta or 0.0, "gamma": gamma}
    for name, value in values.items():
        if not 0 <= value < float("inf"):
            raise click.UsageError(f"--{name} {value}: give seconds, finite and not negative")
    return Link(**values)
