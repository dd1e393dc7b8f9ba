"""`Themed`: a matplotlib figure that follows JupyterLab's light and dark themes.

In a notebook it is shown as SVG inside the page, transparent, its ink in the theme's own text colour.
Elsewhere, and wherever HTML is not shown, it is a PNG on white. It always carries its text alternative.
"""

import base64
import io
import re
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

INK, MUTED = "#1f2328", "#5c646d"
"""What a figure that wants to be themed is drawn with: text and axes, and what is less than those."""

_THEME = {
    INK: f"var(--jp-content-font-color1, var(--vscode-foreground, {INK}))",
    MUTED: f"var(--jp-content-font-color2, var(--vscode-foreground, {MUTED}))",
}
_FONT = "var(--jp-ui-font-family, 'DejaVu Sans', sans-serif)"

STYLE: dict[Any, Any] = {
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": MUTED, "axes.titlecolor": INK,
    "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "font.size": 10,
    "axes.facecolor": "none", "figure.facecolor": "none", "svg.fonttype": "none",
}  # fmt: skip
"""Settings under which such a figure is made: `with matplotlib.rc_context(STYLE): …`"""


class Themed:
    """Shows `figure`, drawn in INK and MUTED. `alt` says in a sentence or two what is to be seen."""

    def __init__(self, figure: Figure, alt: str) -> None:
        self.figure, self.alt = figure, alt

    def __repr__(self) -> str:
        return self.alt

    def svg(self) -> str:
        """The figure as an SVG element of a page."""
        out = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            self.figure.savefig(out, format="svg", transparent=True, metadata=nothing)
        svg = out.getvalue()
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # would hold for the whole page
        for color, themed in _THEME.items():
            svg = svg.replace(color, themed)
        svg = re.sub(r"'DejaVu Sans'[^;\"]*", _FONT, svg)
        head = f'<svg role="img" aria-label="{escape(self.alt)}" style="max-width: 100%; height: auto"'
        return svg.replace("<svg", head, 1)

    def png(self) -> bytes:
        """The figure on white."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=110, facecolor="white")
        return out.getvalue()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {
            "text/plain": self.alt,
            "text/html": f'<div data-testid="figure">{self.svg()}</div>',
            "image/png": base64.b64encode(self.png()).decode("ascii"),
        }
