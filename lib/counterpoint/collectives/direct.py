"""Direct all-reduce: the two-shot, in compiled code where it can be, and the plain one everywhere else.

Compiled code needs rank threads on the wall clock, vectors in the CPU's memory, a dtype and op of `kernels.py`,
and Numba. It leaves the same bits as the plain two-shot and the same transfers in a trace. Compiling is begun,
in a thread of its own, only when a communicator has made FIRST_CALLS such calls; until it is done they go the
plain way, and nobody waits. `prepare` compiles at once, and lets "auto" choose direct from then on. Calls that go
the compiled way announce themselves to nobody: each rank leaves what it means to do beside its vector, and all
compare.
Cost: as `two_shot.py`.
"""

from functools import partial
from typing import Any

import numpy as np
import torch

from counterpoint.collectives import kernels
from counterpoint.collectives.kernels import DTYPES, OPS, prepare
from counterpoint.collectives.stages import ENTRY, EXIT, Call
from counterpoint.collectives.two_shot import BLOCK, cost, two_shot_all_reduce
from counterpoint.ranks import Comm
from counterpoint.ranks.handoff import Handoff, new_words

__all__ = ["chosen", "compiled_all_reduce", "cost", "direct_all_reduce", "prepare"]

direct_all_reduce = two_shot_all_reduce
"""The plain way: reduce `x` (1-D, contiguous) over all ranks, in place; returned."""

_changed = torch.autograd.graph.increment_version
"""Tell autograd that a tensor is no longer what it was."""

FIRST_CALLS = 20
"""Calls of a communicator for each dtype before anything is compiled for it."""


def compiled_all_reduce(comm: Comm, tensor: torch.Tensor, op: str) -> bool:
    """Reduce `tensor`, any shape and strides, in place by compiled code; False if this call is to go the plain way.

    All ranks find the same, whatever their threads do: it depends on what they do alike, and on what the first to
    ask has found.
    """
    if not (isinstance(tensor, torch.Tensor) and tensor.is_cpu):
        return False  # the plain way says what is wrong, if it is no tensor
    port: Any = comm._port
    handoff = port.handoffs.get(comm._key)
    kernel = None if handoff is None else handoff.kernels.get((tensor.dtype, op))
    if kernel is None:
        if not (tensor.dtype in DTYPES and op in OPS and port.hands_over):
            return False
        if handoff is not None and tensor.dtype in handoff.refused:
            return False
        handoff = _offer(comm, tensor.dtype)
        if (kernel := handoff.kernels.get((tensor.dtype, op))) is None:
            return False
    if port.world.failure is not None:
        port.world.check()
    straight = tensor.is_contiguous() and not tensor.is_neg()
    flat = tensor if straight else tensor.detach().resolve_neg().contiguous()
    comm._agreements += 1
    handoff.number += 2
    handoff.held[comm.rank] = flat  # before anybody knows its address
    if port.recorder is not None:
        Call(comm, handoff, kernel, flat, op).run_traced()
    elif code := kernel(ENTRY, EXIT, 0, handoff.number, flat.data_ptr(), flat.numel()):
        Call(comm, handoff, kernel, flat, op).go_on(code, EXIT)
    handoff.held[comm.rank] = None  # nobody reads it any more
    if not straight:
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            tensor.detach().copy_(flat)
    elif not tensor.is_inference():
        _changed(tensor)
    return True


def chosen(comm: Comm, dtype: torch.dtype, op: str) -> bool:
    """Whether "auto" is "direct" here: on rank threads, if `prepare(dtype)` had been called when one first asked."""
    port: Any = comm._port
    if not (dtype in DTYPES and op in OPS and port.hands_over):
        return False
    return port.world.decide(("auto", dtype), kernels.prepared(dtype))


def _offer(comm: Comm, dtype: torch.dtype) -> Handoff:
    """The communicator's hand-off, with code for `dtype` once there is some; whoever asks first decides for all."""
    port: Any = comm._port
    key = comm._key
    handoff = port.handoffs.get(key)
    if handoff is None:
        shared = port.world.decide((key, "words"), (new_words(comm.size), [None] * comm.size))
        handoff = port.handoffs[key] = Handoff(comm, *shared)
    calls = handoff.calls[dtype] = handoff.calls.get(dtype, 0) + 1
    if calls > FIRST_CALLS:
        kernels.begin(dtype)
    state = port.world.decide((key, dtype, calls), kernels.state(dtype))
    if state == "ready":
        like = np.empty(0, kernels.name_of(dtype))
        fixed = like, handoff.words, comm.rank, comm.size, BLOCK // like.itemsize
        for number, name in enumerate(OPS):
            code = DTYPES.index(dtype) << 3 | number
            handoff.kernels[dtype, name] = partial(kernels.kernel(dtype), *fixed, code)
    elif state == "never":
        handoff.refused.add(dtype)
    return handoff
