"""One rank's end of a world of processes: `Port` over a `Station`."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from counterpoint.ranks.board import State
from counterpoint.ranks.deadlock import Blocked, mismatch, place
from counterpoint.ranks.errors import MismatchError
from counterpoint.ranks.matching import store
from counterpoint.ranks.port import Port, caller_line
from counterpoint.ranks.request import UNKNOWN_CHUNK, Request
from counterpoint.ranks.segments import Segments
from counterpoint.ranks.station import Station, number_of
from counterpoint.ranks.streams import Streams
from counterpoint.trace import Line, Recorder

OTHERS = 2.0
"""Seconds that a rank in another collective than the rest waits to see who else has come, so as to say who is odd."""

KEPT = 256
"""Announcements a communicator keeps: how far a rank may lag behind and still be compared."""


class ProcessPort(Port):
    """This process's rank. `began` is the moment, on this process's perf_counter, that all ranks call 0."""

    def __init__(self, station: Station, recorder: Recorder | None, began: float) -> None:
        super().__init__(station.rank, recorder, None, None)
        self.station, self.began = station, began
        self.streams: Streams | None = None
        self.segments = Segments(self)
        self.mark = 0
        """Changes whenever the rank begins or ends a wait."""
        self.numbers: dict[tuple, int] = {}
        self.send_waits: list[tuple[int, int]] = []
        """(row, message) of each recorded wait for a send: it ends when the receiver begins to read."""

    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def isend(self, comm: tuple, tensor: torch.Tensor, dest: int, tag: int, call: str) -> Request:
        tensor = self._carried(tensor)
        send = Request(self, call, comm, dest, tag, tensor, caller_line())
        station = self.station
        station.check()
        send.synchronous = send.nbytes >= station.eager_limit
        self.posted_send(send)
        if self.streams is not None:
            self.streams.posted(send)
        self._carry(dest, station.send, send, self._number(comm))
        self._make_room(dest, Blocked(self, call, (send,), line=send.line))
        if not send.synchronous:
            send.start = send.end = self.seconds()
            send.done = True
        return send

    def irecv(
        self, comm: tuple, tensor: torch.Tensor, source: int, tag: int, call: str, op: str = ""
    ) -> Request:
        tensor = self._carried(tensor)
        receive = Request(self, call, comm, source, tag, tensor, caller_line(), op)
        self.station.check()
        self.posted_receive(receive)
        if self.streams is not None:
            self.streams.posted(receive)
        self._carry(source, self.station.receive, receive, self._number(comm))
        return receive

    def wait(self, requests: Sequence[Request], call: str) -> None:
        pending = [r for r in requests if not r.done]
        if pending or self.station.failure is not None:
            line = caller_line()
            begin = self.seconds()

            def complete() -> None:
                self.station.sleep(lambda: all(r.done or _there(r) for r in pending))
                self._finish(pending)

            self._await(Blocked(self, call, requests, line=line), complete)
            ends = max(begin, max(r.start for r in requests))
            self.waited(call, [r.peer for r in pending], begin, ends, line)
            if self.recorder is not None and pending and pending[-1].call == "send" and len(pending) == 1:
                self.send_waits.append((len(self.recorder.rows[self.rank]) - 1, pending[-1].message))
        for request in requests:
            if not request.observed:
                if self.streams is not None:
                    self.streams.observed(request)
                self.observed(request)

    def test(self, request: Request) -> bool:
        """Once its other end is there, this waits while the data moves."""
        station = self.station
        station.check()
        if request.call == "send":  # whether it has been taken is for its receiver to know
            with station.lock:
                taken = request.done or request.link is not None
            if not taken or (not request.done and not self._carry(request.peer, station.taken, request)):
                return False
        elif not request.done:
            if request.match is None:
                return False
            station.sleep(lambda: _there(request))
        self._finish([request])
        if not request.observed:
            self.observed(request)
        return True

    def exchange(
        self, comm: tuple, members: tuple[int, ...], number: int, value: Any, call: str
    ) -> list[Any]:
        station, line = self.station, caller_line()
        begin, where = self.seconds(), (self._number(comm), number)
        station.check()
        self._carry(members[0], station.meetings.come, where[0], members, number, value)
        blocked = Blocked(self, call, (), (), members, line)
        blocked.meeting = where
        for member in members:
            self._make_room(member, blocked)
        self._await(blocked, lambda: station.sleep(lambda: where in station.meetings.replies))
        self.waited(call, [], begin, self.seconds(), line)
        return station.meetings.replies.pop(where)

    def agree(self, comm: tuple, members: tuple[int, ...], number: int, signature: tuple) -> None:
        station = self.station
        station.check()
        key = f"said/{self._number(comm)}/"
        mine = signature, place(caller_line())
        said = self._carry(self.rank, station.board.announce, f"{key}{number}", self.rank, mine)
        if number > KEPT and members[0] == self.rank:
            station.board.forget(f"{key}{number - KEPT}")
        if all(other[0] == signature for other in said.values()):
            return
        end = time.monotonic() + OTHERS
        while len(said) < len(members) and time.monotonic() < end and station.failure is None:
            time.sleep(0.02)
            said = station.board.announced(f"{key}{number}")
        error = mismatch({(comm, number): said}, ())
        station.fail(error or MismatchError(f"rank {self.rank}: ranks differ in their collective {number}"))
        station.check()

    def share(
        self,
        comm: tuple,
        members: tuple[int, ...],
        number: int,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        mine: torch.Tensor | None,
        call: str,
    ) -> list[torch.Tensor]:
        """On one host only; `mine` must lie in a window already."""
        if mine is None:
            return self.segments.open(comm, members, number, shape, dtype, call)
        return self.segments.alias(comm, members, number, mine, call)

    def reaches(self, tensor: torch.Tensor) -> bool:
        return self.segments.find(tensor) is not None

    def compute(self, comm: tuple, seconds: float, line: Line) -> None:
        self.station.check()
        start = self.seconds()
        time.sleep(seconds)
        if self.recorder is not None:
            self.recorder.add(
                None, comm, self.rank, -1, "compute", "", 0, 0, 0, start, self.seconds(), self.phase,
                UNKNOWN_CHUNK, line,
            )  # fmt: skip

    def state(self, tick: int) -> State:
        """What to tell the others."""
        station = self.station
        with station.lock:
            blocked, mark = self.blocked, self.mark
            still = [] if blocked is None else [r for r in blocked.requests if not r.done and r.match is None]
            met = blocked is not None and blocked.meeting
            return State(
                tick, mark, tuple(station.sent), tuple(station.read), self.returned,
                waiting=blocked.describe() if blocked is not None else None,
                needs=tuple(r.peer for r in still),
                sends=tuple((r.peer, r.key[0]) for r in still if r.call == "send" and r.key),
                meeting=met or None,
                members=tuple(blocked.members) if blocked is not None else (),
                unmatched=frozenset(
                    (a.source, a.number) for arrived in station.arrived.values() for a in arrived if a.body is None
                ),
            )  # fmt: skip

    def _make_room(self, peer: int, blocked: Blocked) -> None:
        """Wait until not too many packets to `peer` are on their way."""
        if (wait := self.station.wire.surplus(peer)) is not None:
            station = self.station
            self._await(blocked, lambda: self._carry(peer, station.end, *station.begin([wait])))

    def _await(self, blocked: Blocked, wait: Callable[[], None]) -> None:
        """Wait, and let the others know meanwhile."""
        self.blocked, self.mark = blocked, self.mark + 1
        try:
            wait()
        except BaseException:
            self.stuck = blocked
            raise
        finally:
            self.blocked, self.mark = None, self.mark + 1

    def _finish(self, requests: Sequence[Request]) -> None:
        """The other ends are there, or will take them: wait until the data has moved."""
        moving = [r for r in requests if not r.done and not r.lane]  # what came by a lane is there
        waits = [r.link.wait if r.call == "send" else r.link[0].wait for r in moving]
        endings = dict(zip(moving, self.station.begin(waits) if moving else (), strict=True))
        for request in requests:
            if request in endings:
                self._carry(request.peer, self.station.end, endings[request])
            if not request.done:
                self._moved(request)

    def _moved(self, request: Request) -> None:
        """Complete a request whose data has moved."""
        if request.call != "send":
            moved, direct = request.link
            if self.streams is not None:
                self.streams.observed(request)
            if not direct:
                target = request.tensor
                store(target, moved.memory.view(target.dtype).to(target.device), request.op)
        request.end = self.seconds()
        if request.call == "send":
            request.start = request.end
        request.done = True

    def _carry(self, peer: int, call: Any, *given: Any) -> Any:
        """Do what needs a connection; if that breaks, say why."""
        try:
            return call(*given)
        except RuntimeError as error:
            self.station.check()
            self.station.broken(peer, error)
            self.station.check()
            raise

    def _carried(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor without its graph. Raises ValueError for one that cannot be carried."""
        lanes = self.station.lanes
        host = tensor.device.type == "cpu" or (lanes is not None and lanes.carries(tensor))
        if not host or tensor.layout != torch.strided:
            raise ValueError(
                f"rank {self.rank}: these processes carry dense tensors of the CPU (with backend='nccl' of GPUs too), "
                f"not one on {tensor.device} with layout {tensor.layout}; move it with .cpu(), or, for phantom "
                f"tensors, use world='simulated'"
            )
        return tensor.detach() if tensor.requires_grad else tensor

    def _number(self, comm: tuple) -> int:
        number = self.numbers.get(comm)
        if number is None:
            number = self.numbers[comm] = number_of(comm)
        return number


def _there(request: Request) -> bool:
    """Whether a request waits for nobody any more: its data is moving, or has moved."""
    return request.link is not None or (request.match is not None and not request.lane)
