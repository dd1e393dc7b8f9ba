"""bruck-all-gather: everyone's piece on every rank in ⌈lg p⌉ steps, for any p."""

from collections import Counter
from collections.abc import Callable

import torch

from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.exchanges import other_peer
from counterpoint.grading.diagnoses.movers import left_as_it_was, never_filled, nobody_to_send_to, one_tensor
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


def places(evidence: Evidence) -> list[list[int]]:
    """For each rank, whose piece is in each place of its output; [] unless all are whole pieces."""
    case = evidence.case
    if case.ranks < 3 or not case.count:
        return []
    owner = {tuple(vector(case, r).tolist()): r for r in range(case.ranks)}
    found = []
    for after in evidence.shown.after:
        if not isinstance(after[1], torch.Tensor) or after[1].numel() != case.ranks * case.count:
            return []
        found.append([owner.get(tuple(part), -1) for part in after[1].view(case.ranks, -1).tolist()])
    return found if all(-1 not in row for row in found) else []


def turned(evidence: Evidence) -> Finding | None:
    """Everything is there, but not in its place: not rotated, rotated the wrong way, or collected backwards."""
    p, rows = evidence.case.ranks, places(evidence)
    if not evidence.here or not rows or any(sorted(row) != list(range(p)) for row in rows):
        return None
    told = f"With {evidence.case.on}, every rank has every piece, but not in its place: "

    def all_are(whose: Callable[[int, int], int]) -> bool:
        return all(row == [whose(rank, i) % p for i in range(p)] for rank, row in enumerate(rows))

    if all_are(lambda rank, i: rank + i):
        return Finding(
            f"{told}its own comes first, so rank 1's `output` begins with piece 1. What is missing is the "
            f"**rotation** at the end, which puts piece r in place r."
        )
    if all_are(lambda rank, i: 2 * rank + i):
        return Finding(
            f"{told}rank 1's `output` begins with piece {rows[1][0]}. The rotation at the end goes **the wrong way**: "
            f"what is in place i of your list belongs in place (rank + i) mod p, not (i − rank) mod p."
        )
    if all_are(lambda rank, i: rank - i) or all_are(lambda rank, i: 2 * rank - i):
        return Finding(
            f"{told}rank 1's `output` is pieces {', '.join(map(str, rows[1]))}, **downwards**. You send up and "
            f"receive from below, so your list holds pieces rank, rank − 1, …; send down and receive from above, or "
            f"turn the list round at the end."
        )
    return Finding(f"{told}rank 1's `output` is pieces {', '.join(map(str, rows[1]))}.")


def wrong_distance(evidence: Evidence) -> Finding | None:
    """In some step all ranks talk to others that are nearer or farther than what they have."""
    p, sent = evidence.case.ranks, Counter[int]()
    distances: dict[int, set[int]] = {}
    for message in evidence.messages():
        distances.setdefault(sent[message.rank], set()).add((message.rank - message.peer) % p)
        sent[message.rank] += 1
    if p < 3 or not evidence.here or len(set(sent.values())) != 1 or len(sent) != p:
        return None
    for step, whose in sorted(distances.items()):
        have = 2**step
        if len(whose) != 1 or have >= p:
            return None
        (distance,) = whose
        if distance not in (have, p - have):
            has = (
                "its own piece" if have == 1 else f"{have} pieces, its own and those of the ranks next to it"
            )
            return Finding(
                f"With {evidence.case.on}, before step {step + 1} a rank has {has}, so what comes next is "
                f"**{have} away**; yours go "
                f"{min(distance, p - distance)} away. The distance doubles from step to step: it is as large as what a "
                f"rank has."
            )
    return None


def whole_output(evidence: Evidence) -> Finding | None:
    """Right, but room for all pieces travels, also where there is none yet."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 3 or not any(m.nbytes >= p * evidence.case.count * evidence.case.itemsize for m in messages):
        return None
    return Finding(
        "You send room for **all p pieces** in a step; only those that you have, and that the other still lacks, need "
        "to travel."
    )


def too_much_at_the_end(evidence: Evidence) -> Finding | None:
    """Right, but the last step brings pieces that are there already, where p is not a power of two."""
    for attempt in evidence.attempts:
        case, p = attempt.case, attempt.case.ranks
        if power_of_two(case) or not case.count or attempt.trace is None:
            continue
        sent = attempt.trace.where(kind="send", rank=0).nbytes // (case.count * case.itemsize)
        if sent.tolist() == [2**step for step in range(len(sent))] and sent.sum() >= p:
            return Finding(
                f"With {case.on}, before the last step a rank has {sent[-1]} piece{'s' * int(sent[-1] > 1)} and lacks "
                f"only {p - sent[-1]}, but is sent {sent[-1]} more. Send **no more than are wanted**: `min(have, p - "
                f"have)`."
            )
    return None


def overrun(evidence: Evidence) -> Finding | None:
    """The last step sends as much as there is, and the receiver's slice is shorter, being at the end."""
    failure = evidence.shown.failure
    if failure is None or failure.kind != "mismatch" or any(power_of_two(a.case) for a in evidence.wrong):
        return None
    return Finding(
        f"With {evidence.case.on}, in the last step a rank is sent **more pieces than it lacks**: the two ends of the "
        f"message do not agree, since a slice that reaches beyond the end of a tensor is cut short without a word. "
        f"Only p − have pieces are still wanted there."
    )


def like_a_ring(evidence: Evidence) -> Finding | None:
    """Right, but one piece a step."""
    p, messages = evidence.case.ranks, evidence.messages()
    if p < 3 or len(messages) != p * (p - 1) or any(m.nbytes > messages[0].nbytes for m in messages):
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
        few_bytes(lambda case: (case.ranks - 1) * case.count * case.itemsize, "piece"),
        few_steps(lambda case: (case.ranks - 1).bit_length()),
    ),
    diagnoses=(
        nobody_to_send_to, one_tensor, other_peer, overrun, left_as_it_was, wrong_distance, turned,
        never_filled(lambda p: (p - 1).bit_length()),
    ),
    remarks=(whole_output, too_much_at_the_end, like_a_ring),
)  # fmt: skip
