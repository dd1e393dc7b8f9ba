"""Mistakes that all-to-alls invite: the wrong piece, the wrong place, the wrong partner, everyone at one door."""

from collections.abc import Callable

import torch

from counterpoint.grading.diagnoses.evidence import Evidence, Finding
from counterpoint.grading.exercise import Case
from counterpoint.trace import Trace

Pieces = Callable[[Case, int], list[torch.Tensor]]
"""(case, rank) -> the rank's pieces for ranks 0, 1, …"""


def own_missing(evidence: Evidence) -> Finding | None:
    """A rank's piece for itself stays where it is."""
    wrong = evidence.here
    if not wrong or any(d.want.what != f"incoming[{d.rank}]" for d in wrong):
        return None
    return Finding(
        f"With {evidence.case.on}, all that travels is right, but `incoming[rank]` was never filled: the piece "
        f"that a rank has **for itself** needs no message, only a copy: `incoming[rank].copy_(outgoing[rank])`."
    )


def other_peer(evidence: Evidence) -> Finding | None:
    """Ranks that all send and receive in one step, each from one that in that step sends to another."""
    failure, trace = evidence.shown.failure, evidence.shown.trace
    if failure is None or trace is None or failure.kind != "deadlock" or len(failure.cycle) < 2:
        return None
    by_rank = {wait.rank: wait for wait in failure.waits}
    chain = [by_rank[rank] for rank in failure.cycle if rank in by_rank]
    if any(wait.call != "sendrecv" for wait in chain):
        return None
    first, source = chain[0], chain[0].peers[0]
    dest, theirs = _sends_to(trace, first.rank), _sends_to(trace, source)
    if dest is None or theirs in (None, first.rank) or source not in by_rank:
        return None
    whom = "**from the same rank**" if source == dest else f"from rank {source}"
    return Finding(
        f"**Your ranks wait for each other.** With {evidence.case.on}, rank {first.rank} sends to rank {dest} and "
        f"wants to receive {whom} (your line {first.line}), but in that step rank {source} sends to rank {theirs}. "
        f"What everyone sends s ranks up comes, for everyone, from s ranks **down**."
    )


def _sends_to(trace: Trace, rank: int) -> int | None:
    """Whom a rank was sending to when it stopped; None if it had received since, so that no receive is open."""
    mine = [
        trace[i] for i in range(len(trace)) if trace.rank[i] == rank and trace[i].kind in ("send", "recv")
    ]
    return mine[-1].peer if mine and mine[-1].kind == "send" else None


def other_piece(evidence: Evidence, pieces: Pieces) -> Finding | None:
    """A rank sends a piece that is meant for another."""
    case = evidence.case
    for rank, source, got in _filled(evidence, pieces):
        theirs = pieces(case, source)
        if torch.equal(theirs[rank], got):
            continue
        meant = next((dest for dest in range(case.ranks) if torch.equal(theirs[dest], got)), None)
        if meant is None or source == rank:
            continue
        whose = "for itself" if meant == source else f"for rank {meant}"
        return Finding(
            f"With {case.on}, rank {rank} got from rank {source} the piece that rank {source} has {whose}: send "
            f"`outgoing[dest]`, **the piece of the rank you send to**.",
            _message(evidence, source, rank),
        )
    return None


def other_place(evidence: Evidence, pieces: Pieces) -> Finding | None:
    """What came from one rank lies where another's belongs."""
    case = evidence.case
    for rank, place, got in _filled(evidence, pieces):
        source = next((r for r in range(case.ranks) if torch.equal(pieces(case, r)[rank], got)), place)
        if source != place:
            return Finding(
                f"With {case.on}, rank {rank} has in `incoming[{place}]` what came from rank {source}: receive into "
                f"`incoming[source]`, **the place of the rank you receive from**.",
                _message(evidence, source, rank),
            )
    return None


def _message(evidence: Evidence, source: int, dest: int) -> int:
    """The number of the first message between two ranks, at which the picture stops; -1 for none."""
    return next((m.number for m in evidence.messages() if (m.rank, m.peer) == (source, dest)), -1)


def _filled(evidence: Evidence, pieces: Pieces) -> list[tuple[int, int, torch.Tensor]]:
    """(rank, place, what it holds) for all places of `incoming` that are not empty."""
    case, found = evidence.case, []
    for rank, after in enumerate(evidence.shown.after):
        lengths = [len(pieces(case, source)[rank]) for source in range(case.ranks)]
        if not isinstance(after[1], torch.Tensor) or after[1].numel() != sum(lengths):
            continue
        found += [(rank, place, got) for place, got in enumerate(after[1].split(lengths)) if len(got)]
    return found


def only_equal(equal: Callable[[Case], bool]) -> Callable[[Evidence], Finding | None]:
    """Wrong in just those runs in which the pieces are of different lengths."""

    def diagnosis(evidence: Evidence) -> Finding | None:
        if not evidence.wrong or any(equal(attempt.case) for attempt in evidence.wrong):
            return None
        raised = evidence.shown.failure
        at = f" (your line {raised.line}: `{raised.code}`)" if raised is not None and raised.line else ""
        return Finding(
            f"It is right where all pieces are of one length, and **wrong where lengths differ**{at}: what you receive "
            f"from rank j is as long as `incoming[j]`, not as what you send, and not as piece 0."
        )

    return diagnosis


def to_itself(evidence: Evidence) -> Finding | None:
    """Right, but ranks send messages to themselves."""
    own = next((m for m in evidence.messages() if m.rank == m.peer), None)
    if own is None:
        return None
    return Finding(
        f"In step {own.step} rank {own.rank} sends **itself** a message (your line {own.line}). Its own piece needs "
        f"only a copy: `incoming[rank].copy_(outgoing[rank])`.",
        own.number,
    )


def too_long(evidence: Evidence) -> Finding | None:
    """Right, but messages carry more than the one piece that is meant for their receiver."""
    p, one = evidence.case.ranks, evidence.case.count * evidence.case.itemsize
    longest = max(evidence.messages(), key=lambda m: m.nbytes, default=None)
    if p < 3 or longest is None or longest.nbytes <= one:
        return None
    if longest.nbytes >= p * one:
        return Finding(
            "You send **all your pieces** to everyone; only `outgoing[dest]` is for rank dest.",
            longest.number,
        )
    return Finding(
        "Pieces travel **by way of other ranks**: few steps, but each is sent more than once. Here every piece goes "
        "straight to the rank it is for.",
        longest.number,
    )


def same_order(evidence: Evidence) -> Finding | None:
    """Right, but all ranks send to rank 0 first, then to rank 1, and so on."""
    p = evidence.case.ranks
    peers: dict[int, list[int]] = {rank: [] for rank in range(p)}
    for message in evidence.messages():
        peers[message.rank].append(message.peer)
    if len({m.rank for m in evidence.messages() if m.step == 1}) == 1:
        return None  # worse: one sender at a time
    if p < 3 or any(whom != sorted(set(range(p)) - {rank}) for rank, whom in peers.items()):
        return None
    return Finding(
        "**All ranks send to rank 0 first**, then to rank 1, and so on: they stand in line at one port while the "
        "others are idle. Let each begin with the rank above its own."
    )


def idle_ranks(evidence: Evidence) -> Finding | None:
    """Right, but not everyone sends in every step."""
    p, messages = evidence.case.ranks, evidence.messages()
    last = max((m.step for m in messages), default=0)
    for step in range(1, last + 1):
        busy = {m.rank for m in messages if m.step == step}
        if p > 2 and len(busy) < p:
            who = f"only rank {min(busy)} sends" if len(busy) == 1 else f"only {len(busy)} of {p} ranks send"
            return Finding(
                f"In step {step}, {who}. If in step s each sends to the rank s above its own and receives from the "
                f"rank s below, with `sendrecv`, **everyone is busy** in every step."
            )
    return None
