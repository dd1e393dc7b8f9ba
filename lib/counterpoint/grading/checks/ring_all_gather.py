"""ring-all-gather: the second half of the ring all-reduce."""

import torch

from counterpoint.grading.chunks import busiest_one_phase, sizes, total, want_chunks, with_chunks
from counterpoint.grading.costs import few_bytes, few_steps, two_halves, whole_vector
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import divides
from counterpoint.grading.diagnoses.ring import (
    aliased,
    never_written,
    not_passed_on,
    step_count,
    wrong_neighbour,
)
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """What the reduce-scatter leaves: chunk (rank + 1) is complete, the others hold negative numbers."""
    lengths, chunk = sizes(case), (rank + 1) % case.ranks
    flat = -1 - torch.arange(case.count).to(case.torch_dtype)
    start = sum(lengths[:chunk])
    flat[start : start + lengths[chunk]] = total(case)[start : start + lengths[chunk]]
    return (flat,)


def wants(case: Case, rank: int) -> list[Want]:
    p = case.ranks
    return want_chunks(case, range(p), total(case), [((chunk - 1) % p,) for chunk in range(p)])


def adds(evidence: Evidence) -> Finding | None:
    """What arrives is added to what is there, as in the reduce-scatter."""
    trace = evidence.shown.trace
    if trace is None or not len(trace.where(kind="reduce")):
        return None
    line = trace.where(kind="reduce")[0].line.rpartition(":")[2]
    return Finding(
        f"Your line {line} **adds** what arrives to what is there. In this phase the chunks that travel are complete: "
        f"they replace what they meet. Receive with `recv` or `sendrecv`."
    )


def incomplete_first(evidence: Evidence) -> Finding | None:
    """The first chunk that a rank sends is not the one that it has complete."""
    p = evidence.case.ranks
    first = next((m for m in evidence.messages() if m.step == 1 and len(m.cells) == 1), None)
    if first is None or p < 3:
        return None
    chunk = evidence.chunk_of(first.cells[0][0])
    if chunk is None or chunk == (first.rank + 1) % p:
        return None
    return Finding(
        f"With {evidence.case.on}, in step 1 rank {first.rank} sends chunk {chunk} (your line {first.line}), which is "
        f"not complete there. At the start a rank has one complete chunk, `(rank + 1) % p`: rank {first.rank} has "
        f"chunk {(first.rank + 1) % p}.",
        first.number,
    )


EXERCISE = Exercise(
    name="ring-all-gather",
    topic="08_all_reduce",
    title="Ring all-gather",
    function="ring_all_gather",
    parameters=("comm", "chunks"),
    minutes=15,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "every rank ends with every chunk complete",
            partly=((1, "right wherever p divides the length", divides),),
        ),
        Part("bytes", 1, "no rank sent more than (p - 1)/p of its vector"),
        Part("steps", 1, "p - 1 steps"),
    ),
    hints=(
        "Each rank starts with one complete chunk. Which one does it have after the first step? What should it "
        "send in the second?",
        "In step s, counted from 0, a rank sends the chunk that it received in step s − 1. In step 0 it sends the one "
        "that is complete from the start, chunk (rank + 1) mod p.",
        "So in step s rank r sends chunk (r + 1 − s) mod p and receives chunk (r − s) mod p, with `sendrecv`: what "
        "arrives replaces what was there.",
    ),
    cases=cases(),
    inputs=inputs,
    call=with_chunks,
    wants=wants,
    targets=(
        few_bytes(lambda case: busiest_one_phase(case, 1)),
        few_steps(lambda case: case.ranks - 1),
    ),
    diagnoses=(wrong_neighbour, adds, aliased, incomplete_first, never_written, not_passed_on, step_count),
    remarks=(whole_vector, two_halves, step_count),
)  # fmt: skip
