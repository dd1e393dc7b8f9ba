"""The alpha-beta model of a link: a message of n bytes takes alpha + n * beta seconds.

Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing
20(3), 1994. gamma, the time to reduce a byte, as in Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """One rank's connection: full duplex, one message out and one in at a time.

    alpha: seconds a message (latency). beta: seconds a byte (1 / bandwidth). gamma: seconds for each
    byte that is reduced into an accumulator. All finite and at least zero.
    """

    alpha: float = 0.0
    beta: float = 0.0
    gamma: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"Link: {name} = {value!r}; give seconds, finite and not negative "
                    f"(a bandwidth of 10 GB/s is beta = 1 / 10e9)"
                )

    def seconds(self, nbytes: int) -> float:
        """How long one message of `nbytes` takes from end to end."""
        return self.alpha + nbytes * self.beta
