"""Cells: the pieces of a buffer that no message cuts, and the few elements by which each is watched."""

from itertools import pairwise
from typing import Any

import numpy as np

from counterpoint.ranks.arguments import memory_of
from counterpoint.trace import UNKNOWN, Trace


class Cells:
    """The cells of all ranks' buffers, as a trace cuts them; `table[c] = (buffer, offset, length)`.

    Watched at up to three elements each (first, middle, last): `probes[i] = (buffer, element)`.
    """

    def __init__(self, trace: Trace, args: list[tuple]) -> None:
        sizes: dict[int, int] = {}
        for own in args:
            for number, flat in enumerate(memory_of(own)):
                sizes[number] = max(sizes.get(number, 0), flat.numel())
        rows: list[tuple[int, int, int]] = []
        moved = trace.where(kind=("send", "recv", "reduce"))
        for number, size in sizes.items():
            here = (moved.buffer == number) & (moved.length > 0)
            starts, lengths = moved.offset[here], moved.length[here]
            cuts = sorted({0, size, *starts.tolist(), *(starts + lengths).tolist()})
            rows += [(number, a, b - a) for a, b in pairwise(cuts)]
        self.table = np.array(rows, np.int64).reshape(-1, 3)
        self.probes: list[tuple[int, int]] = []
        self.probes_of: list[list[int]] = []
        for number, offset, length in rows:
            places = sorted({offset, offset + length // 2, offset + length - 1})
            self.probes_of.append(list(range(len(self.probes), len(self.probes) + len(places))))
            self.probes += [(number, place) for place in places]
        trios = [(own * 3)[:3] for own in self.probes_of]
        self.trios = np.array(trios, int).reshape(-1, 3)
        """Each cell's probes as three columns, short lists repeated."""

    def __len__(self) -> int:
        return len(self.table)

    def inside(self, chunk: tuple[int, int, int]) -> list[int]:
        """The cells that a chunk `(buffer, offset, length)` covers."""
        number, offset, length = chunk
        buffers, starts, lengths = self.table.T
        covered = (buffers == number) & (starts >= offset) & (starts + lengths <= offset + length)
        return np.flatnonzero(covered).tolist()

    def origins(self, values: np.ndarray, ranks: int) -> np.ndarray:
        """(rank, element) that each cell's first element was copied from; UNKNOWN if it is no copy."""
        numbers = values[self.trios[:, 0]] - 1
        whole = np.rint(numbers).astype(np.int64)
        origins = np.stack([whole % ranks, whole // ranks], 1)
        origins[(numbers < 0) | (numbers != whole)] = UNKNOWN
        return origins

    def sampler(self) -> "Sampler":
        return Sampler(self)


class Sampler:
    """Looks at every rank's probes whenever the rank has sent or received."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells

    def watch(self, inputs: list[tuple]) -> None:
        """Remember where each rank's probes lie, and what they hold now."""
        self.memory = [[flat.numpy() for flat in memory_of(own)] for own in inputs]
        self.places = [[self._places(n, flat) for n, flat in enumerate(m)] for m in self.memory]
        self.samples: list[list[tuple]] = [[] for _ in inputs]
        self.first = [self.look(rank) for rank in range(len(inputs))]

    def _places(self, number: int, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which probes lie in buffer `number`, and at which of its elements."""
        mine = [
            (i, place)
            for i, (buffer, place) in enumerate(self.cells.probes)
            if buffer == number and place < flat.size
        ]
        at, places = zip(*mine, strict=True) if mine else ((), ())
        return np.array(at, int), np.array(places, int)

    def look(self, rank: int) -> np.ndarray:
        """The probes' values on `rank`, float64; 0 where its buffer is shorter."""
        values = np.zeros(len(self.cells.probes))
        for flat, (at, places) in zip(self.memory[rank], self.places[rank], strict=False):
            values[at] = flat[places]
        return values

    def __call__(self, rank: int, row: int, request: Any, port: Any) -> None:
        values = self.look(rank)
        before = self.samples[rank][-1][3] if self.samples[rank] else self.first[rank]
        for pending in port.receiving:  # may be written at any moment: not ours to look at yet
            for cell in self.cells.inside(pending.chunk):
                own = self.cells.probes_of[cell]
                values[own] = before[own]
        loose = np.zeros(0)
        if request.call == "send" and request.chunk[0] == UNKNOWN and request.tensor.numel():
            loose = np.array([request.tensor.detach().flatten()[0].item()])
        self.samples[rank].append((row, request.call, request.chunk, values, loose))
