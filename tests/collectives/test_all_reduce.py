"""One contract for every all-reduce: result, bits, cost, dtypes, views, refusals."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.collectives import ALGORITHMS, all_reduce, cheapest, ring
from counterpoint.models import Link
from counterpoint.ranks import CommError, MismatchError, RankFailed, launch

NAMES = sorted(ALGORITHMS)
RANKS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16]
LINK = Link(alpha=1e-3, beta=1e-6, gamma=3e-7)


def exact(p, count, dtype=torch.float32):
    """Inputs unique by rank and position whose sums are exact in any order."""
    return [(torch.arange(count) * 16 + rank * 3 + 1).to(dtype) / 8 for rank in range(p)]


def run(name, data, op="sum", **settings):
    return launch(lambda comm, x: all_reduce(comm, x, op, name), per_rank=data, **settings)


def assert_contract(algorithm, cost, p):
    """Right sums, at exactly the cost, for counts around p."""
    for count in sorted({0, 1, p - 1, p, p + 1, 2 * p, 37, 1000}):
        data = exact(p, count)
        done = launch(algorithm, per_rank=data, network=LINK, eager_limit=0, timeout=10)
        assert all(torch.equal(own, sum(data)) for (own,) in done.args), (p, count)
        expected, totals = cost(p, count, 4), done.trace.totals()
        assert (totals.messages, totals.bytes_total, totals.bytes_busiest, totals.steps) == (
            expected.messages, expected.bytes_total, expected.bytes_busiest, expected.steps,
        ), (p, count)  # fmt: skip
        assert done.seconds == pytest.approx(expected.seconds(LINK), rel=1e-12), (p, count)
        assert len(done.trace.unreceived) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", RANKS)
def test_traced_messages_bytes_steps_and_virtual_seconds_are_the_cost(name, p):
    assert_contract(*ALGORITHMS[name], p)


def ring_with(outgoing, incoming, last=0):
    """A ring whose two halves take these chunks; `last` more steps than it should."""

    def planted(comm, x):
        p, rank = comm.size, comm.rank
        chunks = list(x.tensor_split(p))
        right, left = (rank + 1) % p, (rank - 1) % p
        for step in range(p - 1 + last):
            comm.sendrecv_reduce(
                chunks[outgoing(rank, step) % p], right, chunks[incoming(rank, step) % p], left
            )
        for step in range(p - 1):
            comm.sendrecv(chunks[(rank - step + 1) % p], right, chunks[(rank - step) % p], left)

    return planted


def drops_the_remainder(comm, x):
    whole = len(x) // comm.size * comm.size
    ALGORITHMS["ring"][0](comm, x[:whole])


def only_powers_of_two(comm, x):
    """Recursive doubling without the fold."""
    distance = 1
    while distance < comm.size:
        peer = comm.rank ^ distance
        if peer < comm.size:
            other = x.clone()
            comm.sendrecv(x.clone(), peer, other, peer)
            x += other
        distance *= 2


def sends_whole_vectors(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    moving = x.clone()
    for _ in range(comm.size - 1):
        moving = comm.sendrecv(moving, right, torch.empty_like(x), left)
        x += moving


def works_by_luck(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = list(x.tensor_split(comm.size))
    for step in range(comm.size - 1):
        comm.send(chunks[(comm.rank - step) % comm.size], right)
        comm.recv_reduce(chunks[(comm.rank - step - 1) % comm.size], left)


PLANTED = {
    "off by one chunk": ring_with(lambda r, s: r + s, lambda r, s: r - s - 1),
    "one step too many": ring_with(lambda r, s: r - s, lambda r, s: r - s - 1, last=1),
    "no all-gather": lambda c, x: ring.ring_reduce_scatter(c, list(x.tensor_split(c.size))),
    "drops the remainder": drops_the_remainder,
    "only powers of two": only_powers_of_two,
    "whole vectors": sends_whole_vectors,
    "works by luck": works_by_luck,
    "does nothing": lambda c, x: None,
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_the_contract_refuses_planted_mistakes(planted):
    with pytest.raises((AssertionError, CommError)):
        assert_contract(planted, ring.cost, 3)


@pytest.mark.parametrize(
    "name, steps", [("star", lambda p: 2 * (p - 1)), ("tree", lambda p: 2 * (p - 1).bit_length())]
)
def test_steps_are_those_of_the_published_formulas(name, steps):
    for p in RANKS:
        assert ALGORITHMS[name][1](p, 100, 4).steps == steps(p)
        assert ALGORITHMS["ring"][1](p, 100, 4).steps == 2 * (p - 1)


def test_ring_sends_what_nobody_can_undercut():
    for p in RANKS:
        assert ALGORITHMS["ring"][1](p, 10 * p, 4).bytes_busiest == 2 * (p - 1) * 10 * 4


def test_a_ring_that_sends_on_even_ranks_first_pays_double_steps():
    """The step count sees an order that wastes half of every port."""

    def even_first(comm, x):
        chunks = list(x.tensor_split(comm.size))
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for step in range(comm.size - 1):
            out, into = chunks[(comm.rank - step) % comm.size], chunks[(comm.rank - step - 1) % comm.size]
            if comm.rank % 2 == 0:
                comm.send(out, right)
                comm.recv_reduce(into, left)
            else:
                comm.recv_reduce(into, left)
                comm.send(out, right)

    done = launch(even_first, 8, (torch.ones(64),), eager_limit=0)
    assert done.trace.steps == 2 * 7


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [2, 3, 5, 8])
def test_every_rank_gets_the_same_bits_from_inputs_that_round(name, p):
    generator = torch.Generator().manual_seed(1)
    data = [torch.randn(1001, generator=generator) * 10.0**rank for rank in range(p)]
    results = run(name, data).results
    assert all(torch.equal(results[0].view(torch.int32), r.view(torch.int32)) for r in results)


REDUCTIONS = {
    "sum": lambda s: s.sum(0, dtype=s.dtype),
    "product": lambda s: s.prod(0, dtype=s.dtype),
    "min": lambda s: s.amin(0),
    "max": lambda s: s.amax(0),
    "avg": lambda s: s.sum(0, dtype=s.dtype) / len(s),
    "and": lambda s: s[0] & s[1] & s[2],
    "or": lambda s: s[0] | s[1] | s[2],
    "xor": lambda s: s[0] ^ s[1] ^ s[2],
}
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DEFINED = {
    **{op: [*INTEGERS, *FLOATS, torch.complex64] for op in ("sum", "product")},
    **{op: [*INTEGERS, *FLOATS, torch.bool] for op in ("min", "max")},
    "avg": [*FLOATS, torch.complex64],
    **{op: [*INTEGERS, torch.bool] for op in ("and", "or", "xor")},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("op", sorted(DEFINED))
def test_every_op_on_every_dtype_it_is_defined_on(name, op):
    for dtype in DEFINED[op]:
        data = [((torch.arange(7) + rank) % 4).to(dtype) for rank in range(3)]
        expected = REDUCTIONS[op](torch.stack(data))
        assert all(torch.equal(r, expected) for r in run(name, data, op).results), dtype


@pytest.mark.parametrize("op", sorted(DEFINED))
def test_an_op_on_a_dtype_it_is_not_defined_on_is_refused_before_any_message(op):
    for dtype in {*INTEGERS, *FLOATS, torch.complex64, torch.bool} - set(DEFINED[op]):
        with pytest.raises(RankFailed) as failed:
            run("ring", [torch.ones(3).to(dtype)] * 2, op)
        assert isinstance(failed.value.__cause__, ValueError)
        assert len(failed.value.run.trace) == 0


def test_int8_wraps_as_torch_does():
    assert run("ring", [torch.full((3,), 100, dtype=torch.int8)] * 2).results[0].tolist() == [-56] * 3


def test_unknown_names_are_answered_with_those_that_are():
    with pytest.raises(
        RankFailed, match="no algorithm 'rings'; there are auto, star, tree, ring, recursive-d"
    ):
        run("rings", exact(2, 3))
    with pytest.raises(RankFailed, match="no reduction 'mean'; there are sum, avg"):
        run("ring", exact(2, 3), "mean")


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([*NAMES, "auto"]),
    p=st.integers(1, 6),
    shape=st.lists(st.integers(0, 5), max_size=3),
    step=st.integers(1, 3),
    transposed=st.booleans(),
)
def test_any_shape_and_strides_written_through(name, p, shape, step, transposed):
    def view(base):
        v = base[..., ::step] if shape else base
        return v.transpose(0, -1) if transposed and len(shape) > 1 else v

    full = [*shape[:-1], shape[-1] * step] if shape else []
    bases = [torch.arange(float(torch.Size(full).numel())).reshape(full) + 100 * r for r in range(p)]
    run = launch(lambda comm, b: all_reduce(comm, view(b), algorithm=name), per_rank=bases)
    expected = sum(view(b) for b in bases)
    for rank in range(p):
        assert torch.equal(run.results[rank], expected)
        outside = run.args[rank][0].clone()
        view(outside).copy_(view(bases[rank]))
        assert torch.equal(outside, bases[rank]), "elements outside the view are left alone"


def test_a_leaf_that_requires_grad_is_reduced_in_place():
    data = [torch.ones(3, requires_grad=True) for _ in range(2)]
    result = run("ring", data).results[0]
    assert result.tolist() == [2.0] * 3 and result.requires_grad and result.is_leaf


@pytest.mark.parametrize("differ", ["count", "dtype", "op", "algorithm"])
def test_ranks_that_differ_are_told_which_is_the_odd_one(differ):
    def worker(comm, x):
        odd = comm.rank == 2
        if differ == "count" and odd:
            x = x[:-1]
        if differ == "dtype" and odd:
            x = x.double()
        op = "max" if differ == "op" and odd else "sum"
        all_reduce(comm, x, op, "tree" if differ == "algorithm" and odd else "ring")

    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        launch(worker, 4, (torch.ones(8),))


def test_auto_takes_few_messages_when_small_and_few_bytes_when_large():
    assert ALGORITHMS[cheapest(8, 16, 4)][1](8, 16, 4).messages == 14
    assert cheapest(8, 1 << 24, 4) == "ring"
    assert run("auto", exact(8, 16)).trace.totals().messages == 14


def test_the_cheapest_on_a_link_is_the_one_whose_cost_says_so():
    slow, latent = Link(beta=1e-9), Link(alpha=1e-3)
    assert cheapest(8, 1000, 4, slow) == "ring"
    assert cheapest(8, 1000, 4, latent) == "recursive-doubling"


def test_works_on_a_group_and_numbers_ranks_within_it():
    def worker(comm, x):
        half = comm.split(comm.rank // 3)
        return all_reduce(half, x, algorithm="ring")

    data = exact(6, 5)
    results = launch(worker, per_rank=data).results
    for rank in range(6):
        assert torch.equal(results[rank], sum(data[rank // 3 * 3 :][:3]))
