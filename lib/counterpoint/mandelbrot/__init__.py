"""Escape counts of the Mandelbrot set, as tasks whose costs nobody knows beforehand."""

from counterpoint.mandelbrot.draw import Picture, draw
from counterpoint.mandelbrot.tiles import Tile, bands, tiles
from counterpoint.mandelbrot.view import VIEWS, View

__all__ = ["VIEWS", "Picture", "Tile", "View", "bands", "draw", "tiles"]
