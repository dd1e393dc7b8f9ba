"""What a world gives each of its ranks: the few operations that every substrate must supply.

`Comm` is written once on top of this; a port is where its messages go. Everything that does not depend
on where the ranks live is here: source lines, phases, which buffer a chunk lies in, events, steps, clocks.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from counterpoint.models import Link
from counterpoint.ranks.clock import PortClock
from counterpoint.ranks.request import UNKNOWN_CHUNK, Request
from counterpoint.trace import UNKNOWN, Line, Recorder, message_number

if TYPE_CHECKING:
    from counterpoint.ranks.deadlock import Blocked
    from counterpoint.ranks.handoff import Handoff

_HERE = os.path.dirname(__file__)

Sampler = Callable[[int, int, Request, "Port"], None]
"""`sampler(rank, row, request, port)`: called by the rank itself after it posted a send and after it saw
a receive complete; `row` is the event's number among the rank's events."""


def caller_line(frame: FrameType | None = None) -> Line:
    """Where the nearest caller outside this folder stands; or the nearest frame, from `frame` on."""
    frame = frame or sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


class Phase:
    """Labels events from now on; used as a context, only those inside it."""

    __slots__ = ("_before", "_port")

    def __init__(self, port: "Port", name: str) -> None:
        self._port, self._before = port, port.phase
        port.phase = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._port.phase = self._before


class Port(ABC):
    """One rank's end of a world.

    `blocked` says what it waits for, `stuck` what it waited for when the run ended.
    """

    def __init__(
        self, rank: int, recorder: Recorder | None, link: Link | None, sampler: Sampler | None
    ) -> None:
        self.rank, self.recorder, self.sampler = rank, recorder, sampler
        self.clock = PortClock(link)
        self.phase = ""
        self.buffers: list[tuple[int, int]] = []
        self.receiving: list[Request] = []
        self.sending: list[Request] = []
        self.blocked: Blocked | None = None
        self.stuck: Blocked | None = None
        self.returned = False
        self.sent = 0
        self.handoffs: dict[tuple, Handoff] = {}
        """By communicator, where ranks hand over in compiled code."""
        self.device = torch.device("cpu")

    @abstractmethod
    def isend(self, comm: tuple, tensor: torch.Tensor, dest: int, tag: int, call: str) -> Request: ...

    @abstractmethod
    def irecv(
        self, comm: tuple, tensor: torch.Tensor, source: int, tag: int, call: str, op: str = ""
    ) -> Request: ...

    @abstractmethod
    def wait(self, requests: Sequence[Request], call: str) -> None: ...

    @abstractmethod
    def test(self, request: Request) -> bool: ...

    @abstractmethod
    def exchange(
        self, comm: tuple, members: tuple[int, ...], number: int, value: Any, call: str
    ) -> list[Any]: ...

    @abstractmethod
    def agree(self, comm: tuple, members: tuple[int, ...], number: int, signature: tuple) -> None: ...

    @abstractmethod
    def seconds(self) -> float:
        """Wall seconds since the run began."""

    @abstractmethod
    def compute(self, comm: tuple, seconds: float, line: Line) -> None: ...

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
        """Every member's part of a new window, in their order, each as a tensor that this rank can reach.

        Collective, an exchange of that `number`. mine: this rank's part if it exists already, a contiguous
        tensor that holds no graph; None: allocate it, zeros, on `device`.
        """
        raise RuntimeError(
            f"rank {self.rank}: {call} needs memory that all ranks reach, and this world has none; use messages, or "
            f"world='threads'"
        )

    def reaches(self, tensor: torch.Tensor) -> bool:
        """Whether all ranks reach this tensor, so that it can be a window as it is."""
        return True

    @property
    def hands_over(self) -> bool:
        """Whether ranks can hand over in compiled code (`handoff.py`)."""
        return False

    def settle(self) -> None:
        """Return when whatever the rank has begun to move is where it belongs."""
        return

    def reach(self, kind: str, peer: int, nbytes: int, reduced: bool) -> tuple[float, float] | None:
        """The virtual (start, end) of a get from, or a put to, `peer`'s memory; None on the wall clock."""
        return None

    def chunk(self, tensor: torch.Tensor) -> tuple[int, int, int]:
        """(buffer, first element, elements) of a view of one of the rank's arguments."""
        count = tensor.numel()
        if count and tensor.is_contiguous():
            address = tensor.data_ptr()
            for number, (low, high) in enumerate(self.buffers):
                if low <= address < high:
                    return number, (address - low) // tensor.element_size(), count
        return UNKNOWN, UNKNOWN, count

    def number(self) -> int:
        """A number for the rank's next message, no other's, in the order of ranks and sendings."""
        self.sent += 1
        return message_number(self.rank, self.sent)

    # Bookkeeping of the two ends of a message; each is called by its own rank only.

    def posted_send(self, send: Request) -> None:
        """Give the message its number and step, and record that it is on its way."""
        self.clock.post_send(send)
        send.message = self.number()
        if self.recorder is not None:
            send.chunk, send.phase = self.chunk(send.tensor), self.phase
            now = send.ready if self.clock.virtual else self.seconds()
            send.row = self.recorder.add(
                send.message, send.comm, self.rank, send.peer, "send", "", send.tag, send.nbytes,
                send.step, now, now, send.phase, send.chunk, send.line,
            )  # fmt: skip
            self.sending.append(send)

    def posted_receive(self, receive: Request) -> None:
        """Note what is expected, and where it will go."""
        self.clock.post_receive(receive)
        if self.recorder is not None:
            receive.chunk, receive.phase = self.chunk(receive.tensor), self.phase
        if self.sampler is not None:
            self.receiving.append(receive)

    def observed(self, request: Request) -> None:
        """The rank has seen that `request` is complete: step, clock and event follow."""
        request.observed = True
        is_send = request.call == "send"
        clock = self.clock
        start, end = clock.complete_send(request) if is_send else clock.complete_receive(request)
        if not clock.virtual:
            start, end = request.start, request.end
        recorder = self.recorder
        if recorder is None:
            return
        if is_send:
            recorder.set_times(self.rank, request.row, start, end)
            self.sending.remove(request)
            return
        assert request.match is not None
        row = recorder.add(
            request.match.message, request.comm, self.rank, request.peer,
            "reduce" if request.op else "recv", request.op, request.tag, request.nbytes,
            request.step, start, end, request.phase, request.chunk, request.line,
        )  # fmt: skip
        if self.sampler is not None:
            self.receiving.remove(request)
            self.sampler(self.rank, row, request, self)

    def reduced(self, comm: tuple, tensor: torch.Tensor, op: str, began: float, line: Line) -> None:
        """The rank has reduced into `tensor` by itself, since `began`: it took that time, or gamma a byte."""
        nbytes = tensor.numel() * tensor.element_size()
        self.clock.reduce(nbytes)
        if self.recorder is not None:
            end = self.clock.now if self.clock.virtual else self.seconds()
            self.recorder.add(
                None, comm, self.rank, UNKNOWN, "compute", op, 0, nbytes, 0, began, end, self.phase,
                self.chunk(tensor), line,
            )  # fmt: skip

    def waited(self, call: str, peers: list[int], start: float, end: float, line: Line | None) -> None:
        """Record that the rank could not go on between `start` and `end`."""
        if self.recorder is not None:
            peer = peers[0] if len(peers) == 1 else UNKNOWN
            self.recorder.add(
                None, (), self.rank, peer, "wait", call, 0, 0, 0, start, end, self.phase,
                UNKNOWN_CHUNK, line,
            )  # fmt: skip
