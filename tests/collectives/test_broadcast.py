"""broadcast's three algorithms: results, costs, roots, the machine that LogP's needs, the choice."""

import sys

import pytest
import torch

from counterpoint.collectives import broadcast
from counterpoint.collectives.logp_broadcast import cost as logp_cost
from counterpoint.collectives.logp_broadcast import schedule
from counterpoint.models import Link, LogGP, optimal_broadcast
from counterpoint.ranks import MismatchError, RankFailed, launch

MODULE = sys.modules[broadcast.__module__]
ALGORITHMS, cheapest = MODULE.ALGORITHMS, MODULE.cheapest
PAPER = LogGP(8, L=6, o=2, g=4)
"""The example of the LogP paper, in cycles."""


def assert_contract(world, p, worker, cost):
    for count in (0, 1, p - 1, p + 1, 50):
        for root in {0, p // 2, p - 1}:
            data = world.vectors(p, count)
            run = world.run(lambda comm, x, root=root: worker(comm, x, root), data)
            assert all(torch.equal(own, data[root]) for (own,) in run.args), (p, count, root)
            world.assert_cost(run, cost(p, count, 4))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_everyone_gets_the_roots_vector_at_the_algorithms_cost(world, name):
    for p in world.sizes:
        assert_contract(world, p, lambda comm, x, root: broadcast(comm, x, root, name), ALGORITHMS[name][1])


@pytest.mark.parametrize(
    "machine", [PAPER, LogGP(2, L=30, o=1, g=2), LogGP(2, L=1, o=0, g=9, G=0.5)], ids=repr
)
def test_logps_broadcast_costs_what_it_says_on_a_link_too(world, machine):
    for p in world.sizes:
        assert_contract(
            world,
            p,
            lambda comm, x, root: broadcast(comm, x, root, "logp", machine),
            lambda p, count, itemsize: logp_cost(p, count, itemsize, machine),
        )


def test_the_published_broadcast_takes_24_cycles_when_it_is_run():
    run = launch(
        lambda comm, x: broadcast(comm, x, 0, "logp", PAPER),
        per_rank=[torch.tensor([rank], dtype=torch.uint8) for rank in range(8)],
        world="simulated",
        network=PAPER,
    )
    assert run.seconds == 24
    assert [r.item() for r in run.results] == [0] * 8
    arrivals = sorted(run.trace.where(kind="recv").end.tolist())
    assert arrivals == [10, 14, 18, 20, 22, 24, 24]  # the LogP paper, figure 3


@pytest.mark.parametrize("p", [1, 2, 5, 16, 60])
@pytest.mark.parametrize("nbytes", [1, 9])
def test_on_its_machine_it_takes_as_long_as_the_schedule_says_and_no_longer_than_the_tree(p, nbytes):
    machine = LogGP(p, L=7, o=1, g=2, G=0.5)

    def seconds(*how):
        x = torch.zeros(nbytes, dtype=torch.uint8)
        return launch(broadcast, p, (x, p // 2, *how), world="simulated", network=machine).seconds

    rest = (nbytes - 1) * 0.5
    last = max((send.end for send in optimal_broadcast(p, 7 + rest, 1, 2 + rest)), default=0)
    assert seconds("logp", machine) == last <= seconds("binomial")


def test_a_short_gap_makes_a_broader_tree_than_the_binomial_one():
    assert [source for source, _ in schedule(LogGP(8, L=100, o=1, g=1), 8, 1)] == [0] * 7
    assert logp_cost(8, 1, 1, LogGP(8, L=100, o=1, g=1)).bytes_busiest == 7


def test_scatter_and_all_gather_send_less_than_twice_the_vector_over_any_way_out():
    for p in (2, 3, 8, 64):
        assert ALGORITHMS["scatter-all-gather"][1](p, 64 * p, 4).bytes_busiest == 2 * (p - 1) * 64 * 4
        assert ALGORITHMS["binomial"][1](p, 64 * p, 4).bytes_busiest == (p - 1).bit_length() * 64 * p * 4


def test_auto_is_the_cheapest_one():
    latent, slow = Link(alpha=1e-3), Link(beta=1e-9)
    assert [cheapest(8, 1000, 4, link) for link in (latent, slow)] == ["binomial", "scatter-all-gather"]
    assert cheapest(8, 1000, 4) == "binomial" and cheapest(8, 1 << 24, 4) == "scatter-all-gather"
    assert launch(broadcast, 8, (torch.ones(10),)).trace.totals().messages == 7


@pytest.mark.parametrize(
    "how", [("scatter-all-gather",), ("binomial",), ("logp", PAPER)], ids=lambda how: how[0]
)
def test_views_are_written_through_and_nothing_else(how):
    base = torch.arange(12.0).reshape(3, 4)
    run = launch(lambda comm, b: broadcast(comm, b.t()[::2], 1, *how), per_rank=[base, base + 100, base])
    for (own,) in run.args[::2]:
        assert torch.equal(own[:, ::2], base[:, ::2] + 100) and torch.equal(own[:, 1::2], base[:, 1::2])


def all_from_the_root(comm, x, root):
    """Right, but the root sends to everyone."""
    for rank in range(comm.size):
        if comm.rank == root != rank:
            comm.send(x, rank)
        elif comm.rank == rank != root:
            comm.recv(x, root)


def as_if_the_root_were_0(comm, x, root):
    broadcast(comm, x, 0, "binomial")


def drops_the_remainder(comm, x, root):
    broadcast(comm, x[: x.numel() // comm.size * comm.size], root, "scatter-all-gather")


@pytest.mark.parametrize("planted", [all_from_the_root, as_if_the_root_were_0, drops_the_remainder])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_contract_refuses_planted_mistakes(fast_world, name, planted):
    with pytest.raises(AssertionError):
        assert_contract(fast_world, 5, planted, ALGORITHMS[name][1])


@pytest.mark.parametrize(
    "how, message",
    [
        ((3,), "root 3 is not a rank; there are 0 to 2"),
        ((0, "ring"), "no algorithm 'ring'; there are auto, binomial, scatter-all-gather, logp"),
        ((0, "logp"), "broadcast by 'logp' with machine None; a models.LogGP goes with algorithm='logp'"),
        ((0, "logp", Link()), "with machine Link.* a models.LogGP goes with algorithm='logp'"),
        ((0, "auto", PAPER), "broadcast by 'auto' with machine LogGP.* and with no other"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_message(fast_world, how, message):
    with pytest.raises(RankFailed, match=message) as failed:
        fast_world.launch(broadcast, 3, (torch.ones(2), *how))
    assert len(failed.value.run.trace) == 0


@pytest.mark.parametrize("differ", ["count", "dtype", "root", "algorithm", "machine"])
def test_ranks_that_differ_are_told_which_is_the_odd_one(fast_world, differ):
    def worker(comm, x):
        odd = comm.rank == 2
        x = x[1:] if odd and differ == "count" else x.double() if odd and differ == "dtype" else x
        if differ == "machine":
            broadcast(comm, x, 0, "logp", LogGP(8, L=7, o=2, g=4) if odd else PAPER)
        name = "scatter-all-gather" if odd and differ == "algorithm" else "binomial"
        broadcast(comm, x, int(odd and differ == "root"), name)

    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        fast_world.launch(worker, 4, (torch.ones(3),))
