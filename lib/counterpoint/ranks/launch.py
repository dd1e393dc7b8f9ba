"""`launch`: run one function on many ranks, as threads of this process."""

import ctypes
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from counterpoint.models import Link
from counterpoint.ranks.arguments import buffers_of, copied
from counterpoint.ranks.comm import Comm
from counterpoint.ranks.errors import CommError, LaunchTimeout, RankFailed, RankStopped
from counterpoint.ranks.output import Prefixed, forget
from counterpoint.ranks.port import Sampler
from counterpoint.ranks.run import Run
from counterpoint.ranks.setting import ThreadState
from counterpoint.ranks.threads import World
from counterpoint.trace import Recorder, place_of

GRACE = 5.0
"""Seconds that a stopped rank may take to come back from code that cannot be interrupted."""

LOOK = 0.1
"""Seconds between two looks for an interrupt, which on some systems does not end a longer wait."""


def launch(
    fn: Callable,
    ranks: int | None = None,
    args: tuple = (),
    *,
    per_rank: Sequence[Any] | None = None,
    share: bool = False,
    network: Link | Sequence[Link] | None = None,
    eager_limit: int = 8192,
    timeout: float | None = 300.0,
    trace: bool = True,
    output: TextIO | None = None,
    sampler: Sampler | None = None,
) -> Run:
    """Run `fn(comm, *args)` on `ranks` ranks and return what they returned, as a `Run`.

    args: given to every rank, which gets its own copy of the tensors in it. per_rank: instead, one entry
    a rank, each a tuple of arguments or a single one (copied too). share=True: nothing is copied, on
    purpose. network: a `Link`, or one for each rank: then messages carry virtual clocks, without
    contention, and `run.seconds` is virtual. eager_limit: a send of fewer bytes is buffered; 0 makes
    every send wait for its receive. timeout: seconds for the whole run, None for no bound. trace=False
    records nothing. output: where to write what ranks print, instead of sys.stdout. sampler: called by each
    rank when it has sent or received (`explain` watches with it).

    Grad, inference and autocast mode are inherited. torch's threads are divided among the ranks. Cost:
    about 0.1 ms a rank to start, and some 10 us of Python a message.

    Raises DeadlockError, MismatchError, LaunchTimeout or RankFailed, each with the partial run as
    `.run`; ValueError or TypeError if the arguments do not fit together.
    """
    ranks, arguments = _arguments(fn, ranks, args, per_rank, share)
    links = _links(network, ranks)
    if not (isinstance(eager_limit, int) and eager_limit >= 0):
        raise ValueError(f"launch: eager_limit = {eager_limit!r}; give bytes, at least 0")
    recorder = Recorder(ranks) if trace else None
    world = World(ranks, recorder=recorder, links=links, eager_limit=eager_limit, sampler=sampler)
    for port, own in zip(world.ports, arguments, strict=True):
        port.buffers = buffers_of(own)
    results: list[Any] = [None] * ranks
    error = _run(world, fn, arguments, results, timeout, output or sys.stdout)
    virtual = network is not None
    clock = "virtual" if virtual else "wall"
    seconds = max(p.clock.now for p in world.ports) if virtual else world.ports[0].seconds()
    settings = {"network": network, "eager_limit": eager_limit, "timeout": timeout}
    finished = _trace(world, recorder, clock)
    run = Run(fn, ranks, results, arguments, finished, seconds, clock, settings)
    if error is not None:
        if isinstance(error, CommError):
            error.run = run
        try:
            raise error
        finally:
            del error  # no cycle from this frame to its own traceback
    return run


def _run(
    world: World,
    fn: Callable,
    arguments: list[tuple],
    results: list[Any],
    timeout: float | None,
    out: TextIO,
) -> BaseException | None:
    """Start the threads, wait for them, write what they print; the error that ended the run, if any."""
    mail: queue.SimpleQueue = queue.SimpleQueue()
    state = ThreadState(len(world.ports))

    def body(rank: int) -> None:
        port = world.ports[rank]
        try:
            with state, Prefixed(rank, mail.put):
                comm = Comm(port, tuple(range(len(world.ports))), ())
                results[rank] = fn(comm, *arguments[rank])
            world.returned(port)
        except RankStopped:
            pass
        except BaseException as error:  # whatever it was, the launcher raises it
            with world.lock:
                world.fail(_first(rank, error, world))
        finally:
            mail.put(None)

    threads = [
        threading.Thread(target=body, args=(rank,), name=f"rank {rank}", daemon=True)
        for rank in range(len(world.ports))
    ]
    try:
        for thread in threads:
            thread.start()
        _attend(world, mail, len(threads), out, timeout)
    except BaseException as error:  # KeyboardInterrupt, most likely: end every rank, then go on with it
        with world.lock:
            world.fail(error)
        raise
    finally:
        _stop(world, threads)
        forget(thread.ident for thread in threads)
        _drain(mail, out)
        state.restore()
    return world.failure


def _attend(world: World, mail: queue.SimpleQueue, running: int, out: Any, timeout: float | None) -> None:
    """Pass on what ranks print until all have ended, the run has failed, or its time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while running:
        left = LOOK if deadline is None else deadline - time.monotonic()
        try:
            item = mail.get(timeout=min(LOOK, max(0.0, left)))
        except queue.Empty:
            if left > LOOK or deadline is None:
                continue
            with world.lock:
                waits = [p.blocked.describe() for p in world.ports if p.blocked is not None]
                world.fail(_late(timeout, waits, world))
            return
        if item is None:
            running -= 1
            if world.failure is not None:
                return
        else:
            out.write(item)


def _late(timeout: float | None, waits: list, world: World) -> LaunchTimeout:
    busy = [p.rank for p in world.ports if not p.returned and p.blocked is None]
    lines = [f"the run was not over after {timeout} s (launch's timeout), so it was stopped:"]
    lines += [f"  {wait}" for wait in waits]
    if busy:
        lines.append(f"  computing, or asking test() again and again: ranks {busy}")
    return LaunchTimeout("\n".join(lines), waits)


def _stop(world: World, threads: list[threading.Thread]) -> None:
    """Join the threads; if the run failed, first end those that compute."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    deadline = time.monotonic() + GRACE
    while alive := [t for t in threads if t.is_alive()]:
        if world.failure is None:
            alive[0].join()
            continue
        for thread in alive:
            thread.join(0.05)
            if thread.is_alive() and thread.ident is not None:
                raise_in(ctypes.c_ulong(thread.ident), ctypes.py_object(RankStopped))
        if time.monotonic() > deadline:
            return


def _drain(mail: queue.SimpleQueue, out: Any) -> None:
    while True:
        try:
            item = mail.get_nowait()
        except queue.Empty:
            return
        if item is not None:
            out.write(item)


def _first(rank: int, error: BaseException, world: World) -> BaseException:
    """What the launcher will raise for an error that left rank's function."""
    if isinstance(error, CommError) and world.failure is not None:
        return world.failure  # one of many copies of the error that ended the run
    frames = traceback.extract_tb(error.__traceback__)
    where = next((f for f in reversed(frames) if "counterpoint" not in f.filename), None)
    place = f" ({place_of(where.filename, where.lineno or 0)}: {where.line})" if where else ""
    failed = RankFailed(f"rank {rank} raised {type(error).__name__}: {error}{place}", rank)
    failed.__cause__ = error
    return failed


def _trace(world: World, recorder: Recorder | None, clock: str) -> Any:
    """The trace; in a failed run, what never completed appears as waits that last to the end."""
    if recorder is None:
        return None
    for port in world.ports:
        for send in list(port.sending):
            if send.done and clock == "wall":
                recorder.set_times(port.rank, send.row, send.start, send.end)
        if port.stuck is not None and port.stuck.line is not None:
            if clock == "virtual":
                start = port.clock.now
                end = max(p.clock.now for p in world.ports)
            else:
                start, end = port.stuck.since, port.seconds()
            port.waited(port.stuck.call, port.stuck.peers(), start, end, port.stuck.line)
    return recorder.finish(clock)


def _arguments(
    fn: Callable, ranks: int | None, args: tuple, per_rank: Sequence[Any] | None, share: bool
) -> tuple[int, list[tuple]]:
    if not callable(fn):
        raise TypeError(f"launch: {fn!r} is not a function; give one that takes (comm, ...)")
    if per_rank is not None:
        per_rank = list(per_rank)
        if args:
            raise ValueError("launch: give args or per_rank, not both")
        if ranks is not None and ranks != len(per_rank):
            raise ValueError(f"launch: ranks = {ranks}, but per_rank has {len(per_rank)} entries")
        ranks = len(per_rank)
        given = [entry if isinstance(entry, tuple) else (entry,) for entry in per_rank]
    else:
        if not isinstance(args, tuple):
            raise TypeError(f"launch: args is a {type(args).__name__}; give a tuple, as in (data,)")
        given = [args] * (ranks if isinstance(ranks, int) else 0)
    if not (isinstance(ranks, int) and ranks >= 1):
        raise ValueError(f"launch: ranks = {ranks!r}; give how many ranks there are, at least 1")
    return ranks, given if share else [copied(entry) for entry in given]


def _links(network: Link | Sequence[Link] | None, ranks: int) -> Sequence[Link | None]:
    if network is None or isinstance(network, Link):
        return [network] * ranks
    links = list(network)
    if len(links) != ranks or not all(isinstance(link, Link) for link in links):
        raise ValueError(f"launch: network has {len(links)} entries for {ranks} ranks; give a Link each")
    return links
