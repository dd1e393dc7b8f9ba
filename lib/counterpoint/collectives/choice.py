"""The choice among algorithms that do the same: by name, or by what each would cost."""

from collections.abc import Callable, Iterable, Mapping

from counterpoint.models import Cost, Link

Algorithms = dict[str, tuple[Callable, Callable[[int, int, int], Cost]]]
"""By name: an algorithm's function, and its `cost(p, count, itemsize)`."""

PER_MESSAGE, PER_BYTE, PER_FRESH_BYTE = 20e-6, 1 / 12e9, 1 / 1.5e9
"""Rank threads of one laptop, roughly: seconds of Python for a message, to copy a byte, and to copy it into memory
just allocated. The ranks take turns in Python, so every message counts, not only those on the critical path."""


def known(call: str, name: object, names: Iterable[str]) -> str:
    """`name`, if it is one of `names`; else ValueError, in the words of the call's user."""
    if isinstance(name, str) and name in names:
        return name
    raise ValueError(f"{call}: no algorithm {name!r}; there are {', '.join(['auto', *names])}")


def quickest(
    among: Algorithms, p: int, count: int, itemsize: int, link: Link | None, fresh: Mapping[str, float]
) -> str:
    """The algorithm that takes least time on `link` (None: on rank threads); the first of equals.

    fresh: how many times the whole an algorithm puts into memory of its own on each rank, if it does. No `Cost`
    says so, but on threads that can be dearer than the messages.
    """

    def seconds(name: str) -> float:
        cost = among[name][1](p, count, itemsize)
        if link is not None:
            return cost.seconds(link)
        copied = fresh.get(name, 0) * count * itemsize
        return cost.messages * PER_MESSAGE + cost.path_bytes * PER_BYTE + copied * PER_FRESH_BYTE

    return min(among, key=seconds)
