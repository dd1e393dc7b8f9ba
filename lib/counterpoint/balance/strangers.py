"""A `Place` for threads that are no crew: plain conditions, and nothing is recorded."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from counterpoint.balance.conditions import Ticket
from counterpoint.trace import UNKNOWN


class Strangers:
    """Any threads that share a lock. Nobody sees when all of them wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def condition(self, name: str, why: Callable[[], str], remedy: str = "") -> threading.Condition:
        return threading.Condition(self.lock)

    def name_for(self, what: str) -> str:
        return what

    def me(self) -> threading.Thread:
        return threading.current_thread()

    def has_put(self, queue: str, number: int) -> Ticket:
        return Ticket(number)

    def has_got(self, queue: str, ticket: Ticket, item: object) -> None:
        pass

    def has_passed(self, barrier: str, phase: int) -> None:
        pass

    def compute(self, label: str, tag: int = UNKNOWN) -> AbstractContextManager[None]:
        return nullcontext()
