"""What went wrong in a run, if anything, in the film's terms."""

from collections.abc import Mapping
from typing import Any

from counterpoint.trace import Trace
from counterpoint.viz.player.holdings import Holdings
from counterpoint.viz.player.moments import Moments
from counterpoint.viz.player.vectors import decode


def verdict_of(
    trace: Trace,
    held: Holdings,
    when: Moments,
    stuck: list[dict],
    cycle: list[int],
    given: Mapping[str, Any] | None,
    index: dict[int, int],
) -> dict | None:
    """The judgement to show: the one given, a deadlock, a double count, or None.

    `{"ok", "kind", "why", "message"}`; `message` is a position in the film's messages, or -1.
    """
    if given is not None:
        at = _position(trace, given.get("message"), index)
        kind, why = str(given.get("kind", "wrong")), str(given.get("why", ""))
        return {"ok": bool(given.get("ok", False)), "kind": kind, "why": why, "message": at}
    if stuck:
        return {"ok": False, "kind": "deadlock", "why": _stuck(stuck, cycle), "message": -1}
    return _counted_twice(trace, held, when, index)


def _position(trace: Trace, message: Any, index: dict[int, int]) -> int:
    if message is None:
        return -1
    rows = (row for row in index if int(trace.message[row]) == int(message))
    return next((index[row] for row in rows), -1)


def _stuck(stuck: list[dict], cycle: list[int]) -> str:
    if cycle:
        return "each waits for the next: " + " → ".join(str(rank) for rank in [*cycle, cycle[0]])
    waiting = {wait["rank"] for wait in stuck}
    gone = sorted({peer for wait in stuck for peer in wait["peers"]} - waiting)
    if gone:
        names = " and ".join(f"rank {rank}" for rank in gone[:3])
        return (
            f"{_names(sorted(waiting))} wait{'s' * (len(waiting) == 1)} for {names}, which can answer no more"
        )
    return "; ".join(f"rank {w['rank']} waits in {w['call']}" for w in stuck[:4])


def _names(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return "ranks " + (
        ", ".join(map(str, ranks)) if len(ranks) <= 6 else f"{ranks[0]}, {ranks[1]}, … {ranks[-1]}"
    )


def _counted_twice(trace: Trace, held: Holdings, when: Moments, index: dict[int, int]) -> dict | None:
    """The first receive that leaves a contribution in a cell more than once, when the end has one too."""
    kinds = held.vectors.kinds()
    state = {(rank, cell): v for rank, cells in enumerate(held.initial) for cell, v in enumerate(cells)}
    state |= {(change.rank, change.cell): change.holds for change in held.changes}
    if not any(v >= 0 and kinds[v] == "twice" for v in state.values()):
        return None
    sender_of = {receipt: row for row, receipt in when.receipts.items()}
    doubled = [c for c in held.changes if kinds[c.holds] == "twice" and c.by in sender_of]
    if not doubled:
        return None
    first = min(doubled, key=lambda c: (int(trace.step[c.by]), c.rank))
    counts = decode(held.vectors.texts[first.holds])
    again = [(rank, n) for rank, n in counts.items() if n != 1]
    who = ", ".join(f"rank {rank} {_times(n)}" for rank, n in again[:3])
    more = f" (and {len(again) - 3} more)" if len(again) > 3 else ""
    return {
        "ok": False,
        "kind": "twice",
        "why": f"rank {first.rank}'s chunk {first.cell} then holds {who}{more}",
        "message": index[sender_of[first.by]],
    }


def _times(n: int) -> str:
    return "twice" if n == 2 else f"{n} times"
