"""One contract, many worlds: a test that takes `world` runs on every substrate there is."""

import threading
from functools import partial

import pytest

from counterpoint.ranks import launch

WORLDS = {
    "threads": launch,
    "simulated": partial(launch, world="simulated"),
    "processes": partial(launch, world="processes"),
}
"""Each substrate's `launch`."""


@pytest.fixture(params=sorted(WORLDS))
def world(request):
    """launch, on one substrate. No test may leave a thread behind."""
    before = set(threading.enumerate())
    yield WORLDS[request.param]
    left = [t for t in threading.enumerate() if t not in before and t.name.startswith("rank")]
    assert not left, f"threads left behind: {left}"
