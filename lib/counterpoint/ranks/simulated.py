"""Ranks on a virtual clock: thousands of them in one thread, in time order, the same every time.

Each rank is a greenlet that runs the same blocking code as anywhere. One that cannot go on gives way to the
one whose clock is earliest. Time comes from a `Network` and from `compute`, never from this machine, so a
run is a pure function of the program, the network and the seed. A message may carry real data, or only its
size: a tensor on torch's `meta` device has no data, and reducing into one does no arithmetic.

Links inside the network are shared, first come, first served: a rank touches them only when no other rank's
clock is earlier.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any, TextIO

import greenlet
import torch

from counterpoint.models import Link, as_network
from counterpoint.ranks.arguments import buffers_of
from counterpoint.ranks.deadlock import find_deadlock, mismatch
from counterpoint.ranks.errors import CommError, RankStopped, over
from counterpoint.ranks.fast import SimulatedComm
from counterpoint.ranks.output import Prefixed
from counterpoint.ranks.plan import Outcome, Plan, finished_trace, late, what_ended_it
from counterpoint.ranks.simulated_port import SimulatedPort
from counterpoint.trace import PackedRecorder, uncollected


class Simulation:
    """The ranks of one run, the links they share, and the order in which they go on."""

    def __init__(self, plan: Plan, recorder: PackedRecorder | None) -> None:
        self.network = as_network(plan.network or Link(), plan.ranks)
        self.eager_limit = plan.eager_limit
        self.free = [0.0] * self.network.links
        """When each of the network's links is free again."""
        self.heap: list[tuple[float, int, SimulatedPort]] = []
        """Ranks that can go on: (clock, order of arrival here, rank)."""
        self.arrivals = 0
        self.sizes: dict[int, tuple[torch.Tensor, int, int]] = {}
        """What is known of phantom tensors, by identity: bytes, and their number in the trace (see `fast.py`)."""
        self.sites: dict[tuple, int] = {}
        """The numbers of calls in the trace: see `fast.py`."""
        self.failure: BaseException | None = None
        self.meetings: dict[tuple, dict[int, tuple[Any, float]]] = {}
        self.announced: dict[tuple, dict[int, tuple]] = {}
        self.handshake = plan.options.get("handshake", 0.0)
        slowness = plan.options.get("slowness") or {}
        jitter, seed = plan.options.get("jitter", 0.0), plan.options.get("seed", 0)
        self.ports = [
            SimulatedPort(
                self, rank, recorder, plan.sampler, slowness.get(rank, 1.0), jitter, f"{seed} {rank}"
            )
            for rank in range(plan.ranks)
        ]
        self.resume = greenlet.getcurrent().switch
        self.mode = _mode()
        self.starting = True

    def wake(self, port: SimulatedPort, when: float) -> None:
        """`port` can go on from `when`."""
        self.arrivals += 1
        heappush(self.heap, (when, self.arrivals, port))

    def give_way(self, port: SimulatedPort) -> None:
        """Let the earliest rank go on; return when it is this one's turn again."""
        grad, _, autocast = self.mode
        # Inference mode turns grad mode off, so it is asked after only where that differs.
        same = torch.is_grad_enabled() is grad and torch.is_autocast_enabled("cpu") is autocast
        if not same and _mode() != self.mode:
            with _mode_of(self.mode):
                self.give_way(port)
            return
        if torch._C._current_graph_task_id() != -1:
            raise RuntimeError(
                f"rank {port.rank}: a Comm call inside backward must wait, and a simulated rank cannot wait there "
                f"(autograd's own frames are below it); use world='threads', which carries the same clock"
            )
        if self.heap and not self.starting:
            heappop(self.heap)[2].resume()
        else:
            self.resume()
        if self.failure is not None:
            self.check()

    def check(self) -> None:
        """Raise in a rank what ended the run."""
        if self.failure is not None:
            if isinstance(self.failure, CommError):
                raise self.failure.again()
            raise RankStopped

    def fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error
            for port in self.ports:
                port.stuck, port.blocked = port.blocked, None

    def conduct(self) -> None:
        """The hub: let whoever is earliest go on; when nobody can, it is over, or a deadlock.

        Every rank is begun from here: greenlets begun from one another would lie on one stack.
        """
        for port in self.ports:
            if self.failure is None:
                port.greenlet.switch()
        self.starting = False
        while self.failure is None:
            if self.heap:
                heappop(self.heap)[2].resume()
            elif all(port.returned for port in self.ports):
                return
            else:
                self.fail(self.stuck())

    def stuck(self) -> BaseException:
        """Nobody can go on, so somebody waits in a cycle or for a rank that has returned."""
        if differing := mismatch(self.announced, self.ports):
            return differing
        for port in self.ports:
            if port.blocked is not None and (error := find_deadlock(port, self.ports)):
                return error
        raise AssertionError("ranks wait, but for nobody")

    def end(self) -> None:
        """After a failure: every rank that has begun goes on once more, to find the run over."""
        self.heap.clear()
        for port in self.ports:
            if port.greenlet:  # has begun and not ended
                port.greenlet.switch()
            while port.greenlet:
                port.greenlet.throw(RankStopped)

    def close(self) -> None:
        """Whoever keeps a `Comm` shall find the run over, on the quick way too, which asks nobody."""
        if not isinstance(self.failure, CommError):
            self.failure = over()
        self.sizes.clear()
        for port in self.ports:
            for channel in port.outgoing.values():
                channel.closed = True


def run(plan: Plan) -> Outcome:
    """Run the plan's function on simulated ranks.

    Options: slowness={rank: factor} multiplies the time of that rank's `compute`; jitter=0.1 makes each
    `compute` up to 10 % longer, at random from seed=0. handshake: seconds that a synchronous message waits
    after both ends are ready.
    """
    unknown = set(plan.options) - {"slowness", "jitter", "seed", "handshake"}
    if unknown:
        raise TypeError(f"launch: the simulated world has no option {sorted(unknown)[0]!r}")
    recorder = PackedRecorder(plan.ranks) if plan.trace else None
    world = Simulation(plan, recorder)
    results: list[Any] = [None] * plan.ranks
    members = tuple(range(plan.ranks))

    def body(port: SimulatedPort) -> None:
        try:
            results[port.rank] = plan.function(SimulatedComm(port, members, ()), *plan.arguments[port.rank])
            port.returned = True
        except RankStopped:
            pass
        except Exception as error:  # the launcher raises it; an interrupt goes straight through to it
            world.fail(what_ended_it(port.rank, error, world.failure))

    buffers: dict[int, list[tuple[int, int]]] = {}
    for port, own in zip(world.ports, plan.arguments, strict=True):
        if recorder is not None:
            if id(own) not in buffers:  # shared arguments are looked at once
                buffers[id(own)] = buffers_of(own)
            port.buffers = buffers[id(own)]
        port.greenlet = greenlet.greenlet(lambda port=port: body(port))
        port.resume = port.greenlet.switch
    with _Printing(world, plan.output), _Deadline(plan.timeout), uncollected():
        try:
            world.conduct()
        except _Late:
            world.fail(late(plan.timeout, world.ports))
        except BaseException as error:
            world.fail(error)
        finally:
            world.end()
    seconds = max(port.clock.now for port in world.ports)
    trace = finished_trace(world.ports, recorder, "virtual")
    ended = world.failure
    world.close()
    return Outcome(results, plan.arguments, trace, seconds, "virtual", ended)


class _Late(BaseException):
    """Raised in the simulation's thread when its time is up."""


class _Deadline:
    """A context that ends its thread's work with `_Late` after `seconds` of wall time."""

    def __init__(self, seconds: float | None) -> None:
        self.thread = threading.get_ident()
        self.timer = threading.Timer(seconds, self.fire) if seconds is not None else None

    def fire(self) -> None:
        thread = ctypes.c_ulong(self.thread)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Late))

    def __enter__(self) -> None:
        if self.timer is not None:
            self.timer.daemon = True
            self.timer.start()

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), None)


class _Printing:
    """A context in which what a simulated rank prints carries its rank."""

    def __init__(self, world: Simulation, output: TextIO) -> None:
        self.lines = {port.greenlet: Prefixed(port.rank, output.write) for port in world.ports}
        self.switch = Prefixed(-1, output.write, self.write)

    def write(self, text: str) -> None:
        line = self.lines.get(greenlet.getcurrent())
        if line is not None:
            line.write(text)
        else:
            self.switch.emit(text)

    def __enter__(self) -> None:
        self.switch.__enter__()

    def __exit__(self, *_: object) -> None:
        for line in self.lines.values():
            line.close()
        self.switch.__exit__()


def _mode() -> tuple[bool, bool, bool]:
    """The part of torch's thread state that a rank may change: grad, inference, autocast."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


@contextmanager
def _mode_of(mode: tuple[bool, bool, bool]) -> Iterator[None]:
    """Put that state in place, and back again: all greenlets share their thread's."""
    grad, inference, autocast = mode
    before = torch.is_autocast_enabled("cpu")
    with torch.inference_mode(inference), torch.set_grad_enabled(grad):
        torch.set_autocast_enabled("cpu", autocast)
        try:
            yield
        finally:
            torch.set_autocast_enabled("cpu", before)
