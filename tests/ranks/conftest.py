"""One contract, many worlds: a test that takes `world` runs on every substrate there is."""

import threading
from functools import partial

import pytest
import torch

from counterpoint.ranks import launch

WORLDS = {
    "threads": launch,
    "simulated": partial(launch, world="simulated"),
    "processes": partial(launch, world="processes"),
    "lanes": partial(launch, world="processes", backend="lanes"),
    "nccl": lambda *given, **named: on_cpu(launch, *given, world="processes", backend="nccl", **named),
    "cuda": lambda *given, **named: on_cpu(launch, *given, device="cuda", **named),
}
"""Each substrate's `launch`. "lanes" is the way of nccl, carried by gloo."""

GPU = ("cuda", "nccl")


def on_cpu(launch, *given, **named):
    """Launch, and bring results and arguments to the CPU, where the tests compare them."""
    run = launch(*given, **named)
    run.results, run.args = _moved(run.results), _moved(run.args)
    return run


def _moved(value):
    if isinstance(value, torch.Tensor):
        return value.cpu()
    return type(value)(map(_moved, value)) if type(value) in (list, tuple) else value


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.gpu] if name in GPU else []) for name in sorted(WORLDS)]
)
def world(request):
    """launch, on one substrate. No test may leave a thread behind."""
    before = set(threading.enumerate())
    yield WORLDS[request.param]
    left = [t for t in threading.enumerate() if t not in before and t.name.startswith("rank")]
    assert not left, f"threads left behind: {left}"
