"""bruck-all-gather: everyone's piece on every rank in ⌈lg p⌉ steps, for any p."""

import torch

from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases, vector


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """The rank's piece, and room for all of them."""
    return vector(case, rank), torch.full((case.ranks * case.count,), -1).to(case.torch_dtype)


def wants(case: Case, rank: int) -> list[Want]:
    if not case.count:
        return []
    pieces = [
        Want(f"piece {r}", 1, vector(case, r), offset=r * case.count, holds=(r,)) for r in range(case.ranks)
    ]
    return [*pieces, Want("its own piece", 0, vector(case, rank), holds=(rank,))]


def not_turned(evidence: Evidence) -> Finding | None:
    """Everything is there, but each rank's own piece is first."""
    p, n = evidence.case.ranks, evidence.case.count
    if p < 3 or not n or not evidence.shown.after:
        return None
    pieces = [vector(evidence.case, r) for r in range(p)]
    for rank, after in enumerate(evidence.shown.after):
        turned = torch.cat([pieces[(rank + i) % p] for i in range(p)])
        if not isinstance(after[1], torch.Tensor) or not torch.equal(after[1], turned):
            return None
    return Finding(
        f"With {evidence.case.on}, every rank has every piece, but its own comes first: rank 1's `output` begins "
        f"with piece 1. What is missing is the **rotation** at the end, which puts piece r in place r."
    )


def like_a_ring(evidence: Evidence) -> Finding | None:
    """Right, but one piece a step."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 4 or len(messages) != p * (p - 1) or any(m.nbytes > messages[0].nbytes for m in messages):
        return None
    return Finding(
        f"One piece travels in each of {p - 1} steps. After a step you have twice as much: send **all that you "
        f"have**, to a rank twice as far away."
    )


EXERCISE = Exercise(
    name="bruck-all-gather",
    topic="07_messages_and_collectives",
    title="Bruck's all-gather",
    function="bruck_all_gather",
    parameters=("comm", "piece", "output"),
    minutes=35,
    difficulty=3,
    parts=(
        Part(
            "correct", 3, "every rank ends with every piece in its place",
            partly=((1, "right on 1, 2, 4 and 8 ranks", power_of_two),),
        ),
        Part("bytes", 1, "no rank sent more than p - 1 pieces"),
        Part("steps", 2, "⌈lg p⌉ steps"),
    ),
    hints=(
        "Let each rank keep what it has in a list that begins with its own piece, then its right neighbour's, and so "
        "on. With two pieces each, whom must a rank ask for the next two?",
        "In step s, counted from 0, send the first 2^s pieces of your list to rank (rank − 2^s) mod p, and "
        "append what comes from rank (rank + 2^s) mod p. In the last step only p − 2^s pieces are still wanted. "
        "At the end, place i of the list is piece (rank + i) mod p.",
        "`held = torch.empty_like(output)`; `held[:n] = piece`; `have = 1`. While `have < p`: `count = min(have, p - "
        "have)`; `comm.sendrecv(held[: count * n], (rank - have) % p, held[have * n : (have + count) * n], (rank "
        "+ have) % p)`; `have += count`. Then copy the places of `held` to where they belong in `output`.",
    ),
    cases=cases(counts=(3, 1, 0, 10)),
    inputs=inputs,
    wants=wants,
    targets=(
        few_bytes(lambda case: (case.ranks - 1) * case.count * case.itemsize),
        few_steps(lambda case: (case.ranks - 1).bit_length()),
    ),
    diagnoses=(not_turned,),
    remarks=(like_a_ring,),
)  # fmt: skip
