"""repair-a-deadlock: an exchange with both neighbours that was correct only by luck."""

import torch

from counterpoint.grading.costs import few_steps
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.exercise import Case, Exercise, Part, Want, vector


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    mine = vector(case, rank)
    return mine, torch.full_like(mine, -1), torch.full_like(mine, -1)


def wants(case: Case, rank: int) -> list[Want]:
    left, right = (rank - 1) % case.ranks, (rank + 1) % case.ranks
    return [
        Want("`from_left`", 1, vector(case, left), holds=(left,)),
        Want("`from_right`", 2, vector(case, right), holds=(right,)),
        Want("`mine`", 0, vector(case, rank), holds=(rank,)),
    ]


def swapped(evidence: Evidence) -> Finding | None:
    """The two edges have changed places."""
    case, shown = evidence.case, evidence.shown
    if case.ranks < 3 or shown.failure is not None:
        return None
    for rank, (_, from_left, from_right) in enumerate(shown.after):
        right, left = (rank + 1) % case.ranks, (rank - 1) % case.ranks
        if not torch.equal(from_left, vector(case, right)) or not torch.equal(from_right, vector(case, left)):
            return None
    return Finding(
        f"With {case.on}, rank 0 has its right neighbour's data in `from_left` and the left one's in `from_right`: "
        f"the two are **swapped**. What you send to the right is received by the right neighbour as `from_left`."
    )


def nothing_there(evidence: Evidence) -> Finding | None:
    """An edge is as it was."""
    for difference in evidence.here:
        if isinstance(difference.actual, torch.Tensor) and (difference.actual == -1).all():
            return Finding(
                f"With {evidence.case.on}, {difference.want.what} on rank {difference.rank} is still all −1: nothing "
                f"was received there. Four things must happen on each rank: two sends and two receives."
            )
    return None


def in_turns(evidence: Evidence) -> Finding | None:
    """Right, but ranks send and receive in turns."""
    steps = evidence.shown.trace.steps if evidence.shown.trace is not None else 0
    if evidence.case.ranks < 3 or steps <= 2:
        return None
    return Finding(
        "There is no deadlock any more, but ranks send and receive **in turns**: in each step half of the ports are "
        "idle. `sendrecv`, or `isend` and `irecv` followed by `wait`, uses both directions at once."
    )


EXERCISE = Exercise(
    name="repair-a-deadlock",
    topic="08_all_reduce",
    title="Repair a deadlock",
    function="exchange",
    parameters=("comm", "mine", "from_left", "from_right"),
    minutes=15,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "every rank has both neighbours' data, whatever is buffered",
            partly=((1, "right on 2, 4 and 8 ranks", power_of_two),),
        ),
        Part("steps", 1, "2 steps"),
    ),
    hints=(
        "Which call does each rank wait in, in the error's text? Would it help if only one of the ranks did it in "
        "another order?",
        "It would, and costs steps: while some send, others can only receive. Is there a call that does both at once?",
        "One `comm.sendrecv` carries `mine` to the right while what comes from the left arrives; a second one the "
        "other way round.",
    ),
    cases=tuple(
        Case(p, count, dtype, eager_limit)
        for p in (4, 2, 3, 5, 8, 6, 7)
        for count, dtype, eager_limit in ((6, "float32", 0), (6, "float64", 8192), (4096, "float32", 8192))
    ),
    inputs=inputs,
    wants=wants,
    targets=(few_steps(lambda case: 2),),
    diagnoses=(swapped, nothing_there),
    remarks=(in_turns,),
)  # fmt: skip
