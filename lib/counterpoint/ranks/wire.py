"""What travels between rank processes, by torch.distributed's point-to-point calls over gloo.

A packet is a header of integers and, if the message is small, its bytes; packets between a pair arrive in
order. A payload is posted under a tag of its own, and moves from the sender's memory into the receiver's
once the receiver has asked for it: read once, written once.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
from torch.distributed.distributed_c10d import ProcessGroupGloo, Store

HEADER = 12
"""Integers in a header."""

FOR_EVER = timedelta(days=3650)
PACKET_TAG, BREAKING_TAG, FIRST_PAYLOAD_TAG = 0, 1, 2

INLINE = 16384
"""Bytes: larger messages travel apart from their packets, also where the eager limit is higher."""

AHEAD = 4
"""Receives that wait for packets from a peer."""

OUTSTANDING = 256
"""Packets to one peer that may be on their way; at twice as many, the sender waits for the older half."""


class Wire:
    """One process's ends of the connections to all others; made by all ranks together.

    host: this process's own address, if the others are on one host.
    Every call raises RuntimeError once the connection it needs is gone.
    """

    def __init__(self, store: Store, rank: int, size: int, host: str | None) -> None:
        self.rank, self.size = rank, size
        self.group = gloo_group(store, rank, size, host)
        self.under_way: list[deque[Moving]] = [deque() for _ in range(size)]
        self.lock = threading.Lock()

    def post(self, peer: int, header: tuple[int, ...], body: torch.Tensor | None = None) -> None:
        """Send a packet; returns at once, `body` (uint8, at most INLINE long) may then be changed.

        The sender calls `surplus` now and then.
        """
        count = 0 if body is None else body.numel()
        packet = torch.empty(8 * HEADER + count, dtype=torch.uint8)
        packet[: 8 * HEADER].view(torch.int64).numpy()[:] = header
        if body is not None:
            packet[8 * HEADER :] = body
        with self.lock:  # gloo forgets a message whose memory nobody holds
            self.under_way[peer].append(Moving(self.group.send([packet], peer, PACKET_TAG), packet))

    def surplus(self, peer: int) -> Callable[[], None] | None:
        """If too many packets to `peer` are on their way: a wait until enough of them have left."""
        sent = self.under_way[peer]
        if len(sent) < 2 * OUTSTANDING:
            return None
        with self.lock:
            older = [sent.popleft() for _ in range(len(sent) - OUTSTANDING)]

        def wait() -> None:
            for packet in older:
                packet.wait()

        return wait

    def packets(self, peer: int) -> Iterator[tuple[list[int], torch.Tensor]]:
        """The packets from `peer`, one by one: the header, and a view of the memory behind it.

        A view is good until the next packet is asked for. Receives are posted ahead, so a packet need not wait
        until the one before has been dealt with.
        """
        posted = deque(
            self._expect(peer, torch.empty(8 * HEADER + INLINE, dtype=torch.uint8)) for _ in range(AHEAD)
        )
        while True:
            moving = posted.popleft()
            moving.wait()
            room = moving.memory
            yield room[: 8 * HEADER].view(torch.int64).tolist(), room[8 * HEADER :]
            posted.append(self._expect(peer, room))

    def _expect(self, peer: int, room: torch.Tensor) -> "Moving":
        return Moving(self.group.recv([room], peer, PACKET_TAG), room)

    def give(self, peer: int, payload: torch.Tensor, number: int) -> "Moving":
        """Post a payload (uint8, contiguous), the pair's `number`-th; leave it alone until it has moved."""
        return Moving(self.group.send([payload], peer, _tag(number)), payload)

    def take(self, peer: int, payload: torch.Tensor, number: int) -> "Moving":
        """Ask for a payload; `payload` is filled when it has moved."""
        return Moving(self.group.recv([payload], peer, _tag(number)), payload)

    def cut(self) -> None:
        """End every wait, of this process and of those who wait for it: each raises RuntimeError.

        gloo closes all connections when a wait exceeds its time, so one is made to.
        """
        peer = (self.rank + 1) % self.size
        if peer == self.rank:
            return
        try:
            nothing = torch.empty(1, dtype=torch.uint8)
            self.group.recv([nothing], peer, BREAKING_TAG).wait(timedelta(milliseconds=1))
        except RuntimeError:
            pass


def gloo_group(store: Store, rank: int, size: int, host: str | None) -> Any:
    """Connections from every rank to every other; `host` is this process's address if they are on one host."""
    gloo: Any = ProcessGroupGloo
    options = gloo._Options()
    before = _threads()
    options._devices = [_device(gloo, host)]
    give_way(_threads() - before)
    options._timeout = timedelta(seconds=120)  # to connect; every wait states its own
    return gloo(store, rank, size, options)


def _threads() -> set[int]:
    """This process's threads, by the system's numbers; none where that cannot be asked."""
    try:
        return {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()


def give_way(threads: set[int]) -> None:
    """Have threads that serve gloo wait for a free core when they are woken, rather than push another thread off.

    gloo's thread takes a connection's lock by trying again and again, without sleeping. If its waking pushes off
    the very thread that holds the lock, it spins for a slice of the scheduler's time, 3 to 4 ms. Batch scheduling
    (Linux) leaves its share of the processor as it was. Seen with 4 ranks on 2 cores: the ring of 4 KiB 4.5 ms
    without this and 1.6 ms with it, of 256 KiB 8 and 2 ms.
    """
    for thread in threads:
        try:
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        except (AttributeError, OSError):  # no such scheduling here, or the thread has ended
            return


def _device(gloo: Any, host: str | None) -> Any:
    """The way out: this address, else the interface that the user names, else what the host's name says."""
    if host is not None:
        return gloo.create_device(hostname=host)
    if name := os.environ.get("GLOO_SOCKET_IFNAME"):
        return gloo.create_device(interface=name.split(",")[0])
    return gloo.create_default_device()


class Moving:
    """A payload under way; holds its memory, which gloo does not."""

    __slots__ = ("memory", "work")

    def __init__(self, work: Any, memory: torch.Tensor) -> None:
        self.work, self.memory = work, memory

    def wait(self) -> None:
        self.work.wait(FOR_EVER)


def _tag(number: int) -> int:
    return FIRST_PAYLOAD_TAG + number % (1 << 30)


def flat_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor as uint8: a view if it is contiguous, else a copy."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    flat = tensor.reshape(-1)
    return flat.view(torch.uint8) if flat.is_contiguous() else flat.contiguous().view(torch.uint8)
