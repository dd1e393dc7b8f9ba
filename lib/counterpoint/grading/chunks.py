"""A vector in p chunks, as `tensor_split` cuts it: what the ring exercises are about."""

from collections.abc import Sequence
from typing import Any

import torch

from counterpoint.grading.exercise import Case, Want, vector


def sizes(case: Case) -> list[int]:
    """Elements in each chunk."""
    return [case.count // case.ranks + (i < case.count % case.ranks) for i in range(case.ranks)]


def views(case_ranks: int, flat: torch.Tensor) -> list[torch.Tensor]:
    """The p chunks of a vector, as views."""
    return list(flat.tensor_split(case_ranks))


def with_chunks(comm: Any, answer: Any, flat: torch.Tensor) -> Any:
    """Calls an answer that takes the chunks of its vector."""
    return answer(comm, views(comm.size, flat))


def total(case: Case) -> torch.Tensor:
    """The sum of all ranks' vectors."""
    return torch.stack([vector(case, rank) for rank in range(case.ranks)]).sum(0, dtype=case.torch_dtype)


def want_chunks(
    case: Case, chunks: Sequence[int], values: torch.Tensor, holds: Sequence[tuple[int, ...] | None]
) -> list[Want]:
    """That these chunks of a rank's vector hold that part of `values`; empty chunks want nothing."""
    lengths = sizes(case)
    found = []
    for chunk, whose in zip(chunks, holds, strict=True):
        start = sum(lengths[:chunk])
        piece = values[start : start + lengths[chunk]]
        if len(piece):
            found.append(Want(f"chunk {chunk}", 0, piece, offset=start, holds=whose))
    return found


def busiest_one_phase(case: Case, left_out: int) -> int:
    """Most bytes that a rank sends when it sends every chunk but one, rank r leaving out
    chunk (r + left_out) mod p: the largest of these."""
    if case.ranks == 1:
        return 0
    return (case.count - min(sizes(case))) * case.itemsize
