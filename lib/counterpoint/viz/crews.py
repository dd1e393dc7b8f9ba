"""Workers that coordinate themselves: what each did and where it waited, and how full the queues were."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from counterpoint.trace import Trace
from counterpoint.viz.colors import rank_color
from counterpoint.viz.themed import INK, MUTED, STYLE, Themed

MARKS = {"put": "^", "get": "v", "fence": "|"}
"""What a worker did in no time: handed on, took, passed a barrier."""


def crew_lanes(trace: Trace, names: Sequence[str] | None = None, *, alt: str) -> Themed:
    """A lane of time for each worker of a crew, and below them the items in each queue.

    trace: a `Crew`'s, or a `FanOut`'s. names: the workers', `crew.names`; else their numbers. Coloured: work that was
    labelled by `crew.compute`; pale: other running; hatched: waiting. Triangles are puts (up) and gets (down), bars
    passed barriers. alt: what is to be seen, in a sentence. Raises ValueError for an empty trace.
    """
    if not len(trace):
        raise ValueError(
            "crew_lanes: the trace is empty; start workers, and let the crew end before it is drawn"
        )
    names = [f"worker {n}" for n in range(trace.ranks)] if names is None else names
    unit, word = (1e3, "milliseconds") if trace.end.max() < 1 else (1.0, "seconds")
    levels = queue_levels(trace)
    with matplotlib.rc_context(STYLE | {"hatch.color": MUTED, "hatch.linewidth": 0.5}):
        tall = 0.32 * trace.ranks + 0.5
        figure = Figure(figsize=(9, tall + 0.5 + (1.3 if levels else 0)), layout="constrained")
        heights = [tall, 1.2] if levels else [tall]
        rows = figure.subplots(len(heights), 1, squeeze=False, sharex=True, height_ratios=heights)
        _lanes(rows[0, 0], trace, names, unit)
        if levels:
            _levels(rows[1, 0], levels, unit)
        rows[-1, 0].set_xlabel(word)
    return Themed(figure, alt)


def queue_levels(trace: Trace) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each queue that was both filled and emptied: when its level changed (seconds), and its items from then on."""
    moves = trace.where(kind=("put", "get"))
    names, kinds = np.array(moves.text("op")), np.array(moves.text("kind"))
    found = {}
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        if len(set(kinds[mine])) < 2:  # filled, or emptied, outside the trace: the level is not known
            continue
        order = np.argsort(moves.end[mine], kind="stable")
        change = np.where(kinds[mine] == "put", 1, -1)[order]
        found[name] = (moves.end[mine][order], np.cumsum(change))
    return found


def _lanes(axes: Axes, trace: Trace, names: Sequence[str], unit: float) -> None:
    for worker in range(trace.ranks):
        color = rank_color(worker, trace.ranks)
        computes, waits = trace.where(rank=worker, kind="compute"), trace.where(rank=worker, kind="wait")
        labelled = np.array([bool(op) for op in computes.text("op")], bool)
        looks: list[tuple[Trace, dict[str, Any]]] = [
            (computes.select(~labelled), {"facecolor": color, "alpha": 0.25}),
            (computes.select(labelled), {"facecolor": color, "edgecolor": "white", "linewidth": 0.4}),
            (waits, {"facecolor": "none", "edgecolor": MUTED, "hatch": "////", "linewidth": 0}),
        ]
        for part, look in looks:
            bars = list(zip(part.start * unit, (part.end - part.start) * unit, strict=True))
            axes.broken_barh(bars, (worker - 0.36, 0.72), **look)
        for kind, mark in MARKS.items():
            at = trace.where(rank=worker, kind=kind).end * unit
            axes.plot(at, np.full(len(at), worker), mark, color=INK, markersize=4, linestyle="none")
    axes.set_ylim(trace.ranks - 0.5, -0.5)
    axes.set_yticks(range(trace.ranks), names if trace.ranks <= 24 else [""] * trace.ranks)


def _levels(axes: Axes, levels: dict[str, tuple[np.ndarray, np.ndarray]], unit: float) -> None:
    for number, (name, (times, level)) in enumerate(levels.items()):
        color = rank_color(number, max(len(levels), 2))
        axes.step(np.r_[0, times * unit], np.r_[0, level], where="post", color=color, label=name or "queue")
    axes.set(ylabel="items", ylim=(0, None))
    axes.legend(frameon=False, loc="upper left", fontsize=8)
