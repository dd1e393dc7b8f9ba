"""ring-reduce-scatter: the first half of the ring all-reduce."""

from counterpoint.grading.chunks import busiest_one_phase, total, want_chunks, with_chunks
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


def wants(case: Case, rank: int) -> list[Want]:
    return want_chunks(case, [(rank + 1) % case.ranks], total(case), [None])


def another_chunk(evidence: Evidence) -> Finding | None:
    """Each rank completes a chunk, but not the one that was asked for."""
    provenance, p = evidence.provenance, evidence.case.ranks
    if provenance is None or p < 3:
        return None
    complete = {}
    for rank, held in enumerate(provenance.final):
        full = [evidence.chunk_of(cell) for cell, counts in enumerate(held) if (counts == 1).all()]
        if len(full) != 1 or full[0] is None:
            return None
        complete[rank] = full[0]
    if len(set(complete.values())) != p or all(c == (r + 1) % p for r, c in complete.items()):
        return None
    return Finding(
        f"With {p} ranks, every rank ends with one complete chunk, but not the one that is asked for: rank 0 has "
        f"chunk {complete[0]}, and should have chunk 1, that is `(rank + 1) % p`. The walk round the ring is "
        f"right; it **starts at the wrong chunk**."
    )


EXERCISE = Exercise(
    name="ring-reduce-scatter",
    topic="08_all_reduce",
    title="Ring reduce-scatter",
    function="ring_reduce_scatter",
    parameters=("comm", "chunks"),
    minutes=25,
    difficulty=2,
    parts=(
        Part(
            "correct", 5, "every rank ends with its chunk complete",
            partly=((2, "right wherever p divides the length", divides),),
        ),
        Part("bytes", 2, "no rank sent more than (p - 1)/p of its vector"),
        Part("steps", 1, "p - 1 steps"),
    ),
    hints=(
        "Follow one chunk. Where is chunk 0's partial sum after the first step? After the second? "
        "Draw it for p = 3.",
        "Let s count the steps from 0. In step s, rank r sends the chunk that it received, and added to, in "
        "step s − 1. In step 0 it sends chunk r.",
        "So it sends chunk (r − s) mod p and receives chunk (r − s − 1) mod p, with s = 0 … p − 2. "
        "`comm.sendrecv_reduce` sends one chunk while it adds what arrives to another.",
    ),
    cases=cases(),
    call=with_chunks,
    wants=wants,
    targets=(
        few_bytes(lambda case: busiest_one_phase(case, 1)),
        few_steps(lambda case: case.ranks - 1),
    ),
    diagnoses=(wrong_neighbour, aliased, another_chunk, never_written, not_passed_on, step_count),
    remarks=(whole_vector, two_halves, step_count),
)  # fmt: skip
