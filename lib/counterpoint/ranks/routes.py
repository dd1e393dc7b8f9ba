"""What a simulated message meets on its way: a channel between two ranks, and a clock that knows routes."""

from collections import deque
from typing import TYPE_CHECKING

from counterpoint.models import Route
from counterpoint.ranks.clock import PortClock
from counterpoint.ranks.request import Request

if TYPE_CHECKING:
    from counterpoint.ranks.simulated_port import SimulatedPort


class Channel:
    """Messages from one rank to another, of one communicator and tag, in order.

    `sent`: what has left and not been taken, each either a `Request` or, from the quick way of `fast.py`,
    a tuple. `wanted`: receives that were posted first. `reader`: the rank that waits in a quick receive.
    `closed`: the quick way is, since the route has shared links or a receive was posted first.
    `number`: its number in the trace.
    """

    __slots__ = (
        "beta_in", "beta_out", "beta_slowest", "closed", "delay", "hold", "number", "reader", "route", "sent", "shared",
        "wanted",
    )  # fmt: skip

    def __init__(self, route: Route, number: int) -> None:
        self.shared = self.closed = len(route.links) > 2
        self.hold, self.delay = route.hold, route.delay
        self.beta_out, self.beta_in = route.betas[0], route.betas[-1]
        self.beta_slowest = max(route.betas)
        self.sent: deque = deque()
        self.wanted: deque[Request] = deque()
        self.reader: SimulatedPort | None = None
        self.route, self.number = route, number


class RouteClock(PortClock):
    """Steps and seconds of a rank's port, where a message's times come from its route.

    A message that may leave at t starts at s = max(t, way out free, links on the way free), holds each link
    until s + hold + n * its beta, and the way in, from when that is free, likewise; it arrives delay + n *
    (the slowest beta) after it got the way in. The two ways are this rank's own, so they need no turn.
    """

    __slots__ = ("gamma", "overhead")

    def __init__(self, gamma: float, overhead: float | None) -> None:
        super().__init__(None)
        self.virtual = True
        self.gamma, self.overhead = gamma, overhead

    def post_send(self, send: Request) -> None:
        self.last_send = send.step = 1 + max(self.last_send, self.last_receive)
        send.ready = self.now

    def reduce(self, nbytes: int) -> None:
        self.now += self.gamma * nbytes

    def complete_send(self, send: Request) -> tuple[float, float]:
        self.now = max(self.now, send.end)
        return send.start, send.end

    def complete_receive(self, receive: Request) -> tuple[float, float]:
        send = receive.match
        assert send is not None
        self.last_receive = receive.step = max(self.last_receive + 1, send.step)
        return self.arrive(receive.link.route, send.nbytes, send.start, bool(receive.op))

    def leave(self, route: Route, nbytes: int, when: float, free: list[float]) -> tuple[float, float]:
        """(start, when the sender is done with it) of a message that may leave at `when`."""
        start = when if when > self.out_free else self.out_free
        links = route.links
        if len(links) > 2:
            for link in links[1:-1]:
                if free[link] > start:
                    start = free[link]
            for link, beta in zip(links[1:-1], route.betas[1:-1], strict=True):
                free[link] = start + route.hold + nbytes * beta
        self.out_free = start + route.hold + nbytes * route.betas[0]
        return start, self.out_free if self.overhead is None else start + self.overhead

    def arrive(self, route: Route, nbytes: int, start: float, reduced: bool) -> tuple[float, float]:
        """(when the message gets the way in, when it is here and reduced)."""
        into = start if start > self.in_free else self.in_free
        end = self.take_in(route, nbytes, start)
        reduction = nbytes * self.gamma if reduced else 0.0
        self.in_free += reduction
        self.now = (end if end > self.now else self.now) + reduction
        return into, self.now

    def take_in(self, route: Route, nbytes: int, start: float) -> float:
        """When a message that started at `start` has arrived; it holds the way in, but not the rank."""
        into = start if start > self.in_free else self.in_free
        self.in_free = into + route.hold + nbytes * route.betas[-1]
        return into + route.delay + nbytes * max(route.betas)
