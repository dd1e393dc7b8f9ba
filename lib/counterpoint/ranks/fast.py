"""The `Comm` of the simulator: phantom messages take a quick way, everything else the general one.

A message is quick if it is smaller than the eager limit, carries no data (its tensors are on `meta`), and
meets no shared link inside the network. Then it is a tuple in its channel, and an exchange is a screen of
arithmetic in one place, with no call in it: that is the point, so the two halves of `sendrecv_reduce` stand
again, alone, in `send` and `recv_reduce`. What is counted, timed and recorded is the same on both ways, and
they may be mixed. Steps are counted only if a trace is kept, since nobody else sees them.
"""

import sys
from typing import Any

import torch

from counterpoint.ranks.comm import Comm
from counterpoint.ranks.errors import MismatchError
from counterpoint.ranks.ops import check_op
from counterpoint.ranks.routes import Channel
from counterpoint.ranks.simulated_port import SimulatedPort
from counterpoint.trace.packed import RECEIVED, pack_event, pack_events

MOST_SIZES = 100_000
"""Phantom tensors whose size is remembered; beyond that, all are measured anew."""

NOT_SIZED = None, 0, 0
"""What is remembered of a tensor that was never sent nor opened a channel."""


class SimulatedComm(Comm):
    """A communicator of simulated ranks."""

    _port: SimulatedPort

    def __init__(self, port: SimulatedPort, members: tuple[int, ...], key: tuple) -> None:
        super().__init__(port, members, key)
        self._clock, self._sizes = port.clock, port.world.sizes
        self._recorder = port.recorder
        self._events = None if port.recorder is None else port.recorder.packed
        self._sites = port.world.sites
        self._last: tuple[Any, int, str, str, int] = None, 0, "", "", 0
        """Where the last call came from, and its site: mostly the next one's too."""
        self._out: dict[Any, Channel] = {}
        self._in: dict[Any, Channel] = {}

    def sendrecv(
        self, outgoing: torch.Tensor, dest: int, incoming: torch.Tensor, source: int, tag: int = 0
    ) -> torch.Tensor:
        return self.sendrecv_reduce(outgoing, dest, incoming, source, "", tag)

    def sendrecv_reduce(
        self,
        outgoing: torch.Tensor,
        dest: int,
        accumulator: torch.Tensor,
        source: int,
        op: str = "sum",
        tag: int = 0,
    ) -> torch.Tensor:
        try:
            out = self._out[(dest, tag) if tag else dest]
            into = self._in[(source, tag) if tag else source]
            sized, n, piece = self._sizes[id(outgoing)]
        except (KeyError, TypeError):
            if self._open(outgoing, dest, tag, True) and self._open(accumulator, source, tag, False):
                return self.sendrecv_reduce(outgoing, dest, accumulator, source, op, tag)
            return self._general(outgoing, dest, accumulator, source, op, tag)
        if sized is not outgoing or out.closed or into.closed or outgoing is accumulator:
            self._forget(outgoing, sized)
            return self._general(outgoing, dest, accumulator, source, op, tag)

        clock = self._clock
        now = clock.now
        start = clock.out_free
        if now > start:
            start = now
        clock.out_free = done = start + out.hold + n * out.beta_out
        if clock.overhead is not None:
            done = start + clock.overhead
        events, site, step, count = self._events, 0, 0, 0
        if events is not None:
            site = self._site(op)
            port = self._port
            port.sent = count = port.sent + 1
            step = 1 + (clock.last_send if clock.last_send > clock.last_receive else clock.last_receive)
            clock.last_send = step
        out.sent.append((start, outgoing, n, piece, step, count))
        if out.reader is not None:
            self._port.world.wake(out.reader, start)
            out.reader = None

        sent = into.sent
        waited = not sent
        if waited:
            if events is not None:  # now: the run may end while this rank waits
                events += pack_event(site, piece, out.number, step, count, start, start, done)
            self._await(into, source, op)
        message = sent.popleft()
        try:
            ready, carried, n, taken, theirs, number = message
        except TypeError:
            sent.appendleft(message)
            if events is not None and not waited:
                events += pack_event(site, piece, out.number, step, count, start, start, done)
            self._general_receive(accumulator, source, op, tag)
            clock.now = max(clock.now, done)
            return accumulator
        if carried is not accumulator:
            taken = self._fit(carried, accumulator, source, tag)
        if clock.in_free > ready:
            ready = clock.in_free
        end = ready + into.delay + n * into.beta_slowest
        if now > end:
            end = now
        free = ready + into.hold + n * into.beta_in
        if op:
            if op != "sum":
                check_op(op, accumulator.dtype)
            reduction = n * clock.gamma
            end += reduction
            free += reduction
        clock.in_free = free
        if events is not None:
            last = clock.last_receive + 1
            clock.last_receive = last = last if last > theirs else theirs
            if waited:
                events += pack_event(site + RECEIVED, taken, into.number, last, number, now, ready, end)
            else:
                events += pack_events(
                    site, piece, out.number, step, count, start, start, done,
                    site + RECEIVED, taken, into.number, last, number, now, ready, end,
                )  # fmt: skip
        clock.now = end if end > done else done
        return accumulator

    def send(self, tensor: torch.Tensor, dest: int, tag: int = 0) -> None:
        try:
            out = self._out[(dest, tag) if tag else dest]
            sized, n, piece = self._sizes[id(tensor)]
        except (KeyError, TypeError):
            if self._open(tensor, dest, tag, True):
                return self.send(tensor, dest, tag)
            return super().send(tensor, dest, tag)
        if sized is not tensor or out.closed:
            self._forget(tensor, sized)
            return super().send(tensor, dest, tag)

        clock = self._clock
        now = clock.now
        start = clock.out_free
        if now > start:
            start = now
        clock.out_free = done = start + out.hold + n * out.beta_out
        if clock.overhead is not None:
            done = start + clock.overhead
        events, step, count = self._events, 0, 0
        if events is not None:
            port = self._port
            port.sent = count = port.sent + 1
            step = 1 + (clock.last_send if clock.last_send > clock.last_receive else clock.last_receive)
            clock.last_send = step
            events += pack_event(self._site(""), piece, out.number, step, count, now, start, done)
        out.sent.append((start, tensor, n, piece, step, count))
        if out.reader is not None:
            self._port.world.wake(out.reader, start)
            out.reader = None
        if done > now:
            clock.now = done
        return None

    def recv(self, tensor: torch.Tensor, source: int, tag: int = 0) -> torch.Tensor:
        return self.recv_reduce(tensor, source, "", tag)

    def recv_reduce(self, tensor: torch.Tensor, source: int, op: str = "sum", tag: int = 0) -> torch.Tensor:
        try:
            into = self._in[(source, tag) if tag else source]
        except (KeyError, TypeError):
            if self._open(tensor, source, tag, False):
                return self.recv_reduce(tensor, source, op, tag)
            return self._general_receive(tensor, source, op, tag)
        if into.closed:
            return self._general_receive(tensor, source, op, tag)

        clock = self._clock
        sent = into.sent
        if not sent:
            self._await(into, source, op)
        message = sent.popleft()
        try:
            start, carried, n, piece, theirs, count = message
        except TypeError:
            sent.appendleft(message)
            return self._general_receive(tensor, source, op, tag)
        if carried is not tensor:
            piece = self._fit(carried, tensor, source, tag)
        now = clock.now
        if clock.in_free > start:
            start = clock.in_free
        end = start + into.delay + n * into.beta_slowest
        if now > end:
            end = now
        free = start + into.hold + n * into.beta_in
        if op:
            if op != "sum":
                check_op(op, tensor.dtype)
            reduction = n * clock.gamma
            end += reduction
            free += reduction
        clock.in_free = free
        clock.now = end
        events = self._events
        if events is not None:
            step = clock.last_receive + 1
            clock.last_receive = step = step if step > theirs else theirs
            site = self._site(op)
            events += pack_event(site + RECEIVED, piece, into.number, step, count, now, start, end)
        return tensor

    # The general way, and what is rare.

    def _general(
        self, outgoing: torch.Tensor, dest: int, incoming: torch.Tensor, source: int, op: str, tag: int
    ) -> torch.Tensor:
        if op:
            return super().sendrecv_reduce(outgoing, dest, incoming, source, op, tag)
        return super().sendrecv(outgoing, dest, incoming, source, tag)

    def _general_receive(self, tensor: torch.Tensor, source: int, op: str, tag: int) -> torch.Tensor:
        if op:
            return super().recv_reduce(tensor, source, op, tag)
        return super().recv(tensor, source, tag)

    def _open(self, tensor: torch.Tensor, peer: int, tag: int, out: bool) -> bool:
        """Look up what the quick way needs to know; False if this message must go the general way."""
        world, sizes = self._port.world, self._sizes
        world.check()
        if not isinstance(tensor, torch.Tensor) or type(peer) is not int or type(tag) is not int or tag < 0:
            return False
        nbytes = tensor.numel() * tensor.element_size()
        if not tensor.is_meta or nbytes >= world.eager_limit or self._port.sampler is not None:
            return False
        if len(sizes) >= MOST_SIZES:
            sizes.clear()
        sizes[id(tensor)] = tensor, nbytes, self._piece(tensor, nbytes)
        channels = self._out if out else self._in
        key = (peer, tag) if tag else peer
        if key not in channels:
            other = self._peer(peer, "send" if out else "recv")
            ends = (self._port.rank, other) if out else (other, self._port.rank)
            channels[key] = self._port.channel(self._key, *ends, tag)
        return True

    def _forget(self, tensor: torch.Tensor, sized: torch.Tensor) -> None:
        if sized is not tensor:  # what was remembered by this identity was of another, which is gone
            del self._sizes[id(tensor)]

    def _await(self, channel: Channel, source: int, op: str) -> None:
        """Give way until something has been sent."""
        port = self._port
        channel.reader = port
        port.awaiting = self._members[source], op
        while not channel.sent:
            port.world.give_way(port)
        port.awaiting = None

    def _fit(self, sent: torch.Tensor, wanted: torch.Tensor, source: int, tag: int) -> int:
        """End the run unless both ends of a message have the same elements; the receiver's piece."""
        sized, _, piece = self._sizes.get(id(wanted), NOT_SIZED)
        if sent.numel() != wanted.numel() or sent.dtype != wanted.dtype:
            error = MismatchError(
                f"rank {self._members[source]} sends {sent.numel()} x {sent.dtype} to rank {self._port.rank}, "
                f"which receives {wanted.numel()} x {wanted.dtype} (tag {tag}); give both ends of a message "
                f"the same number of elements and the same dtype"
            )
            self._port.world.fail(error)
            self._port.world.check()
        return piece if sized is wanted else self._piece(wanted, wanted.numel() * wanted.element_size())

    # The trace: what the calls above add to it is packed (see `PackedRecorder`).

    def _site(self, op: str) -> int:
        """The number of this call, for the trace: where the nearest caller outside this file stands, and how."""
        frame = sys._getframe(2)
        code = frame.f_code
        while code.co_filename == __file__:
            frame = frame.f_back  # type: ignore[assignment]
            code = frame.f_code
        at, phase = frame.f_lasti, self._port.phase
        last_code, last_at, last_phase, last_op, site = self._last
        if code is not last_code or at != last_at or phase is not last_phase or op != last_op:
            key = id(code), at, phase, op
            if key not in self._sites:
                assert self._recorder is not None
                self._sites[key] = self._recorder.site(op, phase, (code, ~at))
            site = self._sites[key]
            self._last = code, at, phase, op, site
        return site

    def _piece(self, tensor: torch.Tensor, nbytes: int) -> int:
        """The number of this tensor, for the trace."""
        return 0 if self._recorder is None else self._recorder.piece(self._port.chunk(tensor), nbytes)
