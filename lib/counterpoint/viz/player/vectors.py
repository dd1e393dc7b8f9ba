"""Count vectors as short texts: whose contributions a chunk holds, and how often.

"0-2,5x2" says: ranks 0, 1 and 2 once, rank 5 twice. Equal vectors get one number, so a film of
64 ranks with thousands of changes stays small.
"""

from collections.abc import Sequence

import numpy as np

UNKNOWN_VECTOR = -1


def encode(counts: Sequence[int] | np.ndarray) -> str:
    """The text of a count vector; the empty text when it holds nobody."""
    parts, start = [], 0
    values = [int(n) for n in counts]
    for end in range(1, len(values) + 1):
        if end == len(values) or values[end] != values[start]:
            if values[start]:
                span = str(start) if end - start == 1 else f"{start}-{end - 1}"
                parts.append(span if values[start] == 1 else f"{span}x{values[start]}")
            start = end
    return ",".join(parts)


def decode(text: str) -> dict[int, int]:
    """`{contributor: times}` of an encoded vector."""
    counts: dict[int, int] = {}
    for part in filter(None, text.split(",")):
        span, _, times = part.partition("x")
        first, _, last = span.partition("-")
        counts |= dict.fromkeys(range(int(first), int(last or first) + 1), int(times or 1))
    return counts


class Vectors:
    """Numbers the distinct vectors of one film, in the order in which they turn up."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.texts: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, counts: np.ndarray | None) -> int:
        """The number of `counts`, int of shape (ranks,); UNKNOWN_VECTOR for None."""
        if counts is None:
            return UNKNOWN_VECTOR
        key = np.asarray(counts, np.int64).tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append(encode(counts))
        return self._numbers[key]

    def kinds(self) -> list[str]:
        """What each vector is, in a word: nothing, twice, complete or part."""
        return [self._kind(decode(text)) for text in self.texts]

    def _kind(self, counts: dict[int, int]) -> str:
        if not counts:
            return "nothing"
        if any(times != 1 for times in counts.values()):
            return "twice"
        return "complete" if len(counts) == self.ranks else "part"
