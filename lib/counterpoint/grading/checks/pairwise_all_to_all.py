"""pairwise-all-to-all: everyone has a different piece for everyone, and everyone sends in every step."""

import torch

from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.diagnoses.ring import never_written
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases, vector


def outgoing(case: Case, rank: int) -> torch.Tensor:
    """A rank's pieces for ranks 0, 1, ..., one behind another."""
    whole = Case(case.ranks, case.count * case.ranks, case.dtype)
    return vector(whole, rank)


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    return outgoing(case, rank), torch.full((case.ranks * case.count,), -1).to(case.torch_dtype)


def call(comm, answer, out, into):  # type: ignore[no-untyped-def]
    """Calls an answer that takes two lists of p pieces."""
    return answer(comm, list(out.tensor_split(comm.size)), list(into.tensor_split(comm.size)))


def wants(case: Case, rank: int) -> list[Want]:
    n = case.count
    if not n:
        return []
    return [
        Want(f"incoming[{r}]", 1, outgoing(case, r)[rank * n : (rank + 1) * n], offset=r * n, holds=(r,))
        for r in range(case.ranks)
    ] + [Want("its outgoing pieces", 0, outgoing(case, rank), holds=(rank,))]


def own_missing(evidence: Evidence) -> Finding | None:
    """A rank's piece for itself stays where it is."""
    wrong = evidence.here
    if not wrong or any(d.want.what != f"incoming[{d.rank}]" for d in wrong):
        return None
    return Finding(
        f"With {evidence.case.on}, all that travels is right, but `incoming[rank]` was never filled: the piece "
        f"that a rank has **for itself** needs no message, only a copy: `incoming[rank].copy_(outgoing[rank])`."
    )


def wrong_piece(evidence: Evidence) -> Finding | None:
    """A rank sends a piece that is meant for another."""
    n = evidence.case.count
    for rank, after in enumerate(evidence.shown.after):
        for source in range(evidence.case.ranks):
            got = after[1][source * n : (source + 1) * n] if isinstance(after[1], torch.Tensor) else None
            if got is None or not n or source == rank:
                continue
            theirs = outgoing(evidence.case, source).view(evidence.case.ranks, n)
            meant = next((d for d in range(evidence.case.ranks) if torch.equal(theirs[d], got)), rank)
            if meant != rank:
                return Finding(
                    f"With {evidence.case.on}, rank {rank} got from rank {source} the piece that was meant for rank "
                    f"{meant}: send `outgoing[dest]`, **the piece of the rank you send to**."
                )
    return None


EXERCISE = Exercise(
    name="pairwise-all-to-all",
    topic="07_messages_and_collectives",
    title="Pairwise all-to-all",
    function="pairwise_all_to_all",
    parameters=("comm", "outgoing", "incoming"),
    minutes=20,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "every rank ends with the pieces meant for it",
            partly=((1, "right on 1, 2, 4 and 8 ranks", power_of_two),),
        ),
        Part("bytes", 1, "every piece travelled once"),
        Part("steps", 1, "p - 1 steps"),
    ),
    hints=(
        "In one step every rank sends to one rank and receives from one. If all send to rank 0 first, who waits? Can "
        "the ranks be paired so that in each step everyone is sent to exactly once?",
        "In step s, s = 1 … p − 1, rank r sends to rank (r + s) mod p, and receives from rank (r − s) mod p.",
        "First `incoming[rank].copy_(outgoing[rank])`. Then for each s: `dest = (rank + s) % p`, `source = (rank "
        "- s) % p`, `comm.sendrecv(outgoing[dest], dest, incoming[source], source)`.",
    ),
    cases=cases(counts=(3, 1, 0, 10)),
    inputs=inputs,
    call=call,
    wants=wants,
    targets=(
        few_bytes(lambda case: (case.ranks - 1) * case.count * case.itemsize),
        few_steps(lambda case: case.ranks - 1),
    ),
    diagnoses=(never_written, own_missing, wrong_piece),
)  # fmt: skip
