"""Conditions: what threads that share a lock wait on until another has changed something.

A queue or a barrier asks its crew for them. A crew's condition knows who waits and why; that is how a standstill
is found, a wait gets into the trace, and everyone is woken when the crew fails. Without a crew they are
`threading.Condition`. Source: C. A. R. Hoare, Monitors (1974), in the form of Mesa's (Lampson and Redell, 1980):
who is notified looks again.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from counterpoint.trace import UNKNOWN

if TYPE_CHECKING:
    from counterpoint.balance.crew import Crew
    from counterpoint.balance.worker import Worker

LOOK = 0.1
"""Seconds between two looks for an interrupt, which on some systems does not end a longer wait."""


class Condition:
    """A condition of a crew; its methods are those of `threading.Condition`, without time-outs.

    name: what is waited at. why: called where nobody can go on, says what this waits for; remedy: what to do then.
    Everything but `with` needs the crew's lock.
    """

    def __init__(self, crew: "Crew", name: str, why: Callable[[], str], remedy: str) -> None:
        self.name, self.why, self.remedy = name, why, remedy
        self._crew = crew
        self._gates: dict[Worker, threading.Lock] = {}
        """Those who wait, in the order in which they came, each before a lock of its own."""

    def __enter__(self) -> bool:
        return self._crew.lock.__enter__()

    def __exit__(self, *_: object) -> None:
        self._crew.lock.release()

    def wait(self) -> None:
        """Give the lock back, sleep until notified, take the lock again.

        Cost: some 10 us from notify to going on. Raises StandstillError if nobody is left who could notify;
        what ended the crew, if it is over.
        """
        crew = self._crew
        me = crew.me()
        gate = self._gates[me] = threading.Lock()
        gate.acquire()
        began = crew.falls_asleep(me, self)
        crew.lock.release()
        try:
            if me is crew.maker:
                while not gate.acquire(timeout=LOOK):
                    pass
            else:
                gate.acquire()
        except BaseException:
            crew.lock.acquire()
            if me not in self._gates:
                self.notify()  # this one was woken and cannot make use of it: the next may
            self.forget(me)
            raise
        crew.lock.acquire()
        crew.woke_up(me, self, began)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds()`."""
        while not holds():
            self.wait()

    def notify(self, n: int = 1) -> None:
        """Wake the n that have waited longest, or as many as there are."""
        for worker in list(self._gates)[:n]:
            self._wake(worker)

    def notify_all(self) -> None:
        """Wake everyone who waits."""
        self.notify(len(self._gates))

    def forget(self, worker: "Worker") -> None:
        """A worker does not wait any more, whether notified or not."""
        if worker in self._gates:
            self._wake(worker)

    def _wake(self, worker: "Worker") -> None:
        self._crew.asleep.pop(worker, None)
        self._gates.pop(worker).release()


class Member(Protocol):
    """Who takes part: a crew's worker, or any thread."""

    @property
    def name(self) -> str: ...
    def is_alive(self) -> bool: ...


class AnyCondition(Protocol):
    """What queues and barriers need of a condition."""

    def wait(self) -> object: ...
    def notify(self, n: int = 1) -> None: ...
    def notify_all(self) -> None: ...


class Ticket(NamedTuple):
    """What travels with an item: its number in its queue, who put it, and the number of that transfer."""

    number: int
    worker: int = UNKNOWN
    message: int | None = None


class Place(Protocol):
    """What queues and barriers need of a crew."""

    lock: threading.Lock

    def condition(self, name: str, why: Callable[[], str], remedy: str = "") -> AnyCondition: ...
    def name_for(self, what: str) -> str: ...
    def me(self) -> Member: ...
    def has_put(self, queue: str, number: int) -> Ticket: ...
    def has_got(self, queue: str, ticket: Ticket, item: object) -> None: ...
    def has_passed(self, barrier: str, phase: int) -> None: ...
    def compute(self, label: str, tag: int = UNKNOWN) -> AbstractContextManager[None]: ...
