"""`Player`: the widget that shows a run, and its twins without a kernel."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from counterpoint.models import Cost
from counterpoint.trace import Provenance, Trace
from counterpoint.viz.colors import RANKS
from counterpoint.viz.lasting import LastingWidget
from counterpoint.viz.player.film import film
from counterpoint.viz.player.table import holds_table, message_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HERE = Path(__file__).parent
_FILES = (
    "film", "draw", "places", "stage", "flights", "timeline", "panels", "words", "table", "controls", "picture",
    "player",
)  # fmt: skip


@cache
def module() -> str:
    """The player's ES files, in order, as the one module that the browser loads."""
    colors = ", ".join(f'"{color}"' for color in RANKS)
    texts = [(_HERE / f"{name}.js").read_text(encoding="utf-8") for name in _FILES]
    return f"const RANK_COLORS = [{colors}];\n" + "\n".join(texts)


@cache
def styles() -> str:
    """The player's style sheet."""
    return (_HERE / "player.css").read_text(encoding="utf-8")


class Player(LastingWidget):
    """Plays one film: ranks and what they hold, messages in flight, timeline, bytes, source lines.

    `Player.from_trace(trace, provenance, …)` makes one. Traits, all of which may be set from Python while
    it is shown: `t` (from 0 to `film["axes"][axis]["end"]`; written back when the player rests), `playing`,
    `focus` (the followed rank), `axis` ("step" or "time"), `view` ("ring", "row", "tree"; empty: what suits
    the messages), `speed` (0: what suits the length).

    Shown in a notebook, it is saved there as a page that plays without a kernel: up to 0.3 MB for 8 ranks, about
    2 MB for 64.
    """

    _esm = module()
    _css = styles()

    film = traitlets.Dict().tag(sync=True)
    t = traitlets.Float(0.0).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)
    axis = traitlets.Enum(["step", "time"], "step").tag(sync=True)
    view = traitlets.Enum(["", "ring", "row", "tree"], "").tag(sync=True)
    speed = traitlets.Float(0.0).tag(sync=True)

    def __init__(self, film: dict, **traits: Any) -> None:
        super().__init__("player", film=film, **traits)

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        provenance: Provenance | None = None,
        cost: Cost | None = None,
        title: str = "",
        waits: Iterable[Any] = (),
        cycle: Sequence[int] = (),
        verdict: Mapping[str, Any] | None = None,
        **traits: Any,
    ) -> "Player":
        """The player of a run; the arguments are `film`'s, the rest are traits."""
        return cls(film(trace, provenance, cost, title, waits, cycle, verdict), **traits)

    def at_message(self, message: int) -> "Player":
        """Go to where the trace's `message` is in flight, and follow its sender; returns the player."""
        messages = self.film["messages"]
        index = messages["id"].index(message)
        leaves, lands = messages[f"on_{self.axis}"][index]
        axis = self.film["axes"][self.axis]
        lands = axis["end"] if lands is None else lands
        self.t = max((s for s in axis["rests"] if leaves <= s < lands), default=lands)
        self.focus = messages["source"][index]
        return self

    def figure(self, t: float | None = None) -> "Figure":
        """The picture without a browser: buffers at `t` (default: the end), timeline, bytes."""
        from counterpoint.viz.player.figure import figure

        return figure(self.film, t, self.axis)

    def table(self, t: float | None = None) -> list[dict]:
        """What each rank's chunks hold at `t` (default: the player's own t): one row a rank and chunk."""
        return holds_table(self.film, self.t if t is None else t, self.axis)

    def messages(self) -> list[dict]:
        """Every message of the run, one row each, in the order of their steps."""
        return message_table(self.film)

    def _texts(self) -> tuple[str, str]:
        return module(), styles()

    def _state(self) -> dict[str, Any]:
        traits = ("film", "t", "focus", "axis", "view", "speed", "element_id")
        return {name: getattr(self, name) for name in traits} | {"playing": False}

    def _height(self) -> int:
        return 640 + 16 * min(self.film["ranks"], 14)

    def _title(self) -> str:
        return self.film["title"] or f"a run of {self.film['ranks']} ranks"

    def __repr__(self) -> str:
        totals = self.film["totals"]
        return f"Player({self._title()}: {totals['messages']} messages, {totals['steps']} steps)"
