"""Who waits for whom; and when no one of them can ever go on, saying so.

A rank waits for *all* it has asked for, so ranks that wait in a cycle are stuck, whatever the others
still compute; so is whoever waits for a rank that has returned. Looked for whenever a rank is about to
wait and whenever one returns: a cycle has to close at one of those two moments.
"""

import linecache
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from counterpoint.ranks.errors import DeadlockError, MismatchError, Waiting
from counterpoint.ranks.request import Request
from counterpoint.trace import Line, line_number, place_of

if TYPE_CHECKING:
    from counterpoint.ranks.port import Port


class Blocked:
    """What a rank waits for: requests, or the `members` who have not yet come to a meeting."""

    def __init__(
        self,
        port: "Port",
        call: str,
        requests: Sequence[Request] = (),
        met: Collection[int] = (),
        members: Sequence[int] = (),
        line: Line | None = None,
    ) -> None:
        self.port, self.call, self.requests = port, call, requests
        self.met, self.members, self.line = met, members, line
        self.meeting: tuple[int, int] | None = None
        """Where ranks are processes: the meeting, as every process numbers it."""
        self.since = port.seconds()

    def ready(self) -> bool:
        if self.requests:
            return all(r.done for r in self.requests)
        return self.call != "agree" and len(self.met) == len(self.members)

    def peers(self) -> list[int]:
        """World ranks that must act before this one can go on. A copy under way needs nobody."""
        if self.requests:
            return [r.peer for r in self.requests if not r.done and r.match is None]
        return [member for member in self.members if member not in self.met]

    def describe(self) -> Waiting:
        """For people: the open request (or the whole meeting), and where the call stands."""
        file, number, code = place(self.line)
        call, tag, nbytes = self.call, 0, 0
        if still := [r for r in self.requests if not r.done and r.match is None]:
            first = still[0]
            tag, nbytes = first.tag, first.nbytes
            if call == "wait":
                call = first.call
        return Waiting(self.port.rank, call, self.peers(), tag, nbytes, file, number, code)


def find_deadlock(port: "Port", ports: "Sequence[Port]") -> DeadlockError | None:
    """The error, if `port` waits for itself through others, or for a rank that has returned."""
    path: list[int] = [port.rank]
    tried: set[int] = set()
    assert port.blocked is not None
    open_edges = [iter(port.blocked.peers())]
    while open_edges:
        peer = next(open_edges[-1], None)
        if peer is None:
            open_edges.pop()
            path.pop()
        elif peer == port.rank:
            return _error(path, None, ports)
        elif ports[peer].returned:
            return _error([], peer, ports)
        elif peer not in tried:
            tried.add(peer)
            blocked = ports[peer].blocked
            if blocked is not None:
                path.append(peer)
                open_edges.append(iter(blocked.peers()))
    return None


def _error(cycle: list[int], gone: int | None, ports: "Sequence[Port]") -> DeadlockError:
    waits = [p.blocked.describe() for p in ports if p.blocked is not None]
    if gone is not None:
        head = f"rank {gone} has returned, but others still wait for it"
    else:
        head = f"ranks {', '.join(map(str, sorted(cycle)))} wait for each other"
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start]
        by_rank = {w.rank: w for w in waits}
        waits = [by_rank[r] for r in cycle] + [w for w in waits if w.rank not in cycle]
    lines = [head + ":", *(f"  {wait}" for wait in waits)]
    if cycle:
        lines.append("  cycle: " + " → ".join(map(str, [*cycle, cycle[0]])))
        lines.append(_remedy([w for w in waits if w.rank in cycle]))
    return DeadlockError("\n".join(lines), waits, cycle)


def _remedy(waits: list[Waiting]) -> str:
    calls = {wait.call for wait in waits}
    if calls == {"send"}:
        return "Every rank in the cycle is sending and none is receiving: use sendrecv, or let one receive first."
    if calls <= {"recv", "recv_reduce"}:
        return "Every rank in the cycle is receiving and none has sent: one of them must send first."
    return "No rank in the cycle can go on: change the order in which one of them sends and receives."


def mismatch(announced: dict[tuple, dict[int, tuple]], ports: "Sequence[Port]") -> MismatchError | None:
    """The error that names the odd one out, if ranks have announced different collectives."""
    for (_, number), said in announced.items():
        groups: dict[tuple, list[int]] = {}
        for rank, (signature, _) in sorted(said.items()):
            groups.setdefault(signature, []).append(rank)
        if len(groups) < 2:
            continue
        ordered = sorted(groups.items(), key=lambda item: len(item[1]))
        clear = len(ordered[0][1]) < len(ordered[-1][1])
        odd = [r for _, ranks in ordered[:-1] for r in ranks] if clear else sorted(said)
        names = ", ".join(f"rank {r}" for r in odd)
        head = f"{names} {'is' if len(odd) == 1 else 'are'} in another collective than the rest"
        if not clear:
            head = f"{names} are in different collectives"
        lines = [f"{head} (the communicator's number {number}):"]
        for rank, (signature, line) in sorted(said.items()):
            file, where, code = place(line)
            lines.append(f"  rank {rank}: {spell(signature)}, {place_of(file, where)}: {code}")
        lines.append("All ranks must call the same collectives, in the same order, with the same sizes.")
        return MismatchError("\n".join(lines))
    return None


def spell(signature: tuple) -> str:
    """('all_reduce', 10, 'float32') reads all_reduce(10, float32)."""
    name, *details = signature
    return f"{name}({', '.join(map(str, details))})"


def place(line: Line | tuple[str, int, str] | None) -> tuple[str, int, str]:
    """File, line number and the text of that line; what is that already (another process said it) as it is."""
    if line is None:
        return "", 0, ""
    if isinstance(line[0], str):
        return line
    code, number = line[0], line_number(line)
    return code.co_filename, number, linecache.getline(code.co_filename, number).strip()
