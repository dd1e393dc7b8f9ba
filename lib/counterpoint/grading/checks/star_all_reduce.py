"""star-all-reduce: everyone to the root and back."""

from counterpoint.grading.chunks import total
from counterpoint.grading.costs import all_pairs, few_messages
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import several
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases


def wants(case: Case, rank: int) -> list[Want]:
    return [Want("its tensor", 0, total(case))]


def too_early(evidence: Evidence) -> Finding | None:
    """The root answers each rank before it has heard all of them."""
    p = evidence.case.ranks
    sums = [evidence.provenance.final[r] for r in range(p)] if evidence.provenance else []
    if p < 3 or not sums or any(len(held) != 1 for held in sums):
        return None
    found = [int(held[0].sum()) for held in sums]
    if max(found) != p or not all(held[0].max() == 1 for held in sums):
        return None
    if sorted(found[1:]) != list(range(2, p + 1)):
        return None
    worst = min(range(1, p), key=lambda r: found[r])
    return Finding(
        f"With {evidence.case.on}, rank {worst} ends with the sum of {found[worst]} ranks only, and rank "
        f"{max(range(1, p), key=lambda r: found[r])} with all of them: the root **answers before it has heard "
        f"everyone**. First receive from all, then send to all: two loops, not one."
    )


EXERCISE = Exercise(
    name="star-all-reduce",
    topic="08_all_reduce",
    title="Star all-reduce",
    function="star_all_reduce",
    parameters=("comm", "tensor"),
    minutes=15,
    difficulty=1,
    parts=(
        Part(
            "correct", 3, "every rank ends with the sum",
            partly=((2, "right on two and more ranks", several),),
        ),
        Part("bytes", 1, "2(p - 1) vectors travelled in all"),
    ),
    hints=(
        "One rank is the root, say rank 0. What does it do for p − 1 rounds while the others do one thing?",
        "Two phases. First everybody but the root sends its tensor to the root, which adds up what comes in. Only "
        "when it has heard from all does it send the sum to each of them.",
        "On the root: for each other rank, `comm.recv_reduce(tensor, source)` adds what arrives to `tensor`; then "
        "for each, `comm.send(tensor, dest)`. Elsewhere: `comm.send(tensor, 0)`, then `comm.recv(tensor, 0)`.",
    ),
    cases=cases(),
    wants=wants,
    targets=(few_messages(lambda case: 2 * (case.ranks - 1) * case.count * case.itemsize),),
    diagnoses=(too_early,),
    remarks=(all_pairs,),
)  # fmt: skip
