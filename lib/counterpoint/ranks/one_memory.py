"""Ranks of one process: each reaches the others' tensors as they are."""

import torch

from counterpoint.ranks.port import Port


class OneMemory(Port):
    """A port whose windows need no memory of a special kind."""

    def share(
        self,
        comm: tuple,
        members: tuple[int, ...],
        number: int,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        mine: torch.Tensor | None,
        call: str,
    ) -> list[torch.Tensor]:
        part = torch.zeros(shape, dtype=dtype, device=self.device) if mine is None else mine
        return self.exchange(comm, members, number, part, call)
