"""The threads of one launch: started, attended while they run, stopped, joined."""

import ctypes
import queue
import threading
import time
from contextlib import nullcontext
from typing import Any

from counterpoint.ranks.arguments import buffers_of, copied
from counterpoint.ranks.comm import Comm
from counterpoint.ranks.errors import RankStopped, over
from counterpoint.ranks.output import Prefixed, forget
from counterpoint.ranks.plan import Outcome, Plan, finished_trace, late, links_of, what_ended_it
from counterpoint.ranks.setting import ThreadState
from counterpoint.ranks.streams import Streams, check_device, device_of
from counterpoint.ranks.threads import World
from counterpoint.trace import Recorder

GRACE = 5.0
"""Seconds that a stopped rank may take to come back from code that cannot be interrupted."""

LOOK = 0.1
"""Seconds between two looks for an interrupt, which on some systems does not end a longer wait."""


def run(plan: Plan) -> Outcome:
    """Run the plan's function on threads of this process.

    Options: device="cuda" gives each rank a stream of its own, on the GPUs in turn (`"cuda:0"`: all on that
    one), and copies of the arguments there; `comm.device` says where. Default: "cpu".
    """
    device = check_device(plan.options.get("device", "cpu"))
    if unknown := set(plan.options) - {"device"}:
        raise TypeError(f"launch: the threads world has no option {sorted(unknown)[0]!r}")
    if device.type == "cuda":
        for rank, own in enumerate(plan.arguments):
            plan.arguments[rank] = copied(own, device_of(rank, device))
    recorder = Recorder(plan.ranks) if plan.trace else None
    world = World(
        plan.ranks,
        recorder=recorder,
        links=links_of(plan.network, plan.ranks),
        eager_limit=plan.eager_limit,
        sampler=plan.sampler,
    )
    for port, own in zip(world.ports, plan.arguments, strict=True):
        port.buffers = buffers_of(own)
        port.device = device_of(port.rank, device)
        port.streams = Streams(port.device) if device.type == "cuda" else None
    results: list[Any] = [None] * plan.ranks
    error = _run(world, plan, results)
    virtual = plan.network is not None
    clock = "virtual" if virtual else "wall"
    seconds = max(p.clock.now for p in world.ports) if virtual else world.ports[0].seconds()
    trace = finished_trace(world.ports, recorder, clock)
    world.failure = world.failure or over()  # for whoever keeps a Comm
    return Outcome(results, plan.arguments, trace, seconds, clock, error)


def _run(world: World, plan: Plan, results: list[Any]) -> BaseException | None:
    """Start the threads, wait for them, write what they print; the error that ended the run, if any."""
    mail: queue.SimpleQueue = queue.SimpleQueue()
    state = ThreadState(len(world.ports))

    def body(rank: int) -> None:
        port = world.ports[rank]
        try:
            with state, Prefixed(rank, mail.put), port.streams or nullcontext():
                comm = Comm(port, tuple(range(len(world.ports))), ())
                results[rank] = plan.function(comm, *plan.arguments[rank])
            world.returned(port)
        except RankStopped:
            pass
        except BaseException as error:  # whatever it was, the launcher raises it
            with world.lock:
                world.fail(what_ended_it(rank, error, world.failure))
        finally:
            mail.put(None)

    threads = [
        threading.Thread(target=body, args=(rank,), name=f"rank {rank}", daemon=True)
        for rank in range(len(world.ports))
    ]
    try:
        for thread in threads:
            thread.start()
        _attend(world, mail, len(threads), plan.output, plan.timeout)
    except BaseException as error:  # KeyboardInterrupt, most likely: end every rank, then go on with it
        with world.lock:
            world.fail(error)
        raise
    finally:
        _stop(world, threads)
        forget(thread.ident for thread in threads)
        _drain(mail, plan.output)
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
                world.fail(late(timeout, world.ports))
            return
        if item is None:
            running -= 1
            if world.failure is not None:
                return
        else:
            out.write(item)


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
