"""Colours that every picture shares: one for each rank, and the few that say what happens.

Up to 16 ranks the order is chosen so that neighbours stay apart for colour-blind readers too (smallest
OKLab distance between neighbours 0.186; under simulated protanopia 0.156, deuteranopia 0.166,
tritanopia 0.096). No rank is red: red is for errors only. Position is always the first code.
"""

import colorsys

RANKS = (
    "#507e81", "#d4a645", "#788cdf", "#a7610c", "#67c1b1", "#7a58ad", "#939572", "#94cefe",
    "#932f7c", "#c9eb6a", "#45aac4", "#ceca95", "#b0a2fe", "#655d4a", "#9c74b0", "#63f7e1",
)  # fmt: skip

LIGHT = {
    "background": "#ffffff", "ink": "#1f2328", "muted": "#5c646d", "rule": "#cdd2d8",
    "empty": "#eceef1", "soft": "#f5f6f8", "send": "#7d8690", "error": "#c8102e", "select": "#0b62c4",
}  # fmt: skip
"""The light theme, for pictures that cannot follow JupyterLab's (player.css holds both)."""


def rank_color(rank: int, ranks: int) -> str:
    """The colour of `rank` among `ranks`, as #rrggbb."""
    if ranks <= len(RANKS):
        return RANKS[rank]
    hue = (60 + 285 * rank / ranks) / 360
    red, green, blue = colorsys.hls_to_rgb(hue, 0.54 if rank % 2 else 0.62, 0.48)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def tone(share: float) -> str:
    """A blue that darkens as `share` goes from 0 to 1, as #rrggbb."""
    red, green, blue = colorsys.hls_to_rgb(212 / 360, (95 - 68 * share) / 100, 0.34)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
