"""What a collective costs: counts that a trace can confirm, and the time they take on a link."""

from collections.abc import Sequence
from dataclasses import dataclass

from counterpoint.models.link import Link


@dataclass(frozen=True)
class Cost:
    """Exact counts for one call of one algorithm on p ranks.

    `messages`, `bytes_total`, `bytes_busiest` (sent by the rank that sends most) and `steps` are what
    `Trace.totals()` counts. The other three describe the critical path, the longest chain of messages
    of which each waits for the one before: how many latencies it holds, how many bytes travel along it
    and how many are reduced on it.
    """

    messages: int
    bytes_total: int
    bytes_busiest: int
    steps: int
    path_latencies: int
    path_bytes: int
    path_reduced: int

    def seconds(self, link: Link | Sequence[Link]) -> float:
        """Time of the call: latencies * alpha + bytes * beta + bytes reduced * gamma.

        Exact on equal links without contention (a run with `network=link` takes just this long). Given
        one `Link` for each rank it takes the worst alpha, beta and gamma among them: an upper bound.
        """
        links = [link] if isinstance(link, Link) else list(link)
        if not links:
            raise ValueError("Cost.seconds: no links; give one Link, or one for each rank")
        alpha, beta, gamma = (max(getattr(x, n) for x in links) for n in ("alpha", "beta", "gamma"))
        return self.path_latencies * alpha + self.path_bytes * beta + self.path_reduced * gamma
