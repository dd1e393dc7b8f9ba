"""The `Comm` of the simulator: phantom messages take a quick way, everything else the general one.

A message is quick if it is smaller than the eager limit, carries no data (its tensors are on `meta`), and
meets no shared link inside the network. Then it is a tuple in its channel, and the whole exchange is a dozen
lines of arithmetic. What is counted, timed and recorded is the same on both ways, and they may be mixed.
"""

import sys
from typing import Any

import torch

from counterpoint.ranks.comm import Comm
from counterpoint.ranks.deadlock import Blocked
from counterpoint.ranks.errors import MismatchError
from counterpoint.ranks.simulated_port import Channel, SimulatedPort

_NEVER = 1 << 62
"""More bytes than any eager limit: what keeps a tensor with data off the quick way."""


class SimulatedComm(Comm):
    """A communicator of simulated ranks."""

    _port: SimulatedPort

    def __init__(self, port: SimulatedPort, members: tuple[int, ...], key: tuple) -> None:
        super().__init__(port, members, key)
        world = port.world
        self._clock, self._sizes, self._recorder = port.clock, world.sizes, port.recorder
        self._limit = world.eager_limit if port.sampler is None else 0
        self._out: dict[Any, Channel] = {}
        self._in: dict[Any, Channel] = {}

    def send(self, tensor: torch.Tensor, dest: int, tag: int = 0) -> None:
        done = self._push(tensor, dest, tag)
        if done < 0.0:
            super().send(tensor, dest, tag)
        elif done > self._clock.now:
            self._clock.now = done

    def recv(self, tensor: torch.Tensor, source: int, tag: int = 0) -> torch.Tensor:
        return self._pull(tensor, source, tag, "", "recv")

    def recv_reduce(self, tensor: torch.Tensor, source: int, op: str = "sum", tag: int = 0) -> torch.Tensor:
        return self._pull(tensor, source, tag, op, "recv_reduce")

    def sendrecv(
        self,
        outgoing: torch.Tensor,
        dest: int,
        incoming: torch.Tensor,
        source: int,
        tag: int = 0,
    ) -> torch.Tensor:
        done = self._push(outgoing, dest, tag)
        if done < 0.0:
            return super().sendrecv(outgoing, dest, incoming, source, tag)
        self._pull(incoming, source, tag, "", "sendrecv")
        if done > self._clock.now:
            self._clock.now = done
        return incoming

    def sendrecv_reduce(
        self,
        outgoing: torch.Tensor,
        dest: int,
        accumulator: torch.Tensor,
        source: int,
        op: str = "sum",
        tag: int = 0,
    ) -> torch.Tensor:
        done = self._push(outgoing, dest, tag)
        if done < 0.0:
            return super().sendrecv_reduce(outgoing, dest, accumulator, source, op, tag)
        self._pull(accumulator, source, tag, op, "sendrecv_reduce")
        if done > self._clock.now:
            self._clock.now = done
        return accumulator

    def _push(self, tensor: torch.Tensor, dest: int, tag: int) -> float:
        """Send on the quick way: when the sender is done with it, or -1.0 if that way is closed."""
        size = self._sizes.get(id(tensor))
        if size is None or size[0] is not tensor:
            size = self._measure(tensor)
        nbytes = size[1]
        if nbytes >= self._limit:
            return -1.0
        channel = self._out.get((dest, tag) if tag else dest)
        if channel is None:
            channel = self._open(dest, tag, True)
        if channel.wanted or not channel.direct:
            return -1.0
        clock = self._clock
        start, free = clock.now, clock.out_free
        if free > start:
            start = free
        clock.out_free = end = start + channel.hold + nbytes * channel.beta_out
        step, last = clock.last_send, clock.last_receive
        step = (last if last > step else step) + 1
        clock.last_send = step
        if clock.overhead is not None:
            end = start + clock.overhead
        if self._recorder is None:
            channel.sent.append((start, tensor, step, None, None))
        else:
            channel.sent.append(self._record_send(tensor, channel, size, tag, step, start, end, dest))
        reader = channel.reader
        if reader is not None:
            channel.reader = None
            self._port.world.wake(reader, start)
        return end

    def _pull(self, tensor: torch.Tensor, source: int, tag: int, op: str, call: str) -> torch.Tensor:
        """Receive; on the quick way if what comes first has come that way."""
        size = self._sizes.get(id(tensor))
        if size is None or size[0] is not tensor:
            size = self._measure(tensor)
        nbytes = size[1]
        if nbytes >= self._limit:
            return self._slow(tensor, source, tag, op, call)
        channel = self._in.get((source, tag) if tag else source)
        if channel is None:
            channel = self._open(source, tag, False)
        sent = channel.sent
        clock = self._clock
        before = clock.now
        if not sent:
            if channel.wanted or not channel.direct:
                return self._slow(tensor, source, tag, op, call)
            self._await(channel, source, call)
        message = sent.popleft()
        if type(message) is not tuple:
            sent.appendleft(message)
            return self._slow(tensor, source, tag, op, call)
        start, carried, step = message[:3]
        if carried is not tensor:
            theirs = self._sizes.get(id(carried)) or self._measure(carried)
            if theirs[2:] != size[2:]:
                self._refuse(carried, tensor, source, tag)
        into = clock.in_free
        if start > into:
            into = start
        end = into + channel.delay + nbytes * channel.beta_slowest
        free = into + channel.hold + nbytes * channel.beta_in
        last = clock.last_receive + 1
        clock.last_receive = step if step > last else last
        now = clock.now
        if end > now:
            now = end
        if op:
            reduction = nbytes * clock.gamma
            now += reduction
            free += reduction
        clock.now = now
        clock.in_free = free
        if self._recorder is not None:
            self._record_receive(tensor, message, source, tag, op, call, before, into)
        return tensor

    def _await(self, channel: Channel, source: int, call: str) -> None:
        """Give way until something has been sent."""
        port = self._port
        channel.reader = port
        blocked = _QuickWait(port, call, self._members[source])
        while not channel.sent:
            port.blocked = blocked
            port.world.give_way(port)
        port.blocked = None

    def _slow(self, tensor: torch.Tensor, source: int, tag: int, op: str, call: str) -> torch.Tensor:
        """The receive half, on the general way."""
        port, peer = self._port, self._peer(source, call)
        if op:
            return super().recv_reduce(tensor, source, op, tag)
        request = port.irecv(self._key, tensor, peer, tag, "recv")
        port.wait((request,), call)
        return tensor

    def _measure(self, tensor: torch.Tensor) -> tuple:
        """(the tensor, bytes, elements, dtype), remembered while there are not too many."""
        sizes = self._sizes
        nbytes = tensor.numel() * tensor.element_size() if tensor.is_meta else _NEVER
        size = (tensor, nbytes, tensor.numel(), tensor.dtype)
        if nbytes != _NEVER:
            if len(sizes) > 100_000:
                sizes.clear()
            sizes[id(tensor)] = size
        return size

    def _open(self, peer: int, tag: int, out: bool) -> Channel:
        other = self._peer(peer, "send" if out else "recv")
        mine = self._port.rank
        ends = (mine, other) if out else (other, mine)
        channel = self._port.channel(self._key, *ends, tag)
        (self._out if out else self._in)[(peer, tag) if tag else peer] = channel
        return channel

    def _record_send(
        self,
        tensor: torch.Tensor,
        channel: Channel,
        size: tuple,
        tag: int,
        step: int,
        start: float,
        end: float,
        dest: int,
    ) -> tuple:
        port = self._port
        message = (port.rank, port.sent)
        port.sent += 1
        line = _line(3)
        assert self._recorder is not None
        self._recorder.rows[port.rank].append((
            message, self._key, port.rank, self._members[dest], "send", "", tag, size[1], step, start, end,
            port.phase, port.chunk(tensor), line,
        ))  # fmt: skip
        return start, tensor, step, message, line

    def _record_receive(
        self,
        tensor: torch.Tensor,
        message: tuple,
        source: int,
        tag: int,
        op: str,
        call: str,
        before: float,
        into: float,
    ) -> None:
        port, line, peer = self._port, _line(3), self._members[source]
        clock = self._clock
        if into > before:
            port.waited(call, [peer], before, into, line)
        assert self._recorder is not None
        self._recorder.rows[port.rank].append((
            message[3], self._key, port.rank, peer, "reduce" if op else "recv", op, tag,
            self._sizes[id(tensor)][1], clock.last_receive, into, clock.now, port.phase,
            port.chunk(tensor), line,
        ))  # fmt: skip

    def _refuse(self, sent: torch.Tensor, wanted: torch.Tensor, source: int, tag: int) -> None:
        error = MismatchError(
            f"rank {self._members[source]} sends {sent.numel()} x {sent.dtype} to rank {self._port.rank}, "
            f"which receives {wanted.numel()} x {wanted.dtype} (tag {tag}); give both ends of a message the "
            f"same number of elements and the same dtype"
        )
        self._port.world.fail(error)
        self._port.world.check()


class _QuickWait(Blocked):
    """A wait for one peer's next message."""

    def __init__(self, port: SimulatedPort, call: str, peer: int) -> None:
        super().__init__(port, call, (), (), (peer,), _line(4))


def _line(depth: int) -> tuple:
    frame = sys._getframe(depth)
    return frame.f_code, frame.f_lineno
