"""What a world is asked to run, and what it hands back: the same for every world."""

import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from counterpoint.models import Link
from counterpoint.ranks.errors import CommError, LaunchTimeout, RankFailed
from counterpoint.ranks.port import Port, Sampler
from counterpoint.trace import Recorder, Trace, place_of

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


@dataclass
class Plan:
    """One launch, its arguments checked and copied."""

    function: Callable
    ranks: int
    arguments: list[tuple]
    network: Any
    eager_limit: int
    timeout: float | None
    trace: bool
    output: TextIO
    sampler: Sampler | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """What only one kind of world takes."""


@dataclass
class Outcome:
    """What came of it. `error` ended the run early, if there is one."""

    results: list[Any]
    arguments: list[tuple]
    trace: Trace | None
    seconds: float
    clock: str
    error: BaseException | None = None


def links_of(network: Link | Sequence[Link] | None, ranks: int) -> Sequence[Link | None]:
    """One `Link` for each rank, or None for each where there is no network."""
    if network is None or isinstance(network, Link):
        return [network] * ranks
    if not isinstance(network, list | tuple):
        raise ValueError(
            f"launch: network = {network!r}; rank threads take a Link, or a list of one for each rank "
            f"(world='simulated' takes whole networks)"
        )
    links = list(network)
    if len(links) != ranks or not all(isinstance(link, Link) for link in links):
        raise ValueError(f"launch: network has {len(links)} entries for {ranks} ranks; give a Link each")
    return links


def what_ended_it(rank: int, error: BaseException, known: BaseException | None) -> BaseException:
    """What the launcher will raise for an error that left `rank`'s function; `known` came first."""
    if isinstance(error, CommError) and known is not None:
        return known  # one of many copies of the error that ended the run
    frames = traceback.extract_tb(error.__traceback__)
    where = next((f for f in reversed(frames) if not f.filename.startswith(_PACKAGE)), None)
    place = f" ({place_of(where.filename, where.lineno or 0)}: {where.line})" if where else ""
    failed = RankFailed(f"rank {rank} raised {type(error).__name__}: {error}{place}", rank)
    failed.__cause__ = error
    return failed


def finished_trace(ports: Sequence[Port], recorder: Recorder | None, clock: str) -> Trace | None:
    """The trace; in a failed run, what never completed appears as waits that last to the end."""
    if recorder is None:
        return None
    end = max(port.clock.now for port in ports)
    for port in ports:
        close_rows(port, recorder, clock, end)
    return recorder.finish(clock)


def close_rows(port: Port, recorder: Recorder, clock: str, end: float) -> None:
    """Record what a rank knows of itself only when it is over."""
    for send in port.sending:
        if send.done and clock == "wall":
            recorder.set_times(port.rank, send.row, send.start, send.end)
    stuck = port.stuck
    if stuck is not None and stuck.line is not None:
        times = (port.clock.now, end) if clock == "virtual" else (stuck.since, port.seconds())
        port.waited(stuck.call, stuck.peers(), *times, stuck.line)


def late(timeout: float | None, ports: Sequence[Any]) -> LaunchTimeout:
    """The error of a run whose time is up: who waits, and who is busy."""
    waits = [port.blocked.describe() for port in ports if port.blocked is not None]
    busy = [port.rank for port in ports if not port.returned and port.blocked is None]
    lines = [f"the run was not over after {timeout} s (launch's timeout), so it was stopped:"]
    lines += [f"  {wait}" for wait in waits]
    if busy:
        lines.append(f"  computing, or asking test() again and again: ranks {busy}")
    return LaunchTimeout("\n".join(lines), waits)
