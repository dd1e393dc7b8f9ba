"""The lab without a browser: a figure, and a table."""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

from counterpoint.viz.lab.words import seconds
from counterpoint.viz.themed import INK, MUTED, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawn(scene: Mapping[str, Any], run: Mapping[str, Any], title: str) -> "Figure":
    """The picture with each tile in its worker's colour, and the workers' time from left to right."""
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4), layout="constrained")
        image, lanes = figure.subplots(1, 2, width_ratios=[2, 3])
        _picture(image, scene, run)
        timeline(lanes, run)
        figure.suptitle(f"{title}\n{run['sentence']}", fontsize=11)
    return figure


def _picture(axes: "Axes", scene: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    from matplotlib.colors import to_rgb

    size, grid = scene["size"], scene["grid"]
    shade = np.frombuffer(base64.b64decode(scene["shade"]), np.uint8).reshape(size, size) / 255
    side = size // grid
    color = np.zeros((size, size, 3))
    for task, worker, _, _ in run["tasks"]:
        row, column = divmod(task, grid)
        color[row * side : (row + 1) * side, column * side : (column + 1) * side] = to_rgb(
            run["colors"][worker]
        )
    light = np.where(shade > 0, 1 - 0.5 * shade, 0.05)[..., None]  # the set itself is nearly black
    axes.imshow(0.55 * color + 0.45 * light, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title("tiles, by who computed them")


def timeline(axes: "Axes", run: Mapping[str, Any]) -> None:
    """Each worker's tasks (its colour) and takes (dark), the lower bound and the makespan."""
    m, unit = run["measures"], 1e3 if run["measures"]["makespan"] < 1 else 1.0
    for worker in range(run["workers"]):
        mine = [task for task in run["tasks"] if task[1] == worker]
        bars = [(start * unit, (end - start) * unit) for _, _, start, end in mine]
        axes.broken_barh(
            bars, (worker - 0.4, 0.8), facecolor=run["colors"][worker], edgecolor="white", linewidth=0.3
        )
        taking = [(row[2] * unit, (row[3] - row[2]) * unit) for row in run["takes"] if row[0] == worker]
        axes.broken_barh(taking, (worker - 0.4, 0.8), facecolor=MUTED)
    axes.axvline(m["lower_bound"] * unit, color=INK, linestyle="--", linewidth=1)
    axes.axvline(m["makespan"] * unit, color=INK, linewidth=1.5)
    axes.set_title(f"makespan {seconds(m['makespan'])}, lower bound (dashed) {seconds(m['lower_bound'])}")
    axes.set(xlabel="milliseconds" if unit == 1e3 else "seconds", ylabel="worker", xlim=(0, None))
    axes.set_ylim(run["workers"] - 0.4, -0.6)
    if run["workers"] <= 16:
        axes.set_yticks(range(run["workers"]))


def worker_table(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each worker: what the timeline shows, in numbers."""
    m = run["measures"]
    return [
        {
            "worker": worker,
            "takes": sum(row[0] == worker for row in run["takes"]),
            "tasks": sum(row[1] == worker for row in run["tasks"]),
            "busy": m["busy"][worker],
            "finish": m["finish"][worker],
        }
        for worker in range(run["workers"])
    ]
