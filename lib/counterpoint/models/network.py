"""Networks on paper: which links a message crosses, and how messages that meet on a link share it.

**The rule: first come, first served, whole messages.** A message of n bytes that is ready at t starts
at s, when its sender's way out and the links between are all free, and keeps link i of them busy until
s + hold + n * betas[i]. It gets its receiver's way in at r, at s or when that is free, keeps it busy until
r + hold + n * betas[-1], and has arrived at r + delay + n * max(betas): it streams through (cut-through),
so its slowest link sets its speed, and the others do not add up. `carry` below is that rule, in code.

What it gets exactly right. A message alone takes delay + n * max(betas). A link that k messages want at
once is busy for the sum of their times, so the last one arrives when it would under any rule that wastes
nothing. One message out of a rank and one into it at a time: the port model of the published formulas,
which therefore come out to rounding (`Cost.seconds`). And it is cheap and deterministic: a message costs
as many steps as its way has links, whatever else is under way.

The other rule that simulators use (SimGrid, for one) lets messages flow at once and divides each
link's bandwidth max-min fairly, which is close to what long TCP streams do. There, messages of one size
that meet all end at the same late moment; here they end one after another, and only the last one that
late. Here a small message behind a large one waits for all of it; there it would slip through. Here a
message that waits for one link inside the network leaves the others on its way unused, and later messages
of its sender wait behind it, as in a switch without virtual channels; a fair share would use that time.
A busy receiver holds up no sender, as if what piles up were buffered, nor does a slow link the fast one
before it. Fair sharing has to work out every rate again whenever a message starts or ends, and no closed
form checks it: so not here.

Sources: Casanova et al., "Versatile, scalable, and accurate simulation of distributed applications and
platforms" (SimGrid), JPDC 74(10), 2014; Dally and Towles, "Principles and Practices of Interconnection
Networks", 2004, chapter 13 (cut-through; blocking and virtual channels).
"""

import math
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import NamedTuple


class Route(NamedTuple):
    """The way of a message from one rank to another; the same for every size."""

    links: tuple[int, ...]
    """Numbers of the shared links it crosses: the sender's way out first, the receiver's way in last."""
    betas: tuple[float, ...]
    """Seconds a byte on each of them."""
    hold: float
    """Seconds that the message occupies each link besides its bytes."""
    delay: float
    """Seconds from its start to its arrival besides its bytes."""

    def seconds(self, nbytes: int) -> float:
        """How long a message of `nbytes` takes when it meets no other."""
        return self.delay + nbytes * max(self.betas)


def carry(free: list[float], route: Route, ready: float, nbytes: int) -> tuple[float, float]:
    """Send one message, ready at `ready` seconds, by the rule above; returns (start, arrival) in seconds.

    free: for each link of the network the moment from which it is free; changed.
    """
    *before, way_in = route.links
    start = max(ready, *(free[link] for link in before))
    for link, beta in zip(before, route.betas, strict=False):
        free[link] = start + route.hold + nbytes * beta
    received = max(start, free[way_in])
    free[way_in] = received + route.hold + nbytes * route.betas[-1]
    return start, received + route.seconds(nbytes)


class Network(ABC):
    """How ranks are connected. Links 0 … ranks-1 lead out of the ranks, the next `ranks` into them.

    ranks, links: how many there are. gamma: seconds a byte reduced. overhead: seconds of the sender's own
    time for each message, within the route's delay (LogP's o; 0 in alpha-beta). A subclass defines `route`,
    and `inner_name` if it has links besides those of the ranks.
    """

    def __init__(self, ranks: int, inner_links: int, gamma: float, overhead: float = 0.0) -> None:
        who = type(self).__name__
        self.ranks = count(who, "ranks", ranks)
        self.links = 2 * self.ranks + inner_links
        self.gamma = seconds(who, "gamma", gamma)
        self.overhead = seconds(who, "overhead", overhead)

    @abstractmethod
    def route(self, source: int, dest: int) -> Route:
        """The way of a message from rank `source` to rank `dest` (which may be the same)."""

    def link_name(self, number: int) -> str:
        """A link in words: "rank 3, out", "node 2 to the switch", "row 1: 4 -> 5"."""
        if not 0 <= number < self.links:
            raise ValueError(f"{self!r}: no link {number}; there are links 0 to {self.links - 1}")
        if number < 2 * self.ranks:
            return f"rank {number % self.ranks}, {'out' if number < self.ranks else 'in'}"
        return self.inner_name(number - 2 * self.ranks)

    def inner_name(self, number: int) -> str:
        """The name of link 2 * ranks + `number`, one that belongs to no rank."""
        raise AssertionError(f"{self!r} does not name its inner link {number}")

    def check(self, source: int, dest: int) -> None:
        """Raise ValueError unless both are ranks."""
        if not (0 <= source < self.ranks and 0 <= dest < self.ranks):
            raise ValueError(
                f"{self!r}: no way from rank {source} to {dest}; ranks are 0 to {self.ranks - 1}"
            )


def count(who: str, name: str, value: object) -> int:
    """`value` if it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{who}: {name} = {value!r}; give how many there are, at least 1")
    return int(value)


def seconds(who: str, name: str, value: object) -> float:
    """`value` if it is a time: finite and not negative."""
    if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{who}: {name} = {value!r}; give seconds, finite and not negative")
    return float(value)


def bandwidth(beta: float) -> float:
    """Bytes a second of a link that takes `beta` seconds a byte; infinite if that is 0."""
    return 1 / beta if beta else math.inf
