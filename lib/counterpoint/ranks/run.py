"""What a launch leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from counterpoint.trace import Trace


@dataclass
class Run:
    """The outcome of `launch`: what each rank returned, what happened, and how long it took."""

    function: Callable
    ranks: int
    results: list[Any]
    """What each rank's function returned."""
    args: list[tuple]
    """Each rank's own arguments, as they are after the run (what an in-place collective changed)."""
    trace: Trace | None
    seconds: float
    clock: str
    """"wall" or "virtual": which kind of seconds `seconds` and the trace hold."""
    settings: dict[str, Any] = field(default_factory=dict)
    """network, eager_limit, timeout: what `launch` was given besides."""

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Run({name}, {self.ranks} ranks, {self.seconds:.3g} {self.clock} s, {self.trace})"
