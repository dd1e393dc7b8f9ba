"""hello-neighbour: the first exercise, two lines long."""

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """mine holds the rank's own number; theirs a number that no rank has."""
    return torch.tensor([rank], dtype=case.torch_dtype), torch.tensor([-1], dtype=case.torch_dtype)


def wants(case: Case, rank: int) -> list[Want]:
    left = (rank - 1) % case.ranks
    return [
        Want("`theirs`", 1, torch.tensor([left], dtype=case.torch_dtype), holds=(left,)),
        Want("`mine`", 0, torch.tensor([rank], dtype=case.torch_dtype), holds=(rank,)),
    ]


def the_other_way(evidence: Evidence) -> Finding | None:
    """Every rank has its right neighbour's number."""
    p = evidence.case.ranks
    if p < 3 or evidence.shown.failure is not None:
        return None
    got = [after[1] for after in evidence.shown.after]
    if not all(isinstance(t, torch.Tensor) and t.tolist() == [(r + 1) % p] for r, t in enumerate(got)):
        return None
    return Finding(
        f"With {evidence.case.on}, rank 0 holds {got[0].item()}, its **right** neighbour's number: your message "
        f"travels the other way round. Send to `(comm.rank + 1) % comm.size`, receive from "
        f"`(comm.rank - 1) % comm.size`."
    )


def never_received(evidence: Evidence) -> Finding | None:
    """`theirs` is as it was."""
    untouched = [
        rank
        for rank, after in enumerate(evidence.shown.after)
        if isinstance(after[1], torch.Tensor) and after[1].tolist() == [-1]
    ]
    if not untouched:
        return None
    sent = "The numbers were sent, and nobody took them: " if evidence.messages() else ""
    return Finding(
        f"With {evidence.case.on}, `theirs` on rank {untouched[0]} is still −1, as before. {sent}`comm.recv("
        f"theirs, source)` writes what arrives into `theirs`; `theirs = …` would only give the name to another "
        f"tensor."
    )


def still_mine(evidence: Evidence) -> Finding | None:
    """Every rank has its own number, from itself."""
    got = [after[1] for after in evidence.shown.after]
    p = evidence.case.ranks
    if (
        p < 2
        or evidence.shown.failure is not None
        or not all(isinstance(t, torch.Tensor) and t.tolist() == [r] for r, t in enumerate(got))
    ):
        return None
    return Finding(
        f"With {evidence.case.on}, every rank holds its own number: it greets itself. The neighbour's rank is one "
        f"more than yours, counted round the ring."
    )


def overwritten(evidence: Evidence) -> Finding | None:
    """The rank's own number is gone."""
    difference = next((d for d in evidence.here if d.want.where == 0), None)
    if difference is None:
        return None
    return Finding(
        f"With {evidence.case.on}, `mine` on rank {difference.rank} is no longer its own number: it was overwritten. "
        f"One tensor cannot hold both; receive into `theirs`."
    )


def by_luck(evidence: Evidence) -> Finding | None:
    """Right, but every rank sends before it receives: say why that is not safe for larger data."""
    trace = evidence.shown.trace
    if trace is None or not all("sendrecv" not in text for text in _codes(evidence)):
        return None
    return Finding(
        "Each rank sends first and receives then. That works here because eight bytes are buffered; the "
        "exercise `repair-a-deadlock` shows what becomes of it when they are not."
    )


def _codes(evidence: Evidence) -> list[str]:
    """The source text of the lines that sent the messages."""
    trace = evidence.shown.trace
    assert trace is not None
    texts = []
    for line in set(trace.sends.text("line")):
        file, _, number = line.rpartition(":")
        lines = trace.sources.get(file, [])
        texts.append(lines[int(number) - 1] if 0 < int(number) <= len(lines) else "sendrecv")
    return texts


EXERCISE = Exercise(
    name="hello-neighbour",
    topic="00_orientation",
    title="Hello, neighbour",
    function="hello_neighbour",
    parameters=("comm", "mine", "theirs"),
    minutes=5,
    difficulty=1,
    parts=(Part("correct", 2, "every rank has its left neighbour's number"),),
    hints=(
        "The ranks stand in a circle. Who is to the right of rank 2 of 4? And to the right of rank 3?",
        "`(comm.rank + 1) % comm.size` is the right neighbour: `%` takes the last rank back to 0. Write the left "
        "one the same way.",
        "`comm.send(mine, right)` gives your number to the right; `comm.recv(theirs, left)` puts the left one's "
        "into `theirs`. `comm.sendrecv(mine, right, theirs, left)` does both at once.",
    ),
    cases=tuple(Case(p, 1, "int64") for p in (4, 2, 3, 5, 8, 6, 7)),
    inputs=inputs,
    wants=wants,
    diagnoses=(the_other_way, never_received, still_mine, overwritten),
    remarks=(by_luck,),
)
