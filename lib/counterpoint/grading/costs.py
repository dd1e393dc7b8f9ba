"""Cost targets, and what usually makes an answer miss them."""

from collections.abc import Callable

import numpy as np

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Target


def few_bytes(most: Callable[[Case], int], unit: str = "vector") -> Target:
    """At most so many bytes sent by the rank that sends most. unit: what `case.count` elements are called."""
    return Target(
        "bytes", lambda t: t.bytes_busiest, most,
        lambda case, counted, most: _too_many_bytes(case, counted, most, unit),
    )  # fmt: skip


def few_messages(most: Callable[[Case], int]) -> Target:
    """At most so many bytes sent by all ranks together."""
    return Target("bytes", lambda t: t.bytes_total, most, _too_many_in_all)


def few_steps(most: Callable[[Case], int]) -> Target:
    return Target(
        "steps", lambda t: t.steps, most,
        lambda case, counted, most: f"With {case.on} it took {counted} steps where {most} are enough.",
    )  # fmt: skip


def _too_many_bytes(case: Case, counted: int, most: int, unit: str) -> str:
    whole = case.count * case.itemsize
    return (
        f"With {case.on}, the busiest rank sent {_vectors(counted, whole, unit)} where "
        f"{_vectors(most, whole, unit)} are enough."
    )


def _too_many_in_all(case: Case, counted: int, most: int) -> str:
    whole = case.count * case.itemsize
    return f"With {case.on}, {_vectors(counted, whole)} travelled in all where {_vectors(most, whole)} are enough."


def _vectors(nbytes: int, whole: int, unit: str = "vector") -> str:
    number = nbytes / whole if whole else 0.0
    return f"{number:.3g} {unit}{'' if number == 1 else 's'} ({nbytes} bytes)"


def whole_vector(evidence: Evidence) -> Finding | None:
    """Right, but all of the vector travels in each step."""
    cost = evidence.case.count * evidence.case.itemsize
    messages = [m for m in evidence.messages() if m.nbytes]
    if evidence.case.ranks < 3 or not messages or not all(m.nbytes >= cost for m in messages):
        return None
    return Finding(
        "You send the **whole vector** in every step; only one chunk of it is new.", messages[0].number
    )


def all_pairs(evidence: Evidence) -> Finding | None:
    """Right, but every pair of ranks talks."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 3 or len({(m.rank, m.peer) for m in messages}) < p * (p - 1):
        return None
    return Finding(
        f"Every pair of ranks talks: {len(messages)} messages. One rank is enough to add up for all."
    )


def two_halves(evidence: Evidence) -> Finding | None:
    """Right, in twice the steps: some ranks send while the others receive, then the other way round."""
    p, messages = evidence.case.ranks, evidence.messages()
    by_step: dict[int, set[int]] = {}
    for message in messages:
        by_step.setdefault(message.step, set()).add(message.rank)
    if p < 3 or not by_step or any(len(ranks) == p for ranks in by_step.values()):
        return None
    return Finding(
        "In each step only some of the ranks send while the others receive, then they change places: a port can "
        "do both at once, with `sendrecv`, and that **halves the steps**.",
    )


def bytes_per_rank(evidence: Evidence) -> np.ndarray:
    """Bytes sent by each rank in the shown run."""
    assert evidence.shown.trace is not None
    return evidence.shown.trace.bytes_sent()
