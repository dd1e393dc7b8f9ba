"""`film`: a trace, and what is known about it, as the plain JSON that the player shows.

Everything is worked out here, once; the player and its static twin only look things up. Every number in
a film comes from the trace, its provenance, or a `Cost`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpoint.models import Cost
from counterpoint.trace import Provenance, Trace
from counterpoint.viz.player.holdings import Holdings, holdings
from counterpoint.viz.player.idle import idle, waiting
from counterpoint.viz.player.matching import MOVES
from counterpoint.viz.player.moments import AXES, boundaries, change_instants, moments, rests
from counterpoint.viz.player.shapes import binomial, is_ring, parents
from counterpoint.viz.player.sources import excerpts
from counterpoint.viz.player.verdicts import verdict_of

VERSION = 1


def film(
    trace: Trace,
    provenance: Provenance | None = None,
    cost: Cost | None = None,
    title: str = "",
    waits: Iterable[Any] = (),
    cycle: Sequence[int] = (),
    verdict: Mapping[str, Any] | None = None,
) -> dict:
    """What the player shows of one run, as a dict that `json.dumps` writes.

    trace: any run, finished or not, with or without messages. provenance: whose contributions the chunks
    hold, from this run or from a small run of the same function (None, or a run that went otherwise: the
    film says so and shows the rest). cost: what the run should cost, shown beside what it did. waits, cycle:
    of a run that was stopped, who waited, in which call (`ranks.Waiting`, or dicts with the same keys), and
    the ranks that waited for each other, in order. verdict: `{"ok", "kind", "why", "message"}` of a judged
    run; `message` is the trace's number of the first wrong message, or absent. Without a verdict, a
    deadlock and a contribution counted twice are found here.

    The keys, and what they mean, are in `player/README.md`.
    """
    stuck = waiting(waits)
    held = holdings(trace, provenance)
    trace = _rounded(trace)
    when = moments(trace, bool(stuck))
    lines, files = excerpts(trace)
    messages = _messages(trace, when, held, stuck)
    tree = parents(trace)
    first = {row: index for index, row in enumerate(messages.pop("row"))}
    judged = verdict_of(trace, held, when, stuck, list(cycle), verdict, first)
    return {
        "version": VERSION,
        "title": title,
        "ranks": trace.ranks,
        "clock": trace.clock,
        "seconds": when.ends["time"] if len(trace) else 0.0,
        "cells": held.cells,
        "known": not held.note or bool(held.vectors.texts),
        "note": held.note,
        "vectors": held.vectors.texts,
        "vector_kinds": held.vectors.kinds(),
        "sums": any("-" in text or "," in text or "x" in text for text in held.vectors.texts),
        "initial": held.initial,
        "steps": when.steps,
        "phases": list(trace.words["phase"]),
        "step_phases": _step_phases(trace, when.steps),
        "comms": len(np.unique(trace.comm[np.isin(trace.kind, MOVES)])),
        "messages": messages,
        "changes": _changes(trace, when, held, first),
        "idle": idle(trace, when, stuck),
        "axes": {
            axis: {
                "end": when.ends[axis],
                "steps": boundaries(trace, when, axis),
                "rests": rests(when, axis),
            }
            for axis in AXES
        },
        "predicted": None if cost is None else _predicted(cost),
        "totals": _predicted(trace.totals()),
        "tree": tree or binomial(trace.ranks),
        "tree_found": tree is not None,
        "view": "ring" if tree is None or is_ring(trace) else "tree",
        "lines": lines,
        "files": files,
        "waits": stuck,
        "cycle": [int(rank) for rank in cycle],
        "verdict": judged,
    }


def _rounded(trace: Trace) -> Trace:
    """The trace with times of nine digits: a film of many ranks is half as long."""
    columns = dict(trace.columns)
    for name in ("start", "end"):
        columns[name] = np.array([float(f"{x:.9g}") for x in columns[name]], np.float64)
    return Trace(columns, trace.words, ranks=trace.ranks, clock=trace.clock, sources=trace.sources)


def _predicted(counts: Any) -> dict[str, int]:
    return {
        name: int(getattr(counts, name)) for name in ("steps", "messages", "bytes_total", "bytes_busiest")
    }


def _messages(trace: Trace, when: Any, held: Holdings, stuck: list[dict]) -> dict[str, list]:
    """One entry in every column for each sending, in the order in which they leave (step axis)."""
    rows = sorted(when.flights["step"], key=lambda row: (int(trace.step[row]), row))
    blocked = {wait["rank"] for wait in stuck}
    kinds = trace.text("kind")
    columns: dict[str, list] = {"row": rows}
    for name, column in (
        ("id", "message"), ("source", "rank"), ("dest", "peer"), ("comm", "comm"), ("tag", "tag"),
        ("nbytes", "nbytes"), ("step", "step"), ("phase", "phase"), ("line", "line"),
    ):  # fmt: skip
        columns[name] = trace.columns[column][rows].tolist() if rows else []
    receipts = [when.receipts.get(row) for row in rows]
    columns["taken"] = [None if r is None else int(trace.step[r]) for r in receipts]
    columns["action"] = ["" if r is None else kinds[r] for r in receipts]
    columns["state"] = [
        "done" if receipt is not None else "blocked" if int(trace.rank[row]) in blocked else "left"
        for row, receipt in zip(rows, receipts, strict=True)
    ]
    for axis in AXES:
        columns[f"on_{axis}"] = [list(when.flights[axis][row]) for row in rows]
    columns["sending"] = [[float(trace.start[r]), float(trace.end[r])] for r in rows]
    columns["taking"] = [
        None if r is None else [float(trace.start[r]), float(trace.end[r])] for r in receipts
    ]
    sent = [held.sent.get(row, ([], [])) for row in rows]
    into = [held.into.get(-2 if r is None else r, ([], [], [])) for r in receipts]
    columns["cells"] = [cells for cells, _ in sent]
    columns["carries"] = [vectors for _, vectors in sent]
    columns["into"] = [cells for cells, _, _ in into]
    columns["had"] = [had for _, had, _ in into]
    columns["now"] = [now for _, _, now in into]
    columns["effect"] = [
        _effect(held.vectors.texts, action, carries, had, now)
        for action, (_, carries), (_, had, now) in zip(columns["action"], sent, into, strict=True)
    ]
    return columns


def _effect(texts: list[str], action: str, carries: list, had: list, now: list) -> str:
    """What a message does where it arrives: adds, replaces, stores, or nothing known there ("")."""
    if action == "reduce":
        return "adds"
    if not action or not now:
        return ""
    if min(had[0], now[0]) < 0 or not texts[had[0]]:
        return "stores"
    return "replaces" if carries and now[0] == carries[0] else "adds"


def _changes(trace: Trace, when: Any, held: Holdings, first: dict[int, int]) -> list[list]:
    """`[step instant, time instant, rank, cell, vector, message]`, each rank's in its own order."""
    sender_of = {receipt: row for row, receipt in when.receipts.items()}
    return [
        [*at, c.rank, c.cell, c.holds, first.get(sender_of.get(c.by, -1), -1)]
        for c, at in zip(held.changes, change_instants(trace, when, held), strict=True)
    ]


def _step_phases(trace: Trace, steps: int) -> list[int]:
    """The phase (its number in the trace's words) that most messages of each step belong to."""
    moving = np.isin(trace.kind, MOVES) & (trace.step > 0)
    found = []
    for step in range(1, steps + 1):
        codes = trace.phase[moving & (trace.step == step)]
        found.append(int(np.bincount(codes).argmax()) if len(codes) else -1)
    return found
