"""What this process has compiled for the direct all-reduce, dtype by dtype, and the threads that do it.

Compiling takes a second or two for each dtype and lasts as long as the process. Nothing is kept on disk: Numba's
cache goes stale when a function in another file changes.
"""

import sys
import threading
from importlib import import_module
from typing import Any

import torch

DTYPES = (torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
OPS = ("sum", "avg", "product", "min", "max")
"""What can be compiled; where they stand here is their number in what the ranks compare."""

_lock = threading.Lock()
_threads: dict[torch.dtype, threading.Thread] = {}
_kernels: dict[torch.dtype, Any] = {}
_prepared: set[torch.dtype] = set()


def compile_for(dtype: torch.dtype) -> bool:
    """Compile now what adds up vectors of `dtype`, in a second or two; whether there is such code."""
    if dtype not in DTYPES:
        return False
    begin(dtype).join()
    return _kernels[dtype] is not None


def prepare(dtype: torch.dtype = torch.float32) -> bool:
    """`compile_for(dtype)`; and from the next launch on, "auto" is "direct" for it where ranks are threads."""
    if compile_for(dtype):
        _prepared.add(dtype)
    return dtype in _prepared


def prepared(dtype: torch.dtype) -> bool:
    """Whether `prepare` has been called for it, and there is code."""
    return dtype in _prepared


def state(dtype: torch.dtype) -> str:
    """Whether there is code for `dtype`: "ready", "not yet" or "never"."""
    if dtype not in _kernels:
        return "not yet"
    return "never" if _kernels[dtype] is None else "ready"


def kernel(dtype: torch.dtype) -> Any:
    """The code, once it is ready: `cpu.stages`, compiled."""
    return _kernels[dtype]


def begin(dtype: torch.dtype) -> threading.Thread:
    """The thread that compiles for `dtype`; begun if it is not."""
    with _lock:
        if dtype not in _threads:
            _threads[dtype] = threading.Thread(target=_compile, args=(dtype,), name=f"compiles for {dtype}")
            _threads[dtype].start()
        return _threads[dtype]


def _compile(dtype: torch.dtype) -> None:
    found = None
    try:
        if sys.platform != "win32":  # whose system has no sched_yield
            cpu = import_module("counterpoint.collectives.cpu")
            found = cpu.compiled(name_of(dtype))
    except ImportError:
        pass
    finally:
        _kernels[dtype] = found


def name_of(dtype: torch.dtype) -> str:
    """NumPy's name of it."""
    return str(dtype).removeprefix("torch.")
