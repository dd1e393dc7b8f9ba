"""A trace as Chrome/Perfetto JSON: open it at ui.perfetto.dev.

Format: "Trace Event Format" (Google, 2016): complete events (ph X) in microseconds, one track for
each rank, and flow events (ph s, f) that draw an arrow from each sending to its receipt.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from counterpoint.trace.trace import Trace

BLOCK = 10_000
"""Events that are looked at together: few enough to need no memory, enough to spare NumPy's time a call."""

COLUMNS = (
    "message", "rank", "peer", "kind", "op", "tag", "nbytes", "step", "start", "end", "phase", "buffer", "offset",
    "length", "line",
)  # fmt: skip


def to_chrome(trace: Trace, name: str = "counterpoint") -> dict:
    """The trace as a dict that `json.dump` writes; times in microseconds.

    Every event is a slice on its rank's track; a message is an arrow between two slices. Cost: one
    slice an event and two flow events a message; `write_chrome` does not hold them all at once.
    """
    return {"traceEvents": list(_events(trace, name)), **_rest(trace)}


def write_chrome(trace: Trace, path: str | Path, name: str = "counterpoint") -> None:
    """Write `to_chrome(trace, name)` to a file, compressed if its name ends in .gz, which Perfetto opens too.

    Cost: some 10 us and 400 bytes an event (compressed: 25), in little memory however long the trace is.
    """
    path = Path(path)
    with _opened(path) as file:
        file.write('{"traceEvents": [\n')
        encode, between = json.JSONEncoder(check_circular=False).encode, ""
        for event in _events(trace, name):
            file.write(between + encode(event))
            between = ",\n"
        file.write("\n], " + encode(_rest(trace))[1:])


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast(IO[str], gzip.open(path, "wt", 1, "ascii"))  # 1: quick; events repeat themselves anyway
    return path.open("w", encoding="ascii")


def _rest(trace: Trace) -> dict:
    return {"displayTimeUnit": "ns", "otherData": {"clock": trace.clock}}


def _events(trace: Trace, name: str) -> Iterator[dict]:
    yield {"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": name}}
    for rank in range(trace.ranks):
        track: dict[str, Any] = {"ph": "M", "pid": 0, "tid": rank}
        yield track | {"name": "thread_name", "args": {"name": f"{trace.actor} {rank}"}}
        yield track | {"name": "thread_sort_index", "args": {"sort_index": rank}}
    words = trace.words
    for first in range(0, len(trace), BLOCK):
        rows = [trace.columns[column][first : first + BLOCK].tolist() for column in COLUMNS]
        for (
            message,
            rank,
            peer,
            kind,
            op,
            tag,
            n,
            step,
            start,
            end,
            phase,
            buffer,
            offset,
            length,
            line,
        ) in zip(*rows, strict=True):
            kind = words["kind"][kind]
            args = {
                "peer": peer, "tag": tag, "nbytes": n, "step": step,
                "phase": words["phase"][phase], "line": words["line"][line],
            }  # fmt: skip
            if length >= 0:
                args |= {"buffer": buffer, "offset": offset, "length": length}
            place = {"pid": 0, "tid": rank, "ts": start * 1e6}
            yield place | {
                "ph": "X", "dur": (end - start) * 1e6, "cat": kind,
                "name": _title(kind, peer, words["op"][op]), "args": args,
            }  # fmt: skip
            if message >= 0 and kind in ("send", "recv", "reduce"):
                flow = {"cat": "message", "name": "message", "id": message}
                if kind == "send":
                    yield place | flow | {"ph": "s"}
                else:
                    yield place | flow | {"ph": "f", "bp": "e", "ts": end * 1e6}


def _title(kind: str, peer: int, op: str) -> str:
    if kind in ("send", "put") and peer >= 0:
        return f"{kind} to {peer}"
    if kind == "take":
        return "take" if peer < 0 else f"take from {peer}"
    if kind in ("recv", "reduce", "get"):
        return f"{kind} from {peer}"
    return f"{kind} {op}".strip()
