"""A crossbar: every rank has one way out and one way in, and nothing in between is ever full.

The textbook's network: one message out of a rank and one into it at a time, any pairs at once. One
switch that is fast enough, or a fat tree with full bisection. Links may differ by rank or by pair.
"""

from collections.abc import Callable, Iterable, Sequence

from counterpoint.models.link import Link
from counterpoint.models.network import Network, Route, count

LinkOfPair = Callable[[int, int], Link]
"""link(source, dest): what a message from `source` to `dest` travels on."""


class Crossbar(Network):
    """`ranks` ranks on one switch.

    link: a `Link` for all; or one for each rank: a message then takes the larger alpha of its two
    ends, and the larger beta; or a function of (source, dest) that returns the `Link` of that pair.
    gamma: seconds a byte reduced; if not given, the largest among the links (of a function, 0).
    """

    def __init__(
        self, ranks: int, link: Link | Sequence[Link] | LinkOfPair, gamma: float | None = None
    ) -> None:
        ranks = count("Crossbar", "ranks", ranks)
        self._of_rank: Sequence[Link] = ()
        self._of_pair: LinkOfPair | None = None
        if isinstance(link, Link):
            self._of_rank = (link,) * ranks
        elif callable(link):
            self._of_pair = link
        else:
            self._of_rank = tuple(link) if isinstance(link, Iterable) else (link,)
            odd = [x for x in self._of_rank if not isinstance(x, Link)]
            if odd or len(self._of_rank) != ranks:
                what = repr(odd[0]) if odd else f"{len(self._of_rank)} links"
                raise ValueError(f"Crossbar: {what} for {ranks} ranks; give one Link, or one for each rank")
        if gamma is None:
            gamma = max((x.gamma for x in self._of_rank), default=0.0)
        super().__init__(ranks, 0, gamma)
        self._shown = link

    def __repr__(self) -> str:
        return f"Crossbar({self.ranks}, {self._shown!r})"

    @property
    def link(self) -> Link | None:
        """The one link that joins every two ranks; None if there are several kinds."""
        return self._shown if isinstance(self._shown, Link) else None

    def route(self, source: int, dest: int) -> Route:
        """Out of `source`, into `dest`."""
        self.check(source, dest)
        if self._of_pair is None:
            out, into = self._of_rank[source], self._of_rank[dest]
            alpha = max(out.alpha, into.alpha)
        else:
            out = into = self._pair(self._of_pair, source, dest)
            alpha = out.alpha
        return Route((source, self.ranks + dest), (out.beta, into.beta), alpha, alpha)

    def _pair(self, link: LinkOfPair, source: int, dest: int) -> Link:
        pair = link(source, dest)
        if not isinstance(pair, Link):
            raise ValueError(f"Crossbar: link({source}, {dest}) returned {pair!r}; return a Link")
        if pair.gamma > self.gamma:
            raise ValueError(
                f"Crossbar: link({source}, {dest}) has gamma {pair.gamma}, but reductions are timed by the "
                f"network's, {self.gamma}; give Crossbar(…, gamma={pair.gamma})"
            )
        return pair
