"""What one rank's process knows of the run: the messages that have come, the meetings, and how it ends.

A thread for each peer, its postman, reads the packets that the peer sends, finds the receive that waits for
each or puts it aside, so messages make progress whatever the rank itself is doing. One lock guards what they
share with the rank.
"""

import hashlib
import pickle
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.distributed_c10d import PrefixStore, Store

from counterpoint.ranks.arrival import ASK, DTYPES, MESSAGE, Arrival, header_of_message, put
from counterpoint.ranks.board import Board
from counterpoint.ranks.companion import Companion, Ending, Wait
from counterpoint.ranks.errors import CommError, RankStopped, gone, store_lost
from counterpoint.ranks.lanes import Lanes
from counterpoint.ranks.matching import misfit, store
from counterpoint.ranks.meetings import Meetings
from counterpoint.ranks.request import Request
from counterpoint.ranks.wire import INLINE, Wire, flat_bytes

BLAME = 1.0
"""Seconds that a rank whose connection broke waits for a better explanation than that its peer is gone."""


class Station:
    """One process's place in the run."""

    def __init__(self, store: Store, rank: int, size: int, eager_limit: int, host: str | None) -> None:
        self.rank, self.size, self.eager_limit = rank, size, eager_limit
        self.board = Board(store, size)
        self.lock = threading.Lock()
        self.gate = threading.Lock()
        """What the rank sleeps on; its waker lets it go."""
        self.gate.acquire()
        self.sleeping: Any = None  # what it sleeps for: a callable that says whether that has come
        self.failure: BaseException | None = None
        self.closing = False
        self.companion: Companion | None = None
        self.posted: dict[tuple, deque[Request]] = {}
        self.arrived: dict[tuple, deque[Arrival]] = {}
        self.meetings = Meetings(self)
        self.lanes: Lanes | None = None
        self.sent, self.read, self.payloads = [0] * size, [0] * size, [0] * size
        self.wire = Wire(PrefixStore("wire", store), rank, size, host)
        self.postmen = [
            threading.Thread(target=self._postman, args=(peer,), name=f"postman of {peer}", daemon=True)
            for peer in range(size)
            if peer != rank
        ]
        for postman in self.postmen:
            postman.start()

    # What the rank does.

    def send(self, request: Request, comm: int) -> None:
        """Announce a message and hand it over, or post it for the peer to take."""
        dest = request.peer
        if self.lanes is not None and dest != self.rank and self.lanes.carries(request.tensor):
            self._offer(request, comm, self.lanes)
            return
        inline = request.nbytes <= INLINE and not request.synchronous
        body = flat_bytes(request.tensor)
        with self.lock:
            number = -1 if inline else self.payloads[dest]
            self.payloads[dest] += not inline
            header = header_of_message(request, comm, number)
            if dest == self.rank:
                arrival = Arrival(dest, header, None if request.synchronous else body.clone())
                arrival.sender = request
                self._deliver(arrival)
                return
            self.sent[dest] += 1
            request.key = number, self.sent[dest]
        self.wire.post(dest, header, body if inline else None)
        if not inline:
            owned = body if request.synchronous else body.clone()
            request.link = self.wire.give(dest, owned, number)

    def _offer(self, request: Request, comm: int, lanes: "Lanes") -> None:
        """Announce a message whose receiver will ask for it."""
        dest = request.peer
        request.lane = True
        if not request.synchronous:
            request.tensor = request.tensor.clone()
        with self.lock:
            number = self.payloads[dest]
            self.payloads[dest] += 1
            self.sent[dest] += 1
            request.key = number, self.sent[dest]
            lanes.offered[dest, number] = request
        self.wire.post(dest, header_of_message(request, comm, number, lane=True))

    def receive(self, request: Request, comm: int) -> None:
        """Take the first message that fits, if it has come; else leave the request for the postman."""
        key = (comm, request.peer, request.tag)
        with self.lock:
            arrivals = self.arrived.get(key)
            if arrivals:
                self._join(arrivals.popleft(), request)
            else:
                self.posted.setdefault(key, deque()).append(request)

    def taken(self, request: Request) -> bool:
        """Whether the receiver has asked for this payload, as far as its last notice tells."""
        state = self.board.state(request.peer)
        number, packets = request.key
        return state.read[self.rank] >= packets and (self.rank, number) not in state.unmatched

    def sleep(self, come: Any) -> None:
        """Return when `come()` holds; raise what ended the run, if it ends before."""
        with self.lock:
            self.check()
            if come():
                return
            self.sleeping = come
        try:
            self.gate.acquire()
        except BaseException:  # an interrupt: nobody may open the gate for a sleep that is over
            with self.lock:
                if self.sleeping is None:
                    self.gate.acquire(blocking=False)
                self.sleeping = None
            raise
        self.check()

    def begin(self, waits: Sequence[Wait]) -> list[Ending]:
        """Have these waits done, one after another; `end` each."""
        self.companion = self.companion or Companion(self)
        return self.companion.begin(waits)

    def end(self, ending: Ending) -> None:
        """Return when a wait has ended; raise its error, or what ended the run, if that comes first."""
        try:
            self.sleep(lambda: ending)
        except BaseException:
            self.companion = None  # this one may wait for ever
            raise
        if ending[0] is not None:
            raise ending[0]

    def check(self) -> None:
        """Raise in the rank what ended the run."""
        if self.failure is not None:
            if isinstance(self.failure, CommError):
                raise self.failure.again()
            raise RankStopped

    # How it ends.

    def fail(self, error: BaseException) -> None:
        """The run is over. The first failure of any rank counts, and every rank learns of it."""
        try:
            error = self.board.fail(error)
        except RuntimeError:  # the store is gone; this process's own word must do
            pass
        self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Note how the run ended; wake the rank, and everybody's who waits for this process."""
        with self.lock:
            if self.failure is not None or self.closing:
                return
            self.failure = error
            if self.sleeping is not None:
                self.sleeping = None
                self.gate.release()
        self.wire.cut()

    def broken(self, peer: int, cause: BaseException) -> None:
        """A connection broke: most likely because the run has failed, or because the peer has ended."""
        end = time.monotonic() + BLAME
        while not self.closing and self.failure is None:
            try:
                known = self.board.failure()
            except RuntimeError as error:
                known = store_lost(error)
            if known is not None:
                self.failed(known)
            elif time.monotonic() > end:
                self.fail(gone(peer, cause))
            else:
                time.sleep(0.02)

    def close(self) -> None:
        """Let go of the connections; nothing can be sent or received any more."""
        with self.lock:
            self.closing = True
        self.wire.cut()
        if self.lanes is not None:
            self.lanes.close()
        if self.companion is not None:
            self.companion.jobs.put(None)
        end = time.monotonic() + (
            5.0 if self.failure is None else 0.5
        )  # after a failure, some may wait for ever
        for postman in self.postmen:
            postman.join(max(0.0, end - time.monotonic()))

    # What the postmen do.

    def _postman(self, peer: int) -> None:
        with torch.no_grad():
            try:
                for header, body in self.wire.packets(peer):
                    self._handle(peer, header, body)
            except RuntimeError as error:
                self.broken(peer, error)

    def _handle(self, peer: int, header: list[int], body: torch.Tensor) -> None:
        kind, count, number = header[0], header[9], header[6]
        if kind == MESSAGE:
            nbytes = header[3] * DTYPES[header[4]].itemsize
            eager = (
                None
                if header[5] or header[10]
                else body[:nbytes].clone()
                if number < 0
                else self._fetch(peer, nbytes, number)
            )
            with self.lock:
                self.read[peer] += 1
                self._deliver(Arrival(peer, header, eager))
        elif kind == ASK:
            with self.lock:
                self.read[peer] += 1
            assert self.lanes is not None
            self.lanes.heard(peer, number)
        else:
            text = body[:count] if number < 0 else self._fetch(peer, count, number)
            self.meetings.heard(peer, header[1], header[2], pickle.loads(text.numpy().tobytes()))

    def _fetch(self, peer: int, nbytes: int, number: int) -> torch.Tensor:
        memory = torch.empty(nbytes, dtype=torch.uint8)
        self.wire.take(peer, memory, number).wait()
        return memory

    # Needing the lock.

    def _deliver(self, arrival: Arrival) -> None:
        key = (arrival.comm, arrival.source, arrival.tag)
        waiting = self.posted.get(key)
        if waiting:
            self._join(arrival, waiting.popleft())
        else:
            self.arrived.setdefault(key, deque()).append(arrival)

    def _join(self, arrival: Arrival, request: Request) -> None:
        """A message and its receive have met: move what is here, ask for what is not."""
        if error := misfit(arrival, request):
            threading.Thread(target=self.fail, args=(error,), daemon=True).start()
            return
        request.match = arrival
        request.start = request.port.seconds()
        if arrival.sender is not None and arrival.body is None:
            store(request.tensor, arrival.sender.tensor, request.op)
            arrival.sender.done = request.done = True
            arrival.sender.start = request.start
            arrival.sender.end = request.port.seconds()
        elif arrival.lane:
            assert self.lanes is not None
            request.lane = True
            self.lanes.asking[arrival.source].put((arrival, request))
        elif arrival.body is not None:
            put(request, arrival.body)
        else:
            target = request.tensor
            plain = target.device.type == "cpu" and not target.is_inference()
            direct = plain and target.is_contiguous() and not request.op
            room = flat_bytes(target) if direct else torch.empty(request.nbytes, dtype=torch.uint8)
            request.link = self.wire.take(arrival.source, room, arrival.number), direct
        self.wake()

    def wake(self) -> None:
        if self.sleeping is not None and self.sleeping():
            self.sleeping = None
            self.gate.release()


def number_of(comm: tuple) -> int:
    """A communicator's key as a number that every process gives it."""
    return int.from_bytes(hashlib.blake2b(repr(comm).encode(), digest_size=8).digest(), "big") >> 1
