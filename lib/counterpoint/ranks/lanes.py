"""Lanes: how payloads travel that gloo cannot carry, such as a GPU's, by NCCL.

NCCL has no tags, and what is posted on a pair must be posted by both ends in the same order. So the sender
only announces such a message, by a packet; once a receive fits it, the receiver asks for it, by another, and
posts its end; the sender posts its own in the order in which it is asked. Each direction of a pair has a
group of its own, since a send that is queued behind a receive would wait for it; and each peer has a thread
for each direction, since a group's first message waits for the other end.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.distributed_c10d import PrefixStore, Store

from counterpoint.ranks.arrival import Arrival, header_of_asking
from counterpoint.ranks.request import Request
from counterpoint.ranks.streams import Streams
from counterpoint.ranks.wire import FOR_EVER, gloo_group

if TYPE_CHECKING:
    from counterpoint.ranks.station import Station

BACKENDS = ("gloo", "nccl", "lanes")
"""What `launch` and `connect` know. "lanes" is NCCL's way with gloo on it: slower than "gloo", and of use only
to test that way where there is no GPU."""


class Lanes:
    """One station's ends. `group(store)` makes a group of all ranks; `device` is where its payloads live."""

    def __init__(
        self, station: "Station", store: Store, group: Callable[[Store], Any], device: torch.device
    ) -> None:
        self.station, self.device = station, device
        self.up = group(PrefixStore("up", store))
        """What goes from lower ranks to higher ones; `down` carries the rest."""
        self.down = group(PrefixStore("down", store))
        self.offered: dict[tuple[int, int], Request] = {}
        """Sends that nobody has asked for yet, by (dest, number)."""
        self.asking: dict[int, queue.SimpleQueue] = {}
        self.asked: dict[int, queue.SimpleQueue] = {}
        for peer in range(station.size):
            if peer != station.rank:
                self.asking[peer] = self._thread(self._take, peer)
                self.asked[peer] = self._thread(self._give, peer)

    def carries(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == self.device.type

    def heard(self, peer: int, number: int) -> None:
        """`peer` asks for its `number`-th payload."""
        self.asked[peer].put(self.offered.pop((peer, number)))

    def _take(self, peer: int, job: tuple[Arrival, Request]) -> None:
        """Ask for a message's payload, and post this end."""
        arrival, request = job
        station = self.station
        with station.lock:
            station.sent[peer] += 1
        station.wire.post(peer, header_of_asking(arrival.number))
        if (wait := station.wire.surplus(peer)) is not None:
            wait()
        target = request.tensor
        direct = target.is_contiguous() and not request.op
        direct = direct and self.carries(target)
        room = (
            target.view(-1) if direct else torch.empty(target.numel(), dtype=target.dtype, device=self.device)
        )
        request.start = request.port.seconds()
        self._group(peer, station.rank).recv([room], peer, 0).wait(FOR_EVER)
        self._moved(request, (Here(room), direct))

    def _give(self, peer: int, request: Request) -> None:
        """Post this end of a payload that was asked for."""
        flat = request.tensor.reshape(-1).contiguous()
        self._group(self.station.rank, peer).send([flat], peer, 0).wait(FOR_EVER)
        self._moved(request, None)

    def _moved(self, request: Request, link: Any) -> None:
        """On a GPU: it is queued, and the rank's stream will wait for the event; else it has moved."""
        if request.tensor.is_cuda:
            request.event = torch.cuda.current_stream(self.device).record_event()
        with self.station.lock:
            if link is None:
                request.start = request.end = request.port.seconds()
                request.done = True
            else:
                request.link = link
            self.station.wake()

    def _group(self, source: int, dest: int) -> Any:
        return self.up if source < dest else self.down

    def _thread(self, work: Callable[[int, Any], None], peer: int) -> queue.SimpleQueue:
        """A thread that does jobs for one peer, in order."""
        jobs: queue.SimpleQueue = queue.SimpleQueue()

        def body() -> None:
            side: AbstractContextManager = (
                Streams(self.device) if self.device.type == "cuda" else nullcontext()
            )
            with side, torch.no_grad():
                while (job := jobs.get()) is not None:
                    request = job if isinstance(job, Request) else job[1]
                    if request.event is not None:
                        torch.cuda.current_stream(self.device).wait_event(request.event)
                    try:
                        work(peer, job)
                    except RuntimeError as error:
                        self.station.broken(peer, error)
                        return

        threading.Thread(target=body, name=f"lane of {peer}", daemon=True).start()
        return jobs

    def close(self) -> None:
        for jobs in (*self.asking.values(), *self.asked.values()):
            jobs.put(None)


class Here:
    """A payload that is there, or will be before the rank's next kernel: like a `wire.Moving` that has moved."""

    def __init__(self, memory: torch.Tensor) -> None:
        self.memory = memory


def lanes_for(backend: str, station: "Station", store: Store, host: str | None, local: int) -> Lanes | None:
    """The lanes of a backend; `local` is this rank's number on its host."""
    if backend == "gloo":
        return None
    rank, size = station.rank, station.size
    if backend == "lanes":
        return Lanes(station, store, lambda own: gloo_group(own, rank, size, host), torch.device("cpu"))
    count = torch.cuda.device_count()
    if local >= count:
        raise ValueError(
            f"rank {rank}: backend='nccl' gives each rank of a host a GPU of its own, and this host has {count} "
            f"for rank {local} of it; start fewer ranks, or use backend='gloo'"
        )
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    return Lanes(station, store, lambda own: _nccl_group(own, rank, size), device)


def _nccl_group(store: Store, rank: int, size: int) -> Any:
    from torch.distributed.distributed_c10d import ProcessGroupNCCL

    options = ProcessGroupNCCL.Options()
    options._timeout = timedelta(days=365)  # the run's own watch finds what hangs
    return ProcessGroupNCCL(store, rank, size, options)


def check_backend(call: str, backend: str) -> None:
    """Raise ValueError for a backend that there is not, or not here."""
    if backend not in BACKENDS:
        raise ValueError(f"{call}: no backend {backend!r} for processes; there are gloo and nccl")
    if backend == "nccl" and not (torch.cuda.is_available() and torch.distributed.is_nccl_available()):
        raise ValueError(
            f"{call}: backend='nccl' needs a GPU and a torch built with NCCL; use backend='gloo' here"
        )
