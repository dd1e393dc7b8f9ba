"""scatter-all-gather-broadcast: a long vector on every rank, and no rank sends it more than twice over."""

from counterpoint.grading.chunks import sizes
from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import divides
from counterpoint.grading.diagnoses.ring import never_written
from counterpoint.grading.exercise import Case, Exercise, Part, cases
from counterpoint.grading.roots import (
    like_a_chain,
    like_a_star,
    not_the_roots,
    only_root_0,
    root_of,
    want_roots,
    with_root,
)


def most_bytes(case: Case) -> int:
    """The root's: all chunks but its own once to scatter, and all but one once round the ring."""
    if case.ranks == 1:
        return 0
    return (2 * case.count - 2 * min(sizes(case))) * case.itemsize


def whole_to_everyone(evidence: Evidence) -> Finding | None:
    """Right, but the whole vector travels along a tree."""
    p, whole = evidence.case.ranks, evidence.case.count * evidence.case.itemsize
    messages = [m for m in evidence.messages() if m.nbytes]
    if p < 4 or len(messages) != p - 1 or any(m.nbytes != whole for m in messages):
        return None
    return Finding(
        "You send the **whole vector** in every message, along a tree: few steps, but the root sends it ⌈lg p⌉ "
        "times. Cut it into p chunks first: `tensor.tensor_split(comm.size)`.",
        messages[0].number,
    )


def scattered_only(evidence: Evidence) -> Finding | None:
    """After the scatter nobody tells the others."""
    p, root = evidence.case.ranks, root_of(evidence.case)
    messages = evidence.messages()
    if p < 3 or not messages or not evidence.here or any(m.rank != root for m in messages):
        return None
    if any(m.nbytes > max(sizes(evidence.case)) * evidence.case.itemsize for m in messages):
        return None
    return Finding(
        f"With {evidence.case.on}, every rank has its own chunk after the scatter, but then nobody sends it on: the "
        f"**all-gather is missing**. Round the ring, each rank passes on what it has just received, p − 1 times."
    )


EXERCISE = Exercise(
    name="scatter-all-gather-broadcast",
    topic="07_messages_and_collectives",
    title="Broadcast by scatter and all-gather",
    function="long_broadcast",
    parameters=("comm", "tensor", "root"),
    minutes=30,
    difficulty=3,
    parts=(
        Part(
            "correct", 3, "every rank ends with the root's vector",
            partly=((1, "right wherever p divides the length", divides),),
        ),
        Part("bytes", 2, "no rank sent more than two vectors"),
        Part("steps", 1, "2(p - 1) steps"),
    ),
    hints=(
        "The root sends each rank a different chunk. How many bytes is that? Then every chunk is on some rank, and "
        "every rank wants all of them: which collective is that?",
        "Two phases. First the root sends chunk r to rank r, for every r but its own. Then p − 1 steps round the "
        "ring: in step s, counted from 0, rank r sends chunk (r − s) mod p to the right and receives chunk (r − "
        "s − 1) mod p from the left.",
        "`chunks = list(tensor.tensor_split(comm.size))` are views, so what is received into `chunks[i]` is in "
        "`tensor`. Scatter with `send` and `recv`, then `comm.sendrecv(chunks[(rank - s) % p], right, "
        "chunks[(rank - s - 1) % p], left)`.",
    ),
    cases=cases(),
    call=with_root,
    wants=want_roots,
    targets=(few_bytes(most_bytes), few_steps(lambda case: 2 * (case.ranks - 1))),
    diagnoses=(never_written, scattered_only, only_root_0, not_the_roots),
    remarks=(whole_to_everyone, like_a_star, like_a_chain),
)  # fmt: skip
