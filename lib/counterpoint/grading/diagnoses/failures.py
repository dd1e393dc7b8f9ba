"""Runs that did not end: deadlocks, exceptions, sizes that do not agree."""

import re

from counterpoint.grading.child.attempt import Failure, Wait
from counterpoint.grading.diagnoses.evidence import Evidence, Finding


def failures(evidence: Evidence) -> Finding | None:
    """What stopped the shown run."""
    failure = evidence.shown.failure
    if failure is None:
        return None
    if failure.kind == "deadlock":
        return Finding(deadlock(evidence, failure))
    if failure.kind == "mismatch":
        return Finding(f"With {evidence.case}, {mismatch(failure.message)}")
    if failure.kind == "stopped":
        return Finding(f"With {evidence.case}, the ranks were still running when their time was up.")
    return Finding(raised(evidence, failure))


def deadlock(evidence: Evidence, failure: Failure) -> str:
    """Who waits for whom, at which line; and why it may have worked before."""
    by_rank = {wait.rank: wait for wait in failure.waits}
    start = f"With {evidence.case.on}, "
    if not failure.cycle:
        return f"**A rank waits for one that has returned.** {start}" + _gone(failure.waits)
    chain = [by_rank[rank] for rank in failure.cycle if rank in by_rank]
    links = [_waits(wait) for wait in chain]
    if len(links) > 4:
        links = [*links[:2], "…", links[-1]]
    sentence = ", which ".join(links).replace(", which …", " …")
    sentence = _drop_ranks(sentence)
    if len(chain) == 1:
        return (
            f"**A rank waits for itself.** {start}rank {chain[0].rank} {sentence}. Whom should it send to or receive "
            f"from in that step?"
        )
    return (
        f"**Your ranks wait for each other.** {start}rank {chain[0].rank} {sentence}. "
        f"{_reason({wait.call for wait in chain})}{_luck(evidence)}"
    )


def _waits(wait: Wait) -> str:
    whom = _names(wait)
    way = {"send": "to", "recv": "from", "recv_reduce": "from"}.get(wait.call, "for")
    return f"waits in `{wait.call}` {way} {whom} (your line {wait.line}: `{wait.code}`)"


def _names(wait: Wait) -> str:
    return " and ".join(f"rank {peer}" for peer in sorted(set(wait.peers)))


def _drop_ranks(sentence: str) -> str:
    """The line is told once; where all wait at the same one, repeating it says nothing."""
    first = sentence.find(" (your line")
    end = sentence.find("`)", first)
    if first < 0 or end < 0:
        return sentence
    place = sentence[first : end + 2]
    return sentence[: end + 2] + sentence[end + 2 :].replace(place, "")


def _gone(waits: tuple[Wait, ...]) -> str:
    if not waits:
        return "the others have ended."
    wait = waits[0]
    whom = _names(wait)
    verb = "receive" if wait.call == "send" else "send"
    return (
        f"rank {wait.rank} {_waits(wait)}, but {whom} has returned and will never {verb} that "
        f"message. Count, for each pair of ranks, the sends and the receives: they must match."
    )


def _reason(calls: set[str]) -> str:
    if calls == {"send"}:
        return "Every rank is sending and none is receiving."
    if calls <= {"recv", "recv_reduce"}:
        return "Every rank is receiving and none has sent."
    return "None of them can go on before another does."


def _luck(evidence: Evidence) -> str:
    """Whether only buffering made it work elsewhere."""
    several = [a for a in evidence.right if a.case.ranks > 1 and a.case.count >= a.case.ranks]
    only_sync = all(a.case.synchronous for a in evidence.wrong)
    if several and only_sync:
        limit = max(a.case.eager_limit for a in several)
        return (
            f" It worked with small vectors because sends of less than {limit} bytes are buffered: that "
            f"was luck. `sendrecv` does both at once."
        )
    return ""


def mismatch(message: str) -> str:
    """The library's sentence, its remedy left out, with the learner's lines instead of its files."""
    first, *places = message.split("\n")
    told = [_PLACE.sub(r" at your line \1 (`\2`)", place.strip()) for place in places]
    return f"{first.partition(';')[0]}: **the two ends of a message do not agree**. " + "; ".join(told)


_PLACE = re.compile(r", \S*:(\d+): (.*)$")


def raised(evidence: Evidence, failure: Failure) -> str:
    """An exception of the learner's code, with what usually causes it."""
    where = f"With {evidence.case}, rank {failure.rank}"
    told = f"raised {failure.exception}{_at(failure)}: {failure.message}"
    if failure.exception == "NotImplementedError":
        return (
            f"{where} reached a `raise NotImplementedError`{_at(failure)}: something is still to be written."
        )
    if failure.exception == "NameError":
        return (
            f"{where} {told}. Run the cell that defines it first, import it inside the function, or "
            f"correct its spelling."
        )
    memory = "can't allocate memory" in failure.message or "not enough memory" in failure.message
    if failure.exception == "MemoryError" or memory:
        return f"{where} asked for more memory than a check may use (2 GiB){_at(failure)}."
    if failure.exception == "RecursionError":
        return f"{where} called itself without end{_at(failure)}. What stops the recursion?"
    if "this communicator has ranks" in failure.message:
        # the library's own sentence names the rank already
        return f"With {evidence.case.on}{_at(failure)}, {failure.message}."
    if failure.exception in ("SystemExit", "KeyboardInterrupt"):
        return f"{where} left by {failure.exception}{_at(failure)}. A rank ends by returning."
    return f"{where} {told}"


def _at(failure: Failure) -> str:
    return f" at your line {failure.line} (`{failure.code}`)" if failure.line else ""
