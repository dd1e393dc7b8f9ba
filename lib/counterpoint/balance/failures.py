"""What goes wrong among workers: who, the fact, where the call stands, and what to do."""

import linecache
from dataclasses import dataclass

from counterpoint.trace import Line, Trace, line_number, place_of


class CrewError(RuntimeError):
    """Something went wrong among the workers of a crew."""


class WorkerFailed(CrewError):
    """A worker raised, so the others were stopped. `__cause__` and `.cause` are what it raised.

    `.worker` is its name; `.item` is what it had last got from a queue, `.number` that item's number and
    `.queue` that queue's name (None, UNKNOWN and "" if it had none in hand).
    """

    def __init__(
        self, message: str, worker: str, item: object, number: int, queue: str, cause: BaseException
    ) -> None:
        super().__init__(message)
        self.worker, self.item, self.number, self.queue = worker, item, number, queue
        self.cause = self.__cause__ = cause


class StandstillError(CrewError):
    """Everyone waits for someone else of the crew, so nobody can go on. `.waits` says who waits for what."""

    def __init__(self, message: str, waits: "list[Waiting]") -> None:
        super().__init__(message)
        self.waits = waits

    def again(self) -> "StandstillError":
        """The same error once more, so that every worker raises one of its own."""
        return StandstillError(str(self), self.waits)


class QueueClosed(RuntimeError):
    """A put into a queue that was closed, or a get from one that is closed and empty."""


class BrokenBarrier(RuntimeError):
    """A barrier that nobody can pass any more. `.worker` is who broke it, `__cause__` is why."""

    def __init__(self, message: str, worker: str, cause: BaseException) -> None:
        super().__init__(message)
        self.worker = worker
        self.__cause__ = cause


class Cancelled(RuntimeError):
    """Work was given up because somebody asked for that. `.trace` is what was done until then, if it is known."""

    trace: Trace | None = None


class WorkerStopped(BaseException):
    """Raised inside a worker to end it because its crew is over. Not an Exception: do not catch it."""


@dataclass(frozen=True)
class Waiting:
    """One worker that cannot go on: where, and why."""

    worker: str
    at: str
    """The queue or barrier."""
    why: str
    line: Line | None = None

    def __str__(self) -> str:
        return f"{self.worker} waits at {self.at}{self._where()}: {self.why}"

    def _where(self) -> str:
        if self.line is None:
            return ""
        file, number = self.line[0].co_filename, line_number(self.line)
        return f" ({place_of(file, number)}: {linecache.getline(file, number).strip()})"
