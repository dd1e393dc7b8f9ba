"""What one run of the learner's code came to, as plain values that travel from the child."""

from dataclasses import dataclass, field
from typing import Any

from counterpoint.grading.exercise import Case
from counterpoint.trace import Trace


@dataclass(frozen=True)
class Other:
    """Stands for a returned value that is neither a tensor nor plain: its type and how it prints."""

    kind: str
    shown: str


@dataclass(frozen=True)
class Wait:
    """One rank that could not go on; `call` is "send", "recv", …"""

    rank: int
    call: str
    peers: tuple[int, ...]
    tag: int
    nbytes: int
    line: int
    code: str
    file: str


@dataclass(frozen=True)
class Failure:
    """Why a run did not end: kind is "deadlock", "mismatch", "raised", "stopped"."""

    kind: str
    message: str
    rank: int = -1
    exception: str = ""
    """The class of what was raised, for "raised"."""
    line: int = 0
    """The learner's line (in its cell or file) that did it; 0 if unknown."""
    code: str = ""
    waits: tuple[Wait, ...] = ()
    cycle: tuple[int, ...] = ()


@dataclass
class Attempt:
    """One case, run: what each rank returned, what became of its inputs, and the trace."""

    case: Case
    results: list[Any] = field(default_factory=list)
    after: list[tuple[Any, ...]] = field(default_factory=list)
    """Each rank's inputs, as they were when it returned."""
    trace: Trace | None = None
    failure: Failure | None = None
    printed: str = ""
