"""Which runs are wrong says much about why: the lengths that p does not divide, odd rank counts, …"""

from collections.abc import Callable

from counterpoint.grading.diagnoses.evidence import Evidence
from counterpoint.grading.exercise import Case


def divides(case: Case) -> bool:
    """Whether the vector splits into p equal chunks."""
    return case.count % case.ranks == 0


def power_of_two(case: Case) -> bool:
    return case.ranks & (case.ranks - 1) == 0


def several(case: Case) -> bool:
    return case.ranks > 1


def whole_chunks(case: Case) -> bool:
    return case.count >= case.ranks


def floats(case: Case) -> bool:
    return case.dtype == "float32"


def up_to_two(case: Case) -> bool:
    return case.ranks <= 2


def buffered(case: Case) -> bool:
    return not case.synchronous


PATTERNS: tuple[tuple[Callable[[Case], bool], str], ...] = (
    (buffered, ""),  # told by the deadlock's own sentence
    (several, ""),  # what happens on one rank says it all
    (floats, "It is right for float32, wrong for other dtypes: a temporary made by `torch.zeros(n)` is "
             "always float32; `torch.empty_like(…)` takes the dtype of what it stands beside."),
    (divides, "It is right wherever p divides the length, so wrong where it does not: chunks are "
              "those of `tensor_split`, the first ones an element longer, and none may be left out."),
    (power_of_two, "It is right on 1, 2, 4 and 8 ranks and wrong on other numbers: it **works only for "
                   "powers of two**. Does every rank that you send to or receive from exist?"),
    (up_to_two, "It is right on 1 and 2 ranks only, where a rank has a single peer."),
    (whole_chunks, "It is right while there are at least p elements, wrong where some chunks are empty."),
)  # fmt: skip
"""(which runs are right, the sentence if exactly those are)."""


def pattern(evidence: Evidence) -> str:
    """The sentence of the first pattern that parts the right runs from the wrong ones; or ""."""
    right, wrong = evidence.right, evidence.wrong
    if not right or not wrong:
        return ""
    for holds, sentence in PATTERNS:
        missed = [a for a in wrong if holds(a.case)]
        hit = [a for a in right if not holds(a.case) and a.case.ranks > 1 and a.case.count]
        seen = [a for a in right if holds(a.case) and a.case.ranks > 1 and a.case.count]
        if not missed and not hit and (seen or holds is up_to_two):
            return sentence if _about_ranks(evidence) else sentence.removesuffix(QUESTION)
    return ""


QUESTION = " Does every rank that you send to or receive from exist?"


def _about_ranks(evidence: Evidence) -> bool:
    """Whether the shown run ended on the ranks that it names, and not on sizes or values."""
    failure = evidence.shown.failure
    return failure is not None and failure.kind != "mismatch"
