"""binomial-reduce: the sum on rank 0 in lg p steps, by a tree."""

from counterpoint.grading.chunks import total
from counterpoint.grading.costs import few_messages, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases, vector


def wants(case: Case, rank: int) -> list[Want]:
    own = Want("its input", 0, vector(case, rank), part="input", holds=(rank,))
    if rank:
        return [own]
    return [Want("what it returned", None, total(case)), own]


def changed_input(evidence: Evidence) -> Finding | None:
    """The result is right, but somebody's own tensor was used as the accumulator."""
    here = evidence.here
    if not here or any(d.want.part != "input" for d in here):
        return None
    ranks = sorted({d.rank for d in here})
    who = f"rank {ranks[0]}" if len(ranks) == 1 else "ranks " + ", ".join(map(str, ranks))
    return Finding(
        f"With {evidence.case.on}, the sum is right, but the `tensor` of {who} no longer holds its own input: it "
        f"**changes its input**. `total = tensor` is a second name for one tensor (they are aliased); "
        f"`tensor.clone()` makes another."
    )


def in_place(evidence: Evidence) -> Finding | None:
    """Nothing returned, but the sum is in rank 0's input."""
    missing = any(d.kind == "missing" for d in evidence.here)
    right = total(evidence.case).tolist()
    if not missing or not evidence.shown.after:
        return None
    own = evidence.shown.after[0][0]
    if not hasattr(own, "tolist") or own.tolist() != right:
        return None
    return Finding(
        f"With {evidence.case.on}, rank 0 returned `None` and has the sum in `tensor`, its input, which must stay "
        f"as it is: add into a copy, `tensor.clone()`, and return that."
    )


def own_part(evidence: Evidence) -> Finding | None:
    """A rank that has received others' input sends its own alone."""
    messages = evidence.messages()
    for message in messages:
        before = next((m for m in messages if m.peer == message.rank and m.step < message.step), None)
        counts = message.cells[0][1] if message.cells else None
        if before is None or counts is None or counts.sum() != 1 or counts[message.rank] != 1:
            continue
        return Finding(
            f"With {evidence.case.on}, in step {message.step} rank {message.rank} sends its own input alone to rank "
            f"{message.peer} (your line {message.line}), though rank {before.rank}'s came in in step {before.step}: "
            f"that one is lost on the way. Send **the sum so far**.",
            message.number,
        )
    return None


def like_a_star(evidence: Evidence) -> Finding | None:
    """Right, but everyone sends to rank 0."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 4 or len(messages) != p - 1 or any(m.peer != 0 for m in messages):
        return None
    return Finding(
        f"All {p - 1} messages go to rank 0, one after another: that is the **star**. In a tree, ranks 1 and 3 "
        f"can hand on to ranks 0 and 2 in the same step."
    )


def like_a_chain(evidence: Evidence) -> Finding | None:
    """Right, but each rank waits for the one before it."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 4 or {(m.rank, m.peer) for m in messages} != {(r, r - 1) for r in range(1, p)}:
        return None
    return Finding(
        f"Each rank waits for the next one: a **chain** of {p - 1} messages, of which none can leave before the "
        f"one before it has arrived."
    )


EXERCISE = Exercise(
    name="binomial-reduce",
    topic="08_all_reduce",
    title="Binomial reduce",
    function="binomial_reduce",
    parameters=("comm", "tensor"),
    minutes=25,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "rank 0 returns the sum",
            partly=((1, "right on 1, 2, 4 and 8 ranks", power_of_two),),
        ),
        Part("input", 1, "every rank's tensor is as it was"),
        Part("bytes", 1, "p - 1 vectors travelled in all"),
        Part("steps", 1, "⌈lg p⌉ steps"),
    ),
    hints=(
        "With 8 ranks: in the first step every odd rank sends to the even one below it and is done. Four ranks are "
        "left, 0, 2, 4, 6. What do they do in the second step? Draw it, then leave out rank 7.",
        "In step s the distance is 2^s. A rank whose number has bit s set sends its sum to the rank one distance "
        "below, and is done. The others receive from one distance above, **if there is such a rank**.",
        "`distance = 1`, then `while distance < comm.size:` if `comm.rank & distance`, send to `rank - distance` "
        "and return; else if `rank + distance < comm.size`, `recv_reduce` from there; then double the distance.",
    ),
    cases=cases(),
    wants=wants,
    targets=(
        few_messages(lambda case: (case.ranks - 1) * case.count * case.itemsize),
        few_steps(lambda case: (case.ranks - 1).bit_length()),
    ),
    diagnoses=(changed_input, in_place, own_part),
    remarks=(like_a_star, like_a_chain),
)  # fmt: skip
