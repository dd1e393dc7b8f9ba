"""`simulate`: what a collective costs on a network on paper, and which link is busiest."""

import collections

import pytest
import torch

from counterpoint.bench import OPERATIONS
from counterpoint.collectives import ring
from counterpoint.models import Cluster, Crossbar, Link, LogGP, Ring, loads
from counterpoint.ranks.fast import SimulatedComm
from counterpoint.ranks.routes import RouteClock
from counterpoint.simulate import simulate, size_text, time_text

LINK = Link(alpha=1e-6, beta=1e-10, gamma=1e-11)


@pytest.mark.parametrize("p", [1, 2, 5, 8])
@pytest.mark.parametrize("collective", sorted(OPERATIONS))
def test_on_equal_links_the_time_is_the_closed_forms(collective, p):
    found = simulate(collective, p, LINK, 1 << 20)
    assert found.formula is not None
    assert found.row.seconds == pytest.approx(found.formula, rel=1e-12, abs=1e-18)
    assert found.row.busbw == pytest.approx(found.row.algbw * OPERATIONS[collective].factor(p))


def test_the_ring_is_counted_as_its_cost_says():
    found = simulate("all_reduce", 6, LINK, 6000, algorithm="ring")
    cost = ring.cost(6, 1500, 4)
    assert (found.totals.messages, found.totals.bytes_total, found.totals.steps) == (
        cost.messages, cost.bytes_total, cost.steps,
    )  # fmt: skip
    assert found.row.nbytes == 6000
    assert found.row.algbw == pytest.approx(6000 / found.row.seconds)


def test_bus_bandwidth_of_the_ring_tends_to_the_links_as_latency_goes():
    for p in (2, 3, 8, 31):
        assert simulate(
            "all_reduce", p, Link(beta=1e-9), p << 20, algorithm="ring"
        ).row.busbw == pytest.approx(1e9)


def test_the_busiest_link_is_the_one_between_the_nodes():
    found = simulate(
        "all_reduce", 8, Cluster(2, 4, Link(beta=1e-11), Link(beta=1e-9)), 1 << 20, algorithm="star"
    )
    assert "node" in found.loads[0].name
    assert found.loads[0].seconds <= found.row.seconds
    assert found.formula is None
    assert "busiest" in "\n".join(found.lines())


def test_loads_add_what_each_pair_sends_over_each_link_of_its_way():
    network = Ring(4, Link(alpha=1.0, beta=0.5))
    found = {load.name: load for load in loads(network, [(0, 2, 3, 100), (1, 2, 1, 10)])}
    shared = next(load for name, load in found.items() if "1" in name and "2" in name and "rank" not in name)
    assert (shared.messages, shared.nbytes) == (4, 110)
    assert found["rank 0, out"].nbytes == 100
    assert shared.seconds == 4 * network.route(1, 2).hold + 110 * 0.5
    assert [load.seconds for load in found.values()] == sorted(
        (x.seconds for x in found.values()), reverse=True
    )


@pytest.mark.parametrize(
    "network",
    [
        Crossbar(8, LINK),
        Cluster(2, 4, LINK, Link(2e-6, 1e-9), rails=2),
        Ring(8, LINK),
        LogGP(8, 6.0, 2.0, 4.0, 0.5),
    ],
    ids=lambda network: type(network).__name__,
)
@pytest.mark.parametrize("algorithm", ["tree", "ring", "rabenseifner", "two-shot"])
def test_loads_are_what_the_run_itself_held_its_links_for(monkeypatch, network, algorithm):
    held = collections.Counter()

    def note(route, nbytes, places):
        for place in places:
            held[route.links[place]] += route.hold + nbytes * route.betas[place]

    def leave(clock, route, nbytes, when, free, real=RouteClock.leave):
        note(route, nbytes, range(len(route.links) - 1))
        return real(clock, route, nbytes, when, free)

    def take_in(clock, route, nbytes, start, real=RouteClock.take_in):
        note(route, nbytes, [-1])
        return real(clock, route, nbytes, start)

    monkeypatch.setattr(RouteClock, "leave", leave)
    monkeypatch.setattr(RouteClock, "take_in", take_in)
    monkeypatch.setattr(SimulatedComm, "_open", lambda *_: False)  # every message goes where it can be noted
    found = simulate("all_reduce", 8, network, 1000, algorithm=algorithm)
    assert {load.link: pytest.approx(load.seconds) for load in found.loads} == held
    assert all(load.seconds <= found.row.seconds for load in found.loads)


def test_links_that_are_equally_busy_to_rounding_count_as_equals():
    found = simulate("all_reduce", 64, "gigabit-ethernet", 1 << 20, algorithm="rabenseifner")
    assert found.loads[0].name == "rank 0, out"
    assert "rank 0, out, and 127 more as busy" in "\n".join(found.lines())


@pytest.mark.slow
def test_the_ring_of_1024_ranks_is_its_closed_form():
    found = simulate("all_reduce", 1024, "gigabit-ethernet", 64 << 20, algorithm="ring")
    assert found.totals.messages == 1024 * 2 * 1023
    assert found.row.seconds == pytest.approx(found.formula, rel=1e-12)
    assert len(found.loads) == 2048


def test_auto_takes_the_algorithm_that_the_network_favours():
    dear_messages, dear_bytes = Link(alpha=1.0, beta=1e-12), Link(alpha=1e-12, beta=1.0)
    assert simulate("all_reduce", 8, dear_messages, 4096).case.way["algorithm"] == "recursive-doubling"
    assert simulate("all_reduce", 8, dear_bytes, 4096).case.way["algorithm"] in ("ring", "rabenseifner")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sort", 4, LINK, 100), "no collective 'sort'"),
        (("all_reduce", 4, "nvlink-nodes", 100), "did you mean 'nvlink-node'"),
        (("all_reduce", 9, "nvlink-node", 100), "a node has 8 GPUs, not 9"),
        (("all_reduce", 4, Crossbar(5, LINK), 100), "5 ranks, the run 4"),
    ],
)
def test_what_there_is_not_is_named(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        simulate(*arguments)


def test_an_algorithm_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="no algorithm 'bus'"):
        simulate("all_reduce", 4, LINK, 100, algorithm="bus")
    with pytest.raises(ValueError, match="reduce has one algorithm"):
        simulate("reduce", 4, LINK, 100, algorithm="bus")


def test_a_row_has_the_virtual_time_and_no_wrong_elements_to_count():
    row = simulate("all_gather", 4, LINK, 4096, dtype=torch.float64).row
    assert (row.nbytes, row.count, row.type, row.wrong) == (4096, 128, "double", None)
    assert str(row).endswith("N/A")


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1 << 40, "1 TiB"),
        (1 << 50, "1024 TiB"),
    ],
)
def test_sizes_for_people(nbytes, said):
    assert size_text(nbytes) == said


def test_times_for_people():
    assert [time_text(s) for s in (2.0, 3e-3, 4e-6, 5e-9, 0.0)] == ["2 s", "3 ms", "4 us", "5 ns", "0 ns"]
