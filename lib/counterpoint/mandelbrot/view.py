"""A window on the complex plane, and its pixels."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class View:
    """A rectangle of the complex plane, `columns` x `rows` pixels; row 0 is at `top`.

    center_x, center_y: its middle. width: its extent along x; pixels are square, so rows * width / columns is its
    height. iterations: after how many a point counts as inside. Raises ValueError for numbers that make no picture,
    and TypeError for sizes that are no integers. A picture of 0 pixels is empty, one of 1 is its middle.
    """

    center_x: float = -0.75
    center_y: float = 0.0
    width: float = 2.5
    columns: int = 512
    rows: int = 512
    iterations: int = 1000

    def __post_init__(self) -> None:
        for name in ("center_x", "center_y", "width"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"view: {name} is {getattr(self, name)}; it is a finite number")
        if self.width <= 0:
            raise ValueError(f"view: width is {self.width}; it is positive, and smaller to zoom in")
        for name, least in (("columns", 0), ("rows", 0), ("iterations", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise TypeError(f"view: {name} is {value!r}; it is an integer")
            if value < least:
                raise ValueError(f"view: {name} is {value}; it is at least {least}")

    @property
    def pixel(self) -> float:
        """The distance between neighbouring pixels; `width` where there are none."""
        return self.width / max(self.columns, 1)

    @property
    def pixels(self) -> int:
        return self.columns * self.rows

    def axes(self, dtype: str | np.dtype | type = "float64") -> tuple[np.ndarray, np.ndarray]:
        """The x of each column and the y of each row, of `dtype`, at the pixels' middles.

        Every version of the iteration begins from these numbers, so that all can agree exactly. Raises ValueError where
        neighbouring pixels would get the same number: below `deepest` of a picture, there is nothing left to see.
        """
        dtype = np.dtype(dtype)
        if dtype not in (np.dtype("float32"), np.dtype("float64")):
            raise ValueError(f"view: axes of {dtype}; there are float32 and float64")
        xs = self.center_x + (np.arange(self.columns) + 0.5 - self.columns / 2) * self.pixel
        ys = self.center_y - (np.arange(self.rows) + 0.5 - self.rows / 2) * self.pixel
        for name, exact in (("columns", xs), ("rows", ys)):
            rounded = exact.astype(dtype)
            # Neighbours that are apart by less than two spacings of the numbers come out unevenly, some as one.
            if len(exact) > 1 and self.pixel < 2 * np.spacing(np.abs(rounded).max()):
                raise ValueError(
                    f"view: {name} are {self.pixel:.2g} apart, but {dtype} numbers at {exact[0]:.6g} are "
                    f"{np.spacing(np.abs(rounded).max()):.2g} apart; "
                    f"zoom out to a width of at least {self._least(dtype):.2g}"
                    + (", or use float64" if dtype == np.dtype("float32") else "")
                )
        return xs.astype(dtype), ys.astype(dtype)

    def _least(self, dtype: np.dtype) -> float:
        far = max(abs(self.center_x), abs(self.center_y)) + self.width
        return float(2 * np.spacing(dtype.type(far)) * self.columns)

    def zoom(self, column: float, row: float, factor: float) -> "View":
        """The view around a pixel, `factor` times as wide (0.5 zooms in)."""
        x = self.center_x + (column + 0.5 - self.columns / 2) * self.pixel
        y = self.center_y - (row + 0.5 - self.rows / 2) * self.pixel
        return View(x, y, self.width * factor, self.columns, self.rows, self.iterations)

    def resized(self, columns: int, rows: int | None = None, iterations: int | None = None) -> "View":
        """The same window with other numbers of pixels and iterations."""
        rows = columns if rows is None else rows
        return View(self.center_x, self.center_y, self.width, columns, rows, iterations or self.iterations)


VIEWS = {
    "full": View(-0.75, 0.0, 2.5),
    "skewed": View(-0.5, -1.0, 2.0),
    "zoom": View(-0.745, 0.105, 0.04),
}
"""The whole set; a window whose upper half holds nearly all of it; the edge of the seahorse valley."""
