"""A compiled barrier for rank threads: a count in shared memory that everybody adds to and looks at.

Nobody holds Python's lock meanwhile. A rank that has arrived looks again and again for a moment, then gives its
core away between looks (ranks may outnumber cores), and after PATIENCE gives up: then it waits in Python, where
deadlocks, failures and interrupts are seen (`handoff.py`). So no wait in here can last.
Source: the centralized barrier of Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, section 3.1; a count that only
grows needs no sense to reverse.
"""

import ctypes
import os
import time
from typing import Any

from numba import carray, config, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic as _intrinsic

from counterpoint.ranks.handoff import ADDRESS, ARRIVED, COUNT, LINE, SLEEPERS, SLOTS

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("NUMBA_DISABLE_JIT is set")

LOOKS = 200
"""Looks before the first yield: some 0.1 us, about as long as a value takes from one core to another."""

STAY = 24000
"""Looks that a rank lets the one before it go first: some 12 us, a few times what that one needs between two calls."""

STAY_YIELDS = 10
"""The same where ranks outnumber cores, as often as the core is given away."""

PATIENCE = 500_000
"""Nanoseconds before a rank goes to wait in Python."""

_libc = ctypes.CDLL(None)
_yield = _libc.sched_yield
_yield.argtypes, _yield.restype = [], ctypes.c_int
_clock = _libc.clock_gettime
_clock.argtypes, _clock.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_int
_MONOTONIC = int(time.CLOCK_MONOTONIC)
_WORDS = types.Array(
    types.int64, 1, "C"
)  # what Python calls is compiled at once, not in the first rank to call it
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_SCRATCH = 6  # where in its line a rank keeps the clock's two words

intrinsic: Any = _intrinsic  # takes a first argument that its callers do not give

# Loads, stores and additions that other threads see in one order.


@intrinsic
def add(typing: Any, words: Any, index: Any, value: Any) -> Any:
    """words[index] += value; what it was before."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.atomic_rmw("add", _place(context, builder, signature, given), given[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), build


@intrinsic
def load(typing: Any, words: Any, index: Any) -> Any:
    """words[index]."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature, given), "seq_cst", 8)

    return types.int64(words, types.int64), build


@intrinsic
def store(typing: Any, words: Any, index: Any, value: Any) -> Any:
    """words[index] = value."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store_atomic(given[2], _place(context, builder, signature, given), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), build


def _place(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, given[0])
    return builder.gep(array.data, [given[1]])


@intrinsic
def _pointer(typing: Any, address: Any, like: Any) -> Any:
    """An address as a pointer to elements of `like`'s dtype."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), build


@njit(nogil=True)
def part_of(words: Any, rank: int, start: int, n: int, like: Any) -> Any:
    """Elements `start` to `start + n` of what `rank` has brought, an array of `like`'s dtype."""
    address = words[SLOTS + rank * LINE + ADDRESS]
    return carray(_pointer(address + start * like.itemsize, like), n)


@njit(nogil=True)
def arrive(words: Any, rank: int, size: int, number: int) -> bool:
    """Arrive at barrier `number`; whether this rank completes it and others sleep, so that it must wake them."""
    store(words, SLOTS + rank * LINE + ARRIVED, number)
    last = add(words, COUNT, 1) + 1 == number * size
    return last and load(words, SLEEPERS) > 0


@njit(nogil=True)
def passed(words: Any, size: int, number: int) -> bool:
    """Whether all have arrived at barrier `number`."""
    return load(words, COUNT) >= number * size


@njit(nogil=True)
def wait(words: Any, rank: int, size: int, number: int) -> bool:
    """Wait for barrier `number`; False if PATIENCE was over first."""
    for _ in range(LOOKS):
        if passed(words, size, number):
            return True
    begin = _now(words, rank)
    while _now(words, rank) - begin < PATIENCE:
        for _ in range(8):
            _yield()
            if passed(words, size, number):
                return True
    return False


@njit(nogil=True)
def leave_in_turn(words: Any, rank: int, size: int, following: int) -> None:
    """Stay for a moment, for the rank before this one to come to barrier `following`.

    All are let go at once, and need Python's lock to go on. Who finds it taken falls asleep, and is woken long after it
    is free again: they had better come one by one.
    """
    if rank == 0:
        return
    before = SLOTS + (rank - 1) * LINE + ARRIVED
    for _ in range(STAY if size <= _CORES else STAY_YIELDS):
        if load(words, before) >= following:
            return
        if size > _CORES:
            _yield()


@njit([types.boolean(_WORDS, types.int64, types.int64)], nogil=True)
def doze(words: Any, size: int, number: int) -> bool:
    """From here on whoever completes a barrier wakes this rank; True if barrier `number` is complete already."""
    add(words, SLEEPERS, 1)
    return passed(words, size, number)


@njit([types.void(_WORDS)], nogil=True)
def rise(words: Any) -> None:
    """The rank no longer needs to be woken."""
    add(words, SLEEPERS, -1)


@njit(nogil=True)
def _now(words: Any, rank: int) -> int:
    """Nanoseconds on the system's clock."""
    at = SLOTS + rank * LINE + _SCRATCH
    scratch = words[at : at + 2]
    _clock(_MONOTONIC, scratch.ctypes)
    return scratch[0] * 1_000_000_000 + scratch[1]
