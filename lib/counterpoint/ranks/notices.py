"""A store that the kernel keeps for its rank processes, asked through the sockets they have anyway.

It is what torch.distributed calls a Store, so gloo meets through it too. torch's own TCPStore would do the
same over TCP, but looks up the name of every address it connects to, and where the name server does not answer
that takes 5 s, now and then, for 127.0.0.1 too.
"""

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch.distributed.distributed_c10d import Store


class Notices:
    """The kernel's side: keys and values. Safe for several threads; nothing here waits."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[str, bytes] = {}
        self.waiting: list[tuple[list[str], Callable[[], None]]] = []

    def answer(self, word: str, given: tuple, reply: Callable[[Any], None]) -> None:
        """Do what a rank asks; `reply` is called with the result, later if it waits for keys."""
        if word in ("get", "multi_get", "wait"):
            keys = [given[0]] if word == "get" else list(given[0])
            values = self.values

            def ready() -> None:
                reply(values[keys[0]] if word == "get" else [values[key] for key in keys])

            with self.lock:
                if not all(key in self.values for key in keys):
                    self.waiting.append((keys, ready))
                    return
            ready()
        else:
            reply(getattr(self, word)(*given))

    def set(self, key: str, value: bytes | str) -> None:
        self._change(key, lambda _: _bytes(value))

    def append(self, key: str, value: bytes | str) -> None:
        self._change(key, lambda old: (old or b"") + _bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._change(key, lambda old: str(int(old or b"0") + amount).encode()))

    def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
        """Set a key that is `expected`, or not there; returns what it is then."""
        was = _bytes(expected)
        return self._change(key, lambda old: _bytes(desired) if old in (None, was) else old)

    def get(self, key: str) -> bytes:
        return self.values[key]

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return [self.values[key] for key in keys]

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def delete_key(self, key: str) -> bool:
        with self.lock:
            return self.values.pop(key, None) is not None

    def _change(self, key: str, change: Callable[[bytes | None], bytes]) -> bytes:
        with self.lock:
            value = self.values[key] = change(self.values.get(key))
            ready = [entry for entry in self.waiting if all(k in self.values for k in entry[0])]
            for entry in ready:
                self.waiting.remove(entry)
        for _, tell in ready:
            tell()
        return value


class KernelStore(Store):
    """A rank's side: each call is a question to the kernel. `ask(id, word, given)` sends one."""

    def __init__(self, ask: Callable[[int, str, tuple], None]) -> None:
        super().__init__()
        self.ask, self.lock, self.asked = ask, threading.Lock(), 0
        self.open: dict[int, queue.SimpleQueue] = {}

    def answered(self, number: int, value: Any) -> None:
        """The kernel's answer has come."""
        self.open.pop(number).put(value)

    def _ask(self, word: str, *given: Any) -> Any:
        box: queue.SimpleQueue = queue.SimpleQueue()
        with self.lock:
            self.asked += 1
            number = self.asked
            self.open[number] = box
        try:
            self.ask(number, word, given)
        except OSError as error:
            raise RuntimeError(f"the kernel cannot be reached: {error}") from error
        return box.get()

    def set(self, key: str, value: Any) -> None:
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        return self._ask("get", key)

    def add(self, key: str, amount: int) -> int:
        return self._ask("add", key, amount)

    def append(self, key: str, value: Any) -> None:
        self._ask("append", key, value)

    def compare_set(self, key: str, expected: Any, desired: Any) -> bytes:
        return self._ask("compare_set", key, expected, desired)

    def check(self, keys: list[str]) -> bool:
        return self._ask("check", list(keys))

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return self._ask("multi_get", list(keys))

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def delete_key(self, key: str) -> bool:
        return self._ask("delete_key", key)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        self._ask("wait", list(keys))

    def has_extended_api(self) -> bool:
        return True


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
