"""LogP and LogGP: a message's latency, the processors' overhead and the gap between messages, apart.

A message of n bytes takes o + (n-1) G + L + o seconds: the sender works for o, the bytes leave G apart,
the last travels for L, the receiver works for o. A rank starts messages g apart; after a long one, g
after its last byte. Where the overhead is more than the gap, it is the gap. LogP is G = 0: all messages are
small. LogP allows ceil(L / g) messages on the way from a rank, or to one. The gap sees to the first;
those to one rank come in g apart, but queue before it without stopping their senders, as they would in LogP.
Times are in any unit, if all are in the same one: the papers use cycles.

Sources: Culler et al., "LogP: towards a realistic model of parallel computation", PPoPP 1993; Alexandrov,
Ionescu, Schauser and Scheiman, "LogGP", SPAA 1995; Karp, Sahay, Santos and Schauser, "Optimal broadcast and
summation in the LogP model", SPAA 1993.
"""

import heapq
from typing import NamedTuple

from counterpoint.models.network import Network, Route, count, seconds


class LogGP(Network):
    """Every rank with one way out and one way in, timed by L, o, g and G.

    L: seconds of travel. o: seconds of the sender's, and again of the receiver's, own time a message.
    g: seconds from the start of one message to the next at a rank. G: seconds for each byte after the
    first. gamma: seconds a byte reduced.

    A rank's way in is spaced by g as well. The receiver's o is in the delay, so a receiver that is busy
    when the message comes in is not charged for it again. An empty message is G shorter than one of a byte.
    """

    def __init__(self, ranks: int, L: float, o: float, g: float, G: float = 0.0, gamma: float = 0.0) -> None:
        self.L, self.o = seconds("LogGP", "L", L), seconds("LogGP", "o", o)
        self.g, self.G = seconds("LogGP", "g", g), seconds("LogGP", "G", G)
        gap = max(self.g, self.o)
        if min(gap, self.L + 2 * self.o) < self.G:
            raise ValueError(
                f"LogGP: G = {G} is more than the gap max(g, o) = {gap} or than L + 2o = {L + 2 * o}; "
                f"G is seconds for each further byte, g for a whole message"
            )
        super().__init__(ranks, 0, gamma, overhead=self.o)
        # The first byte costs no G, but the rule counts n of them: one is taken off here.
        self._betas, self._hold, self._delay = (self.G, self.G), gap - self.G, self.L + 2 * self.o - self.G

    def __repr__(self) -> str:
        parts = f"L={self.L}, o={self.o}, g={self.g}, G={self.G}, gamma={self.gamma}"
        return f"LogGP({self.ranks}, {parts})"

    def route(self, source: int, dest: int) -> Route:
        """Out of `source`, into `dest`."""
        self.check(source, dest)
        return Route((source, self.ranks + dest), self._betas, self._hold, self._delay)


class Send(NamedTuple):
    """One message of a broadcast: who to whom, when the sender begins, when the receiver has it (seconds)."""

    source: int
    dest: int
    start: float
    end: float


def optimal_broadcast(ranks: int, L: float, o: float, g: float) -> list[Send]:
    """LogP's fastest broadcast of one small message from rank 0, in the order in which ranks receive it.

    Greedy: whoever has the message keeps sending it to ranks that lack it, and nobody could receive it
    earlier. Ranks are numbered in that order. The time of the broadcast is the last `end`; with 8 ranks,
    L = 6, o = 2, g = 4 it is 24 (LogP paper, figure 3). Cost: O(p log p).
    """
    count("optimal_broadcast", "ranks", ranks)
    for name, value in (("L", L), ("o", o), ("g", g)):
        seconds("optimal_broadcast", name, value)
    gap = max(g, o)
    sends: list[Send] = []
    able: list[tuple[float, int]] = [(0.0, 0)]  # when a rank that has the message can next start to send
    for dest in range(1, ranks):
        start, source = heapq.heappop(able)
        sends.append(Send(source, dest, start, start + L + 2 * o))
        heapq.heappush(able, (start + gap, source))
        heapq.heappush(able, (start + L + 2 * o, dest))
    return sends
