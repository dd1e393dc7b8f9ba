"""broadcast, reduce, all_gather, reduce_scatter: results, costs, roots, what is left unchanged."""

import pytest
import torch

import counterpoint.collectives.all_gather
import counterpoint.collectives.broadcast
import counterpoint.collectives.reduce
import counterpoint.collectives.reduce_scatter  # noqa: F401
from counterpoint.collectives import all_gather, broadcast, reduce, reduce_scatter
from counterpoint.models import Link
from counterpoint.ranks import RankFailed, launch

RANKS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16]
LINK = Link(alpha=1e-3, beta=1e-6, gamma=3e-7)


def assert_cost(run, cost):
    totals = run.trace.totals()
    assert (totals.messages, totals.bytes_total, totals.bytes_busiest, totals.steps) == (
        cost.messages, cost.bytes_total, cost.bytes_busiest, cost.steps,
    )  # fmt: skip
    assert run.seconds == pytest.approx(cost.seconds(LINK), rel=1e-12)


def module(function):
    import sys

    return sys.modules[function.__module__]


def vectors(p, count):
    return [(torch.arange(count) * 16 + rank * 3 + 1).float() for rank in range(p)]


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("count", [0, 1, 13])
def test_broadcast_gives_everyone_the_roots_vector_at_its_cost(p, count):
    for root in {0, p // 2, p - 1}:
        data = vectors(p, count)
        run = launch(lambda c, x, root=root: broadcast(c, x, root), per_rank=data, network=LINK)
        assert all(torch.equal(r, data[root]) for r in run.results)
        assert_cost(run, module(broadcast).cost(p, count, 4))


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("count", [0, 1, 13])
def test_reduce_leaves_the_sum_at_the_root_and_the_rest_alone(p, count):
    for root in {0, p // 2, p - 1}:
        data = vectors(p, count)
        run = launch(lambda c, x, root=root: reduce(c, x, root), per_rank=data, network=LINK)
        for rank in range(p):
            expected = sum(data) if rank == root else data[rank]
            assert torch.equal(run.args[rank][0], expected), f"rank {rank}, root {root}"
        assert_cost(run, module(reduce).cost(p, count, 4))


@pytest.mark.parametrize("p", RANKS)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_all_gather_and_reduce_scatter_move_pieces_at_their_cost(p, count):
    pieces = vectors(p, count)
    run = launch(
        lambda c, x: all_gather(c, x.new_empty(c.size * count), x, "ring"), per_rank=pieces, network=LINK
    )
    assert all(torch.equal(r, torch.cat(pieces)) for r in run.results)
    assert_cost(run, module(all_gather).cost(p, p * count, 4))

    wholes = vectors(p, p * count)
    run = launch(lambda c, x: reduce_scatter(c, x.new_empty(count), x), per_rank=wholes, network=LINK)
    for rank in range(p):
        assert torch.equal(run.results[rank], sum(wholes)[rank * count : (rank + 1) * count])
        assert torch.equal(run.args[rank][0], wholes[rank]), "the input is unchanged"
    assert_cost(run, module(reduce_scatter).cost(p, p * count, 4))


def test_reduce_scatter_then_all_gather_is_all_reduce():
    def worker(comm, x):
        piece = reduce_scatter(comm, x.new_empty(3), x)
        return all_gather(comm, torch.empty_like(x), piece)

    data = vectors(4, 12)
    assert all(torch.equal(r, sum(data)) for r in launch(worker, per_rank=data).results)


def test_avg_divides_by_the_size_of_the_group():
    data = [torch.full((4,), float(r)) for r in (1, 2, 6)]
    assert launch(lambda c, x: reduce(c, x, 1, "avg"), per_rank=data).results[1].tolist() == [3.0] * 4
    whole = [torch.full((3,), float(r)) for r in (1, 2, 6)]
    run = launch(lambda c, x: reduce_scatter(c, torch.empty(1), x, "avg"), per_rank=whole)
    assert [r.item() for r in run.results] == [3.0] * 3


def test_strided_tensors_are_read_and_written_through():
    base = torch.arange(12.0).reshape(3, 4)

    def worker(comm, b):
        broadcast(comm, b[:, ::2], root=1)
        out = torch.zeros(6, 4)[:, ::2]
        return all_gather(comm, out, b[:, 1::2])

    run = launch(worker, per_rank=[base, base + 100])
    assert torch.equal(run.args[0][0][:, ::2], base[:, ::2] + 100)
    assert torch.equal(run.args[0][0][:, 1::2], base[:, 1::2])
    expected = torch.cat([base[:, 1::2].flatten(), base[:, 1::2].flatten() + 100]).view(6, 2)
    assert torch.equal(run.results[0], expected)


@pytest.mark.parametrize("function", [broadcast, reduce])
def test_a_root_that_is_no_rank_is_refused(function):
    with pytest.raises(RankFailed, match="root 2 is not a rank; there are 0 to 1"):
        launch(lambda c, x: function(c, x, 2), 2, (torch.ones(1),))


def test_pieces_that_do_not_make_the_whole_are_refused():
    with pytest.raises(RankFailed, match="with 2 ranks the whole needs 4 elements"):
        launch(lambda c, x: all_gather(c, torch.empty(5), x), 2, (torch.ones(2),))
    with pytest.raises(RankFailed, match="with 2 ranks the whole needs 6 elements"):
        launch(lambda c, x: reduce_scatter(c, torch.empty(3), x), 2, (torch.ones(4),))
