"""The two-shot all-reduce in compiled code: hand over, add up, hand back, without Python between.

Each rank adds up its slice of all vectors in the order of `two_shot.py`, its own first and then its right
neighbours', so that the bits are the same; and writes the sum to all of them while the block is in the cache.
"""

from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from counterpoint.collectives.stages import (
    DIFFERENT,
    DONE,
    ENTRY,
    ENTRY_LATE,
    ENTRY_WAKE,
    EXIT,
    EXIT_LATE,
    EXIT_WAKE,
    WORK,
)
from counterpoint.ranks.cpu import arrive, leave_in_turn, part_of, wait
from counterpoint.ranks.handoff import ADDRESS, CODE, ELEMENTS, LINE, SLOTS, STEPS


def compiled(dtype: str) -> Any:
    """The machine code of `stages` for one dtype. Takes a second or two."""
    words, like = types.Array(types.int64, 1, "C"), types.Array(from_dtype(np.dtype(dtype)), 1, "C")
    return njit([types.int64(like, words, *[types.int64] * 10)], nogil=True)(_stages)


def _stages(
    like: Any, words: Any, rank: int, size: int, block: int, code: int, first: int, last: int, steps: int,
    number: int, address: int, count: int,
) -> int:  # fmt: skip
    """Stages `first` to `last` of one call, whose two barriers are `number` and the next."""
    line = SLOTS + rank * LINE
    if first <= ENTRY:
        words[line + ADDRESS], words[line + ELEMENTS] = address, count
        words[line + CODE], words[line + STEPS] = code, steps
        if arrive(words, rank, size, number):
            return ENTRY_WAKE
        if not wait(words, rank, size, number):
            return ENTRY_LATE
    if first <= WORK <= last:
        for other in range(size):
            theirs = SLOTS + other * LINE
            if words[theirs + ELEMENTS] != count or words[theirs + CODE] != code:
                return DIFFERENT
        share, more = count // size, count % size
        low = rank * share + min(rank, more)
        add_up(words, rank, size, low, low + share + (rank < more), block, code & 7, like)
    if last == EXIT:
        if arrive(words, rank, size, number + 1):
            return EXIT_WAKE
        if not wait(words, rank, size, number + 1):
            return EXIT_LATE
        leave_in_turn(words, rank, size, number + 2)
    return DONE


@njit(nogil=True)
def add_up(words: Any, rank: int, size: int, low: int, high: int, block: int, op: int, like: Any) -> None:
    """Elements `low` to `high` of every rank's vector become what `op` makes of all of them."""
    for start in range(low, high, block):
        n = min(block, high - start)
        total = part_of(words, rank, start, n, like)
        for k in range(1, size):
            combine(total, part_of(words, (rank + k) % size, start, n, like), op)
        if op == 1:
            divisor = like.dtype.type(size)
            for i in range(n):
                total[i] /= divisor
        for k in range(1, size):
            part_of(words, (rank + k) % size, start, n, like)[:] = total
        # These elements are complete on every rank.


@njit(nogil=True)
def combine(total: Any, other: Any, op: int) -> None:
    """total = total op other. NaN wins in min and max; torch leaves open which of 0.0 and -0.0 does."""
    n = len(total)
    if op <= 1:
        for i in range(n):
            total[i] += other[i]
    elif op == 2:
        for i in range(n):
            total[i] *= other[i]
    elif op == 3:
        for i in range(n):
            a, b = total[i], other[i]
            total[i] = a if a < b or a != a else b
    else:
        for i in range(n):
            a, b = total[i], other[i]
            total[i] = a if a > b or a != a else b
