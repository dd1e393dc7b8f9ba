"""ring-all-reduce: both halves together, on a vector of any length."""

import numpy as np

from counterpoint.grading.chunks import sizes, total
from counterpoint.grading.costs import few_bytes, few_steps, two_halves, whole_vector
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import divides
from counterpoint.grading.diagnoses.ring import aliased, not_passed_on, wrong_neighbour
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases


def wants(case: Case, rank: int) -> list[Want]:
    return [Want("its tensor", 0, total(case))]


def busiest(case: Case) -> int:
    """Bytes of the rank that leaves out the two smallest neighbouring chunks, one in each phase."""
    if case.ranks == 1:
        return 0
    lengths = sizes(case)
    left_out = min(a + b for a, b in zip(lengths, lengths[1:] + lengths[:1], strict=True))
    return (2 * case.count - left_out) * case.itemsize


def one_phase_missing(evidence: Evidence) -> Finding | None:
    """Each rank ends with one complete chunk: the reduce-scatter alone."""
    provenance, p = evidence.provenance, evidence.case.ranks
    if provenance is None or p < 3 or not provenance.final or (np.array(provenance.final) > 1).any():
        return None
    complete = [np.flatnonzero((held == 1).all(1)) for held in provenance.final]
    if any(len(own) != 1 for own in complete) or len(provenance.cells) != p:
        return None
    if len({int(own[0]) for own in complete}) != p:
        return None
    return Finding(
        f"With {evidence.case.on}, every rank ends with one complete chunk of {p}, rank 0 with chunk "
        f"{int(complete[0][0])}, and the others are partial sums: the reduce-scatter is done, and the **second "
        f"phase, the all-gather, is missing**."
    )


def like_a_star(evidence: Evidence) -> Finding | None:
    """Right, but every message is to or from one rank."""
    messages = evidence.messages()
    hubs = set(range(evidence.case.ranks)).intersection(*({m.rank, m.peer} for m in messages))
    if evidence.case.ranks < 3 or not messages or len(hubs) != 1:
        return None
    return Finding(
        f"Every message is to or from rank {hubs.pop()}: that is the **star**. On a ring each rank sends to its right "
        f"neighbour only, one chunk at a time, and all of them at once."
    )


def remainder(evidence: Evidence) -> Finding | None:
    """The last elements, those beyond p equal chunks, are untouched."""
    case, here = evidence.case, evidence.here
    rest = case.count % case.ranks
    if not rest or not here or any(d.kind != "value" for d in here) or len(here) != case.ranks:
        return None
    if {d.element for d in here} != {case.count - rest}:
        return None
    last = f"element {case.count - 1}" if rest == 1 else f"elements {case.count - rest} to {case.count - 1}"
    verb = "is" if rest == 1 else "are"
    return Finding(
        f"With {case}, {last} {verb} never summed: p chunks of {case.count // case.ranks} leave {rest} over. The "
        f"**remainder is dropped**; `tensor.tensor_split(comm.size)` leaves nothing out."
    )


EXERCISE = Exercise(
    name="ring-all-reduce",
    topic="08_all_reduce",
    title="Ring all-reduce",
    function="ring_all_reduce",
    parameters=("comm", "tensor"),
    minutes=15,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "every rank ends with the sum",
            partly=((1, "right wherever p divides the length", divides),),
        ),
        Part("bytes", 2, "no rank sent more than 2(p - 1)/p of its vector"),
        Part("steps", 1, "2(p - 1) steps"),
    ),
    hints=(
        "You have both halves. What does the first one leave, and what does the second one ask for?",
        "Cut the vector into p views with `tensor.tensor_split(comm.size)`: views, so that what is written into a "
        "chunk is written into the tensor.",
        "`chunks = list(tensor.tensor_split(comm.size))`, then `ring_reduce_scatter(comm, chunks)`, then "
        "`ring_all_gather(comm, chunks)`.",
    ),
    cases=cases(),
    wants=wants,
    targets=(few_bytes(busiest), few_steps(lambda case: 2 * (case.ranks - 1))),
    diagnoses=(remainder, wrong_neighbour, aliased, one_phase_missing, not_passed_on),
    remarks=(like_a_star, whole_vector, two_halves),
)  # fmt: skip
