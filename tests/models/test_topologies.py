"""Crossbars, rings, tori and clusters: where messages go, and what the narrowest cut carries."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.models import Cluster, Crossbar, Link, Ring, Torus2D, carry

LINK = Link(alpha=3.0, beta=0.5, gamma=0.25)
SLOW = Link(alpha=16.0, beta=4.0, gamma=0.5)
SIZES = st.integers(1, 9)


def names(network, source, dest):
    return [network.link_name(link) for link in network.route(source, dest).links]


# -- crossbar ---------------------------------------------------------------------------------------


def test_a_crossbar_of_one_link_is_that_link_for_every_pair():
    network = Crossbar(3, LINK)
    assert network.route(2, 0) == ((2, 3), (0.5, 0.5), 3.0, 3.0)
    assert names(network, 2, 0) == ["rank 2, out", "rank 0, in"]
    assert (network.links, network.gamma, network.overhead) == (6, 0.25, 0.0)


def test_between_ranks_that_differ_the_worse_end_sets_the_time():
    network = Crossbar(3, [LINK, SLOW, LINK])
    assert network.route(0, 1) == ((0, 4), (0.5, 4.0), 16.0, 16.0)
    assert network.route(1, 2) == ((1, 5), (4.0, 0.5), 16.0, 16.0)
    assert network.route(0, 2).seconds(8) == LINK.seconds(8)
    assert network.gamma == 0.5


def test_links_may_differ_by_pair():
    network = Crossbar(4, lambda source, dest: SLOW if source // 2 != dest // 2 else LINK, gamma=0.5)
    assert network.route(0, 1).seconds(8) == LINK.seconds(8)
    assert network.route(1, 2).seconds(8) == SLOW.seconds(8)
    assert network.gamma == 0.5


# -- ring and torus -----------------------------------------------------------------------------------


def test_links_of_a_ring_and_a_torus_are_called_by_the_ranks_they_join():
    assert names(Ring(8, LINK), 6, 0) == ["rank 6, out", "6 -> 7", "7 -> 0", "rank 0, in"]
    torus = Torus2D(3, 4, LINK)
    assert names(torus, 3, 8)[1:-1] == ["row 0: 3 -> 0", "column 0: 0 -> 8"]
    assert names(torus, 4, 11)[1:-1] == ["row 1: 4 -> 7", "column 3: 7 -> 11"]


def shorter(source: int, dest: int, size: int) -> int:
    return min((dest - source) % size, (source - dest) % size)


@given(SIZES, SIZES, st.data())
def test_a_torus_route_is_as_long_as_the_shorter_ways_along_row_and_column(rows, columns, data):
    torus = Torus2D(rows, columns, LINK, hop=0.125)
    ranks = st.integers(0, torus.ranks - 1)
    source, dest = data.draw(ranks), data.draw(ranks)
    away = shorter(source // columns, dest // columns, rows) + shorter(
        source % columns, dest % columns, columns
    )
    assert torus.hops(source, dest) == away <= torus.diameter()
    route = torus.route(source, dest)
    assert (route.hold, route.delay) == (3.0, 3.0 + 0.125 * max(away - 1, 0))
    # Along the row first: no row comes after a column.
    kinds = [name.split()[0] for name in names(torus, source, dest)[1:-1]]
    assert kinds == sorted(kinds, reverse=True)


@given(st.integers(1, 40), st.data())
def test_a_ring_is_a_torus_of_one_row(p, data):
    ring, torus = Ring(p, LINK, hop=0.125), Torus2D(1, p, LINK, hop=0.125)
    ranks = st.integers(0, p - 1)
    source, dest = data.draw(ranks), data.draw(ranks)
    assert names(ring, source, dest) == [name.removeprefix("row 0: ") for name in names(torus, source, dest)]
    assert ring.route(source, dest)[1:] == torus.route(source, dest)[1:]
    assert (ring.diameter(), ring.bisection_bandwidth()) == (torus.diameter(), torus.bisection_bandwidth())


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7, 8])
def test_the_diameter_is_reached(p):
    ring, torus = Ring(p, LINK), Torus2D(p, 4, LINK)
    assert max(ring.hops(0, dest) for dest in range(p)) == ring.diameter()
    assert max(torus.hops(0, dest) for dest in range(4 * p)) == torus.diameter()


@pytest.mark.parametrize("p", [4, 8, 16])
def test_messages_half_way_round_use_both_directions_alike(p):
    ring = Ring(p, LINK)
    load = [0] * ring.links
    for source in range(p):
        for link in ring.route(source, (source + p // 2) % p).links[1:-1]:
            load[link] += 1
    assert set(load[2 * p :]) == {p // 4}


@pytest.mark.parametrize("rows, columns", [(1, 2), (1, 8), (2, 2), (2, 4), (4, 4), (4, 6), (8, 4), (8, 1)])
def test_the_bisection_is_the_narrower_of_the_two_cuts(rows, columns):
    torus = Torus2D(rows, columns, LINK)
    upper, left = (lambda rank: rank // columns < rows // 2), (lambda rank: rank % columns < columns // 2)
    crossing = []
    for inside in [upper] * (rows > 1) + [left] * (columns > 1):
        pairs = [
            (a, b) for a in range(torus.ranks) for b in range(torus.ranks) if inside(a) and not inside(b)
        ]
        used = {name for a, b in pairs for name in names(torus, a, b)[1:-1]}
        ends = [tuple(map(int, re.findall(r"(\d+) -> (\d+)", name)[0])) for name in used]
        crossing.append(sum(inside(a) and not inside(b) for a, b in ends))
    assert torus.bisection_bandwidth() == min(crossing) / LINK.beta


# -- cluster ------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 8), st.data())
def test_a_message_crosses_the_links_between_exactly_if_the_nodes_differ(nodes, per_node, data):
    rails = data.draw(st.integers(1, per_node))
    cluster = Cluster(nodes, per_node, LINK, SLOW, rails)
    ranks = st.integers(0, cluster.ranks - 1)
    source, dest = data.draw(ranks), data.draw(ranks)
    route = cluster.route(source, dest)
    if source // per_node == dest // per_node:
        assert route == ((source, cluster.ranks + dest), (0.5, 0.5), 3.0, 3.0)
    else:
        assert route.betas == (0.5, 4.0, 4.0, 0.5) and route.hold == route.delay == 16.0
        up, down = names(cluster, source, dest)[1:-1]
        which = [f", rail {rank % per_node % rails}" if rails > 1 else "" for rank in (source, dest)]
        assert up == f"node {source // per_node} to the switch{which[0]}"
        assert down == f"the switch to node {dest // per_node}{which[1]}"


@pytest.mark.parametrize("rails, in_a_row", [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_the_ranks_of_a_node_share_its_rails(rails, in_a_row):
    cluster = Cluster(2, 8, LINK, SLOW, rails)
    free = [0.0] * cluster.links
    last = max(carry(free, cluster.route(i, 8 + i), 0.0, 8)[1] for i in range(8))
    assert last == in_a_row * SLOW.seconds(8)


def test_the_bisection_of_a_cluster_is_the_rails_of_half_its_nodes():
    assert Cluster(4, 8, LINK, SLOW, rails=2).bisection_bandwidth() == 2 * 2 / SLOW.beta
    assert Cluster(1, 8, LINK, SLOW).bisection_bandwidth() == 4 / LINK.beta
    assert Cluster(2, 2, SLOW, LINK, rails=2).bisection_bandwidth() == 2 / SLOW.beta
