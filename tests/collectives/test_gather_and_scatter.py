"""gather and scatter: results, costs, unequal pieces, views, refusals; on every kind of ranks."""

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.collectives import gather, scatter
from counterpoint.ranks import DeadlockError, MismatchError, RankFailed, launch

COST = {function: sys.modules[function.__module__].cost for function in (gather, scatter)}


def collect(root, sizes=None, by=gather):
    """A worker that makes the root's list of outputs itself, and returns it."""

    def worker(comm, x):
        counts = [x.numel()] * comm.size if sizes is None else sizes
        outputs = [x.new_full((n,), -1) for n in counts] if comm.rank == root else None
        return by(comm, outputs, x, root, sizes)

    return worker


def hand_out(root, sizes=None, by=scatter):
    """A worker in which only the root uses its list of inputs."""

    def worker(comm, *inputs):
        count = inputs[0].numel() if sizes is None else sizes[comm.rank]
        output = inputs[0].new_full((count,), -1)
        return by(comm, output, list(inputs) if comm.rank == root else None, root, sizes)

    return worker


def assert_gathers(world, p, by=gather):
    for count in (0, 1, 5):
        for root in {0, p // 2, p - 1}:
            pieces = world.vectors(p, count)
            run = world.run(collect(root, by=by), pieces)
            assert all(map(torch.equal, run.results[root], pieces)), (p, count, root)
            assert all(torch.equal(own, piece) for (own,), piece in zip(run.args, pieces, strict=True))
            assert [r is None for r in run.results] == [rank != root for rank in range(p)]
            world.assert_cost(run, COST[gather](p, p * count, 4))


def assert_scatters(world, p, by=scatter):
    for count in (0, 1, 5):
        for root in {0, p // 2, p - 1}:
            wholes = [tuple(whole.tensor_split(p)) for whole in world.vectors(p, p * count)]
            run = world.run(hand_out(root, by=by), wholes)
            assert all(map(torch.equal, run.results, wholes[root])), (p, count, root)
            world.assert_cost(run, COST[scatter](p, p * count, 4))


def test_gather_brings_every_piece_to_the_root_at_its_cost(world):
    for p in world.sizes:
        assert_gathers(world, p)


def test_scatter_brings_every_rank_its_piece_at_its_cost(world):
    for p in world.sizes:
        assert_scatters(world, p)


def sizes_for(p):
    """Unequal, some of them zero."""
    return [(rank * 7 + 3) % 5 for rank in range(p)]


def test_pieces_may_differ_in_size(world):
    for p in world.sizes:
        for root in {0, p - 1}:
            pieces = [torch.arange(float(n)) + 10 * rank for rank, n in enumerate(sizes_for(p))]
            run = world.run(collect(root, sizes_for(p)), pieces)
            assert all(map(torch.equal, run.results[root], pieces)), (p, root)
            run = world.run(hand_out(root, sizes_for(p)), [tuple(pieces)] * p)
            assert all(map(torch.equal, run.results, pieces)), (p, root)


def test_the_root_of_a_scatter_sends_each_piece_once_and_that_of_a_gather_nothing(fast_world):
    data = [(torch.ones(3),) * 4] * 4
    assert fast_world.run(hand_out(1), data).trace.where(rank=1, kind="send").nbytes.sum() == 3 * 12
    assert len(fast_world.run(collect(1), [torch.ones(3)] * 4).trace.where(rank=1, kind="send")) == 0


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 7))
def test_what_is_scattered_in_any_sizes_comes_back_by_a_gather(data, p):
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=p, max_size=p))
    root = data.draw(st.integers(0, p - 1))

    def there_and_back(comm, *pieces):
        at_root = comm.rank == root
        mine = scatter(
            comm, torch.full((sizes[comm.rank],), -1.0), list(pieces) if at_root else None, root, sizes
        )
        return gather(comm, [torch.full((n,), -1.0) for n in sizes] if at_root else None, mine, root, sizes)

    pieces = tuple(torch.arange(float(sum(sizes))).split(sizes))
    results = launch(there_and_back, p, pieces).results
    assert all(map(torch.equal, results[root], pieces))
    assert all(result is None for rank, result in enumerate(results) if rank != root)


def test_pieces_may_have_any_shape_and_strides():
    grid = torch.arange(12.0).reshape(3, 4)

    def worker(comm, base):
        out = torch.zeros(2, 3, 4) if comm.rank == 0 else None
        gather(comm, None if out is None else [o.t()[::2] for o in out], base.t()[::2])
        back = torch.zeros(4, 3)[::2]
        return out, scatter(comm, back, None if out is None else list(out[:, :, ::2]))

    run = launch(worker, per_rank=[grid, grid + 100])
    out = run.results[0][0]
    assert torch.equal(out[1][:, ::2], grid[:, ::2] + 100) and (out[:, :, 1::2] == 0).all()
    for rank in range(2):
        assert torch.equal(run.results[rank][1].flatten(), (grid + 100 * rank)[:, ::2].flatten())


def only_powers_of_two(comm, outputs, x, root, sizes):
    """A tree that forgets the ranks beyond the last power of two."""
    power, me = 1 << comm.size.bit_length() - 1, (comm.rank - root) % comm.size
    if me < power and comm.rank != root:
        comm.send(x, root)
    elif comm.rank == root:
        for other in range(1, power):
            comm.recv(outputs[(root + other) % comm.size], (root + other) % comm.size)
        outputs[root].copy_(x)
    return outputs


def flat(comm, outputs, x, root, sizes):
    """Right, but everyone sends to the root itself: more steps, fewer bytes."""
    if comm.rank != root:
        comm.send(x, root)
        return None
    outputs[root].copy_(x)
    for rank in {*range(comm.size)} - {root}:
        comm.recv(outputs[rank], rank)
    return outputs


def in_the_roots_order(comm, outputs, x, root, sizes):
    """Pieces in the order root, root + 1, ..."""
    gather(comm, outputs, x, root, sizes)
    return None if outputs is None else outputs[root:] + outputs[:root]


def whole_to_everyone(comm, output, inputs, root, sizes):
    """A scatter that broadcasts all pieces, of which each rank keeps its own."""
    whole = torch.cat(inputs) if inputs else output.new_empty(comm.size * output.numel())
    for rank in range(comm.size):
        if comm.rank == root and rank != root:
            comm.send(whole, rank)
        elif comm.rank == rank != root:
            comm.recv(whole, root)
    return output.copy_(whole.tensor_split(comm.size)[comm.rank])


@pytest.mark.parametrize("planted", [only_powers_of_two, flat, in_the_roots_order])
def test_the_contract_refuses_planted_gathers(fast_world, planted):
    with pytest.raises(AssertionError):
        assert_gathers(fast_world, 5, planted)


@pytest.mark.parametrize("planted", [whole_to_everyone, lambda comm, output, *_: output])
def test_the_contract_refuses_planted_scatters(fast_world, planted):
    with pytest.raises((AssertionError, DeadlockError)):
        assert_scatters(fast_world, 5, planted)


def wrong(comm, x, case):
    """One call that no rank can answer with a result."""
    three = [x.clone() for _ in range(3)]
    calls = {
        "root": lambda: gather(comm, three, x, 3),
        "few": lambda: scatter(comm, x, three[:2]),
        "none": lambda: gather(comm, None, x),
        "size": lambda: scatter(comm, x, [x, x, x[1:]]),
        "dtype": lambda: gather(comm, [x, x, x.double()], x),
        "sizes": lambda: gather(comm, [x, x, x.new_empty(5)], x, sizes=[4, 4, 5]),
        "short": lambda: scatter(comm, x, three, sizes=[4, 4]),
        "one": lambda: gather(comm, three, x, sizes=4),
        "half": lambda: scatter(comm, x, three, sizes=[4, 4, 4.0]),
        "number": lambda: gather(comm, [x, 1.0, x], x),
    }
    return calls[case]()


@pytest.mark.parametrize(
    "case, message",
    [
        ("root", "root 3 is not a rank; there are 0 to 2"),
        ("few", "rank 0: scatter: inputs has 2 pieces; there are 3 ranks, so give 3"),
        ("none", "rank 0: gather: outputs is a NoneType; give a list of 3 tensors"),
        ("size", r"rank 0: scatter: inputs\[2\] is 3 x torch.float32; 4 x torch.float32 is needed"),
        ("dtype", r"outputs\[2\] is 4 x torch.float64; 4 x torch.float32 is needed"),
        ("sizes", r"rank 2: gather: my piece has 4 elements, but sizes\[2\] is 5"),
        ("short", r"sizes = \[4, 4\]; give 3 numbers of elements, one for each rank"),
        ("one", "sizes = 4; give a list of 3 numbers of elements, or None"),
        ("half", "scatter: sizes has 4.0, which is not an integer"),
        ("number", "gather: float given where a tensor is wanted"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(fast_world, case, message):
    with pytest.raises(RankFailed, match=message):
        fast_world.launch(wrong, 3, (torch.ones(4), case))


@pytest.mark.parametrize("differ", ["count", "dtype", "root"])
@pytest.mark.parametrize("function", [gather, scatter])
def test_ranks_that_differ_are_told_which_is_the_odd_one(fast_world, function, differ):
    def worker(comm, x):
        odd = comm.rank == 2
        x = x[1:] if odd and differ == "count" else x.double() if odd and differ == "dtype" else x
        root, many = int(odd and differ == "root"), [x.clone() for _ in range(4)]
        first, second = (many, x) if function is gather else (x, many)
        function(comm, first, second, root)

    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        fast_world.launch(worker, 4, (torch.ones(3),))
