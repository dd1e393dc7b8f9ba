"""`play`: a run, explained and shown."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from counterpoint.collectives import explain
from counterpoint.models import PRESETS, Cost, Crossbar, Link, preset
from counterpoint.ranks import CommError, DeadlockError, LaunchTimeout, Run
from counterpoint.trace import Provenance
from counterpoint.viz import CostExplorer, Player


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


_EXPLORED: dict[str, tuple[str, Callable[[int], float]]] = {
    "all_reduce": ("BY_MESSAGES", lambda p: 2 * (p - 1) / p),
    "broadcast": ("ALGORITHMS", lambda p: 1.0),
    "all_gather": ("ALGORITHMS", lambda p: (p - 1) / p),
    "all_to_all": ("ALGORITHMS", lambda p: (p - 1) / p),
}
"""The collectives with several algorithms that send messages: where they are listed, and busbw / algbw for p ranks."""


def explore_costs(
    collective: str = "all_reduce", link: Link | str = "gigabit-ethernet", ranks: int = 8
) -> CostExplorer:
    """Time against size for each algorithm of a collective, with sliders for the link and the number of ranks.

    collective: "all_reduce", "broadcast", "all_gather", "all_to_all". link: a `Link`, or a preset's name. Times are
    the algorithms' own `cost(...)`.seconds(link), without contention. Raises ValueError for what there is not.
    """
    if collective not in _EXPLORED:
        raise ValueError(f"explore_costs: no collective {collective!r}; there are {', '.join(_EXPLORED)}")
    where, factor = _EXPLORED[collective]
    listed = getattr(import_module(f"counterpoint.collectives.{collective}"), where)
    links = {
        name: wires.link for name in PRESETS if isinstance(wires := preset(name), Crossbar) and wires.link
    }
    if isinstance(link, str):
        if link not in links:
            raise ValueError(f"explore_costs: no link {link!r}; there are {', '.join(links)}")
        link = links[link]
    costs = {name: cost for name, (_, cost) in listed.items()}
    return CostExplorer.of(collective, costs, factor, links, link, ranks)


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
