"""One simulated rank's end: the same operations as on threads, on a virtual clock."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from counterpoint.models import Route
from counterpoint.ranks.deadlock import Blocked, mismatch
from counterpoint.ranks.matching import misfit, store
from counterpoint.ranks.one_memory import OneMemory
from counterpoint.ranks.port import Sampler, caller_line
from counterpoint.ranks.request import UNKNOWN_CHUNK, Request
from counterpoint.ranks.routes import Channel, RouteClock
from counterpoint.trace import Line, PackedRecorder, message_number

if TYPE_CHECKING:
    from counterpoint.ranks.simulated import Simulation


class SimulatedPort(OneMemory):
    """One rank of a `Simulation`."""

    def __init__(
        self,
        world: "Simulation",
        rank: int,
        recorder: PackedRecorder | None,
        sampler: Sampler | None,
        slowness: float,
        jitter: float,
        seed: str,
    ) -> None:
        self.awaiting: tuple[int, str] | None = None
        """In a quick receive that waits: (source, op). Enough to say what `blocked` is, if somebody asks."""
        self._blocked: Blocked | None = None
        super().__init__(rank, recorder, None, sampler)
        self.recorder: PackedRecorder | None = recorder
        self.world = world
        self.clock: RouteClock = RouteClock(world.network.gamma, world.network.overhead or None)
        self.slowness, self.jitter = slowness, jitter
        self.random = Random(seed) if jitter else None
        self.greenlet: Any = None
        self.resume: Any = None
        """Its greenlet's `switch`."""
        self.outgoing: dict[tuple, Channel] = {}
        """This rank's channels: (communicator, dest, tag)."""

    @property
    def blocked(self) -> Blocked | None:
        """What it waits for."""
        if self.awaiting is None:
            return self._blocked
        source, op = self.awaiting
        line = caller_line(self.greenlet.gr_frame)
        return Blocked(self, "recv_reduce" if op else "recv", members=(source,), line=line)

    @blocked.setter
    def blocked(self, blocked: Blocked | None) -> None:
        self.awaiting, self._blocked = None, blocked

    def seconds(self) -> float:
        return self.clock.now

    def channel(self, comm: tuple, source: int, dest: int, tag: int) -> Channel:
        """The channel from `source` to `dest`, kept by the sender."""
        outgoing = self.world.ports[source].outgoing
        key = (comm, dest, tag)
        found = outgoing.get(key)
        if found is None:
            number = 0 if self.recorder is None else self.recorder.channel(comm, source, dest, tag)
            found = outgoing[key] = Channel(self.world.network.route(source, dest), number)
        return found

    def isend(self, comm: tuple, tensor: torch.Tensor, dest: int, tag: int, call: str) -> Request:
        world = self.world
        world.check()
        tensor = tensor.detach() if tensor.requires_grad else tensor
        send = Request(self, call, comm, dest, tag, tensor, caller_line())
        send.synchronous = send.nbytes >= world.eager_limit
        self.posted_send(send)
        if self.sampler is not None:
            self.sampler(self.rank, send.row, send, self)
        channel = self.channel(comm, self.rank, dest, tag)
        send.link = channel
        if not send.synchronous:
            self.take_turn(channel.route)
            send.start, send.end = self.clock.leave(channel.route, send.nbytes, send.ready, world.free)
            if not tensor.is_meta:
                send.tensor = tensor.clone()
            send.done = True
        if channel.wanted:
            receive = channel.wanted.popleft()
            channel.closed = channel.shared or bool(channel.wanted)
            receive.match, send.match = send, receive
            self.move(send, receive)
        else:
            channel.sent.append(send)
            if channel.reader is not None:
                world.wake(channel.reader, self.clock.now)
                channel.reader = None
        return send

    def irecv(
        self, comm: tuple, tensor: torch.Tensor, source: int, tag: int, call: str, op: str = ""
    ) -> Request:
        self.world.check()
        tensor = tensor.detach() if tensor.requires_grad else tensor
        receive = Request(self, call, comm, source, tag, tensor, caller_line(), op)
        self.posted_receive(receive)
        channel = self.channel(comm, source, self.rank, tag)
        receive.link = channel
        if channel.sent:
            send = channel.sent.popleft()
            if isinstance(send, tuple):
                send = self.world.ports[source].as_request(comm, self.rank, tag, send)
            receive.match, send.match = send, receive
            self.move(send, receive)
        else:
            channel.wanted.append(receive)
            channel.closed = True
        return receive

    def as_request(self, comm: tuple, dest: int, tag: int, quick: tuple) -> Request:
        """A message that left the quick way, as a request."""
        start, tensor, _, _, step, count = quick
        send = Request(self, "send", comm, dest, tag, tensor, None)
        send.ready = send.start = start
        send.step, send.message = step, message_number(self.rank, count)
        send.done = True
        return send

    def take_turn(self, route: Route) -> None:
        """Before touching links that others share: let every rank whose clock is earlier go first."""
        world = self.world
        if len(route.links) > 2:
            while world.heap and world.heap[0][0] < self.clock.now:
                world.wake(self, self.clock.now)
                world.give_way(self)

    def move(self, send: Request, receive: Request) -> None:
        """Both ends are there: a synchronous message may leave now; then its data is here."""
        world = self.world
        if error := misfit(send, receive):
            world.fail(error)
            world.check()
        if send.synchronous:
            sender = send.port
            assert isinstance(sender, SimulatedPort)
            route = send.link.route
            self.take_turn(route)
            when = max(send.ready, receive.ready) + world.handshake
            send.start, send.end = sender.clock.leave(route, send.nbytes, when, world.free)
            send.done = True
        if not receive.tensor.is_meta:
            store(receive.tensor, send.tensor, receive.op)
        receive.done = True
        for request in (send, receive):
            port = request.port
            assert isinstance(port, SimulatedPort)
            port.wake_if_ready(self.clock.now)

    def wake_if_ready(self, when: float) -> None:
        if self._blocked is not None and self._blocked.ready():
            self._blocked = None
            self.world.wake(self, max(when, self.clock.now))

    def wait(self, requests: Sequence[Request], call: str) -> None:
        for request in requests:
            if not request.done:
                self.sleep(Blocked(self, call, requests, line=caller_line()))
                break
        for request in requests:
            if not request.observed:
                before = self.clock.now
                self.observed(request)
                self.idled(request, before, call)

    def idled(self, request: Request, before: float, call: str) -> None:
        """Record the time between the call and the start of the transfer."""
        if self.recorder is not None:
            row = request.row if request.call == "send" else -1
            begins = self.recorder.start_of(self.rank, row)
            if begins > before:
                self.waited(call, [request.peer], before, begins, request.line)

    def sleep(self, blocked: Blocked) -> None:
        """Give way until `blocked` is ready."""
        self.world.check()
        if not blocked.ready():
            self._blocked = blocked
            self.world.give_way(self)

    def test(self, request: Request) -> bool:
        world = self.world
        world.check()
        if not request.done and (world.heap or world.starting):  # whoever polls lets time go by
            if world.heap:
                self.clock.now = max(self.clock.now, world.heap[0][0])
            world.wake(self, self.clock.now)
            world.give_way(self)
        if request.done and not request.observed:
            self.observed(request)
        return request.done

    def exchange(
        self, comm: tuple, members: tuple[int, ...], number: int, value: Any, call: str
    ) -> list[Any]:
        world, line, begin = self.world, caller_line(), self.clock.now
        world.check()
        met = world.meetings.setdefault((comm, number), {})
        met[self.rank] = (value, self.clock.now)
        if len(met) == len(members):
            del world.meetings[comm, number]
            latest = max(clock for _, clock in met.values())
            for member in members:
                world.ports[member].wake_if_ready(latest)
        self.sleep(Blocked(self, call, (), met, members, line))
        self.clock.now = max(clock for _, clock in met.values())
        self.waited(call, [], begin, self.clock.now, line)
        return [met[member][0] for member in members]

    def reach(self, kind: str, peer: int, nbytes: int, reduced: bool) -> tuple[float, float]:
        """It uses ways that other ranks use too, so whoever's clock is earlier goes first."""
        world, clock = self.world, self.clock
        world.check()
        if peer == self.rank:
            return clock.locally(nbytes, clock.gamma if reduced else 0.0)
        while world.starting or (world.heap and world.heap[0][0] < clock.now):
            world.wake(self, clock.now)
            world.give_way(self)
        other = world.ports[peer].clock
        if kind == "get":
            route = world.network.route(peer, self.rank)
            start, _ = other.leave(route, nbytes, clock.now, world.free)
            clock.arrive(route, nbytes, start, reduced)
        else:
            route = world.network.route(self.rank, peer)
            start, left = clock.leave(route, nbytes, clock.now, world.free)
            clock.landed = max(clock.landed, other.take_in(route, nbytes, start))
            clock.now = max(clock.now, left)
        return start, clock.now

    def agree(self, comm: tuple, members: tuple[int, ...], number: int, signature: tuple) -> None:
        world = self.world
        world.check()
        said = world.announced.setdefault((comm, number), {})
        said[self.rank] = (signature, caller_line())
        first = next(iter(said.values()))[0]
        if signature != first or len(said) == len(members):
            if len(said) == len(members) and all(s == first for s, _ in said.values()):
                del world.announced[comm, number]
                return
            if len(said) == len(members):
                world.fail(mismatch(world.announced, world.ports))  # type: ignore[arg-type]
                world.check()
            self.sleep(Blocked(self, "agree", (), said, members, caller_line()))

    def compute(self, comm: tuple, seconds: float, line: Line) -> None:
        self.world.check()
        start = self.clock.now
        seconds *= self.slowness
        if self.random is not None:
            seconds *= 1.0 + self.jitter * self.random.random()
        self.clock.now = end = start + seconds
        if self.recorder is not None:
            self.recorder.add(
                None, comm, self.rank, -1, "compute", "", 0, 0, 0, start, end, self.phase, UNKNOWN_CHUNK,
                line,
            )  # fmt: skip
