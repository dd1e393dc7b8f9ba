"""`Comm`: all that an algorithm sees. A rank, a size, and messages.

Where the ranks live is the business of the `Port` underneath (threads here; processes and a simulator
stand on the same class). Names follow torch.distributed and mpi4py.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from counterpoint.ranks.checks import check_tensor, index
from counterpoint.ranks.ops import check_op, reduce_pair
from counterpoint.ranks.port import Phase, Port, caller_line
from counterpoint.ranks.request import Request
from counterpoint.ranks.window import Window, open_window


class Comm:
    """A communicator: `size` ranks that know each other as 0 … size - 1.

    Messages between a pair arrive in order per tag. A send of fewer bytes than the run's `eager_limit`
    is buffered and returns at once; above it, the send waits for its receive, and the data is read from
    the sender's memory once. Tensors may have any shape and strides; both ends of a message need the same
    number of elements and the same dtype, else MismatchError. A tag is an integer of at least 0. Any call
    raises DeadlockError, RankFailed or MismatchError once the run cannot go on, ValueError for a rank that
    is not there, and TypeError for what is no tensor, rank or tag.
    """

    def __init__(self, port: Port, members: tuple[int, ...], key: tuple) -> None:
        self._port, self._members, self._key = port, members, key
        self.rank = members.index(port.rank)
        self.size = len(members)
        self._agreements = self._exchanges = 0
        self._watch: Any = None  # of a connection: see connect.py

    def __repr__(self) -> str:
        return f"Comm(rank={self.rank}, size={self.size})"

    @property
    def device(self) -> torch.device:
        """Where this rank's tensors belong."""
        return self._port.device

    # Messages. `dest` and `source` are ranks of this communicator.

    def isend(self, tensor: torch.Tensor, dest: int, tag: int = 0) -> Request:
        """Begin to send; don't change `tensor` until the request is complete."""
        return self._isend(tensor, dest, tag, "isend")

    def irecv(self, tensor: torch.Tensor, source: int, tag: int = 0) -> Request:
        """Begin to receive into `tensor`; don't use it until the request is complete."""
        return self._irecv(tensor, source, tag, "irecv")

    def send(self, tensor: torch.Tensor, dest: int, tag: int = 0) -> None:
        """Send `tensor` to `dest`; returns when `tensor` may be changed again."""
        request = self._isend(tensor, dest, tag, "send")
        self._port.wait((request,), "send")

    def recv(self, tensor: torch.Tensor, source: int, tag: int = 0) -> torch.Tensor:
        """Receive from `source` into `tensor` (overwritten, and returned)."""
        request = self._irecv(tensor, source, tag, "recv")
        self._port.wait((request,), "recv")
        return tensor

    def recv_reduce(self, tensor: torch.Tensor, source: int, op: str = "sum", tag: int = 0) -> torch.Tensor:
        """tensor = tensor op (what `source` sent), without a buffer between; returned."""
        check_tensor("recv_reduce", tensor)
        check_op(op, tensor.dtype)
        request = self._irecv(tensor, source, tag, "recv_reduce", op)
        self._port.wait((request,), "recv_reduce")
        return tensor

    def sendrecv(
        self,
        outgoing: torch.Tensor,
        dest: int,
        incoming: torch.Tensor,
        source: int,
        tag: int = 0,
    ) -> torch.Tensor:
        """Send to `dest` and receive from `source` at the same time: no order to get wrong.

        `incoming` is overwritten and returned; it must not overlap `outgoing`.
        """
        check_tensor("sendrecv", outgoing, incoming)
        return self._both(outgoing, dest, incoming, source, tag, "sendrecv", "")

    def sendrecv_reduce(
        self,
        outgoing: torch.Tensor,
        dest: int,
        accumulator: torch.Tensor,
        source: int,
        op: str = "sum",
        tag: int = 0,
    ) -> torch.Tensor:
        """Send to `dest` while accumulator = accumulator op (what `source` sent); returned."""
        check_tensor("sendrecv_reduce", outgoing, accumulator)
        check_op(op, accumulator.dtype)
        return self._both(outgoing, dest, accumulator, source, tag, "sendrecv_reduce", op)

    def reduce_local(
        self, first: torch.Tensor, second: torch.Tensor, op: str = "sum", *, out: torch.Tensor
    ) -> torch.Tensor:
        """out = first op second, in that order and without a message; `out`, one of the two, is returned.

        For what `recv_reduce` cannot say: that what came stands first. Same shape and dtype. It takes as much
        virtual time as any reduction, and is a `compute` in the trace.
        """
        check_tensor("reduce_local", first, second, out)
        check_op(op, out.dtype)
        if first.shape != second.shape or first.dtype != second.dtype or not (out is first or out is second):
            raise ValueError(
                f"rank {self.rank}: reduce_local of {tuple(first.shape)} x {first.dtype} and "
                f"{tuple(second.shape)} x {second.dtype}; give two of the same shape and dtype, and one of them "
                f"as out"
            )
        port = self._port
        began = port.clock.now if port.clock.virtual else port.seconds()
        reduce_pair(first.detach(), second.detach(), op, out.detach())
        port.reduced(self._key, out, op, began, caller_line())
        return out

    def _both(
        self,
        outgoing: torch.Tensor,
        dest: int,
        incoming: torch.Tensor,
        source: int,
        tag: int,
        call: str,
        op: str,
    ) -> torch.Tensor:
        if outgoing is incoming:
            raise ValueError(
                f"rank {self.rank}: {call} sends and fills the same tensor; receive into another, such as "
                f"torch.empty_like(outgoing)"
            )
        self._peer(source, call)  # before the send: nothing has moved yet
        send = self._isend(outgoing, dest, tag, call)
        receive = self._irecv(incoming, source, tag, call, op)
        self._port.wait((receive, send), call)  # the reduction need not wait until the send has left
        return incoming

    def _isend(self, tensor: torch.Tensor, dest: int, tag: int, call: str) -> Request:
        peer = self._peer(dest, call)
        if type(tag) is not int or tag < 0:
            tag = self._tag(tag, call)
        try:
            return self._port.isend(self._key, tensor, peer, tag, "send")
        except AttributeError:
            check_tensor(f"rank {self.rank}: {call}", tensor)
            raise

    def _irecv(self, tensor: torch.Tensor, source: int, tag: int, call: str, op: str = "") -> Request:
        peer = self._peer(source, call)
        if type(tag) is not int or tag < 0:
            tag = self._tag(tag, call)
        kind = "recv_reduce" if call == "recv_reduce" else "recv"
        try:
            return self._port.irecv(self._key, tensor, peer, tag, kind, op)
        except AttributeError:
            check_tensor(f"rank {self.rank}: {call}", tensor)
            raise

    # Everyone at once.

    def barrier(self) -> None:
        """Return when every rank has called it. Not a message: it costs nothing in a trace."""
        self._exchange(None, "barrier")

    def split(self, color: int | None, key: int | None = None) -> "Comm | None":
        """A smaller communicator of the ranks that gave the same `color`, ordered by `key` (ties and
        default: by rank here). Every rank must call it; one that gives None gets None. Raises TypeError for a
        color or key that is not an integer."""
        if color is not None:
            color = index(color, f"rank {self.rank}: split has color")
        if key is not None:
            key = index(key, f"rank {self.rank}: split has key")
        mine = (color, self.rank if key is None else key, self.rank)
        everyone = self._exchange(mine, "split")
        if color is None:
            return None
        chosen = sorted((k, r) for c, k, r in everyone if c == color)
        ranks = [r for _, r in chosen]
        number = (self._exchanges, *self._members)
        return self._subgroup(ranks, ("split", number, str(color)))

    def group(self, ranks: Sequence[int]) -> "Comm | None":
        """The communicator of `ranks` (of this one, in the order given); None if I am not in it.

        Needs no message, and only members need to call it. Asked twice, it is the same communicator.
        """
        if not isinstance(ranks, Iterable):
            raise TypeError(f"rank {self.rank}: group({ranks!r}) wants a list of ranks, such as [{ranks!r}]")
        ranks = [index(rank, f"rank {self.rank}: group names rank") for rank in ranks]
        for rank in ranks:
            if not 0 <= rank < self.size:
                raise ValueError(
                    f"rank {self.rank}: group({ranks}) names rank {rank!r}; this communicator has ranks "
                    f"0 to {self.size - 1} (its own numbering, not the world's)"
                )
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"rank {self.rank}: group({ranks}) names a rank twice")
        return self._subgroup(ranks, ("group",)) if self.rank in ranks else None

    def _subgroup(self, ranks: list[int], key: tuple) -> "Comm":
        members = tuple(self._members[r] for r in ranks)
        return type(self)(self._port, members, (*self._key, (*key, members)))

    def _exchange(self, value: Any, call: str) -> list[Any]:
        self._exchanges += 1
        return self._port.exchange(self._key, self._members, self._exchanges, value, call)

    def agree(self, *signature: Any) -> None:
        """A collective announces itself. If ranks announce different things as their n-th, all of them
        get a MismatchError that names the odd one out. No message; no waiting while they agree."""
        self._agreements += 1
        self._port.agree(self._key, self._members, self._agreements, signature)

    def window(
        self, shape: int | Sequence[int], dtype: torch.dtype = torch.float32, device: Any = None
    ) -> Window:
        """Memory that every rank of this communicator reaches: a part of `shape` and `dtype` each, zeros.

        Collective, and its first fence. device="meta" makes phantoms, which have a size and no data. Raises
        MismatchError if ranks ask for different ones; RuntimeError where ranks share no memory.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        mine = None if device is None else torch.zeros(shape, dtype=dtype, device=device)
        return open_window(self, "window", shape, dtype, mine)

    def window_of(self, tensor: torch.Tensor) -> Window:
        """A window whose part on this rank is `tensor` itself: contiguous, same shape and dtype on every rank.

        Collective, and its first fence. For ranks in one memory. Raises ValueError if it is not contiguous;
        MismatchError if ranks differ.
        """
        check_tensor("window_of", tensor)
        if not tensor.is_contiguous():
            raise ValueError(
                f"rank {self.rank}: window_of a tensor of strides {tensor.stride()}, which is not contiguous; give "
                f"tensor.contiguous(), and copy back what you need"
            )
        return open_window(self, "window_of", tuple(tensor.shape), tensor.dtype, tensor.detach())

    def window_with(self, tensor: torch.Tensor) -> Window:
        """A window whose part on this rank holds what `tensor` holds: `tensor` itself if the others reach it.

        As `window_of`, but ranks that are processes get one with a copy, which `Window.copy_back` takes home.
        """
        check_tensor("window_with", tensor)
        if self._port.reaches(tensor):
            return self.window_of(tensor)
        return open_window(self, "window_with", tuple(tensor.shape), tensor.dtype, None, tensor.detach())

    # Labels and time.

    def phase(self, name: str) -> Phase:
        """Label what follows in the trace. As `with comm.phase(name):` only what is inside."""
        if not isinstance(name, str):
            raise TypeError(
                f"rank {self.rank}: phase({name!r}) wants a name, such as phase('reduce-scatter')"
            )
        return Phase(self._port, name)

    def compute(self, seconds: float) -> None:
        """Spend virtual time; on the wall clock, sleep: a stand-in for work that takes so long."""
        if not hasattr(seconds, "__float__") or not seconds >= 0:
            raise ValueError(f"rank {self.rank}: compute({seconds!r}); give seconds, at least 0")
        self._port.compute(self._key, seconds, caller_line())

    def _peer(self, rank: int, call: str) -> int:
        if type(rank) is not int:
            rank = index(rank, f"rank {self.rank}: {call} names rank")
        if 0 <= rank < self.size:
            return self._members[rank]
        raise ValueError(
            f"rank {self.rank}: {call} names rank {rank}; this communicator has ranks 0 to "
            f"{self.size - 1} (take ranks modulo comm.size on a ring)"
        )

    def _tag(self, tag: Any, call: str) -> int:
        tag = index(tag, f"rank {self.rank}: {call} has tag")
        if tag < 0:
            raise ValueError(f"rank {self.rank}: {call} has tag {tag}; tags are at least 0")
        return tag
