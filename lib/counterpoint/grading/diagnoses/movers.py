"""Mistakes of answers that move data and add nothing: what was wanted never came, or was put elsewhere."""

from collections import Counter
from collections.abc import Callable

import torch

from counterpoint.grading.diagnoses.contributions import counts_at, unreceived
from counterpoint.grading.diagnoses.evidence import Difference, Evidence, Finding
from counterpoint.grading.exercise import Want


def left_as_it_was(evidence: Evidence) -> Finding | None:
    """No rank has anything new where it should: what arrived is in other tensors."""
    messages, wanted = evidence.messages(), _wanted(evidence)
    if not evidence.here or not messages or len(evidence.here) != len(wanted):
        return None
    if not all(untouched(evidence, difference) for difference in evidence.here):
        return None
    where = evidence.here[0].want.where
    assert where is not None
    name = evidence.exercise.parameters[1 + where]
    if len(unreceived(evidence)) == len(messages):
        return Finding(
            f"With {evidence.case.on}, {len(messages)} messages are sent, and **none is received**: for each `send` "
            f"some rank calls `recv`."
        )
    returned = ""
    if any(isinstance(result, torch.Tensor | list | tuple) for result in evidence.shown.results):
        returned = " What your function **returns** is not looked at."
    if evidence.here[0].want.what.startswith(f"{name}["):
        cure = f"`{name}[j] = …` only puts another tensor into your list: write `{name}[j].copy_(…)`"
    else:
        cure = f"write `{name}.copy_(…)`, or receive into `{name}` or a **view** of it at once"
    return Finding(
        f"With {evidence.case.on}, **no rank's `{name}` has changed**, though {len(messages)} messages travelled: what "
        f"arrives is in other tensors (a `clone`, a new one). {cure[0].upper()}{cure[1:]}.{returned}"
    )


def nobody_to_send_to(evidence: Evidence) -> Finding | None:
    """One rank that sends, or waits for a message."""
    failure = evidence.shown.failure
    if evidence.case.ranks > 1 or failure is None:
        return None
    line = next((wait.line for wait in failure.waits), failure.line)
    if failure.kind == "raised" and "comm." not in failure.code:
        return None
    return Finding(
        f"With **1 rank** there is nobody to send to or receive from, but yours does (your line {line}). Where p − 1 "
        f"messages are needed, one rank needs none."
    )


def one_tensor(evidence: Evidence) -> Finding | None:
    """One call that sends a tensor and receives into it."""
    failure = evidence.shown.failure
    if failure is None or "sends and fills the same tensor" not in failure.message:
        return None
    return Finding(
        f"With {evidence.case.on}, rank {failure.rank} **sends a tensor and receives into it** in one call (your line "
        f"{failure.line}: `{failure.code}`): what leaves may already be overwritten. What is received in a step "
        f"belongs in another place than what is sent in it."
    )


def never_filled(needed: Callable[[int], int]) -> Callable[[Evidence], Finding | None]:
    """Places that nothing came to. `needed(p)`: how many messages each rank sends, of p ranks, if all goes well."""

    def diagnosis(evidence: Evidence) -> Finding | None:
        p = evidence.case.ranks
        if p == 1 or not evidence.here:
            return None
        difference = evidence.here[0]
        place = _place(evidence, difference)
        if untouched(evidence, difference):
            return Finding(f"{place} is **as it was at the start**: {_why(evidence, difference, needed(p))}")
        counts = counts_at(evidence, difference)
        if not evidence.messages():
            return Finding(f"{place} is not what it should be: your ranks send **no message** at all.")
        if counts is not None and not counts.any():
            return Finding(
                f"{place} holds **nothing that any rank sent**. Was it received into a copy of the slice (`clone`, "
                f"`x[[…]]`, an empty tensor), which is then dropped? A slice `x[a:b]` is a view: receive into that."
            )
        return None

    return diagnosis


def untouched(evidence: Evidence, difference: Difference) -> bool:
    """Whether that place still holds what the rank was given in it."""
    if difference.want.where is None or difference.kind != "value":
        return False
    return torch.equal(difference.actual, _given(evidence, difference.rank, difference.want))


def _wanted(evidence: Evidence) -> list[tuple[int, Want]]:
    """The places that have to change."""
    case = evidence.case
    return [
        (rank, want)
        for rank in range(case.ranks)
        for want in evidence.exercise.wants(case, rank)
        if want.where is not None and not torch.equal(_given(evidence, rank, want), want.value)
    ]


def _given(evidence: Evidence, rank: int, want: Want) -> torch.Tensor:
    assert want.where is not None
    flat = evidence.exercise.inputs(evidence.case, rank)[want.where].flatten()
    return flat[want.offset : want.offset + want.value.numel()]


def _place(evidence: Evidence, difference: Difference) -> str:
    what = difference.want.what
    if what.startswith("its "):
        return f"With {evidence.case.on}, rank {difference.rank}'s {what.removeprefix('its ')}"
    what = f"`{what}`" if "[" in what else what
    return f"With {evidence.case.on}, {what} on rank {difference.rank}"


def _why(evidence: Evidence, difference: Difference, needed: int) -> str:
    """Why nothing came: nobody sends at all, or to that rank, or there are too few steps."""
    rank, p = difference.rank, evidence.case.ranks
    if not evidence.messages():
        return "your ranks send **no message** at all."
    lost = next((m for m in evidence.messages() if m.peer == rank and m.number in unreceived(evidence)), None)
    if lost is not None:
        at = f"in step {lost.step} (your line {lost.line})"
        return f"rank {lost.rank} sends to it {at}, and that is **never received**."
    if all(message.peer != rank for message in evidence.messages()):
        return f"nobody ever sends to rank {rank}."
    (source,) = difference.want.holds or (rank,)
    told = f"what rank {source} has for it never came."
    sent = Counter(message.rank for message in evidence.messages())
    fewest = min(sent[r] for r in range(p))
    if not 0 < fewest < needed:
        return told
    short = "one step too few" if fewest == needed - 1 else f"{needed - fewest} steps too few"
    return f"{told} Rank {_who(sent, fewest)} sends {fewest} of the {needed} messages that it takes: **{short}**."


def _who(sent: Counter[int], fewest: int) -> int:
    return next(rank for rank in sorted(sent) if sent[rank] == fewest)


def put_elsewhere(evidence: Evidence) -> Finding | None:
    """A message leaves one place of its sender's vector and is received into another place of the same length."""
    if evidence.provenance is None:
        return None
    trace = evidence.provenance.trace
    arrived = {
        e.message: e for e in map(trace.__getitem__, range(len(trace))) if e.kind == "recv" and e.length > 0
    }
    for message in evidence.messages():
        e, sent = arrived.get(message.number), trace[message.event]
        if e is None or sent.buffer != e.buffer or sent.buffer < 0 or sent.offset == e.offset:
            continue
        first = next(m for m in evidence.messages() if m.peer == message.peer) is message
        passes = "" if first else ": each rank passes on the one that it received in the step before"
        return Finding(
            f"With {evidence.case.on}, in step {message.step} rank {message.rank} sends "
            f"{_chunk(evidence, sent.offset)} (your line {message.line}), and rank {message.peer} receives it into "
            f"**{_chunk(evidence, e.offset)}**. Both ends must mean the same chunk{passes}.",
            message.number,
        )
    return None


def _chunk(evidence: Evidence, offset: int) -> str:
    """The name of the `tensor_split` chunk that begins there."""
    case = evidence.case
    starts = [chunk.storage_offset() for chunk in torch.empty(case.count).tensor_split(case.ranks)]
    return f"chunk {starts.index(offset)}" if offset in starts else f"the place from element {offset} on"
