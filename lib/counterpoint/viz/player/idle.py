"""Who could not go on, from when to when: on the step axis, on the time axis, and for good."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterpoint.trace import KINDS, Trace
from counterpoint.viz.player.matching import MOVES, moves
from counterpoint.viz.player.moments import Moments
from counterpoint.viz.player.sources import label

_WAIT, _COMPUTE = KINDS.index("wait"), KINDS.index("compute")


def waiting(waits: Iterable[Any]) -> list[dict]:
    """The ranks that waited when the run was stopped, as the film keeps them.

    Each of `waits` has rank, call, peers, tag, nbytes, file, line and code, as attributes or as keys.
    """
    rows = [_row(dict(w) if isinstance(w, Mapping) else vars(w)) for w in waits]
    return sorted(rows, key=lambda row: row["rank"])


def _row(wait: dict[str, Any]) -> dict:
    file = wait.get("file", "")
    return {
        "rank": int(wait["rank"]),
        "call": str(wait.get("call", "")),
        "peers": [int(peer) for peer in wait.get("peers", ())],
        "tag": int(wait.get("tag", 0)),
        "nbytes": int(wait.get("nbytes", 0)),
        "line": label(f"{file}:{wait.get('line', 0)}") if file else "",
        "code": str(wait.get("code", "")).strip(),
    }


def idle(trace: Trace, when: Moments, stuck: list[dict]) -> dict[str, list[list]]:
    """Spans `[rank, from, to, peer, word, blocked]` on each axis, and the work between them.

    On the time axis they are the trace's own wait and compute events. On the step axis a rank waits in
    every step in which its ports are idle before it receives; ranks in `stuck` wait to the end.
    """
    return {"step": _on_steps(trace, when, stuck), "time": _on_clock(trace, when, stuck)}


def _on_steps(trace: Trace, when: Moments, stuck: list[dict]) -> list[list]:
    spans: list[list] = []
    blocked = {row["rank"]: row for row in stuck}
    for rank in range(trace.ranks):
        busy = 0.0
        for row in moves(trace, rank).tolist():
            step = int(trace.step[row])
            if trace.kind[row] == MOVES[0]:
                busy = max(busy, step - 1 + (0.42 if rank in blocked else 0.5))
            else:
                if step - 1 - busy >= 0.75:
                    spans.append([rank, busy, step - 0.5, int(trace.peer[row]), "waits", 0])
                busy = max(busy, float(step))
        if rank in blocked:
            wait, end = blocked[rank], when.ends["step"]
            spans.append([rank, min(busy, end - 0.58), end, _peer(wait), wait["call"], 1])
    return spans


def _on_clock(trace: Trace, when: Moments, stuck: list[dict]) -> list[list]:
    spans: list[list] = []
    blocked = {row["rank"]: row for row in stuck}
    ops = trace.text("op")
    for row in np.flatnonzero(np.isin(trace.kind, (_WAIT, _COMPUTE))).tolist():
        rank, compute = int(trace.rank[row]), trace.kind[row] == _COMPUTE
        word = "computes" if compute else ops[row] or "waits"
        span = [float(trace.start[row]), float(trace.end[row]), int(trace.peer[row]), word]
        spans.append([rank, *span, 0])
    for rank, wait in blocked.items():
        mine = [span for span in spans if span[0] == rank and span[4] != "computes"]
        if mine and mine[-1][4] == wait["call"]:
            mine[-1][5] = 1
        else:
            rows = moves(trace, rank)
            since = float(trace.end[rows].max(initial=0.0))
            spans.append([rank, since, when.ends["time"], _peer(wait), wait["call"], 1])
    return spans


def _peer(wait: dict) -> int:
    return wait["peers"][0] if len(wait["peers"]) == 1 else -1
