"""Networks by name, from published figures. Their purpose is proportion: fit your own by a ping-pong.

GPUs. NCCL's cost model, which chooses its algorithms by these figures: bandwidth in GB/s of an NVLink lane
20.6 (H100, 18 lanes) and 20.0 (A100, 12 lanes), of a PCIe 4 lane 1.5, of a network card its line rate
(src/graph/topo.h and topo.cc); latency of a ring's hop with its full-bandwidth protocol ("Simple") 3.4 us over
NVLink, 5.7 over PCIe, 14 over the network (src/graph/tuning.cc). Its low-latency protocol takes 0.6, 1.0 and
2.7 us at half the bandwidth or less. Measured: 376 to 380 GB/s between two H100 (NVIDIA/nccl issue 1264).
Vendor's figures are 450 (H100) and 300 (A100) GB/s each way. A DGX H100 has eight 400 Gb/s cards (InfiniBand
NDR), a DGX A100 eight of 200 Gb/s (HDR) for compute, one beside each GPU (their user guides).

Ethernet. The line rate times TCP's share of a frame: 1460 of 1538 bytes (IEEE 802.3: 1500 of payload, 18 of
header and checksum, 8 of preamble, 12 of gap; 40 of TCP/IP), 118.7 MB/s of gigabit (118.2 measured: NW-GRID).
Latency: 23 us (gigabit, NetPIPE on the Norma cluster, Democritus University of Thrace), 20 us (10 gigabit:
Hurwitz and Feng, Hot Interconnects 11, 2003). Gloo and Python add to that.

CM-5. LogP as its authors fitted it: L = 6, o = 2, g = 4 us for messages of 16 bytes (PPoPP 1993); longer ones
are packets of 16 bytes, g apart, so G = g / 16.

gamma is three memory accesses a byte (two read, one written): at 3.35 TB/s (H100 SXM), 2.039 (A100 SXM, 80 GB),
1.555 (A100 PCIe, 40 GB) and 25.6 GB/s, one channel of DDR4-3200, for hosts. The CM-5's is left at 0.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from counterpoint.models.cluster import Cluster
from counterpoint.models.crossbar import Crossbar, LinkOfPair
from counterpoint.models.link import Link
from counterpoint.models.logp import LogGP
from counterpoint.models.network import Network, count

NVLINK_H100 = Link(alpha=3.4e-6, beta=1 / (18 * 20.6e9), gamma=3 / 3.35e12)
NVLINK_A100 = Link(alpha=3.4e-6, beta=1 / (12 * 20.0e9), gamma=3 / 2.039e12)
INFINIBAND_NDR = Link(alpha=14e-6, beta=8 / 400e9)
INFINIBAND_HDR = Link(alpha=14e-6, beta=8 / 200e9)
PCIE_4_X16 = Link(alpha=5.7e-6, beta=1 / (16 * 1.5e9), gamma=3 / 1.555e12)
ETHERNET_1G = Link(alpha=23e-6, beta=8 / 1e9 * 1538 / 1460, gamma=3 / 25.6e9)
ETHERNET_10G = Link(alpha=20e-6, beta=8 / 10e9 * 1538 / 1460, gamma=3 / 25.6e9)


class Preset(NamedTuple):
    """A network by name: what it is, its figures' source in short, ranks if not said, how it is built for others."""

    about: str
    source: str
    ranks: int
    build: Callable[[int], Network]


NCCL = "NCCL's cost model (src/graph: topo.h, topo.cc, tuning.cc)"


def _node(link: Link) -> Callable[[int], Network]:
    def build(ranks: int) -> Network:
        if ranks > 8:
            raise ValueError(f"a node has 8 GPUs, not {ranks}; take at most 8 ranks, or a cluster")
        return Crossbar(ranks, link)

    return build


def _cluster(inside: Link, between: Link) -> Callable[[int], Network]:
    def build(ranks: int) -> Network:
        if ranks % 8:
            below = f"{ranks - ranks % 8} or " if ranks > 8 else ""
            raise ValueError(
                f"{ranks} ranks do not fill nodes of 8 GPUs; take {below}{ranks + 8 - ranks % 8}"
            )
        return Cluster(ranks // 8, 8, inside, between, rails=8)

    return build


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "nvlink-node": Preset("8 H100 on NVSwitch", NCCL, 8, _node(NVLINK_H100)),
        "nvlink-cluster": Preset(
            "nodes of 8 H100, an InfiniBand NDR rail for each GPU",
            f"{NCCL}; DGX H100 user guide",
            16,
            _cluster(NVLINK_H100, INFINIBAND_NDR),
        ),
        "a100-node": Preset("8 A100 on NVSwitch", NCCL, 8, _node(NVLINK_A100)),
        "a100-cluster": Preset(
            "nodes of 8 A100, an InfiniBand HDR rail for each GPU",
            f"{NCCL}; DGX A100 user guide",
            16,
            _cluster(NVLINK_A100, INFINIBAND_HDR),
        ),
        "pcie-node": Preset("GPUs on PCIe 4 x16", NCCL, 4, _node(PCIE_4_X16)),
        "10g-ethernet": Preset(
            "hosts on one switch, 10 gigabit, TCP",
            "line rate and IEEE 802.3's frame; latency: Hurwitz and Feng, Hot Interconnects 11, 2003",
            8,
            lambda ranks: Crossbar(ranks, ETHERNET_10G),
        ),
        "gigabit-ethernet": Preset(
            "hosts on one switch, gigabit, TCP",
            "line rate and IEEE 802.3's frame; latency: NetPIPE on the Norma cluster",
            8,
            lambda ranks: Crossbar(ranks, ETHERNET_1G),
        ),
        "cm-5": Preset(
            "Thinking Machines CM-5, 1993, as LogP",
            "Culler et al., LogP, PPoPP 1993",
            32,
            lambda ranks: LogGP(ranks, 6e-6, 2e-6, 4e-6, 4e-6 / 16),
        ),
    }
)


def preset(name: str, ranks: int | None = None) -> Network:
    """The network called `name` for `ranks` ranks, or for its own usual number.

    Raises ValueError for a name that is not in `PRESETS`, with the nearest ones, and for a number of
    ranks that the machine cannot have.
    """
    found = PRESETS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, PRESETS, n=2, cutoff=0.4)
        perhaps = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise ValueError(f"no network {name!r}; {perhaps}There are {', '.join(PRESETS)}")
    try:
        return found.build(count("preset", "ranks", found.ranks if ranks is None else ranks))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def as_network(network: Network | Link | Sequence[Link] | LinkOfPair | str, ranks: int) -> Network:
    """What was given for a network, as one of `ranks` ranks.

    A `Network` is returned as it is, a name is a preset, and a `Link`, a list of them or a function of
    (source, dest) becomes a `Crossbar`. Raises ValueError if it is for another number of ranks.
    """
    if isinstance(network, str):
        return preset(network, ranks)
    if not isinstance(network, Network):
        return Crossbar(ranks, network)
    if network.ranks != ranks:
        raise ValueError(f"{network!r} has {network.ranks} ranks, the run {ranks}; make the two agree")
    return network
