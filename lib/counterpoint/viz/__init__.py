"""Figures and widgets of values: what they show comes from a trace or a model, never from a drawing."""

from counterpoint.viz.player import Player, film

__all__ = ["Player", "film"]
