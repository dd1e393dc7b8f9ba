"""`play`: a run, explained and shown."""

from typing import Any

from counterpoint.collectives import explain
from counterpoint.models import Cost
from counterpoint.ranks import CommError, DeadlockError, LaunchTimeout, Run
from counterpoint.trace import Provenance
from counterpoint.viz import Player


def play(
    run: Run | CommError,
    *,
    cost: Cost | None = None,
    title: str | None = None,
    provenance: Provenance | bool = True,
    **traits: Any,
) -> Player:
    """The player of a run, or of the error that ended one: press play and watch what the ranks did.

    cost: what the run should have cost, shown beside what it did. provenance: whose contributions the chunks
    hold; True runs the function again on small marked inputs to find out (see `explain`; what it prints is
    not shown twice), False leaves it out. traits: the player's, such as `view="tree"` or `t=3`. Cost: p + 2
    small launches. Raises ValueError for a run without a trace, TypeError for what is no run.
    """
    error = run if isinstance(run, CommError) else None
    finished = error.run if error is not None else run
    if not isinstance(finished, Run):
        raise TypeError(f"play: {finished!r} is no run; give what launch returned, or the error it raised")
    if finished.trace is None:
        raise ValueError("play: this run has no trace; launch it without trace=False")
    found = explained(finished) if provenance is True else provenance or None
    stuck = error if isinstance(error, DeadlockError | LaunchTimeout) else None
    return Player.from_trace(
        finished.trace,
        found,
        cost,
        title if title is not None else _title(finished),
        waits=stuck.waits if stuck else (),
        cycle=stuck.cycle if isinstance(stuck, DeadlockError) else (),
        **traits,
    )


def explained(run: Run) -> Provenance | None:
    """Whose contributions the run's chunks hold; None where that question has no answer."""
    try:
        found = explain(run.function, like=run)
    except ValueError:  # nothing among the arguments to mark
        return None
    return found if found.exact else None


def _title(run: Run) -> str:
    name = getattr(run.function, "__name__", "")
    name = "" if name == "<lambda>" else name.replace("_", " ") + ", "
    return f"{name}{run.ranks} rank{'s' if run.ranks > 1 else ''}"
