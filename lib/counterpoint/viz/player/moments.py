"""When everything happens, on two axes: port steps, and seconds.

On the step axis a message with step k leaves at k - 1 + 0.14 and arrives at k - 1 + 0.86 of the step in
which its receiver takes it; on the time axis it is there from the start of its sending to the end of its
receipt. Every other instant follows from these.
"""

from dataclasses import dataclass

import numpy as np

from counterpoint.trace import Trace
from counterpoint.viz.player.holdings import Holdings
from counterpoint.viz.player.matching import MOVES, moves

LEAVE, LAND = 0.14, 0.86
AXES = ("step", "time")


@dataclass
class Moments:
    """For each sending (row of the trace): (leaves, arrives) on both axes; arrives None: it never did."""

    flights: dict[str, dict[int, tuple[float, float | None]]]
    receipts: dict[int, int]
    """Row of the receive of each sending that has one."""
    steps: int
    """The last step in which something arrived (or, if nothing did, was sent)."""
    stuck: bool
    ends: dict[str, float]


def moments(trace: Trace, stuck: bool) -> Moments:
    """The instants of `trace`; `stuck`: ranks still waited when it was stopped."""
    received = np.flatnonzero(np.isin(trace.kind, MOVES[1:]))
    by_message = {int(trace.message[row]): int(row) for row in received}
    sends = np.flatnonzero(trace.kind == MOVES[0])
    receipts = {
        int(row): by_message[m] for row in sends if (m := int(trace.message[row])) >= 0 and m in by_message
    }
    taken = trace.step[list(receipts.values())] if receipts else trace.step[received]
    steps = int(max(taken.max(initial=0), 0 if stuck else trace.step.max(initial=0)))
    ends = {
        "step": float(max(steps + stuck, 1)),
        "time": float(trace.end.max(initial=0.0)) or 1.0,
    }
    flights: dict[str, dict[int, tuple[float, float | None]]] = {axis: {} for axis in AXES}
    for row in sends.tolist():
        receipt = receipts.get(row)
        leaves = min(float(trace.step[row]) - 1 + LEAVE, ends["step"] - 1 + LEAVE)
        lands = None if receipt is None else float(trace.step[receipt]) - 1 + LAND
        flights["step"][row] = (leaves, lands)
        start = float(trace.start[row])
        arrives = None if receipt is None else max(float(trace.end[receipt]), start)
        flights["time"][row] = (start, arrives)
    return Moments(flights, receipts, steps, stuck, ends)


def boundaries(trace: Trace, when: Moments, axis: str) -> list[float]:
    """Where each step is over, from step 0 (the start) on."""
    if axis == "step":
        return [float(k) for k in range(when.steps + 1)]
    over = np.zeros(when.steps + 1)
    for row, receipt in when.receipts.items():
        step, lands = int(trace.step[receipt]), when.flights["time"][row][1]
        over[step] = max(over[step], lands)
    return np.maximum.accumulate(over).tolist()


def rests(when: Moments, axis: str) -> list[float]:
    """Where stepping stops: between two arrivals, so that a picture at rest shows what is moving."""
    if axis == "step":
        return [k + 0.5 for k in range(int(when.ends["step"]))]
    end = when.ends["time"]
    lands = sorted({a for _, a in when.flights["time"].values() if a is not None})
    stops, before = [], 0.0
    for at in lands:
        if at - before > 1e-6 * end:
            stops.append(before + 0.6 * (at - before))
            before = at
    return stops


def change_instants(trace: Trace, when: Moments, held: Holdings) -> list[tuple[float, float]]:
    """When each of `held.changes` shows, (step axis, time axis); never out of a rank's own order."""
    sender_of = {receipt: row for row, receipt in when.receipts.items()}
    before = dict.fromkeys(range(trace.ranks), (0.0, 0.0))
    instants = []
    for change in held.changes:
        source = sender_of.get(change.by)
        if source is not None:
            at = tuple(when.flights[axis][source][1] or 0.0 for axis in AXES)
        elif change.row >= 0:
            at = (float(trace.step[change.row]) - 1 + 0.05, float(trace.start[change.row]))
        else:
            rows = moves(trace, change.rank)
            last = int(rows[-1]) if len(rows) else -1
            at = (float(trace.step[last]) - 0.03, float(trace.end[last])) if last >= 0 else (0.05, 0.0)
        known = before[change.rank]
        before[change.rank] = (max(at[0], known[0]), max(at[1], known[1]))
        instants.append(before[change.rank])
    return instants
