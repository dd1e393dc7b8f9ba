"""pairwise-all-to-all: everyone has a different piece for everyone, and everyone sends in every step."""

from collections.abc import Callable
from typing import Any

import torch

from counterpoint.grading.costs import few_bytes, few_steps
from counterpoint.grading.diagnoses.exchanges import (
    idle_ranks,
    only_equal,
    other_peer,
    other_piece,
    other_place,
    own_missing,
    same_order,
    to_itself,
    too_long,
)
from counterpoint.grading.diagnoses.movers import left_as_it_was, never_filled, nobody_to_send_to, one_tensor
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.exercise import Case, Exercise, Part, Want, cases, vector

UNEQUAL = 10
"""In runs of this count the pieces are of different lengths."""


def equal(case: Case) -> bool:
    """Whether all pieces of the run are of one length."""
    return case.count != UNEQUAL or case.ranks == 1


def length(case: Case, source: int, dest: int) -> int:
    """Elements that rank `source` has for rank `dest`.

    Unequal ones are 0, 2, 4, …, different both ways, and one more for the right neighbour: so what a rank sends in
    all is p(p - 1) + 1, never a multiple of p, and `pieces` can tell.
    """
    if equal(case):
        return case.count
    return 2 * ((source + dest) % case.ranks) + (dest == (source + 1) % case.ranks)


def outgoing(case: Case, rank: int) -> list[torch.Tensor]:
    """A rank's pieces for ranks 0, 1, …"""
    room = vector(Case(case.ranks, case.count * case.ranks, case.dtype), rank)
    lengths = [length(case, rank, dest) for dest in range(case.ranks)]
    return list(room[: sum(lengths)].split(lengths))


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """What the rank sends, one piece behind another, and room for what it receives."""
    room = sum(length(case, source, rank) for source in range(case.ranks))
    return torch.cat(outgoing(case, rank)), torch.full((room,), -1).to(case.torch_dtype)


def call(comm: Any, answer: Any, out: torch.Tensor, into: torch.Tensor) -> Any:
    """Calls an answer that takes two lists of p pieces."""
    p, rank = comm.size, comm.rank
    case = Case(p, UNEQUAL if out.numel() % p else out.numel() // p)
    to_others = [length(case, rank, dest) for dest in range(p)]
    from_others = [length(case, source, rank) for source in range(p)]
    return answer(comm, list(out.split(to_others)), list(into.split(from_others)))


def wants(case: Case, rank: int) -> list[Want]:
    found, start = [], 0
    for source in range(case.ranks):
        piece = outgoing(case, source)[rank]
        if len(piece):
            found.append(Want(f"incoming[{source}]", 1, piece, offset=start, holds=(source,)))
        start += len(piece)
    whole = torch.cat(outgoing(case, rank))
    return [*found, Want("its outgoing pieces", 0, whole, holds=(rank,))] if len(whole) else found


def most(case: Case) -> int:
    """The bytes that the busiest rank has for others."""
    p = case.ranks
    return case.itemsize * max(
        sum(length(case, rank, dest) for dest in range(p) if dest != rank) for rank in range(p)
    )


def with_pieces(diagnosis: Callable) -> Callable:
    """A diagnosis that also wants to know which pieces there were."""
    return lambda evidence: diagnosis(evidence, outgoing)


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
            partly=(
                (2, "right where all pieces are of one length", equal),
                (1, "right on 1, 2, 4 and 8 ranks", power_of_two),
            ),
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
    cases=cases(counts=(3, 1, 0, UNEQUAL)),
    inputs=inputs,
    call=call,
    wants=wants,
    targets=(few_bytes(most, "piece"), few_steps(lambda case: case.ranks - 1)),
    diagnoses=(
        nobody_to_send_to, one_tensor, left_as_it_was, own_missing, other_peer,
        with_pieces(other_piece), with_pieces(other_place),
        only_equal(equal), never_filled(lambda p: p - 1),
    ),
    remarks=(to_itself, too_long, same_order, idle_ranks),
)  # fmt: skip
