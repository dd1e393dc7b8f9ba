"""One contract, many worlds: a test that takes `world` runs, at least in part, on every kind of ranks there is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch

from counterpoint.models import Cost, Link
from counterpoint.ranks import Run, launch

LINK = Link(alpha=1e-3, beta=1e-6, gamma=3e-7)


@dataclass(frozen=True)
class World:
    """One kind of ranks, and how much of a contract it is asked."""

    launch: Callable[..., Run]
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 16)
    """Numbers of ranks to try; fewer where a launch takes long."""
    virtual: bool = True
    """Whether it can keep virtual time."""
    eager_limit: int = 0
    """0: every send waits for its receive. Large: none does."""

    def run(self, function: Callable, data: list) -> Run:
        """`function` on one rank for each entry of `data`."""
        settings = {"network": LINK} if self.virtual else {}
        return self.launch(function, per_rank=data, eager_limit=self.eager_limit, timeout=30, **settings)

    def assert_cost(self, run: Run, cost: Cost, *, buffered_is_faster: bool = False) -> None:
        """The trace and the clock say what `cost` says; the clock may say less if sends are buffered, where stated."""
        totals = run.trace.totals()
        assert (totals.messages, totals.bytes_total, totals.bytes_busiest, totals.steps) == (
            cost.messages, cost.bytes_total, cost.bytes_busiest, cost.steps,
        )  # fmt: skip
        assert len(run.trace.unreceived) == 0
        if buffered_is_faster and self.eager_limit:
            assert run.seconds <= cost.seconds(LINK) * (1 + 1e-12)
        elif self.virtual:
            assert run.seconds == pytest.approx(cost.seconds(LINK), rel=1e-12)

    def vectors(self, p: int, count: int) -> list[torch.Tensor]:
        """One a rank, unique by rank and position; their sums are exact in any order."""
        return [(torch.arange(count) * 16 + rank * 3 + 1).float() / 8 for rank in range(p)]


WORLDS = {
    "threads": World(launch),
    "simulated": World(partial(launch, world="simulated")),
    "simulated, buffered": World(partial(launch, world="simulated"), eager_limit=1 << 40),
}
SLOW = {"processes": World(partial(launch, world="processes"), sizes=(3,), virtual=False)}
"""Where a launch takes long: asked for right results and counts only."""


@pytest.fixture(params=sorted(WORLDS | SLOW))
def world(request: pytest.FixtureRequest) -> World:
    """Every kind of ranks."""
    return (WORLDS | SLOW)[request.param]


@pytest.fixture(params=sorted(WORLDS))
def fast_world(request: pytest.FixtureRequest) -> World:
    """Every kind of ranks that is started quickly, in this process, and can run what a test defines."""
    return WORLDS[request.param]
