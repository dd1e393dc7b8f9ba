"""Curves: lines of values with their names at their ends, for lessons."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import EngFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from counterpoint.viz.themed import INK, MUTED, STYLE, Themed

COLORS = ("#2f86c9", "#d55e00", "#009e73", "#b06a9e", "#a07a00")
"""For lines: apart for colour-blind readers, and 3:1 or better against both themes' backgrounds."""

DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 2)))

NAMES_APART = 13
"""Points between two names, at least."""


def curves(
    x: Sequence[float] | Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    alt: str,
    x_unit: str = "",
    y_unit: str = "",
    logarithmic: bool = True,
    marks: Mapping[str, float] | None = None,
) -> Themed:
    """One line for each of `series`, its name written at its end.

    x: the positions, or names that stand at equal distances; each series has a value for each. x_unit,
    y_unit: an SI unit or "B", whose prefixes are then written at the ticks (1 kB is 1000 B). logarithmic:
    both axes. marks: vertical lines at x, with what they say. alt: what is to be seen.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 3.7), layout="constrained")
        axes = figure.add_subplot()
        if logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        names = []
        for (name, values), color, dash in zip(series.items(), COLORS, DASHES, strict=False):
            axes.plot(np.array(list(x)), values, color=color, linestyle=dash, linewidth=2.2)
            names.append(axes.annotate(
                name, (x[-1], values[-1]), xytext=(7, 0), textcoords="offset points",
                color=color, va="center", fontweight="bold", annotation_clip=False,
            ))  # fmt: skip
        for text, place in (marks or {}).items():
            axes.axvline(place, color=MUTED, linewidth=1, linestyle=":")
            where = blended_transform_factory(axes.transData, axes.transAxes)
            axes.text(place, 1.02, text, transform=where, ha="center", va="bottom", color=INK)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        for axis, unit in ((axes.xaxis, x_unit), (axes.yaxis, y_unit)):
            axis.set_minor_locator(NullLocator())
            if unit:
                axis.set_major_formatter(EngFormatter(unit=unit))
        axes.grid(color=MUTED, alpha=0.22, linewidth=0.8)
        _part(figure, axes, names)
    return Themed(figure, alt)


def _part(figure: Figure, axes: Axes, names: list[Annotation]) -> None:
    """Move the names at the lines' ends apart, where they would be written over each other."""
    figure.draw_without_rendering()  # now it is known where the lines end
    right = axes.get_xlim()[1]
    ends = [axes.transData.transform((right, name.xy[1]))[1] * 72 / figure.dpi for name in names]
    order = sorted(range(len(names)), key=ends.__getitem__)
    moved: list[float] = []
    for i in order:
        free = ends[order[len(moved) - 1]] + moved[-1] + NAMES_APART if moved else ends[i]
        moved.append(max(free - ends[i], 0.0))
    middle = sum(moved) / len(moved)
    for i, up in zip(order, moved, strict=True):
        names[i].set_position((7, up - middle))
