"""scan and exscan: prefixes over ranks, in order, at their cost; the identity on rank 0; refusals."""

import operator
import sys
from functools import reduce

import pytest
import torch

from counterpoint.collectives import exscan, scan
from counterpoint.collectives.exscan import identity
from counterpoint.ranks import MismatchError, RankFailed, launch, ops

COST = {function: sys.modules[function.__module__].cost for function in (scan, exscan)}


def prefix(data, rank, function):
    """What `rank` should get."""
    return sum(data[: rank + (function is scan)], torch.zeros_like(data[0]))


def assert_contract(world, p, function, by=None):
    for count in (0, 1, 7, 100):
        data = world.vectors(p, count)
        run = world.run(by or function, data)
        for rank, (own,) in enumerate(run.args):
            assert torch.equal(own, prefix(data, rank, function)), (p, count, rank)
        adding = p - (function is exscan)  # ranks
        world.assert_cost(run, COST[function](p, count, 4), buffered_is_faster=adding & (adding - 1) > 0)


@pytest.mark.parametrize("function", [scan, exscan])
def test_every_rank_gets_its_prefix_at_its_cost(world, function):
    for p in world.sizes:
        assert_contract(world, p, function)


def chain(comm, x):
    """Right, but p-1 steps long."""
    if comm.rank > 0:
        comm.recv_reduce(x, comm.rank - 1)
    if comm.rank + 1 < comm.size:
        comm.send(x, comm.rank + 1)


def shifted_sum(comm, x):
    """Inclusive where exclusive is meant."""
    scan(comm, x)


def round_the_ring(comm, x):
    """Hillis and Steele's scan that forgets where the ranks end: everyone gets the sum of all of them."""
    distance, theirs = 1, torch.empty_like(x)
    while distance < comm.size:
        comm.sendrecv(x, (comm.rank + distance) % comm.size, theirs, (comm.rank - distance) % comm.size)
        x += theirs
        distance *= 2


@pytest.mark.parametrize("function, planted", [(scan, chain), (scan, round_the_ring), (exscan, shifted_sum)])
def test_the_contract_refuses_planted_mistakes(fast_world, function, planted):
    with pytest.raises(AssertionError):
        assert_contract(fast_world, 5, function, planted)


@pytest.mark.parametrize("function, last", [(scan, 1), (exscan, 0)])
def test_operands_stand_in_the_order_of_ranks(fast_world, function, last, monkeypatch):
    """With digits for elements and appending for the sum, rank 4 holds 12345."""

    def append(first, second, *, out):
        places = torch.floor(torch.log10(second.double().clamp(min=1))) + (second > 0)
        return out.copy_(first * 10 ** places.long() + second)

    monkeypatch.setitem(ops._APPLY, "sum", append)
    for p in range(1, 10):
        run = fast_world.run(function, [torch.full((2,), rank + 1) for rank in range(p)])
        for rank, (own,) in enumerate(run.args):
            assert (own == int("0123456789"[: rank + 1 + last])).all(), (p, rank)


OPS = {
    "sum": operator.add, "product": operator.mul, "min": torch.minimum, "max": torch.maximum,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DEFINED = {
    **{op: [*INTEGERS, *FLOATS, torch.complex64] for op in ("sum", "product")},
    **{op: [*INTEGERS, *FLOATS, torch.bool] for op in ("min", "max")},
    **{op: [*INTEGERS, torch.bool] for op in ("and", "or", "xor")},
}


@pytest.mark.parametrize("op", OPS)
def test_every_op_on_every_dtype_it_is_defined_on(op):
    for dtype in DEFINED[op]:
        data = [((torch.arange(6) * 3 + rank) % 5).to(dtype) for rank in range(3)]
        for function in (scan, exscan):
            results = launch(lambda comm, x, f=function: f(comm, x, op), per_rank=data).results
            for rank in range(function is exscan, 3):
                assert torch.equal(results[rank], reduce(OPS[op], data[: rank + (function is scan)])), dtype


@pytest.mark.parametrize("op", OPS)
def test_the_identity_changes_nothing(op):
    for dtype in DEFINED[op]:
        x = torch.tensor([0, 1, 3, 100]).to(dtype)
        assert torch.equal(OPS[op](torch.full_like(x, identity(op, dtype)), x), x), dtype


def test_rank_0_of_an_exscan_gets_the_identity():
    results = launch(lambda comm, x: exscan(comm, x, "min"), 2, (torch.tensor([3, 5]),)).results
    assert results[0].tolist() == [torch.iinfo(torch.int64).max] * 2 and results[1].tolist() == [3, 5]


def test_the_exscan_of_counts_says_where_parts_begin():
    counts = [torch.tensor(n) for n in (3, 0, 4, 1)]
    assert [r.item() for r in launch(exscan, per_rank=counts).results] == [0, 3, 3, 7]


@pytest.mark.parametrize("function", [scan, exscan])
def test_views_are_written_through_and_nothing_else(function):
    bases = [torch.arange(12.0).reshape(3, 4) + 100 * rank for rank in range(3)]
    run = launch(lambda comm, b: function(comm, b.t()[::2]), per_rank=bases)
    for rank, (base,) in enumerate(run.args):
        assert torch.equal(base[:, ::2], prefix([b[:, ::2] for b in bases], rank, function))
        assert torch.equal(base[:, 1::2], bases[rank][:, 1::2])


@pytest.mark.parametrize(
    "op, dtype, message",
    [
        ("avg", torch.float32, "'avg' is not defined on prefixes; use 'sum' and divide"),
        ("mean", torch.float32, "no reduction 'mean'"),
        ("xor", torch.float32, "'xor' is defined on integers and bool"),
    ],
)
@pytest.mark.parametrize("function", [scan, exscan])
def test_an_op_that_is_not_defined_is_refused_before_any_message(fast_world, function, op, dtype, message):
    with pytest.raises(RankFailed, match=message) as failed:
        fast_world.launch(lambda comm, x: function(comm, x, op), 3, (torch.ones(2, dtype=dtype),))
    assert len(failed.value.run.trace) == 0


@pytest.mark.parametrize("function", [scan, exscan])
def test_ranks_that_differ_are_told_which_is_the_odd_one(fast_world, function):
    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        fast_world.launch(lambda c, x: function(c, x.double() if c.rank == 2 else x), 4, (torch.ones(2),))
