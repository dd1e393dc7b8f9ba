"""Mistakes that rings invite: the wrong neighbour, the wrong chunk, a step too many or too few."""

from __future__ import annotations

from collections import Counter

import numpy as np

from counterpoint.grading.diagnoses.contributions import name_cells
from counterpoint.grading.diagnoses.evidence import Evidence, Finding, Message


def wrong_neighbour(evidence: Evidence) -> Finding | None:
    """Messages that go to another rank than the right neighbour."""
    p = evidence.case.ranks
    odd = next((m for m in evidence.messages() if m.peer != (m.rank + 1) % p), None)
    if odd is None or p < 3:
        return None
    if odd.peer == odd.rank:
        who = "itself"
    elif odd.peer == (odd.rank - 1) % p:
        who = f"rank {odd.peer}, its **left** neighbour"
    else:
        who = f"rank {odd.peer}, which is not its neighbour"
    return Finding(
        f"With {evidence.case.on}, rank {odd.rank} sends to {who}, in step {odd.step} (your line {odd.line}). The "
        f"right neighbour is `(rank + 1) % comm.size`, and rank {odd.rank}'s is rank {(odd.rank + 1) % p}.",
        odd.number,
    )


def aliased(evidence: Evidence) -> Finding | None:
    """A rank receives into the memory that it is sending from in the same step."""
    if evidence.provenance is None or evidence.case.ranks == 1:
        return None
    trace = evidence.provenance.trace
    sends = {(m.rank, m.step, m.line): m for m in evidence.messages()}
    for i in np.flatnonzero(np.isin(trace.text("kind"), ["recv", "reduce"])):
        e = trace[int(i)]
        message = sends.get((e.rank, e.step, int(e.line.rpartition(":")[2] or 0)))
        if message is None or e.buffer < 0 or e.length <= 0:
            continue
        for cell, _ in message.cells:
            buffer, offset, length = evidence.provenance.cells[cell] if cell >= 0 else (-1, 0, 0)
            if buffer == e.buffer and offset < e.offset + e.length and e.offset < offset + length:
                return Finding(
                    f"With {evidence.case.on}, in step {message.step} rank {message.rank} sends "
                    f"{name_cells(evidence, message)} and receives into the same memory at the same time (your "
                    f"line {message.line}): the two are **aliased**, so what leaves may already be overwritten.",
                    message.number,
                )
    return None


def never_written(evidence: Evidence) -> Finding | None:
    """What arrives goes into temporaries, and no rank's vector changes."""
    provenance = evidence.provenance
    if provenance is None or provenance.changes or not evidence.messages() or evidence.case.ranks == 1:
        return None
    received = provenance.trace.where(kind=("recv", "reduce"))
    if not len(received) or (received.buffer >= 0).any():
        return None
    return Finding(
        f"{_ends(evidence)}What arrives goes into temporaries, and **the caller's vector** is never written: "
        f"`chunks[i] = incoming` only puts another tensor into your list. Write into the view, "
        f"`chunks[i].copy_(incoming)`, or receive into it at once."
    )


def not_passed_on(evidence: Evidence) -> Finding | None:
    """A rank sends another chunk than the one it received in the step before."""
    messages = evidence.messages()
    arrived = {(m.peer, m.step): m for m in messages}
    for message in messages:
        before = arrived.get((message.rank, message.step - 1))
        if before is None or len(before.cells) != 1 or len(message.cells) != 1:
            continue
        if min(before.cells[0][0], message.cells[0][0]) < 0 or before.cells[0][0] == message.cells[0][0]:
            continue
        return Finding(_told(evidence, message, before), message.number)
    return None


def _told(evidence: Evidence, message: Message, before: Message) -> str:
    return (
        f"{_ends(evidence)}The first message that went wrong is in step {message.step}: rank {message.rank} sends "
        f"{name_cells(evidence, message)} to rank {message.peer} (your line {message.line}), but what it "
        f"received in step {before.step} was {name_cells(evidence, before)}. A rank should pass on "
        f"**what it has just received**."
    )


def _ends(evidence: Evidence) -> str:
    from counterpoint.grading.diagnoses.contributions import counts_at, tells

    for difference in evidence.here:
        counts = counts_at(evidence, difference)
        if counts is not None:
            return tells(evidence, difference, counts) + " "
    return ""


def step_count(evidence: Evidence) -> Finding | None:
    """Each rank sends one message too few or too many: p - 1 are needed."""
    p = evidence.case.ranks
    sent = Counter(m.rank for m in evidence.messages())
    if not sent or len(set(sent.values())) != 1 or len(sent) != p:
        return None
    each = sent[0]
    if each == p - 1 or p < 3 or each not in (p - 2, p):
        return None
    word = "one step too few" if each < p - 1 else "one step too many"
    why = (
        "the sum of p inputs needs p − 1 hops"
        if each < p - 1
        else "the last one brings what is there already"
    )
    return Finding(
        f"{_ends(evidence)}With {evidence.case.on}, each rank sends {each} messages: **{word}**, {why}. "
        f"`range(p - 1)` counts p − 1 steps."
    )
