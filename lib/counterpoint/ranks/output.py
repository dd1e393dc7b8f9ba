"""What ranks print, with the rank in front, in the cell that launched them."""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

_writers: dict[int | None, Callable[[str], object]] = {}
_lock = threading.Lock()


class _Switch:
    """Stands in for sys.stdout while ranks run: their threads' text goes their way, all else through.

    Keyed by thread, so that launches side by side, and one inside another, do not disturb each other.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        writer = _writers.get(threading.get_ident())
        if writer is None:
            return self.stream.write(text)
        writer(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Prefixed:
    """A context for one rank's thread: whole lines go to `emit`, each as "[rank 3] text".

    Where many ranks share a thread, `write` finds the rank first.
    """

    def __init__(
        self, rank: int, emit: Callable[[str], object], write: Callable[[str], object] | None = None
    ) -> None:
        self.rank, self.emit, self.rest = rank, emit, ""
        self.way = write or self.write

    def __enter__(self) -> None:
        with _lock:
            if not isinstance(sys.stdout, _Switch):
                sys.stdout = _Switch(sys.stdout)
            _writers[threading.get_ident()] = self.way

    def __exit__(self, *_: object) -> None:
        self.close()
        forget([threading.get_ident()])

    def close(self) -> None:
        """End a line that was begun."""
        if self.rest:
            self.write("\n")

    def write(self, text: str) -> None:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.emit(f"[rank {self.rank}] {line}\n")


def forget(threads: Iterable[int | None]) -> None:
    """Make sure that none of these threads' ways is left (one that was stopped may not have closed its own)."""
    with _lock:
        for thread in threads:
            _writers.pop(thread, None)
        if not _writers and isinstance(sys.stdout, _Switch):
            sys.stdout = sys.stdout.stream
