"""Windows: memory of each rank that the others reach by themselves.

Nobody sends and nobody receives: a rank copies from another's part, or into it. What orders that is `fence`
alone. Between two fences a place may be read by many, or written by one and touched by nobody else; what a
rank wrote is there for the others after the next fence. Opening a window is its first fence.

A get or put between two ranks is one transfer, whose bytes leave the rank that is read, or that writes; the
steps of a one-sided algorithm are its fences. A rank's access to its own part is a copy, and not counted.
Source: MPI: A Message-Passing Interface Standard 4.1, sections 12.2 (windows), 12.3 (get, put), 12.5.1 (fence).
"""

from typing import TYPE_CHECKING, Any

import torch

from counterpoint.ranks.checks import check_tensor
from counterpoint.ranks.errors import MismatchError
from counterpoint.ranks.matching import store
from counterpoint.ranks.ops import check_op
from counterpoint.ranks.port import caller_line
from counterpoint.trace import UNKNOWN

if TYPE_CHECKING:
    from counterpoint.ranks.comm import Comm


class Window:
    """One part for each rank of `comm`, all of one shape and dtype. Made by `Comm.window` and `window_of`.

    `local` is this rank's own part, `peer(rank)` any rank's, for kernels to read and write. `part`, in the calls
    below, says which elements of a part are meant: anything that indexes a tensor to a view of it, such as
    `slice(0, 100)`; all of them by default.
    """

    def __init__(
        self, comm: "Comm", number: int, parts: list[torch.Tensor], origin: torch.Tensor | None = None
    ) -> None:
        self._comm, self._port, self._number, self._parts = comm, comm._port, number, parts
        self._origin = origin
        self.local = parts[comm.rank]
        self.fence()

    def __repr__(self) -> str:
        return f"Window({tuple(self.local.shape)} x {self.local.dtype}, rank={self._comm.rank}, size={self._comm.size})"

    def peer(self, rank: int) -> torch.Tensor:
        """The part of `rank`, of this communicator. Say with `moved` what a kernel did to it."""
        self._comm._peer(rank, "peer")
        return self._parts[rank]

    def get(self, tensor: torch.Tensor, source: int, part: Any = ...) -> torch.Tensor:
        """Fill `tensor` (any shape and strides) from `part` of the window at `source`; returned."""
        return self._fetch(tensor, source, part, "", "get")

    def reduce_from(
        self, tensor: torch.Tensor, source: int, op: str = "sum", part: Any = ...
    ) -> torch.Tensor:
        """tensor = tensor op `part` of the window at `source`, without a buffer between; returned."""
        check_tensor("reduce_from", tensor)
        check_op(op, tensor.dtype)
        return self._fetch(tensor, source, part, op, "reduce_from")

    def put(self, tensor: torch.Tensor, dest: int, part: Any = ...) -> None:
        """Write `tensor` to `part` of the window at `dest`. It may be changed at once."""
        theirs = self._view(tensor, dest, part, "put")
        self._move("put", dest, theirs, tensor.detach(), "", tensor)

    def moved(self, kind: str, peer: int, nbytes: int, op: str = "") -> None:
        """A kernel that touched `peer(peer)` itself says so: kind is "get" or "put", op what it reduced with.

        Recorded, counted and timed as the call of that name would have been.
        """
        if kind not in ("get", "put"):
            raise ValueError(f"moved: no kind {kind!r}; a kernel reads (get) or writes (put) a peer's part")
        self._comm._peer(peer, "moved")
        self._record(kind, peer, nbytes, op, None, self._port.seconds())

    def fence(self) -> None:
        """Return when every rank has called it: what was written before, all can read after."""
        comm, port, clock = self._comm, self._port, self._port.clock
        port.settle()
        clock.land()
        begin = clock.now if clock.virtual else port.seconds()
        comm.agree("fence", f"window {self._number}")
        everyone = comm._exchange(max(clock.last_send, clock.last_receive), "fence")
        if not all(isinstance(steps, int) for steps in everyone):
            raise MismatchError(
                f"rank {comm.rank}: others are in a barrier or a split while this rank is in a fence"
            )
        clock.last_send = clock.last_receive = step = 1 + max(everyone)
        if port.recorder is not None:
            end = clock.now if clock.virtual else port.seconds()
            port.recorder.add(
                None, comm._key, port.rank, UNKNOWN, "fence", "", 0, 0, step, begin, end, port.phase,
                (UNKNOWN, UNKNOWN, UNKNOWN), caller_line(),
            )  # fmt: skip

    def copy_back(self) -> None:
        """Bring the own part home to the tensor that `window_with` copied from; nothing if it is that tensor."""
        if self._origin is not None:
            self.get(self._origin, self._comm.rank)

    def _fetch(self, tensor: torch.Tensor, source: int, part: Any, op: str, call: str) -> torch.Tensor:
        theirs = self._view(tensor, source, part, call)
        self._move("get", source, tensor.detach(), theirs, op, tensor)
        return tensor

    def _view(self, tensor: torch.Tensor, rank: int, part: Any, call: str) -> torch.Tensor:
        """`part` of the window at `rank`, if it fits `tensor`."""
        check_tensor(call, tensor)
        self._comm._peer(rank, call)
        theirs = self._parts[rank] if part is ... else self._parts[rank][part]
        if theirs.numel() != tensor.numel() or theirs.dtype != tensor.dtype:
            raise ValueError(
                f"rank {self._comm.rank}: {call} has {tensor.numel()} x {tensor.dtype} here and "
                f"{theirs.numel()} x {theirs.dtype} in that part of rank {rank}'s window; give as many elements, of "
                f"the window's dtype"
            )
        return theirs

    def _move(
        self, kind: str, peer: int, target: torch.Tensor, source: torch.Tensor, op: str, here: torch.Tensor
    ) -> None:
        begin = self._port.seconds() if self._port.recorder is not None else 0.0
        if not target.is_meta:
            store(target, source, op)
        self._record(kind, peer, here.numel() * here.element_size(), op, here, begin)

    def _record(
        self, kind: str, peer: int, nbytes: int, op: str, here: torch.Tensor | None, begin: float
    ) -> None:
        """The access takes its virtual time, and becomes an event."""
        port, member = self._port, self._comm._members[peer]
        own = member == port.rank
        times = port.reach(kind, member, nbytes, bool(op))
        if port.recorder is None:
            return
        if times is None:
            times = begin, port.seconds()
        clock = port.clock
        port.recorder.add(
            None if own else port.number(), self._comm._key, port.rank, member, "copy" if own else kind, op, 0,
            nbytes, 0 if own else 1 + max(clock.last_send, clock.last_receive), *times, port.phase,
            (UNKNOWN, UNKNOWN, UNKNOWN) if here is None else port.chunk(here), caller_line(),
        )  # fmt: skip


def open_window(
    comm: "Comm",
    call: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    mine: torch.Tensor | None,
    copied: torch.Tensor | None = None,
) -> Window:
    """Every rank's part, of a shape and dtype that all agree on, as this rank sees it.

    mine: the part here, if there is one already; copied: what a new one is to hold before anybody reads it.
    """
    comm.agree(call, shape, dtype)
    comm._exchanges += 1
    number = comm._exchanges
    parts = comm._port.share(comm._key, comm._members, number, shape, dtype, mine, call)
    if copied is not None:
        parts[comm.rank].copy_(copied)
    return Window(comm, number, parts, copied)
