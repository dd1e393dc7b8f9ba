"""The byte matrix: who sent how many bytes to whom."""

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from counterpoint.trace import Trace
from counterpoint.viz.themed import INK, MUTED, STYLE, Themed

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


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


def _cells(axes: Axes, matrix: np.ndarray, most: int, factor: float) -> None:
    """A square for each pair that sent something, darker for more, with the number where there is room."""
    ranks = len(matrix)
    for source, dest in np.argwhere(matrix):
        share = matrix[source, dest] / most
        square = Rectangle((dest - 0.46, source - 0.46), 0.92, 0.92, color=_shade(share))
        axes.add_patch(square)
        if ranks <= 10:
            number = f"{matrix[source, dest] / factor:.3g}"
            axes.text(
                dest, source, number, ha="center", va="center", fontsize=min(9, 60 / ranks),
                color="#ffffff" if share > 0.6 else "#101418",
            )  # fmt: skip
    axes.set(xlim=(-0.5, ranks - 0.5), ylim=(ranks - 0.5, -0.5), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=min(ranks, 9), integer=True))
    for spine in axes.spines.values():
        spine.set_visible(True)


def _shade(share: float) -> tuple[float, ...]:
    """A blue that darkens as `share` goes from 0 to 1, and is seen on white and on black."""
    few, most = np.array([0xB4, 0xD3, 0xEE]), np.array([0x26, 0x66, 0xAA])
    return tuple((few + (most - few) * share) / 255)


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
