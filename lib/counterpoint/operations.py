"""The collectives as bench and simulate call them: on which buffers, with which right result and which factor.

`case` checks what was asked for before any rank starts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import torch

from counterpoint import collectives
from counterpoint.collectives.choice import known
from counterpoint.ranks import Comm, check_op


@dataclass(frozen=True)
class Operation:
    """A collective on `whole`, a rank's larger buffer, and `piece`, a p-th of it (or as much), if it takes two."""

    call: Callable[
        ..., object
    ]  # (comm, whole, piece, algorithm=, op=): the last two where there is a choice of them
    wrong: Callable[[int, int, torch.Tensor, torch.Tensor], int]  # (rank, p, whole, piece) -> elements
    factor: Callable[[int], float]  # p -> busbw / algbw
    op: str = "none"
    pieces: bool = False  # whole is p pieces, and count is a piece's
    wholes: bool = False  # piece is as long as whole
    algorithms: bool = False  # there is a choice of them


OPERATIONS = {
    "all_reduce": Operation(
        call=lambda comm, whole, piece, **way: collectives.all_reduce(comm, whole, **way),
        wrong=lambda rank, p, whole, piece: _differ(whole, _total(p)),
        factor=lambda p: 2 * (p - 1) / p,
        op="sum",
        algorithms=True,
    ),
    "reduce": Operation(
        call=lambda comm, whole, piece, **way: collectives.reduce(comm, whole, **way),
        wrong=lambda rank, p, whole, piece: _differ(whole, _total(p)) if rank == 0 else 0,
        factor=lambda p: 1.0,
        op="sum",
    ),
    "broadcast": Operation(
        call=lambda comm, whole, piece, **way: collectives.broadcast(comm, whole, **way),
        wrong=lambda rank, p, whole, piece: _differ(whole, _values(0)),
        factor=lambda p: 1.0,
        algorithms=True,
    ),
    "gather": Operation(
        call=lambda comm, whole, piece, **way: collectives.gather(
            comm, list(whole.tensor_split(comm.size)) if comm.rank == 0 else None, piece, **way
        ),
        wrong=lambda rank, p, whole, piece: _unlike_gathered(whole, p) if rank == 0 else 0,
        factor=lambda p: (p - 1) / p,
        pieces=True,
    ),
    "scatter": Operation(
        call=lambda comm, whole, piece, **way: collectives.scatter(
            comm, piece, list(whole.tensor_split(comm.size)) if comm.rank == 0 else None, **way
        ),
        wrong=lambda rank, p, whole, piece: _differ(piece, _values(0).roll(-rank * len(piece))),
        factor=lambda p: (p - 1) / p,
        pieces=True,
    ),
    "all_gather": Operation(
        call=lambda comm, whole, piece, **way: collectives.all_gather(comm, whole, piece, **way),
        wrong=lambda rank, p, whole, piece: _unlike_gathered(whole, p),
        factor=lambda p: (p - 1) / p,
        pieces=True,
        algorithms=True,
    ),
    "reduce_scatter": Operation(
        call=lambda comm, whole, piece, **way: collectives.reduce_scatter(comm, piece, whole, **way),
        wrong=lambda rank, p, whole, piece: _differ(piece, _total(p).roll(-rank * len(piece))),
        factor=lambda p: (p - 1) / p,
        op="sum",
        pieces=True,
    ),
    "all_to_all": Operation(
        call=lambda comm, whole, piece, **way: collectives.all_to_all(comm, piece, whole, **way),
        wrong=lambda rank, p, whole, piece: sum(
            _differ(part, _values(r).roll(-rank * len(part))) for r, part in enumerate(piece.tensor_split(p))
        ),
        factor=lambda p: (p - 1) / p,
        pieces=True,
        wholes=True,
        algorithms=True,
    ),
}


@dataclass(frozen=True)
class Case:
    """One collective on one size and number of ranks."""

    collective: str
    operation: Operation
    ranks: int
    dtype: torch.dtype
    length: int
    """Elements, as nccl-tests counts them: a piece's, where there are pieces."""
    way: dict[str, str]
    """algorithm and op, where there is a choice of them."""

    @property
    def total(self) -> int:
        """Elements of the larger buffer."""
        return self.length * self.ranks if self.operation.pieces else self.length

    @property
    def nbytes(self) -> int:
        return self.total * self.dtype.itemsize

    @property
    def other(self) -> int:
        """Elements of the smaller buffer."""
        return self.total if self.operation.wholes else self.length if self.operation.pieces else 0

    @property
    def module(self) -> ModuleType:
        """Where the collective, its algorithms and their costs are."""
        return import_module(f"counterpoint.collectives.{self.collective}")

    def call(self, comm: Comm, whole: torch.Tensor, piece: torch.Tensor) -> object:
        """Make the call, once."""
        return self.operation.call(comm, whole, piece, **self.way)

    def wrong(self, rank: int, whole: torch.Tensor, piece: torch.Tensor) -> int:
        """How many elements of the rank's buffers are not what a call on `filled` buffers leaves."""
        return self.operation.wrong(rank, self.ranks, whole, piece)


def case(
    collective: str,
    ranks: int,
    nbytes: int,
    algorithm: str = "auto",
    op: str = "",
    dtype: torch.dtype = torch.float32,
) -> Case:
    """The collective on `nbytes` bytes (as many as are whole elements) in the larger buffer of each rank.

    op: a reduction's; "" is its usual one. Raises ValueError for what there is not: such a collective, a choice of its
    algorithm or op, or that op on that dtype.
    """
    if collective not in OPERATIONS:
        raise ValueError(f"there is no collective {collective!r} here; there are {', '.join(OPERATIONS)}")
    operation = OPERATIONS[collective]
    elements = nbytes // dtype.itemsize
    length = elements // ranks if operation.pieces else elements
    made = Case(collective, operation, ranks, dtype, length, {})
    if operation.algorithms:
        if algorithm != "auto":
            known(collective, algorithm, made.module.ALGORITHMS)
        made.way["algorithm"] = algorithm
    elif algorithm != "auto":
        raise ValueError(f"{collective} has one algorithm, so {algorithm!r} cannot be chosen; leave it out")
    if operation.op != "none":
        made.way["op"] = op or operation.op
        check_op(made.way["op"], dtype)
    elif op:
        raise ValueError(f"{collective} reduces nothing, so op {op!r} cannot be chosen; leave it out")
    return made


def filled(count: int, rank: int, dtype: torch.dtype) -> torch.Tensor:
    """A buffer of `count` elements with the rank's values."""
    return _values(rank).to(dtype).repeat(-(-count // 3))[:count]


def _values(rank: int) -> torch.Tensor:
    """What a rank's buffers hold at the start, over and over. 85 ranks' sums are exact even in bfloat16."""
    return torch.arange(3) + rank % 2


def _total(p: int) -> torch.Tensor:
    """The sum of all ranks' values."""
    return torch.stack([_values(rank) for rank in range(p)]).sum(0)


def _unlike_gathered(whole: torch.Tensor, p: int) -> int:
    """How many elements are not what a gather of all ranks' values gives."""
    return sum(_differ(part, _values(r)) for r, part in enumerate(whole.tensor_split(p)))


def _differ(tensor: torch.Tensor, values: torch.Tensor) -> int:
    """How many elements of `tensor` are not `values`, over and over."""
    return sum(int((tensor[i::3] != value).sum()) for i, value in enumerate(values.tolist()))
