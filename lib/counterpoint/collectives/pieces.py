"""Lists of pieces, one for each rank: what fits together, said before any message."""

from collections.abc import Iterable, Sequence

import torch

from counterpoint.ranks import Comm, check_tensor, index


def check_list(
    comm: Comm, call: str, name: str, tensors: object, dtype: torch.dtype | None, sizes: Sequence[int] | None
) -> None:
    """Raise unless `tensors` is p tensors of this dtype (None: of one dtype) and these sizes (None: any)."""
    who = f"rank {comm.rank}: {call}"
    if not isinstance(tensors, list | tuple):
        kind = type(tensors).__name__
        raise TypeError(f"{who}: {name} is a {kind}; give a list of {comm.size} tensors, one for each rank")
    if len(tensors) != comm.size:
        raise ValueError(
            f"{who}: {name} has {len(tensors)} pieces; there are {comm.size} ranks, so give {comm.size}"
        )
    check_tensor(call, *tensors)
    dtype = dtype or tensors[0].dtype
    for number, piece in enumerate(tensors):
        if piece.dtype != dtype or (sizes is not None and piece.numel() != sizes[number]):
            wanted = f"{dtype}" if sizes is None else f"{sizes[number]} x {dtype}"
            raise ValueError(
                f"{who}: {name}[{number}] is {piece.numel()} x {piece.dtype}; {wanted} is needed"
            )


def check_apart(comm: Comm, call: str, output: list[torch.Tensor], input: list[torch.Tensor]) -> None:
    """Raise ValueError if a piece to fill begins where one to send does: what is not sent yet would be lost."""
    filled = {piece.data_ptr() for piece in output if piece.numel() and not piece.is_meta}
    if any(piece.numel() and piece.data_ptr() in filled for piece in input):
        raise ValueError(
            f"rank {comm.rank}: {call} fills the memory that it sends from; give an output of its own, such as "
            f"torch.empty_like(input)"
        )


def piece_sizes(comm: Comm, call: str, mine: torch.Tensor, sizes: Sequence[int] | None) -> list[int]:
    """Elements in each rank's piece: as given, or (None) as many as in mine everywhere. ValueError if the
    list does not fit."""
    if sizes is None:
        return [mine.numel()] * comm.size
    who = f"rank {comm.rank}: {call}"
    if not isinstance(sizes, Iterable):
        raise TypeError(f"{who}: sizes = {sizes!r}; give a list of {comm.size} numbers of elements, or None")
    sizes = [index(size, f"{who}: sizes has") for size in sizes]
    if len(sizes) != comm.size or min(sizes) < 0:
        raise ValueError(f"{who}: sizes = {sizes}; give {comm.size} numbers of elements, one for each rank")
    if sizes[comm.rank] != mine.numel():
        raise ValueError(
            f"{who}: my piece has {mine.numel()} elements, but sizes[{comm.rank}] is {sizes[comm.rank]}"
        )
    return sizes
