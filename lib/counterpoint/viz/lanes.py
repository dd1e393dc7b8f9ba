"""Loops that workers shared, as lanes of time; and an array as a picture."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from counterpoint.viz.colors import rank_color
from counterpoint.viz.lab.twin import timeline
from counterpoint.viz.themed import STYLE, Themed


def worker_lanes(runs: Mapping[str, Any], alt: str) -> Themed:
    """The workers' time in each of several runs, one below the other, on one time axis.

    runs: by name, `LoopRun`s or what their `to_json()` gives. A worker's tasks are in its colour, its takes dark; the
    dashed line is the lower bound, the other the makespan. alt: what is to be seen, in a sentence.
    """
    shown = {name: run if isinstance(run, Mapping) else run.to_json() for name, run in runs.items()}
    far = max(run["measures"]["makespan"] for run in shown.values())
    with matplotlib.rc_context(STYLE):
        heights = [max(2.0, min(run["workers"], 16) * 0.9) for run in shown.values()]
        figure = Figure(figsize=(9, 0.4 * sum(heights) + 0.75 * len(shown)), layout="constrained")
        rows = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (name, run) in zip(rows, shown.items(), strict=True):
            colors = [rank_color(worker, run["workers"]) for worker in range(run["workers"])]
            timeline(axes, {**run, "colors": colors})
            said = axes.get_title()
            axes.set_title("")
            axes.set_title(f"{name}: {said}", loc="left", fontsize=10)
            axes.set_xlim(0, 1.02 * far * (1e3 if run["measures"]["makespan"] < 1 else 1))
            if axes is not rows[-1]:
                axes.set_xlabel("")
    return Themed(figure, alt)


def image(values: np.ndarray, alt: str, *, inside: float | None = None, title: str = "") -> Themed:
    """An array (rows, columns) as a picture on a logarithmic scale; `inside` is the value that is drawn darkest."""
    shades = np.log(np.maximum(values, 1.0))
    if inside is not None:
        shades = np.where(values >= inside, 1.4 * shades.max(initial=1.0), shades)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.imshow(shades, cmap="Blues", interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(title)
    return Themed(figure, alt)
