"""scatter-all-gather-broadcast: a long vector on every rank, and no rank sends it more than twice over."""

from counterpoint.grading.chunks import sizes, want_chunks
from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.exchanges import other_peer
from counterpoint.grading.diagnoses.movers import (
    left_as_it_was,
    never_filled,
    nobody_to_send_to,
    one_tensor,
    put_elsewhere,
)
from counterpoint.grading.diagnoses.patterns import divides
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases, vector
from counterpoint.grading.roots import like_a_chain, not_the_roots, only_root_0, root_of, with_root


def wants(case: Case, rank: int) -> list[Want]:
    """Every chunk of the root's vector."""
    root, p = root_of(case), case.ranks
    return want_chunks(case, range(p), vector(case, root), [(root,)] * p)


def most_bytes(case: Case) -> int:
    """2(p - 1) chunks, the longest: the root scatters p - 1 and passes p - 1 round, whichever is its own."""
    return 2 * (case.ranks - 1) * max(sizes(case)) * case.itemsize


def whole_vectors(evidence: Evidence) -> Finding | None:
    """Right, but the whole vector travels where a chunk is enough."""
    p, root, whole = evidence.case.ranks, root_of(evidence.case), evidence.case.count * evidence.case.itemsize
    messages = [m for m in evidence.messages() if m.nbytes]
    too_long = [m for m in messages if m.nbytes == whole]
    if p < 3 or not too_long:
        return None
    first = too_long[0]
    if len(too_long) < len(messages) or len(messages) > p - 1:
        who = "the root" if first.rank == root else f"rank {first.rank}"
        return Finding(
            f"In step {first.step} {who} sends rank {first.peer} its **whole vector** (your line {first.line}); one "
            f"chunk is enough there.",
            first.number,
        )
    shape = "along a tree: few steps, but the root sends it ⌈lg p⌉ times"
    if all(m.rank == root for m in messages):
        shape = f"and the root sends them all, a star: {p - 1} vectors"
    return Finding(
        f"You send the **whole vector** in every message, {shape}. Cut it into p chunks first: "
        f"`tensor.tensor_split(comm.size)`.",
        first.number,
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
        Part("bytes", 2, "no rank sent more than 2(p - 1) chunks"),
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
    wants=wants,
    targets=(few_bytes(most_bytes), few_steps(lambda case: 2 * (case.ranks - 1))),
    diagnoses=(
        nobody_to_send_to, one_tensor, other_peer, left_as_it_was, scattered_only, only_root_0,
        not_the_roots, put_elsewhere, never_filled(lambda p: p - 1),
    ),
    remarks=(whole_vectors, like_a_chain),
)  # fmt: skip
