"""Sends find their receives: in order, per communicator, pair and tag. One memory, any kind of rank."""

from collections import deque
from typing import Any

import torch

from counterpoint.ranks.deadlock import place
from counterpoint.ranks.errors import MismatchError
from counterpoint.ranks.ops import reduce_into
from counterpoint.ranks.request import Request
from counterpoint.trace import place_of

Key = tuple[Any, int, int, int]
"""(communicator, source, dest, tag); ranks numbered in the world."""


def match_or_post(posted: dict[Key, deque[Request]], key: Key, request: Request) -> bool:
    """Pair `request` with the first of its other end that waits; else leave it there. True if paired."""
    queue = posted.get(key)
    if queue is None:
        queue = posted[key] = deque()
    if queue and (queue[0].call == "send") != (request.call == "send"):
        other = queue.popleft()
        other.match, request.match = request, other
        return True
    queue.append(request)
    return False


def misfit(send: Any, receive: Request) -> MismatchError | None:
    """The error for two ends that do not fit, before any data moves.

    `send` is a Request, or what is known of one in another process: `source`, `count`, `dtype`, `tag`.
    """
    target = receive.tensor
    if isinstance(send, Request):
        source, count, dtype = send.port.rank, send.tensor.numel(), send.tensor.dtype
    else:
        source, count, dtype = send.source, send.count, send.dtype
    real = not isinstance(send, Request) or not send.tensor.is_meta
    if real == target.is_meta and count:
        kinds = ("data", "a phantom, which has none") if real else ("a phantom, which has no data,", "data")
        return MismatchError(
            f"rank {source} sends {kinds[0]} to rank {receive.port.rank}, which receives {kinds[1]}; let both ends be "
            f"on device 'meta', or neither\n{_place(receive)}"
        )
    if dtype == target.dtype and count == target.numel():
        return None
    lines = [
        f"rank {source} sends {count} x {dtype} to rank {receive.port.rank}, which "
        f"receives {target.numel()} x {target.dtype} (tag {send.tag}); give both ends of a message the same "
        f"number of elements and the same dtype"
    ]
    lines += [_place(end) for end in (send, receive) if isinstance(end, Request)]
    return MismatchError("\n".join(lines))


def store(target: torch.Tensor, source: torch.Tensor, op: str) -> None:
    """target = source, or target = target op source; whatever their shapes and the grad mode."""
    if source.shape != target.shape:
        source = source.reshape(target.shape)
    if target.is_inference():
        with torch.inference_mode():
            _store(target, source, op)
    else:
        _store(target, source, op)


def _store(target: torch.Tensor, source: torch.Tensor, op: str) -> None:
    if op:
        reduce_into(target, source, op)
    else:
        target.copy_(source)


def _place(request: Request) -> str:
    file, number, code = place(request.line)
    return f"  rank {request.port.rank} {request.call}, {place_of(file, number)}: {code}"
