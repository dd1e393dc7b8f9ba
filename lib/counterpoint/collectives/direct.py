"""Direct all-reduce: the two-shot, in compiled code where it can be, and the plain one everywhere else.

Compiled code needs rank threads on the wall clock, vectors in the CPU's memory, a dtype and op named below, and
Numba. It leaves the same bits as the plain two-shot and the same transfers in a trace. Compiling takes a second
or two, so it is begun, in a thread of its own, only when a communicator has made FIRST_CALLS such calls; until it
is there they go the plain way. `prepare` waits for it instead. Calls that go the compiled way announce
themselves to nobody: each rank leaves what it means to do beside its vector, and all compare.
Cost: as `two_shot.py`.
"""

import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch

from counterpoint.collectives.two_shot import BLOCK, blocks, cost, two_shot_all_reduce
from counterpoint.ranks import Comm
from counterpoint.ranks.handoff import Handoff, new_words
from counterpoint.trace import UNKNOWN

__all__ = ["compiled_all_reduce", "cost", "direct_all_reduce", "prepare"]

direct_all_reduce = two_shot_all_reduce
"""The plain way: reduce `x` (1-D, contiguous) over all ranks, in place; returned."""

FIRST_CALLS = 20
"""Calls of a communicator for each dtype before anything is compiled for it."""

DTYPES = (torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
OPS = ("sum", "avg", "product", "min", "max")
"""What can be compiled; where they stand here is their number in what the ranks compare."""

ENTRY, WORK, EXIT = range(3)
"""The stages of a call: all have brought their vectors; the slice is added up and written; so is everybody's."""

DONE, ENTRY_LATE, ENTRY_WAKE, DIFFERENT, EXIT_LATE, EXIT_WAKE = range(6)
"""How a call came back: done; or Python must wait for the others, or wake them, at one of its ends; or ranks
have brought different numbers of elements, or mean different things to be done with them."""


_threads: dict[torch.dtype, threading.Thread] = {}
_kernels: dict[torch.dtype, Any] = {}
_lock = threading.Lock()
"""What this process has compiled, or is compiling; None for what it cannot."""


def prepare(dtype: torch.dtype = torch.float32) -> bool:
    """Compile now what adds up vectors of `dtype`, in a second or two; whether there is such code."""
    if dtype not in DTYPES:
        return False
    _begin(dtype).join()
    return _kernels[dtype] is not None


def compiled_all_reduce(comm: Comm, tensor: torch.Tensor, op: str) -> bool:
    """Reduce `tensor`, any shape and strides, in place by compiled code; False if this call is to go the plain way.

    All ranks find the same, whatever their threads do: it depends on what they do alike, and on what they agree on.
    """
    port: Any = comm._port
    dtype = tensor.dtype
    if not (port.hands_over and dtype in DTYPES and op in OPS):
        return False
    handoff = port.handoffs.get(comm._key)
    if handoff is None or dtype not in handoff.kernels:
        handoff = _agreed(comm, tensor, op)
    kernel = handoff.kernels.get(dtype)
    if kernel is None:
        return False
    if port.world.failure is not None:
        port.world.check()
    comm._agreements += 1
    flat = (
        tensor
        if tensor.is_contiguous() and not tensor.is_neg()
        else tensor.detach().resolve_neg().contiguous()
    )
    call = Call(comm, handoff, kernel, flat, op)
    if port.recorder is None:
        call.run(ENTRY, EXIT)
    else:
        call.run_traced()
    if flat is not tensor:
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            tensor.detach().copy_(flat.view(tensor.shape))
    elif not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)
    return True


class Call:
    """One compiled all-reduce, as one rank goes through its stages."""

    def __init__(self, comm: Comm, handoff: Handoff, kernel: Any, flat: torch.Tensor, op: str) -> None:
        self.comm, self.handoff, self.flat, self.op = comm, handoff, flat, op
        self.number = handoff.number + 1
        handoff.number += 2
        count = flat.numel()
        share, more = divmod(count, comm.size)
        low = comm.rank * share + min(comm.rank, more)
        high = low + share + (comm.rank < more)
        clock = comm._port.clock
        code = DTYPES.index(flat.dtype) << 3 | OPS.index(op)
        steps = max(clock.last_send, clock.last_receive)
        self.stages = partial(kernel, self.number, flat.data_ptr(), count, code, low, high, steps)
        handoff.held[comm.rank] = flat  # before its address is known to anybody

    def run(self, first: int, last: int) -> None:
        """Stages `first` to `last`, whoever else may be late."""
        handoff, comm, number = self.handoff, self.comm, self.number
        code = self.stages(first, last)
        while code != DONE:
            if code == DIFFERENT:
                comm._port.agree(comm._key, comm._members, comm._agreements, self.signature())
            elif code == ENTRY_LATE:
                handoff.sleep(number, "all_reduce", comm._agreements, self.signature())
            elif code == EXIT_LATE:
                handoff.sleep(number + 1, "all_reduce")
            else:
                handoff.wake()
            at_entry = code in (ENTRY_LATE, ENTRY_WAKE)
            code = self.stages(WORK, last) if at_entry and last > ENTRY else DONE
        if last == EXIT:
            handoff.held[comm.rank] = None  # nobody reads it any more

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

    def signature(self) -> tuple:
        """What the plain way would have announced."""
        return "all_reduce", self.flat.numel(), self.flat.dtype, self.op, "direct"


_LINE = (Call.run.__code__, Call.run.__code__.co_firstlineno)
"""Compiled code has no line of its own."""


def _agreed(comm: Comm, tensor: torch.Tensor, op: str) -> Handoff:
    """The communicator's hand-off; its kernel for this dtype once every rank has one, or None if one never will."""
    port: Any = comm._port
    dtype = tensor.dtype
    comm.agree("all_reduce", tensor.numel(), dtype, op, "direct")
    handoff = port.handoffs.get(comm._key)
    calls = 0 if handoff is None else handoff.calls.get(dtype, 0)
    if calls >= FIRST_CALLS:
        _begin(dtype)
    mine = "not yet" if dtype not in _kernels else "never" if _kernels[dtype] is None else "ready"
    shared = (new_words(comm.size), [None] * comm.size) if handoff is None and comm.rank == 0 else None
    everyone = comm._exchange((mine, shared), "all_reduce")
    if handoff is None:
        handoff = port.handoffs[comm._key] = Handoff(comm, *everyone[0][1])
    handoff.calls[dtype] = calls + 1
    states = {state for state, _ in everyone}
    if "never" in states:
        handoff.kernels[dtype] = None
    elif states == {"ready"}:
        like = np.empty(0, str(dtype).removeprefix("torch."))
        handoff.kernels[dtype] = partial(
            _kernels[dtype], like, handoff.words, comm.rank, comm.size, BLOCK // like.itemsize
        )
    return handoff


def _begin(dtype: torch.dtype) -> threading.Thread:
    """The thread that compiles for `dtype`; begun if it is not."""
    with _lock:
        if dtype not in _threads:
            _threads[dtype] = threading.Thread(target=_compile, args=(dtype,), name=f"compiles for {dtype}")
            _threads[dtype].start()
        return _threads[dtype]


def _compile(dtype: torch.dtype) -> None:
    kernel = None
    try:
        if sys.platform != "win32":  # whose system has no sched_yield
            cpu = import_module("counterpoint.collectives.cpu")
            kernel = cpu.compiled(str(dtype).removeprefix("torch."))
    except ImportError:
        pass
    finally:
        _kernels[dtype] = kernel
