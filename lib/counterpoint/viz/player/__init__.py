"""The player: one run, watched. `film` makes the JSON, `Player` shows it."""

from counterpoint.viz.player.film import film
from counterpoint.viz.player.widget import Player

__all__ = ["Player", "film"]
