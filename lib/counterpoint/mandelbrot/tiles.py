"""A picture cut into tasks: square tiles, or bands of rows."""

from typing import NamedTuple

from counterpoint.mandelbrot.view import View


class Tile(NamedTuple):
    """A rectangle of pixels: the first of its rows and columns, and how many of each."""

    row: int
    column: int
    rows: int
    columns: int

    @property
    def where(self) -> tuple[slice, slice]:
        """Its place in an array of shape (rows, columns)."""
        return slice(self.row, self.row + self.rows), slice(self.column, self.column + self.columns)


def tiles(view: View, side: int) -> list[Tile]:
    """Tiles of side x side pixels, smaller at the right and bottom edges, along rows from the top."""
    return _cut(view, side, side, "tiles")


def bands(view: View, rows: int = 1) -> list[Tile]:
    """Bands of whole rows, the last one perhaps lower, from the top."""
    return _cut(view, rows, max(view.columns, 1), "bands")


def _cut(view: View, height: int, width: int, who: str) -> list[Tile]:
    if height < 1:
        raise ValueError(f"{who}: a task is at least 1 pixel high, not {height}")
    return [
        Tile(row, column, min(height, view.rows - row), min(width, view.columns - column))
        for row in range(0, view.rows, height)
        for column in range(0, view.columns, width)
    ]
