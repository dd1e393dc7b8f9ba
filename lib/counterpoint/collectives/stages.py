"""One compiled all-reduce, as one rank goes through it: in one go, or stage by stage where a trace is kept."""

from typing import Any

import torch

from counterpoint.collectives.two_shot import blocks
from counterpoint.ranks import Comm
from counterpoint.ranks.handoff import Handoff
from counterpoint.trace import UNKNOWN

ENTRY, WORK, EXIT = range(3)
"""The stages: all have brought their vectors; the own slice is added up and written; so is everybody's."""

DONE, ENTRY_LATE, ENTRY_WAKE, DIFFERENT, EXIT_LATE, EXIT_WAKE = range(6)
"""How compiled code came back: done; or Python must wait for the others, or wake them, at one of the ends; or
ranks have brought different numbers of elements, or mean different things to be done with them."""


class Call:
    """Rank `comm.rank`'s part in reducing `flat` (contiguous; every rank's, in place).

    `kernel` takes (first stage, last stage, steps so far, the call's number, address, elements).
    """

    def __init__(self, comm: Comm, handoff: Handoff, kernel: Any, flat: torch.Tensor, op: str) -> None:
        self.comm, self.handoff, self.kernel, self.flat, self.op = comm, handoff, kernel, flat, op
        clock = comm._port.clock
        steps = max(clock.last_send, clock.last_receive)
        self.given = steps, handoff.number, flat.data_ptr(), flat.numel()

    def run(self, first: int, last: int) -> None:
        """Stages `first` to `last`, whoever may be late."""
        self.go_on(self.kernel(first, last, *self.given), last)

    def go_on(self, code: int, last: int) -> None:
        """Do in Python what compiled code came back for, then the stages that are left, until all is done."""
        handoff, comm = self.handoff, self.comm
        signature = "all_reduce", self.flat.numel(), self.flat.dtype, self.op, "direct"
        while code != DONE:
            if code == DIFFERENT:  # raises on every rank
                comm._port.agree(comm._key, comm._members, comm._agreements, signature)
            elif code == ENTRY_LATE:
                handoff.sleep(handoff.number, "all_reduce", comm._agreements, signature)
            elif code == EXIT_LATE:
                handoff.sleep(handoff.number + 1, "all_reduce")
            else:
                handoff.wake()
            more = code in (ENTRY_LATE, ENTRY_WAKE) and last > ENTRY
            code = self.kernel(WORK, last, *self.given) if more else DONE

    def run_traced(self) -> None:
        """All stages, each with its time, and the transfers of the plain two-shot."""
        comm, port, flat = self.comm, self.comm._port, self.flat
        times = [port.seconds()]
        for stage in (ENTRY, WORK, EXIT):
            self.run(stage, stage)
            times.append(port.seconds())
            if stage == ENTRY:
                step = 1 + self.handoff.steps()
        others = [(comm.rank + k) % comm.size for k in range(1, comm.size)]
        with comm.phase(""):
            self._event("fence", UNKNOWN, UNKNOWN, step, *times[0:2])
            for block in blocks(comm.size, comm.rank, flat.numel(), flat.element_size()):
                for kind in ("get", "put"):
                    for other in others:
                        self._event(kind, other, block.stop - block.start, step + 1, *times[1:3])
            self._event("fence", UNKNOWN, UNKNOWN, step + 1, *times[2:4])
        port.clock.last_send = port.clock.last_receive = step + 1

    def _event(self, kind: str, peer: int, count: int, step: int, start: float, end: float) -> None:
        port, moves = self.comm._port, kind != "fence"
        assert port.recorder is not None
        port.recorder.add(
            port.number() if moves else None, self.comm._key, port.rank,
            self.comm._members[peer] if moves else UNKNOWN, kind, self.op if kind == "get" else "", 0,
            count * self.flat.element_size() if moves else 0, step, start, end, port.phase,
            (UNKNOWN, UNKNOWN, count), _LINE,
        )  # fmt: skip


_LINE = (Call.run.__code__, Call.run.__code__.co_firstlineno)
"""Compiled code has no line of its own."""
