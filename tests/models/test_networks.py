"""Every network gives every pair a sound way, and messages that meet on a link share it by the one rule."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.models import Cluster, Crossbar, Link, LogGP, Network, Ring, Route, Torus2D, carry

LINK = Link(alpha=3.0, beta=0.5, gamma=0.25)
SLOW = Link(alpha=16.0, beta=4.0)
NETWORKS = [
    *(Crossbar(p, LINK) for p in (1, 2, 7)),
    Crossbar(3, [LINK, SLOW, LINK]),
    Crossbar(4, lambda source, dest: SLOW if source % 2 != dest % 2 else LINK, gamma=0.25),
    LogGP(5, L=6, o=2, g=4, G=0.5),
    *(Ring(p, LINK, hop=0.125) for p in (1, 2, 3, 4, 5, 8, 16)),
    *(Torus2D(r, c, LINK, hop=0.125) for r, c in ((1, 1), (1, 5), (2, 2), (2, 3), (3, 4), (4, 4), (5, 3))),
    *(
        Cluster(n, g, LINK, SLOW, rails)
        for n, g, rails in ((1, 4, 1), (3, 1, 1), (2, 4, 1), (3, 4, 2), (2, 8, 8))
    ),
]


def faults(network: Network) -> Iterator[str]:
    """What keeps a network from being one, as sentences."""
    p, total = network.ranks, network.links
    if len({network.link_name(i) for i in range(total)}) < total:
        yield "two links have the same name"
    for source in range(p):
        for dest in range(p):
            route = network.route(source, dest)
            who = f"{source} to {dest}"
            if route.links[0] != source or network.link_name(source) != f"rank {source}, out":
                yield f"{who}: does not begin at the sender's way out"
            if route.links[-1] != p + dest or network.link_name(p + dest) != f"rank {dest}, in":
                yield f"{who}: does not end at the receiver's way in"
            inner = route.links[1:-1]
            if not all(2 * p <= link < total for link in inner):
                yield f"{who}: crosses a link that does not exist or is a rank's own"
            if len(set(route.links)) < len(route.links):
                yield f"{who}: crosses a link twice"
            if len(route.betas) != len(route.links):
                yield f"{who}: {len(route.betas)} betas for {len(route.links)} links"
            if min(route.hold, route.delay, *route.betas) < 0:
                yield f"{who}: a negative time"
            yield from (f"{who}: {broken}" for broken in breaks([network.link_name(i) for i in inner], who))


def breaks(names: list[str], who: str) -> Iterator[str]:
    """Where a way along links called "… a -> b" has a gap."""
    if names and all("->" in name for name in names):
        ends = [tuple(map(int, re.findall(r"(\d+) -> (\d+)", name)[0])) for name in names]
        places = [int(who.split()[0]), *(place for pair in ends for place in pair), int(who.split()[-1])]
        if places[::2] != places[1::2]:
            yield f"has a gap: {', '.join(names)}"


def name(network):
    """Its repr, without the address of a function, which differs from process to process."""
    return repr(network).split(" at 0x")[0]


@pytest.mark.parametrize("network", NETWORKS, ids=name)
def test_every_pair_has_a_sound_way(network):
    assert list(faults(network)) == []


@pytest.mark.parametrize(
    "way, said",
    [
        (lambda r, n: r._replace(links=r.links[::-1]), "does not begin at the sender's way out"),
        (lambda r, n: r._replace(links=r.links[:-1]), "does not end at the receiver's way in"),
        (lambda r, n: r._replace(links=(*r.links[:1], n.links, *r.links[1:])), "does not exist"),
        (lambda r, n: r._replace(links=(*r.links[:1], *r.links)), "twice"),
        (lambda r, n: r._replace(betas=r.betas[:1]), "1 betas for"),
        (lambda r, n: r._replace(hold=-1.0), "a negative time"),
        (lambda r, n: r._replace(links=(*r.links[:1], 9, *r.links[-1:])), "has a gap"),
    ],
)
def test_a_planted_wrong_way_is_named(way, said):
    class Wrong(Ring):
        def route(self, source: int, dest: int) -> Route:
            return way(super().route(source, dest), self)

        def link_name(self, number: int) -> str:
            return super().link_name(number % self.links)

    assert any(said in fault for fault in faults(Wrong(4, LINK)))


@pytest.mark.parametrize("network", NETWORKS, ids=name)
def test_what_is_no_rank_has_no_way_and_what_is_no_link_no_name(network):
    p = network.ranks
    for source, dest in ((-1, 0), (0, p), (p, 0)):
        with pytest.raises(ValueError, match=f"from rank {source} to {dest}; ranks are 0 to {p - 1}"):
            network.route(source, dest)
    for number in (-1, network.links):
        with pytest.raises(ValueError, match=f"no link {number}; there are links 0 to {network.links - 1}"):
            network.link_name(number)


# -- the rule ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", NETWORKS, ids=name)
def test_a_message_that_meets_no_other_takes_its_delay_and_its_slowest_link(network):
    for source in range(network.ranks):
        route = network.route(source, 0)
        start, arrival = carry([0.0] * network.links, route, 2.0, 8)
        assert (start, arrival) == (2.0, 2.0 + route.delay + 8 * max(route.betas))
        assert arrival - start == route.seconds(8)


@given(st.integers(1, 12), st.integers(0, 64), st.integers(0, 5))
def test_messages_to_one_rank_come_in_one_after_another(senders, nbytes, ready):
    network = Crossbar(senders + 1, LINK)
    free = [0.0] * network.links
    arrivals = [carry(free, network.route(i + 1, 0), ready, nbytes)[1] for i in range(senders)]
    assert arrivals == [ready + (i + 1) * LINK.seconds(nbytes) for i in range(senders)]


def test_a_busy_receiver_does_not_hold_up_the_sender():
    network = Crossbar(4, LINK)
    free = [0.0] * network.links
    carry(free, network.route(0, 3), 0.0, 100)
    assert carry(free, network.route(1, 3), 0.0, 8) == (0.0, LINK.seconds(100) + LINK.seconds(8))
    assert carry(free, network.route(1, 2), 0.0, 8) == (LINK.seconds(8), 2 * LINK.seconds(8))


def test_a_busy_link_inside_holds_up_the_sender():
    ring = Ring(8, LINK)
    free = [0.0] * ring.links
    carry(free, ring.route(1, 3), 0.0, 100)  # busy: 1 -> 2 and 2 -> 3
    start, _ = carry(free, ring.route(2, 4), 0.0, 8)
    assert start == LINK.seconds(100)
    assert carry(free, ring.route(3, 4), 0.0, 8)[0] == start + LINK.seconds(8)
    assert carry(free, ring.route(2, 1), 0.0, 8)[0] == start + LINK.seconds(8)


def ring_all_reduce_seconds(network: Network, nbytes: int) -> float:
    """The ring algorithm without reductions: 2(p-1) rounds of nbytes / p from each rank to the next."""
    p, free = network.ranks, [0.0] * network.links
    now = [0.0] * p
    for _ in range(2 * (p - 1)):
        came = [carry(free, network.route(i, (i + 1) % p), now[i], nbytes // p)[1] for i in range(p)]
        now = [max(now[i], came[i - 1], came[i]) for i in range(p)]
    return max(now)


@pytest.mark.parametrize("p", [2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("kind", [Crossbar, Ring])
def test_a_ring_all_reduce_takes_what_the_formula_says(kind, p):
    assert ring_all_reduce_seconds(kind(p, LINK), 24 * p) == 2 * (p - 1) * LINK.seconds(24)


@pytest.mark.parametrize("p", [2, 3, 4, 5, 7, 8, 16])
def test_the_bus_bandwidth_of_a_ring_all_reduce_tends_to_the_links(p):
    nbytes = 64 * p
    for alpha in (1.0, 2**-10, 2**-20, 0.0):
        seconds = ring_all_reduce_seconds(Ring(p, Link(alpha, 0.5)), nbytes)
        busbw = nbytes / seconds * 2 * (p - 1) / p
        assert busbw == pytest.approx(64 / (alpha + 64 * 0.5))
    assert busbw == 1 / 0.5


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Crossbar(0, LINK), "Crossbar: ranks = 0; give how many there are, at least 1"),
        (lambda: Crossbar(2.0, LINK), "Crossbar: ranks = 2.0"),
        (lambda: Crossbar(True, LINK), "Crossbar: ranks = True"),
        (lambda: Crossbar(3, [LINK, LINK]), "Crossbar: 2 links for 3 ranks; give one Link, or one for each"),
        (lambda: Crossbar(2, [LINK, 7]), "Crossbar: 7 for 2 ranks"),
        (lambda: Crossbar(2, None), "Crossbar: None for 2 ranks"),
        (lambda: Crossbar(2, LINK, gamma=float("nan")), "Crossbar: gamma = nan; give seconds"),
        (lambda: Crossbar(2, lambda s, d: None).route(0, 1), r"link\(0, 1\) returned None; return a Link"),
        (lambda: Crossbar(2, lambda s, d: LINK).route(0, 1), r"gamma 0.25.*give Crossbar\(…, gamma=0.25\)"),
        (lambda: Ring(-1, LINK), "Ring: ranks = -1"),
        (lambda: Ring(4, LINK, hop=-1), "Ring: hop = -1; give seconds, finite and not negative"),
        (lambda: Torus2D(0, 4, LINK), "Torus2D: rows = 0"),
        (lambda: Torus2D(4, 0, LINK), "Torus2D: columns = 0"),
        (lambda: Cluster(0, 4, LINK, SLOW), "Cluster: nodes = 0"),
        (lambda: Cluster(2, 0, LINK, SLOW), "Cluster: per_node = 0"),
        (lambda: Cluster(2, 4, LINK, SLOW, rails=0), "Cluster: rails = 0"),
        (lambda: Cluster(2, 4, LINK, SLOW, rails=8), "8 rails for 4 ranks a node.*give at most 4"),
        (lambda: LogGP(0, 6, 2, 4), "LogGP: ranks = 0"),
        (lambda: LogGP(8, float("inf"), 2, 4), "LogGP: L = inf"),
        (lambda: LogGP(8, 6, 2, -4), "LogGP: g = -4"),
        (lambda: LogGP(8, 6, 2, 4, G=5), r"G = 5.* more than the gap max\(g, o\) = 4"),
    ],
)
def test_what_is_no_network_is_refused_with_the_number_and_the_remedy(make, said):
    with pytest.raises(ValueError, match=said):
        make()
