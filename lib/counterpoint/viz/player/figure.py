"""The player's static twin: the same film as one matplotlib figure."""

import textwrap
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from counterpoint.viz.colors import LIGHT, rank_color, tone
from counterpoint.viz.player.table import state_at
from counterpoint.viz.player.vectors import decode


def figure(film: dict, t: float | None = None, axis: str = "step") -> Figure:
    """Buffers at `t` (None: the end), bytes by pair, and the timeline, of one film.

    A matplotlib Figure that belongs to no backend: show it, or `savefig` it.
    """
    end = film["axes"][axis]["end"]
    t = end if t is None else min(max(t, 0.0), end)
    ranks = film["ranks"]
    picture = Figure(figsize=(9.0, 4.0 + 0.16 * min(ranks, 24)), layout="constrained")
    grid = picture.add_gridspec(2, 2, width_ratios=(3.4, 1), height_ratios=(1.6, 1.5))
    _buffers(picture.add_subplot(grid[0, 0]), film, state_at(film, t, axis), t >= end)
    _matrix(picture.add_subplot(grid[0, 1]), film, axis, t)
    _timeline(picture.add_subplot(grid[1, :]), film, axis, t)
    bad = film["verdict"] is not None and not film["verdict"]["ok"]
    words = textwrap.fill(f"{film['title'] or f'{ranks} ranks'}:  {_words(film)}", 118)
    color = LIGHT["error"] if bad else LIGHT["ink"]
    picture.suptitle(words, x=0.01, ha="left", fontsize=10, color=color)
    return picture


def _words(film: dict) -> str:
    verdict = film["verdict"]
    if verdict is not None and not verdict["ok"]:
        name = {"deadlock": "Deadlock", "wrong": "Wrong result", "twice": "Counted twice"}
        return f"{name.get(verdict['kind'], verdict['kind'])}: {verdict['why']}"
    totals = film["totals"]
    return f"{totals['messages']:,} messages, {totals['steps']} steps, {totals['bytes_total']:,} bytes"


def _buffers(ax: Any, film: dict, state: list[list[int]], final: bool) -> None:
    """A column for each rank, a band for each chunk; in it one slot for each contributor."""
    ranks, cells = film["ranks"], len(film["cells"])
    texts, kinds = film["vectors"], film["vector_kinds"]
    boxes: list[list[tuple[float, float]]] = []
    colors: list[str] = []
    frames: dict[str, list] = {"complete": [], "twice": []}
    gap = 0.06 if ranks <= 16 else 0.0
    for rank, held in enumerate(state):
        for cell, v in enumerate(held):
            left, top = rank + gap, cell + gap
            boxes.append(_box(left, top, 1 - 2 * gap, 1 - 2 * gap))
            kind = kinds[v] if v >= 0 else "unknown"
            if kind in frames:
                frames[kind].append(_box(left, top, 0.88, 0.88))
            if ranks > 16:
                share = len(decode(texts[v])) / ranks if v >= 0 else 0.0
                colors.append(LIGHT["error"] if kind == "twice" else tone(share))
                continue
            colors.append(LIGHT["empty"])
            for contributor, times in decode(texts[v]).items() if v >= 0 else ():
                slot = 0.88 / ranks
                boxes.append(_box(left + contributor * slot, top, slot, 0.88))
                colors.append(rank_color(contributor, ranks) if times == 1 else LIGHT["error"])
    ax.add_collection(PolyCollection(boxes, facecolors=colors, linewidths=0))
    if ranks <= 16:
        for kind, color in (("complete", LIGHT["ink"]), ("twice", LIGHT["error"])):
            frame = PolyCollection(frames[kind], facecolors="none", edgecolors=color, linewidths=0.8)
            ax.add_collection(frame)
    when = "at the end" if final else "at this moment"
    who = (
        "the slots of a chunk, from the left: ranks 0, 1, …" if ranks <= 16 else "the darker, the more ranks"
    )
    ax.set_title(
        f"what each rank holds {when} ({who})" if film["known"] else film["note"],
        fontsize=8.5, loc="left", color=LIGHT["muted"],
    )  # fmt: skip
    _axes(ax, ranks, max(cells, 1), "rank", "chunk")


def _box(x: float, y: float, w: float, h: float) -> list[tuple[float, float]]:
    return [(x, y), (x + w, y), (x + w, y + h), (x, y + h)]


def _axes(ax: Any, across: int, down: int, xlabel: str, ylabel: str) -> None:
    for limit, ticks, names, n in (
        ((0, across), ax.set_xticks, ax.set_xticklabels, across),
        ((down, 0), ax.set_yticks, ax.set_yticklabels, down),
    ):
        shown = range(0, n, max(1, -(-n // 9)) if n > 16 else 1)
        ticks([i + 0.5 for i in shown])
        names([str(i) for i in shown], fontsize=7.5)
        (ax.set_xlim if limit[0] == 0 else ax.set_ylim)(*limit)
    ax.set_xlabel(xlabel, fontsize=8.5)
    ax.set_ylabel(ylabel, fontsize=8.5)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _matrix(ax: Any, film: dict, axis: str, t: float) -> None:
    ranks, m = film["ranks"], film["messages"]
    counts = np.zeros((ranks, ranks))
    for i, (_, lands) in enumerate(m[f"on_{axis}"]):
        if lands is not None and lands <= t:
            counts[m["source"][i], m["dest"][i]] += m["nbytes"][i]
    rows, columns = np.nonzero(counts)
    boxes = [_box(c + 0.03, r + 0.03, 0.94, 0.94) for r, c in zip(rows, columns, strict=True)]
    most = counts.max(initial=0) or 1
    colors = [tone(0.25 + 0.75 * counts[r, c] / most) for r, c in zip(rows, columns, strict=True)]
    ax.add_collection(PolyCollection(boxes, facecolors=colors, linewidths=0))
    ax.set_title("bytes received", fontsize=8.5, loc="left", color=LIGHT["muted"])
    _axes(ax, ranks, ranks, "to", "from")
    ax.set_facecolor(LIGHT["soft"])
    ax.set_aspect("equal")


def _timeline(ax: Any, film: dict, axis: str, t: float) -> None:
    """Ranks down, time across: sends dark, receives light, waits hatched."""
    m, boxes, colors, arrows = film["messages"], [], [], []
    end, ranks = film["axes"][axis]["end"], film["ranks"]
    for i, source in enumerate(m["source"]):
        dest, taken = m["dest"][i], m["taken"][i]
        if axis == "step":
            at = min(m["step"][i], end)
            sent, got = (at - 0.97, 0.38), None if taken is None else (taken - 0.41, 0.38)
        else:
            a, b = m["sending"][i]
            sent, got = (a, max(b - a, end / 400)), None
            if taken is not None:
                a, b = m["taking"][i]
                got = (a, max(b - a, end / 400))
        boxes.append(_box(sent[0], source + 0.12, sent[1], 0.76 if axis == "step" else 0.36))
        colors.append(LIGHT["send"])
        if got:
            low = dest + (0.12 if axis == "step" else 0.52)
            boxes.append(_box(got[0], low, got[1], 0.76 if axis == "step" else 0.36))
            colors.append(LIGHT["rule"] if m["effect"][i] == "adds" else "#e9edf1")
            arrows.append([(sent[0] + sent[1], source + 0.5), (got[0], dest + 0.5)])
    blocked: dict[int, list] = {0: [], 1: []}
    for rank, a, b, _, word, bad in film["idle"][axis]:
        if word != "computes":
            blocked[bad].append(_box(a, rank + 0.14, max(b - a, 0), 0.72))
    for bad, spans in blocked.items():
        color = LIGHT["error"] if bad else LIGHT["rule"]
        waits = PolyCollection(spans, facecolors="none", edgecolors=color, hatch="////", linewidths=0)
        ax.add_collection(waits)
    if ranks <= 16:
        ax.add_collection(LineCollection(arrows, colors=LIGHT["muted"], linewidths=0.4, alpha=0.6))
    edge = 0.3 if ranks <= 16 else 0.0
    bars = PolyCollection(boxes, facecolors=colors, edgecolors=LIGHT["muted"], linewidths=edge)
    ax.add_collection(bars)
    ax.axvline(t, color=LIGHT["ink"], linewidth=1)
    label = "step" if axis == "step" else f"{film['clock']} seconds"
    _axes(ax, 1, ranks, f"{label}    (dark: send, light: receive, hatched: waits)", "rank")
    ax.set_xlim(0, end)
    steps = film["axes"][axis]["steps"]
    if axis == "step" and len(steps) > 1:
        shown = range(1, len(steps), max(1, (len(steps) - 1) // 20))
        ax.set_xticks([k - 0.5 for k in shown])
        ax.set_xticklabels([str(k) for k in shown], fontsize=7.5)
    elif axis == "time":
        ax.set_xticks([0, end])
        ax.set_xticklabels(["0", f"{end:.3g}"], fontsize=7.5)
    else:
        ax.set_xticks([])
