"""all_to_all and all_gather, each by two algorithms: results, costs, unequal and empty pieces, refusals."""

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.collectives import all_gather, all_to_all
from counterpoint.models import Link
from counterpoint.ranks import DeadlockError, MismatchError, RankFailed, launch

GATHERS = sys.modules[all_gather.__module__]
EXCHANGES = sys.modules[all_to_all.__module__]


def assert_exchanges(world, p, name, by=all_to_all):
    """Rank r's i-th piece becomes rank i's r-th, at the cost of algorithm `name`."""
    for count in (0, 1, 5):
        wholes = world.vectors(p, p * count)
        run = world.run(lambda comm, x: by(comm, torch.full_like(x, -1), x, name), wholes)
        for rank in range(p):
            expected = torch.cat([whole[rank * count : (rank + 1) * count] for whole in wholes])
            assert torch.equal(run.results[rank], expected), (p, count, rank)
            assert torch.equal(run.args[rank][0], wholes[rank]), "the input is unchanged"
        world.assert_cost(run, EXCHANGES.ALGORITHMS[name][1](p, p * count, 4))


def assert_gathers(world, p, name, by=all_gather):
    for count in (0, 1, 5):
        pieces = world.vectors(p, count)
        run = world.run(lambda comm, x: by(comm, x.new_full((comm.size * x.numel(),), -1), x, name), pieces)
        assert all(torch.equal(result, torch.cat(pieces)) for result in run.results), (p, count)
        assert all(torch.equal(own, piece) for (own,), piece in zip(run.args, pieces, strict=True))
        world.assert_cost(run, GATHERS.ALGORITHMS[name][1](p, p * count, 4))


@pytest.mark.parametrize("name", EXCHANGES.ALGORITHMS)
def test_every_piece_reaches_its_rank_at_the_algorithms_cost(world, name):
    for p in world.sizes:
        assert_exchanges(world, p, name)


@pytest.mark.parametrize("name", GATHERS.ALGORITHMS)
def test_all_gather_gives_everyone_all_pieces_at_the_algorithms_cost(world, name):
    for p in world.sizes:
        assert_gathers(world, p, name)


def test_bruck_takes_the_logarithm_in_steps_and_no_more_bytes_to_gather():
    for p in range(1, 40):
        ring, bruck = (GATHERS.ALGORITHMS[name][1](p, 6 * p, 4) for name in ("ring", "bruck"))
        assert bruck.steps == (p - 1).bit_length() <= ring.steps
        assert bruck.bytes_total == ring.bytes_total
        assert EXCHANGES.ALGORITHMS["bruck"][1](p, 6 * p, 4).steps == bruck.steps


def split_sizes(p):
    """From rank r to rank i: unequal, some of them zero."""
    return [[(r * 3 + i * 5) % 4 for i in range(p)] for r in range(p)]


@pytest.mark.parametrize("name", ["auto", "pairwise"])
def test_lists_may_have_pieces_of_any_size_and_empty_ones_are_messages_too(world, name):
    for p in world.sizes:
        sizes = split_sizes(p)
        inputs = [
            tuple(torch.arange(float(n)) + 100 * r + 10 * i for i, n in enumerate(sizes[r])) for r in range(p)
        ]

        def worker(comm, *pieces, sizes=sizes):
            outputs = [torch.full((sizes[r][comm.rank],), -1.0) for r in range(comm.size)]
            return all_to_all(comm, outputs, list(pieces), name)

        run = world.run(worker, inputs)
        for rank, outputs in enumerate(run.results):
            assert all(map(torch.equal, outputs, [inputs[r][rank] for r in range(p)])), (p, rank)
        totals = run.trace.totals()
        assert totals.messages == p * (p - 1) and totals.steps == p - 1
        assert totals.bytes_total == 4 * sum(sizes[r][i] for r in range(p) for i in range(p) if r != i)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_any_splits_and_back_again_are_where_they_began(data, p):
    """Sending back what came is the same exchange with the splits swapped."""
    sizes = data.draw(st.lists(st.lists(st.integers(0, 4), min_size=p, max_size=p), min_size=p, max_size=p))
    stride = data.draw(st.integers(1, 3))

    def there_and_back(comm, x):
        mine = list(x[::stride].split(sizes[comm.rank]))
        there = [torch.full((row[comm.rank],), -1.0) for row in sizes]
        back = [torch.full((n,), -1.0) for n in sizes[comm.rank]]
        return all_to_all(comm, back, all_to_all(comm, there, mine))

    wholes = [torch.arange(float(sum(row) * stride)) + 1000 * rank for rank, row in enumerate(sizes)]
    for back, whole in zip(launch(there_and_back, per_rank=wholes).results, wholes, strict=True):
        assert torch.equal(torch.cat(back), whole[::stride])


@pytest.mark.parametrize("name", EXCHANGES.ALGORITHMS)
def test_lists_of_equal_pieces_go_by_either_algorithm_in_any_shape(name):
    def worker(comm, x):
        inputs = list(x.transpose(1, 2))
        outputs = [torch.zeros(3, 4)[:, ::2] for _ in range(comm.size)]
        return all_to_all(comm, outputs, inputs, name)

    data = [torch.arange(18.0).reshape(3, 2, 3) + 100 * rank for rank in range(3)]
    for rank, outputs in enumerate(launch(worker, per_rank=data).results):
        assert all(torch.equal(outputs[r], data[r][rank].t()) for r in range(3))


@pytest.mark.parametrize("name", EXCHANGES.ALGORITHMS)
def test_tensors_are_read_and_written_through_their_strides(name):
    base = torch.arange(24.0).reshape(3, 8)

    def worker(comm, b):
        out = torch.zeros(6, 4)[:, ::2]
        return all_to_all(comm, out, b[:, ::2], name)

    results = launch(worker, per_rank=[base, base + 100]).results
    halves = [[(base + 100 * r)[:, ::2].reshape(-1)[i * 6 : i * 6 + 6] for r in range(2)] for i in range(2)]
    assert all(torch.equal(results[i].flatten(), torch.cat(halves[i])) for i in range(2))


def test_auto_is_the_cheapest_one():
    latent, slow = Link(alpha=1e-3), Link(beta=1e-9)
    assert EXCHANGES.cheapest(16, 1600, 4, latent) == "bruck" == GATHERS.cheapest(16, 1600, 4, latent)
    assert (
        EXCHANGES.cheapest(16, 1600, 4, slow) == "pairwise" and GATHERS.cheapest(16, 1600, 4, slow) == "ring"
    )
    for p in (8, 16):
        assert EXCHANGES.cheapest(p, 1 << 24, 4) == "pairwise" and GATHERS.cheapest(p, 1 << 24, 4) == "ring"
    run = launch(lambda comm, x: all_to_all(comm, torch.empty_like(x), x), 16, (torch.ones(16),))
    assert run.trace.totals().messages == 16 * 4


def same_order(comm, output, input, name):
    """Everyone starts with rank 0: a queue at one way in."""
    own, mine = input.tensor_split(comm.size), output.tensor_split(comm.size)
    mine[comm.rank].copy_(own[comm.rank])
    for peer in range(comm.size):
        if peer != comm.rank:
            comm.sendrecv(own[peer], peer, mine[peer], peer)
    return output


def gathers_everything(comm, output, input, name):
    """Right, but everyone gets what it does not need."""
    everything = input.new_empty(comm.size, input.numel())
    all_gather(comm, everything, input, "ring")
    pieces = [row.tensor_split(comm.size)[comm.rank] for row in everything]
    return output.copy_(torch.cat(pieces))


def never_turned_back(comm, output, input, name):
    """Bruck's gather without the last rotation."""
    all_gather(comm, output, input, name)
    return output.copy_(output.roll(-comm.rank * input.numel()))


@pytest.mark.parametrize("planted", [same_order, gathers_everything])
@pytest.mark.parametrize("name", EXCHANGES.ALGORITHMS)
def test_the_contract_refuses_planted_exchanges(fast_world, name, planted):
    with pytest.raises((AssertionError, DeadlockError)):
        assert_exchanges(fast_world, 5, name, planted)


@pytest.mark.parametrize("name", GATHERS.ALGORITHMS)
def test_the_contract_refuses_planted_gathers(fast_world, name):
    with pytest.raises(AssertionError):
        assert_gathers(fast_world, 5, name, never_turned_back)


def wrong(comm, x, case):
    """One call that cannot work."""
    double, thirds = x.double(), list(x.tensor_split(3))
    calls = {
        "rest": lambda: all_to_all(comm, x[1:], x[1:]),
        "dtype": lambda: all_to_all(comm, x, double),
        "mixed": lambda: all_to_all(comm, x, thirds),
        "few": lambda: all_to_all(comm, thirds[:2], thirds),
        "piece": lambda: all_to_all(comm, [*thirds[:2], double[:2]], thirds),
        "self": lambda: all_to_all(comm, [double.float()] * 3, thirds),
        "name": lambda: all_to_all(comm, double.float(), x, "ring"),
        "place": lambda: all_to_all(comm, x, x),
        "places": lambda: all_to_all(comm, thirds[::-1], thirds),
        "gather": lambda: all_gather(comm, x.new_empty(18), x, "pairwise"),
        "bruck": lambda: all_to_all(
            comm, [double[:1].float(), *thirds[:2]], [x[-1:], x[2:4].clone(), x[2:4].clone()], "bruck"
        ),
        "set": lambda: all_to_all(comm, {1, 2, 3}, thirds),
    }
    return calls[case]()


@pytest.mark.parametrize(
    "case, message",
    [
        ("rest", "has 5 x torch.float32 to send and 5 x torch.float32 to fill; .* a multiple of 3"),
        ("dtype", "has 6 x torch.float64 to send and 6 x torch.float32 to fill"),
        ("mixed", "has a tensor and a list; give two tensors of equal pieces, or two lists of 3"),
        ("few", "output has 2 pieces; there are 3 ranks, so give 3"),
        ("piece", r"output\[2\] is 2 x torch.float64; torch.float32 is needed"),
        ("self", "sends 2 elements to itself and has room for 6"),
        ("name", "no algorithm 'ring'; there are auto, pairwise, bruck"),
        ("gather", "no algorithm 'pairwise'; there are auto, ring, bruck"),
        (
            "bruck",
            r"by bruck has pieces of \[1, 2\] elements; they must be equal, so take algorithm='pairwise'",
        ),
        ("place", "all_to_all fills the memory that it sends from; give an output of its own"),
        ("places", "all_to_all fills the memory that it sends from"),
        ("set", "all_to_all: set given where a tensor is wanted"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_message(fast_world, case, message):
    with pytest.raises(RankFailed, match=message) as failed:
        fast_world.launch(wrong, 3, (torch.ones(6), case))
    assert len(failed.value.run.trace) == 0


@pytest.mark.parametrize("differ", ["count", "dtype", "algorithm"])
def test_ranks_that_differ_are_told_which_is_the_odd_one(fast_world, differ):
    def worker(comm, x):
        odd = comm.rank == 2
        x = x[4:] if odd and differ == "count" else x.double() if odd and differ == "dtype" else x
        all_to_all(comm, torch.empty_like(x), x, "bruck" if odd and differ == "algorithm" else "pairwise")

    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        fast_world.launch(worker, 4, (torch.ones(8),))


def test_two_ends_of_unequal_pieces_that_do_not_fit_are_named(fast_world):
    def worker(comm):
        outputs = [torch.empty(2) for _ in range(3)]
        all_to_all(comm, outputs, [torch.ones(3 if comm.rank == 1 and i == 2 else 2) for i in range(3)])

    with pytest.raises(MismatchError, match=r"rank 1 sends 3 x .* to rank 2, which receives 2"):
        fast_world.launch(worker, 3)
