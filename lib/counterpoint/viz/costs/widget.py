"""`CostExplorer`: the widget, and its twins without a kernel."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from counterpoint.models import Link
from counterpoint.viz.charts import COLORS, curves
from counterpoint.viz.costs.tables import CostOf, overtakings, seconds, tables
from counterpoint.viz.lasting import LastingWidget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HERE = Path(__file__).parent
_MODULE = f"const COLORS = {list(COLORS)};\n" + (_HERE / "costs.js").read_text(encoding="utf-8")
_STYLES = (_HERE / "costs.css").read_text(encoding="utf-8")


class CostExplorer(LastingWidget):
    """Time against size for each algorithm of a collective, for any link and number of ranks.

    `CostExplorer.of(...)` makes one. Traits, which may be set from Python while it is shown: `alpha`, `beta`,
    `gamma` (seconds a message, a byte, a byte reduced), `p` (ranks: one of `data["ranks"]`), `at` (which size the
    table is of: an index).
    """

    _esm = _MODULE
    _css = _STYLES

    data = traitlets.Dict().tag(sync=True)
    alpha = traitlets.Float(1e-5).tag(sync=True)
    beta = traitlets.Float(1e-10).tag(sync=True)
    gamma = traitlets.Float(0.0).tag(sync=True)
    p = traitlets.Int(8).tag(sync=True)
    at = traitlets.Int(12).tag(sync=True)

    def __init__(self, data: dict[str, Any], **traits: Any) -> None:
        super().__init__("costs", data=data, **traits)

    @classmethod
    def of(
        cls,
        collective: str,
        costs: Mapping[str, CostOf],
        factor: Callable[[int], float],
        presets: Mapping[str, Link],
        link: Link,
        p: int,
    ) -> "CostExplorer":
        """The explorer of a collective's algorithms, at first on `link` with `p` ranks (the nearest there is).

        costs: each algorithm's `cost(p, count, itemsize)`. factor: busbw / algbw for p ranks. presets: links to choose.
        """
        data = tables(collective, costs, factor, presets)
        nearest = min(data["ranks"], key=lambda there: abs(there - p))
        return cls(data, alpha=link.alpha, beta=link.beta, gamma=link.gamma, p=nearest)

    @property
    def names(self) -> list[str]:
        return [algorithm["name"] for algorithm in self.data["algorithms"]]

    def times(self) -> dict[str, list[float]]:
        """Each algorithm's seconds, at each of `sizes`."""
        index, link = self.data["ranks"].index(self.p), Link(self.alpha, self.beta, self.gamma)
        return {name: seconds(self.data, a, index, link) for a, name in enumerate(self.names)}

    @property
    def sizes(self) -> list[int]:
        """Bytes on each rank."""
        return self.data["sizes"][self.data["ranks"].index(self.p)]

    def overtakings(self) -> list[tuple[float, str, str]]:
        """(bytes, the fastest below, the fastest above) for each size at which that changes."""
        return overtakings(self.names, self.sizes, list(self.times().values()))

    def figure(self) -> "Figure":
        marks = {f"{_size(at)}": at for at, _, _ in self.overtakings()}
        return curves(
            self.sizes, self.times(), x_label="bytes on each rank", y_label=f"time of one {self.data['collective']}",
            x_unit="B", y_unit="s", marks=marks, alt=repr(self),
        ).figure  # fmt: skip

    def _texts(self) -> tuple[str, str]:
        return _MODULE, _STYLES

    def _title(self) -> str:
        return f"what {self.data['collective']} costs"

    def _height(self) -> int:
        return 620 + 22 * len(self.names)

    def _state(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("data", "alpha", "beta", "gamma", "p", "at", "element_id")
        }

    def __repr__(self) -> str:
        ways = [f"{new} overtakes {old} at {_size(at)}" for at, old, new in self.overtakings()]
        told = "; ".join(ways) or f"{self.names[0]} is fastest at every size"
        return f"CostExplorer({self.data['collective']}, {self.p} ranks: {told})"


def _size(nbytes: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= scale:
            return f"{nbytes / scale:.3g} {unit}"
    return f"{nbytes:.3g} B"
