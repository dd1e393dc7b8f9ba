"""How busy each link of a network was: which one held the others up."""

from collections.abc import Iterable
from dataclasses import dataclass

from counterpoint.models.network import Network


@dataclass(frozen=True)
class Load:
    """What crossed one link, and how many seconds that kept it busy."""

    link: int
    name: str
    messages: int
    nbytes: int
    seconds: float


def loads(network: Network, traffic: Iterable[tuple[int, int, int, int]]) -> list[Load]:
    """Every link that was used, the busiest first; of equals (to rounding), the lower number.

    traffic: (source, dest, messages, bytes) for each pair of ranks; a pair may come more than once.
    """
    found: dict[int, tuple[int, int, float]] = {}
    for source, dest, messages, nbytes in traffic:
        route = network.route(source, dest)
        for link, beta in zip(route.links, route.betas, strict=True):
            before = found.get(link, (0, 0, 0.0))
            seconds = messages * route.hold + nbytes * beta
            found[link] = before[0] + messages, before[1] + nbytes, before[2] + seconds
    used = [Load(link, network.link_name(link), *totals) for link, totals in found.items()]
    return sorted(used, key=lambda load: (-float(f"{load.seconds:.12g}"), load.link))
