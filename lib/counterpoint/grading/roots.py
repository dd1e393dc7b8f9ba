"""Exercises in which one rank has what the others want: who it is, and what goes wrong when it is forgotten."""

from typing import Any

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Want, vector


def root_of(case: Case) -> int:
    """The run's root: rank 0 in some runs, others in the rest."""
    return _root(case.count, case.ranks)


def with_root(comm: Any, answer: Any, tensor: Any) -> Any:
    """Calls an answer that takes a tensor and a root."""
    return answer(comm, tensor, _root(tensor.numel(), comm.size))


def _root(count: int, ranks: int) -> int:
    """Rank 0 in some of the runs, whether p divides the length or not."""
    return (count + count // ranks) % ranks


def want_roots(case: Case, rank: int) -> list[Want]:
    """Everyone ends with the root's vector."""
    root = root_of(case)
    return [Want("its tensor", 0, vector(case, root), holds=(root,))] if case.count else []


def only_root_0(evidence: Evidence) -> Finding | None:
    """Right where the root is rank 0, wrong elsewhere."""
    several = [a for a in evidence.attempts if a.case.ranks > 1 and a.case.count]
    wrong = {id(a) for a in evidence.wrong}
    if any((root_of(a.case) == 0) == (id(a) in wrong) for a in several) or not wrong:
        return None
    return Finding(
        f"It is right when the **root** is rank 0, and wrong for every other root; here it is rank "
        f"{root_of(evidence.case)}. Count ranks from the root: `me = (comm.rank - root) % comm.size`, and back again, "
        f"`(me + root) % comm.size`, for the ranks you talk to."
    )


def not_the_roots(evidence: Evidence) -> Finding | None:
    """A rank sends what it has before it has anything of the root's."""
    root = root_of(evidence.case)
    for message in evidence.messages():
        counts = message.cells[0][1] if message.cells else None
        if message.rank == root or counts is None or counts[root]:
            continue
        whom = "itself" if message.peer == message.rank else f"rank {message.peer}"
        return Finding(
            f"With {evidence.case.on} and root {root}, in step {message.step} rank {message.rank} sends {whom} "
            f"what it has (your line {message.line}), and that is **nothing of the root's yet**. A rank "
            f"first receives, then sends.",
            message.number,
        )
    return None


def beyond_the_last(evidence: Evidence) -> Finding | None:
    """A rank sends to one that is not there, and the remainder makes it one that has everything already."""
    p, root, failure = evidence.case.ranks, root_of(evidence.case), evidence.shown.failure
    if failure is None or failure.kind != "deadlock":
        return None
    for wait in failure.waits:
        if wait.call != "send" or len(wait.peers) != 1:
            continue
        me, other = (wait.rank - root) % p, (wait.peers[0] - root) % p
        if other < me:
            return Finding(
                f"**There is no such rank.** With {evidence.case.on} and root {root}, rank {wait.rank} is number {me}, "
                f"counted from the root, and there is no number {other + p}: `% comm.size` makes it number {other}, "
                f"rank {wait.peers[0]}, which will never receive (your line {wait.line}). Send only where `me + "
                f"distance < comm.size`."
            )
    return None


def told_twice(evidence: Evidence) -> Finding | None:
    """Right, but ranks are sent the vector that have it."""
    root = root_of(evidence.case)
    has = {root}
    for message in evidence.messages():
        if message.nbytes and message.peer in has:
            return Finding(
                f"With {evidence.case.on} and root {root}, in step {message.step} rank {message.rank} sends the vector "
                f"to rank {message.peer} (your line {message.line}), which **has it already**. Only who has it sends, "
                f"and only to who has not.",
                message.number,
            )
        has.add(message.peer)
    return None


def like_a_star(evidence: Evidence) -> Finding | None:
    """Right, but the root sends to everyone itself."""
    p, messages = evidence.case.ranks, evidence.messages()
    root = root_of(evidence.case)
    if p < 4 or len(messages) != p - 1 or any(m.rank != root for m in messages):
        return None
    return Finding(
        f"The root sends all {p - 1} messages itself, one after another: that is the **star**. Whoever has the "
        f"vector can help to spread it, so that twice as many ranks have it after each step."
    )


def like_a_chain(evidence: Evidence) -> Finding | None:
    """Right, but the vector is handed from rank to rank."""
    p, messages = evidence.case.ranks, evidence.messages()
    root = root_of(evidence.case)
    if p < 4 or {((m.rank - root) % p, (m.peer - root) % p) for m in messages} != {
        (i, i + 1) for i in range(p - 1)
    }:
        return None
    return Finding(
        f"Each rank hands the vector to the next: a **chain** of {p - 1} steps, in each of which one rank sends and "
        f"all the others wait."
    )
