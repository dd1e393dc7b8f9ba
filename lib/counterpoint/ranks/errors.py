"""What goes wrong between ranks, said in full: who, what, at which line, and what to do."""

import pickle
import traceback
from dataclasses import dataclass, field
from typing import Any

from counterpoint.trace import place_of


class CommError(RuntimeError):
    """Something went wrong between ranks. `.run` is the run so far, its trace included."""

    run: Any = None

    def again(self) -> "CommError":
        """The same error once more, so that every rank raises one of its own."""
        twin = type(self).__new__(type(self))
        twin.args = self.args
        twin.__dict__.update(self.__dict__)
        twin.__cause__ = self.__cause__
        return twin

    def __reduce__(self) -> tuple:
        """For another process: without the run, and with a cause that can travel."""
        state = {name: value for name, value in self.__dict__.items() if name != "run"}
        return _rebuilt, (type(self), self.args, state, portable(self.__cause__))


class DeadlockError(CommError):
    """Ranks wait for each other in a cycle, or for a rank that has returned.

    `.waits` lists every rank that waits; `.cycle` the world ranks in the cycle, in order (empty when
    they wait for a rank that has returned).
    """

    def __init__(self, message: str, waits: "list[Waiting]", cycle: list[int]) -> None:
        super().__init__(message)
        self.waits, self.cycle = waits, cycle


class RankFailed(CommError):
    """A rank raised, so the others were stopped. `.rank` is which; `__cause__` is what it raised."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class MismatchError(CommError):
    """Ranks disagree: about which collective they are in, or about a message's size or dtype."""


class LaunchTimeout(CommError):
    """The run took longer than `timeout`. `.waits` lists the ranks that were waiting then."""

    def __init__(self, message: str, waits: "list[Waiting]") -> None:
        super().__init__(message)
        self.waits = waits


class RankStopped(BaseException):
    """Raised inside a rank to end it because the run is over. Not an Exception: do not catch it."""


def over() -> CommError:
    """The error for a call on a `Comm` that was kept after its run."""
    return CommError("the run of this Comm is over, so nothing can be sent or received on it; launch again")


def portable(error: BaseException | None) -> BaseException | None:
    """The error if it can be pickled, else one that says the same; with its traceback as a note."""
    if error is None:
        return None
    try:
        twin = pickle.loads(pickle.dumps(error))
    except Exception:
        twin = RuntimeError(f"{type(error).__name__}: {error}")
    if error.__traceback__ is not None:
        twin.add_note("".join(traceback.format_exception(error)))
    return twin


def _rebuilt(
    kind: type[CommError], args: tuple, state: dict[str, Any], cause: BaseException | None
) -> CommError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    error.__cause__ = cause
    return error


@dataclass(frozen=True)
class Waiting:
    """One rank that cannot go on: in which call, for whom, and where that call stands."""

    rank: int
    call: str
    peers: list[int] = field(default_factory=list)
    tag: int = 0
    nbytes: int = 0
    file: str = ""
    line: int = 0
    code: str = ""

    def __str__(self) -> str:
        return f"rank {self.rank} waits in {self.call}{self._whom()}{self._where()}"

    def _whom(self) -> str:
        if not self.peers:
            return ""
        names = ", ".join(f"rank {peer}" for peer in self.peers)
        way = {"send": " to ", "recv": " from ", "recv_reduce": " from "}.get(self.call, " for ")
        details = f" (tag {self.tag}, {self.nbytes} bytes)" if self.call in _MESSAGES else ""
        return way + names + details

    def _where(self) -> str:
        return f", {place_of(self.file, self.line)}: {self.code}" if self.file else ""


_MESSAGES = ("send", "recv", "recv_reduce", "sendrecv", "sendrecv_reduce", "wait")


def gone(rank: int, cause: object = "") -> RankFailed:
    """The error for a rank whose process has ended without a word."""
    why = f" ({cause})" if cause else ""
    return RankFailed(
        f"rank {rank}'s process is gone: it ended, or its host did, in the middle of the run{why}", rank
    )


def store_lost(error: BaseException) -> RankFailed:
    """The error for a run whose store does not answer; torch adds a stack to the reason, which is left out."""
    why = (str(error).splitlines() or ["no reason given"])[0]
    what = f"the run's store, which rank 0's host keeps under torchrun, cannot be reached any more ({why})"
    return RankFailed(f"{what}, so the run is over", 0)
