"""Ranks as threads of this process: a message is one copy, made by whichever end comes second.

One lock guards the world's state. A send that finds its receive posted copies straight into the
receiver's tensor; a receive that finds its send waiting copies from the sender's. So a message wakes at
most one rank, and large data is read once and written once. A small send whose receive is not there yet
is put aside in a clone. The copy itself is made outside the lock.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from counterpoint.models import Link
from counterpoint.ranks.deadlock import Blocked, find_deadlock, mismatch
from counterpoint.ranks.errors import CommError, RankStopped
from counterpoint.ranks.matching import Key, match_or_post, misfit, store
from counterpoint.ranks.one_memory import OneMemory
from counterpoint.ranks.port import Sampler, caller_line
from counterpoint.ranks.request import Request
from counterpoint.ranks.streams import Streams
from counterpoint.trace import Line, Recorder


class World:
    """What the rank threads of one launch share. Nothing here outlives the launch."""

    def __init__(
        self,
        ranks: int,
        *,
        recorder: Recorder | None,
        links: Sequence[Link | None],
        eager_limit: int,
        sampler: Sampler | None = None,
    ) -> None:
        self.lock = threading.Lock()
        self.eager_limit = eager_limit
        self.began = time.perf_counter()
        self.failure: BaseException | None = None
        self.posted: dict[Key, deque[Request]] = {}
        """Sends, or receives, that wait for their other end: key (comm, source, dest, tag)."""
        self.meetings: dict[tuple, dict[int, tuple[Any, float]]] = {}
        self.announced: dict[tuple, dict[int, tuple]] = {}
        self.decided: dict[tuple, Any] = {}
        self.ports = [ThreadPort(self, r, recorder, links[r], sampler) for r in range(ranks)]

    def fail(self, error: BaseException) -> None:
        """The run is over: the first error counts; every rank that waits is woken. Needs the lock."""
        if self.failure is None:
            self.failure = error
            for port in self.ports:
                if port.blocked is not None:
                    port.stuck, port.blocked = port.blocked, None
                    port.gate.release()

    def check(self) -> None:
        """Raise in a rank what ended the run."""
        if self.failure is not None:
            if isinstance(self.failure, CommError):
                raise self.failure.again()
            raise RankStopped

    def decide(self, question: tuple, answer: Any) -> Any:
        """The first rank's answer to a question counts for all: no matter who that is, all hear the same."""
        with self.lock:
            return self.decided.setdefault(question, answer)

    def returned(self, port: "ThreadPort") -> None:
        """A rank's function has returned: whoever waits for it waits in vain."""
        with self.lock:
            port.returned = True
            for other in self.ports:
                if self.failure is None and other.blocked is not None:
                    self.fail_if_stuck(other)

    def fail_if_stuck(self, port: "ThreadPort") -> None:
        """Look for a cycle, or a returned rank, among those that `port` waits for. Needs the lock."""
        error = find_deadlock(port, self.ports)
        if error is not None:
            self.fail(mismatch(self.announced, self.ports) or error)


class ThreadPort(OneMemory):
    """One rank thread's end; `gate` is a lock it sleeps on."""

    def __init__(
        self,
        world: World,
        rank: int,
        recorder: Recorder | None,
        link: Link | None,
        sampler: Sampler | None,
    ) -> None:
        super().__init__(rank, recorder, link, sampler)
        self.world = world
        self.gate = threading.Lock()
        self.gate.acquire()
        self.streams: Streams | None = None

    @property
    def hands_over(self) -> bool:
        return not self.clock.virtual and self.sampler is None and self.device.type == "cpu"

    def seconds(self) -> float:
        return time.perf_counter() - self.world.began

    def settle(self) -> None:
        if self.streams is not None:
            self.streams.settle()

    def isend(self, comm: tuple, tensor: torch.Tensor, dest: int, tag: int, call: str) -> Request:
        tensor = tensor.detach() if tensor.requires_grad else tensor
        send = Request(self, call, comm, dest, tag, tensor, caller_line())
        world = self.world
        send.synchronous = send.nbytes >= world.eager_limit
        self.posted_send(send)
        if self.streams is not None:
            self.streams.posted(send)
        if self.sampler is not None:
            self.sampler(self.rank, send.row, send, self)
        key = (comm, self.rank, dest, tag)
        with world.lock:
            world.check()
            if not match_or_post(world.posted, key, send):
                if not send.synchronous:
                    send.start = self.seconds()
                    send.tensor = tensor.clone()
                    if self.streams is not None:
                        self.streams.posted(send)  # the clone is what must be there
                    send.end = self.seconds()
                    send.done = True
                return send
        assert send.match is not None
        self.move(send, send.match)
        return send

    def irecv(
        self, comm: tuple, tensor: torch.Tensor, source: int, tag: int, call: str, op: str = ""
    ) -> Request:
        tensor = tensor.detach() if tensor.requires_grad else tensor
        receive = Request(self, call, comm, source, tag, tensor, caller_line(), op)
        self.posted_receive(receive)
        if self.streams is not None:
            self.streams.posted(receive)
        world = self.world
        key = (comm, source, self.rank, tag)
        with world.lock:
            world.check()
            if not match_or_post(world.posted, key, receive):
                return receive
        assert receive.match is not None
        self.move(receive.match, receive)
        return receive

    def move(self, send: Request, receive: Request) -> None:
        """Copy (or reduce) the data of a matched pair, then mark both ends and wake who waits."""
        world = self.world
        start = self.seconds()
        if error := misfit(send, receive):
            with world.lock:
                world.fail(error)
            world.check()
        if self.streams is not None:
            self.streams.before_move(send, receive)
        store(receive.tensor, send.tensor, receive.op)
        if self.streams is not None:
            self.streams.after_move(send, receive)
        end = self.seconds()
        with world.lock:
            for request in (send, receive):
                if not request.done:
                    request.start, request.end, request.done = start, end, True
                    owner = request.port
                    assert isinstance(owner, ThreadPort)
                    owner.wake_if_ready()

    def wake_if_ready(self) -> None:
        """End this rank's wait if nothing is left to wait for. Needs the lock."""
        if self.blocked is not None and self.blocked.ready():
            self.blocked = None
            self.gate.release()

    def wait(self, requests: Sequence[Request], call: str) -> None:
        world = self.world
        if world.failure is not None or not all(r.done for r in requests):
            line = caller_line()
            peers = [r.peer for r in requests if not r.done]
            begin = self.seconds()
            self.sleep(Blocked(self, call, requests, line=line))
            if not self.clock.virtual:
                self.waited(call, peers, begin, max(begin, max(r.start for r in requests)), line)
        for request in requests:
            if not request.observed:
                if self.streams is not None:
                    self.streams.observed(request)
                before = self.clock.now
                self.observed(request)
                if self.clock.virtual:
                    self.idle_virtually(request, before, call)

    def idle_virtually(self, request: Request, before: float, call: str) -> None:
        """On a virtual clock, record the time between the call and the start of the transfer."""
        if self.recorder is None:
            return
        row = request.row if request.call == "send" else -1
        begins = self.recorder.start_of(self.rank, row)
        if begins > before:
            self.waited(call, [request.peer], before, begins, request.line)

    def sleep(self, blocked: Blocked) -> None:
        """Wait until `blocked` is ready; raise if that can never be, or if the run has ended."""
        world = self.world
        with world.lock:
            world.check()
            if blocked.ready():
                return
            self.blocked = blocked
            world.fail_if_stuck(self)
        self.gate.acquire()
        world.check()

    def test(self, request: Request) -> bool:
        self.world.check()
        if request.done and not request.observed:
            if self.streams is not None:
                self.streams.observed(request)
            self.observed(request)
        return request.done

    def exchange(
        self, comm: tuple, members: tuple[int, ...], number: int, value: Any, call: str
    ) -> list[Any]:
        world, line = self.world, caller_line()
        begin = self.clock.now if self.clock.virtual else self.seconds()
        with world.lock:
            world.check()
            met = world.meetings.setdefault((comm, number), {})
            met[self.rank] = (value, self.clock.now)
            if len(met) == len(members):
                del world.meetings[comm, number]
                for member in members:
                    world.ports[member].wake_if_ready()
        blocked = Blocked(self, call, (), met, members, line)
        self.sleep(blocked)
        if self.clock.virtual:
            self.clock.now = max(clock for _, clock in met.values())
        end = self.clock.now if self.clock.virtual else self.seconds()
        self.waited(call, [], begin, end, line)
        return [met[member][0] for member in members]

    def reach(self, kind: str, peer: int, nbytes: int, reduced: bool) -> tuple[float, float] | None:
        self.world.check()
        link = self.world.ports[peer].clock.link
        if link is None:
            return None
        if peer == self.rank:
            return self.clock.locally(nbytes, link.gamma if reduced else 0.0)
        return self.clock.get(link, nbytes, reduced) if kind == "get" else self.clock.put(link, nbytes)

    def agree(self, comm: tuple, members: tuple[int, ...], number: int, signature: tuple) -> None:
        world = self.world
        key = (comm, number)
        with world.lock:
            world.check()
            said = world.announced.setdefault(key, {})
            said[self.rank] = (signature, caller_line())
            same = all(other[0] == signature for other in said.values())
            if len(said) == len(members):
                if same and len({other[0] for other in said.values()}) == 1:
                    del world.announced[key]
                else:
                    world.fail(mismatch(world.announced, world.ports))  # type: ignore[arg-type]
            same = same or world.failure is not None
        if not same:
            self.sleep(Blocked(self, "agree", (), said, members, caller_line()))
        world.check()

    def compute(self, comm: tuple, seconds: float, line: Line) -> None:
        self.world.check()
        if self.clock.virtual:
            start = self.clock.now
            end = self.clock.now = start + seconds
        else:
            start = self.seconds()
            time.sleep(seconds)
            end = self.seconds()
        if self.recorder is not None:
            chunk = (-1, -1, -1)
            self.recorder.add(
                None, comm, self.rank, -1, "compute", "", 0, 0, 0, start, end, self.phase, chunk, line
            )  # fmt: skip
