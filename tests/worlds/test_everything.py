"""One file of algorithms, unchanged, on every world: the same bits on every rank."""

import pytest
import torch
from tests.worlds import everything


@pytest.fixture(scope="module")
def on_threads():
    return everything.run_on("threads")


@pytest.mark.parametrize(
    "world", ["simulated", "processes", "torchrun", pytest.param("cuda", marks=pytest.mark.gpu)]
)
def test_every_collective_leaves_the_same_bits_as_on_threads(world, on_threads):
    found = everything.run_on(world)
    assert len(found) == everything.RANKS
    assert all(len(bits) >= 20 for bits in found)
    assert found == on_threads


def test_the_comparison_sees_another_order_of_summation():
    """Digests of the same sum in another order differ, so equal digests say something."""
    parts = [torch.randn(1003, generator=torch.Generator().manual_seed(s)) for s in range(5)]
    forwards = sum(parts[1:], parts[0].clone())
    backwards = sum(parts[-2::-1], parts[-1].clone())
    assert torch.allclose(forwards, backwards, atol=1e-5)
    assert everything.digest(forwards) != everything.digest(backwards)


def test_ranks_end_with_different_bits_where_they_should(on_threads):
    assert len({bits["scan"] for bits in on_threads}) == everything.RANKS
    assert len({bits["all_reduce sum, ring"] for bits in on_threads}) == 1
