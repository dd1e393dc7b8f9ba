"""Networks by name have the figures that were published, and whatever stands for a network becomes one."""

import pytest

from counterpoint.models import PRESETS, Crossbar, Link, Ring, Torus2D, as_network, preset


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_built_and_says_what_it_is(name):
    network = preset(name)
    assert network.ranks == PRESETS[name].ranks
    assert PRESETS[name].about and PRESETS[name].source
    assert 0 < network.route(0, network.ranks - 1).seconds(8) < 1e-3


@pytest.mark.parametrize(
    "name, source, dest, gb_per_s, latency_us",
    [
        ("nvlink-node", 0, 7, 370.8, 3.4),
        ("nvlink-cluster", 0, 7, 370.8, 3.4),
        ("nvlink-cluster", 0, 8, 50, 14),
        ("a100-node", 0, 7, 240, 3.4),
        ("a100-cluster", 0, 8, 25, 14),
        ("pcie-node", 0, 3, 24, 5.7),
        ("10g-ethernet", 0, 7, 1.187, 20),
        ("gigabit-ethernet", 0, 7, 0.1187, 23),
        ("cm-5", 0, 7, 0.004, 10),
    ],
)
def test_figures_are_in_si_units(name, source, dest, gb_per_s, latency_us):
    route = preset(name).route(source, dest)
    assert 1 / max(route.betas) == pytest.approx(gb_per_s * 1e9, rel=1e-3)
    assert route.seconds(1) == pytest.approx(latency_us * 1e-6, rel=1e-3)


def test_each_gpu_of_a_cluster_has_a_rail_of_its_own():
    network = preset("nvlink-cluster", 32)
    crossed = [link for i in range(8) for link in network.route(i, 8 + i).links]
    assert len(set(crossed)) == len(crossed)
    assert network.link_name(network.route(3, 12).links[1]) == "node 0 to the switch, rail 3"


def test_the_cm5_takes_a_gap_for_each_packet_of_a_long_message():
    route = preset("cm-5").route(0, 1)
    assert route.hold + 1600 * route.betas[0] == pytest.approx(100 * 4e-6, rel=0.01)


@pytest.mark.parametrize(
    "name, ranks, said",
    [
        ("nvlnk-node", None, "no network 'nvlnk-node'; did you mean 'nvlink-node'"),
        ("gigabit", None, "did you mean 'gigabit-ethernet'"),
        ("zzz", None, "no network 'zzz'; There are nvlink-node, .*, cm-5"),
        ("nvlink-node", 9, "nvlink-node: a node has 8 GPUs, not 9; take at most 8 ranks, or a cluster"),
        ("a100-cluster", 12, "a100-cluster: 12 ranks do not fill nodes of 8 GPUs; take 8 or 16"),
        ("a100-cluster", 4, "take 8$"),
        ("gigabit-ethernet", 0, "gigabit-ethernet: preset: ranks = 0"),
    ],
)
def test_a_name_or_number_that_does_not_fit_is_refused_with_the_nearest_that_do(name, ranks, said):
    with pytest.raises(ValueError, match=said):
        preset(name, ranks)


def test_whatever_stands_for_a_network_becomes_one():
    link, ring = Link(1.0, 0.5), Ring(4, Link())
    assert as_network(ring, 4) is ring
    assert as_network("gigabit-ethernet", 4).ranks == 4
    for given in (link, [link] * 4, lambda source, dest: link):
        network = as_network(given, 4)
        assert isinstance(network, Crossbar)
        assert network.route(3, 1) == ((3, 5), (0.5, 0.5), 1.0, 1.0)


@pytest.mark.parametrize(
    "given, said", [(Torus2D(3, 4, Link()), "has 12 ranks, the run 16"), (None, "None for 16")]
)
def test_a_network_of_another_size_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        as_network(given, 16)
