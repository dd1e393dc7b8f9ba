"""A packet's header, and what a receiver makes of it."""

from collections.abc import Sequence

import torch

from counterpoint.ranks.matching import store
from counterpoint.ranks.request import Request
from counterpoint.ranks.wire import HEADER

MESSAGE, MEET, ASK = 1, 2, 3
"""Kinds of packet: a message between ranks; something for a meeting (a barrier, a split); a request for a
payload that travels on a lane."""

DTYPES = sorted((v for v in vars(torch).values() if isinstance(v, torch.dtype)), key=str)
_CODE = {dtype: code for code, dtype in enumerate(DTYPES)}


def header_of_message(request: Request, comm: int, number: int, lane: bool = False) -> tuple[int, ...]:
    """number: that of the payload, -1 if the bytes come with the packet. lane: whether it travels on one."""
    tensor = request.tensor
    return _padded((
        MESSAGE, comm, request.tag, tensor.numel(), _CODE[tensor.dtype], int(request.synchronous), number,
        request.message, request.step, 0, int(lane),
    ))  # fmt: skip


def header_of_asking(number: int) -> tuple[int, ...]:
    return _padded((ASK, 0, 0, 0, 0, 0, number))


def header_of_meeting(comm: int, meeting: int, number: int, nbytes: int) -> tuple[int, ...]:
    """number: that of the payload, -1 if the bytes come with the packet."""
    return _padded((MEET, comm, meeting, 0, 0, 0, number, 0, 0, nbytes))


def _padded(header: tuple[int, ...]) -> tuple[int, ...]:
    return (*header, *(0,) * (HEADER - len(header)))


class Arrival:
    """A message that has been announced: as much of its sender's request as the receiver needs."""

    __slots__ = (
        "body", "comm", "count", "dtype", "lane", "link", "message", "number", "ready", "sender", "source", "step",
        "synchronous", "tag",
    )  # fmt: skip

    def __init__(self, source: int, header: Sequence[int], body: torch.Tensor | None) -> None:
        _, self.comm, self.tag, self.count, code, flag, self.number, self.message, self.step, *_ = header
        self.source, self.dtype, self.synchronous, self.lane = (
            source,
            DTYPES[code],
            bool(flag),
            bool(header[10]),
        )
        self.body = body
        """Its bytes, if they came with it."""
        self.sender: Request | None = None
        """The request itself, if this rank sends to itself."""
        self.ready, self.link = 0.0, None  # only on a virtual clock, which processes have not


def put(request: Request, data: torch.Tensor) -> None:
    """Store a message's bytes in the receive's tensor; it is complete."""
    target = request.tensor
    incoming = data.view(target.dtype).to(target.device) if data.numel() else target.new_empty(0)
    store(request.tensor, incoming, request.op)
    request.end = request.port.seconds()
    request.done = True
