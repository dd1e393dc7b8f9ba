"""Recursive doubling and Rabenseifner's all-reduce: one tree of additions, in the order of ranks, on all ranks."""

import pytest
import torch

from counterpoint.collectives import ALGORITHMS, all_reduce, explain, recursive_doubling_all_reduce
from counterpoint.collectives.fold import folded, unfolded
from counterpoint.ranks import launch, ops

DOUBLING = ["recursive-doubling", "rabenseifner"]


def assert_contract(world, p, name, algorithm=None):
    function, cost = ALGORITHMS[name]
    for count in {0, 1, p + 1, 100}:
        data = world.vectors(p, count)
        run = world.run(algorithm or function, data)
        assert all(torch.equal(own, sum(data)) for (own,) in run.args), (p, count)
        world.assert_cost(run, cost(p, count, 4))


@pytest.mark.parametrize("name", DOUBLING)
def test_it_costs_what_it_says_for_every_p(world, name):
    for p in world.sizes:
        assert_contract(world, p, name)


@pytest.mark.parametrize(
    "p, power, pairs", [(1, 1, 0), (2, 2, 0), (3, 2, 1), (7, 4, 3), (8, 8, 0), (9, 8, 1)]
)
def test_the_fold_leaves_a_power_of_two(p, power, pairs):
    assert folded(p) == (power, pairs)
    assert ALGORITHMS["recursive-doubling"][1](p, 10, 4).steps == power.bit_length() - 1 + (2 if pairs else 0)
    assert ALGORITHMS["rabenseifner"][1](p, 10, 4).steps == 2 * (power.bit_length() - 1) + (2 if pairs else 0)


def test_the_last_ranks_are_folded_the_upper_of_each_pair_into_the_lower():
    assert [unfolded(number, 7) for number in range(4)] == [0, 1, 3, 5]
    assert [unfolded(number, 8) for number in range(8)] == list(range(8))


def test_rabenseifner_sends_the_rings_bytes_in_the_trees_steps():
    for p in (2, 4, 8, 16, 1024):
        ring, tree, ours = (ALGORITHMS[name][1](p, 100 * p, 4) for name in ("ring", "tree", "rabenseifner"))
        assert ours.bytes_busiest == ring.bytes_busiest and ours.bytes_total == ring.bytes_total
        assert ours.steps == tree.steps


def no_unfold(comm, x):
    """The folded ranks never hear of the sum."""
    power, _ = folded(comm.size)
    if comm.rank < power and comm.rank + power < comm.size:
        comm.recv_reduce(x, comm.rank + power)
    elif comm.rank >= power:
        comm.send(x, comm.rank - power)
        return
    recursive_doubling_all_reduce(comm.group(range(power)), x)


def one_round_too_few(comm, x):
    theirs, distance = torch.empty_like(x), 1
    while 2 * distance < comm.size:
        comm.sendrecv(x, comm.rank ^ distance, theirs, comm.rank ^ distance)
        x += theirs
        distance *= 2


@pytest.mark.parametrize("planted, p", [(no_unfold, 3), (one_round_too_few, 4), (ALGORITHMS["tree"][0], 4)])
@pytest.mark.parametrize("name", DOUBLING)
def test_the_contract_refuses_planted_mistakes(fast_world, name, planted, p):
    with pytest.raises(AssertionError):
        assert_contract(fast_world, p, name, planted)


def append(first, second, *, out):
    """Decimal digits of `first`, then those of `second`: associative, and never commutative."""
    places = torch.floor(torch.log10(second.double())) + 1
    return out.copy_(first * 10 ** places.long() + second)


@pytest.mark.parametrize("name", [*DOUBLING, "tree", "star"])
def test_operands_stand_in_the_order_of_ranks(fast_world, name, monkeypatch):
    monkeypatch.setitem(ops._APPLY, "sum", append)
    for p in range(1, 10):
        data = [torch.full((3,), rank + 1) for rank in range(p)]
        run = fast_world.run(lambda comm, x: all_reduce(comm, x, algorithm=name), data)
        in_order = int("123456789"[:p])
        assert all((own == in_order).all() for (own,) in run.args), p


def bits(p):
    """Zeros of both signs, NaNs that can be told apart, and numbers whose sum rounds."""
    generator = torch.Generator().manual_seed(p)
    data = torch.randn(p, 40, generator=generator) * 10.0 ** torch.arange(p).unsqueeze(1)
    data[:, :10] = torch.where(torch.rand(p, 10, generator=generator) < 0.5, 0.0, -0.0)
    quiet = 0x7FC00000 + torch.randint(1, 1000, (p, 10), generator=generator)
    data[:, 10:20] = quiet.to(torch.int32).view(torch.float32)
    return list(data)


@pytest.mark.parametrize("op", ["sum", "product", "min", "max"])
@pytest.mark.parametrize("name", DOUBLING)
def test_every_rank_gets_the_same_bits_even_of_zeros_and_nans(fast_world, name, op):
    for p in fast_world.sizes:
        run = fast_world.run(lambda comm, x: all_reduce(comm, x, op, name), bits(p))
        first, *others = (own.view(torch.int32) for (own,) in run.args)
        assert all(torch.equal(first, other) for other in others), p


def test_both_add_in_the_same_tree_so_they_round_alike():
    """And unlike the star, which adds rank after rank."""
    for p in (3, 7, 8, 16):
        numbers = [data[20:] for data in bits(p)]
        doubling, halving, star = (
            launch(lambda comm, x, n=name: all_reduce(comm, x, "sum", n), per_rank=numbers).results[0]
            for name in [*DOUBLING, "star"]
        )
        assert torch.equal(doubling, halving)
        assert p == 3 or not torch.equal(doubling, star)


def test_bits_differ_where_each_rank_puts_its_own_operand_first():
    """The test above can fail: the plain `x op= theirs` is not enough."""

    def own_first(comm, x):
        theirs = torch.empty_like(x)
        comm.sendrecv(x, 1 - comm.rank, theirs, 1 - comm.rank)
        torch.maximum(x, theirs, out=x)

    mixed = torch.tensor([0.0, -0.0] * 8)
    (a,), (b,) = launch(own_first, per_rank=[mixed, -mixed]).args
    assert torch.equal(a, b) and not torch.equal(a.view(torch.int32), b.view(torch.int32))


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("name", DOUBLING)
def test_explain_finds_everyone_once_in_every_cell(name, p):
    seen = explain(ALGORITHMS[name][0], p)
    assert seen.error is None and seen.exact
    assert all((final == 1).all() for final in seen.final)


def test_what_is_held_doubles_with_each_step():
    seen = explain(recursive_doubling_all_reduce, 8)
    sent = sorted(
        (seen.trace[event].step, len(counts.nonzero()[0])) for event, ((_, counts),) in seen.carried.items()
    )
    assert sent == [(step, 2 ** (step - 1)) for step in (1, 2, 3) for _ in range(8)]
