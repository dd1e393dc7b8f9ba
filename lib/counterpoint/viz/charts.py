"""Charts of values, for lessons: curves on logarithmic axes, and who sent how many bytes to whom."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from counterpoint.trace import Trace
from counterpoint.viz.colors import tone
from counterpoint.viz.themed import INK, MUTED, STYLE, Themed

COLORS = ("#2f86c9", "#d55e00", "#009e73", "#b06a9e", "#a07a00")
"""For lines: apart for colour-blind readers, and 3:1 or better against both themes' backgrounds."""

DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 2)))


def curves(
    x: Sequence[float],
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

    x: the positions; each series has a value for each. x_unit, y_unit: "B" for bytes (in powers of 1024) or
    an SI unit, such as "s", whose prefixes are then written at the ticks. marks: vertical lines at x,
    with what they say. alt: what is to be seen.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 3.7), layout="constrained")
        axes = figure.add_subplot()
        if logarithmic:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
        for (name, values), color, dash in zip(series.items(), COLORS, DASHES, strict=False):
            axes.plot(x, values, color=color, linestyle=dash, linewidth=2.2)
            axes.annotate(
                f" {name}", (x[-1], values[-1]), xytext=(4, 0), textcoords="offset points",
                color=color, va="center", fontweight="bold", annotation_clip=False,
            )  # fmt: skip
        for text, place in (marks or {}).items():
            axes.axvline(place, color=MUTED, linewidth=1, linestyle=":")
            where = blended_transform_factory(axes.transData, axes.transAxes)
            axes.text(place, 1.02, text, transform=where, ha="center", va="bottom", color=INK)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        _ticks(axes, x, x_unit, y_unit, logarithmic)
        axes.grid(color=MUTED, alpha=0.22, linewidth=0.8)
    return Themed(figure, alt)


def byte_matrix(traces: Trace | Mapping[str, Trace]) -> Themed:
    """Who (row) sent how many bytes to whom (column): one trace, or several by name, in one scale.

    Up to 10 ranks there are numbers: in each cell, and at the end of each row what that rank sends in all.
    """
    named = {"": traces} if isinstance(traces, Trace) else dict(traces)
    matrices = {name: trace.byte_matrix() for name, trace in named.items()}
    most = max(int(matrix.max(initial=0)) for matrix in matrices.values())
    factor, unit = next((f, u) for f, u in _UNITS if most >= f or f == 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.6 + 3.4 * len(matrices), 3.9), layout="constrained")
        for index, (name, matrix) in enumerate(matrices.items()):
            axes = figure.add_subplot(1, len(matrices), index + 1)
            _cells(axes, matrix, most, factor)
            total = f"{matrix.sum() / factor:,.0f} {unit} in all"
            axes.set_title(f"{name}: {total}" if name else total)
            axes.set_xlabel(f"to rank ({unit} in each cell)")
            axes.set_ylabel("from rank" if index == 0 else "")
            _row_sums(axes, matrix, factor)
    return Themed(figure, " ".join(_spoken(name, m, factor, unit) for name, m in matrices.items()))


_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


def _cells(axes: Axes, matrix: np.ndarray, most: int, factor: float) -> None:
    """A square for each pair that sent something, darker for more, with the number where there is room."""
    ranks = len(matrix)
    for source, dest in np.argwhere(matrix):
        share = matrix[source, dest] / most
        square = Rectangle((dest - 0.46, source - 0.46), 0.92, 0.92, color=tone(share))
        axes.add_patch(square)
        if ranks <= 10:
            number = f"{matrix[source, dest] / factor:.3g}"
            axes.text(
                dest, source, number, ha="center", va="center", fontsize=min(9, 60 / ranks),
                color="#ffffff" if share > 0.45 else "#101418",
            )  # fmt: skip
    axes.set(xlim=(-0.5, ranks - 0.5), ylim=(ranks - 0.5, -0.5), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=min(ranks, 9), integer=True))
    for spine in axes.spines.values():
        spine.set_visible(True)


def _row_sums(axes: Axes, matrix: np.ndarray, factor: float) -> None:
    """What each rank sends in all, at the right of its row."""
    if len(matrix) > 10:
        return
    for rank, sent in enumerate(matrix.sum(1)):
        axes.text(len(matrix) - 0.35, rank, f"{sent / factor:,.4g}", va="center", fontsize=9, color=INK)
    axes.text(len(matrix) - 0.35, -0.75, "sends", va="bottom", fontsize=9, color=MUTED)


def _spoken(name: str, matrix: np.ndarray, factor: float, unit: str) -> str:
    sent = matrix.sum(1)
    busiest = int(sent.argmax())
    return (
        f"Byte matrix {name}: {matrix.sum() / factor:.4g} {unit} in {np.count_nonzero(matrix)} pairs of ranks; "
        f"rank {busiest} sends most, {sent[busiest] / factor:.4g} {unit}, "
        f"and the least is {sent.min() / factor:.4g} {unit}."
    )


def _ticks(axes: Axes, x: Sequence[float], x_unit: str, y_unit: str, logarithmic: bool) -> None:
    for axis, unit in ((axes.xaxis, x_unit), (axes.yaxis, y_unit)):
        if unit == "B":
            axis.set_major_formatter(FuncFormatter(lambda value, _: _bytes(value)))
        elif unit:
            axis.set_major_formatter(EngFormatter(unit=unit))
    if logarithmic:
        axes.xaxis.set_major_locator(LogLocator(base=2, subs=(1.0,), numticks=9))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())


def _bytes(value: float) -> str:
    """4096 reads 4 KiB."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power:
            return f"{value / (1 << power):.3g} {unit}"
    return f"{value:.3g} B"
