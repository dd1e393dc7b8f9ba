"""A trace as Chrome/Perfetto JSON: open it at ui.perfetto.dev.

Format: "Trace Event Format" (Google, 2016): complete events (ph X) in microseconds, one track for
each rank, and flow events (ph s, f) that draw an arrow from each sending to its receipt.
"""

from counterpoint.trace.event import Event
from counterpoint.trace.trace import Trace


def to_chrome(trace: Trace, name: str = "counterpoint") -> dict:
    """The trace as a dict that `json.dump` writes; times in microseconds.

    Every event is a slice on its rank's track; a message is an arrow between two slices. Cost: one
    slice an event and two flow events a message.
    """
    events: list[dict] = [{"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": name}}]
    for rank in range(trace.ranks):
        label = {"name": f"rank {rank}"}
        events.append({"ph": "M", "pid": 0, "tid": rank, "name": "thread_name", "args": label})
        order = {"sort_index": rank}
        events.append({"ph": "M", "pid": 0, "tid": rank, "name": "thread_sort_index", "args": order})
    for event in trace:
        args = {
            "peer": event.peer, "tag": event.tag, "nbytes": event.nbytes, "step": event.step,
            "phase": event.phase, "line": event.line,
        }  # fmt: skip
        if event.length >= 0:
            args |= {"buffer": event.buffer, "offset": event.offset, "length": event.length}
        place = {"pid": 0, "tid": event.rank, "ts": event.start * 1e6}
        events.append(
            place
            | {"ph": "X", "dur": (event.end - event.start) * 1e6, "cat": event.kind}
            | {"name": _title(event), "args": args}
        )
        if event.message >= 0 and event.kind in ("send", "recv", "reduce"):
            flow = {"cat": "message", "name": "message", "id": event.message}
            if event.kind == "send":
                events.append(place | flow | {"ph": "s"})
            else:
                events.append(place | flow | {"ph": "f", "bp": "e", "ts": event.end * 1e6})
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"clock": trace.clock}}


def _title(event: Event) -> str:
    if event.kind in ("send", "put"):
        return f"{event.kind} to {event.peer}"
    if event.kind in ("recv", "reduce", "get"):
        return f"{event.kind} from {event.peer}"
    return f"{event.kind} {event.op}".strip()
