"""Rings and tori: ranks joined to their neighbours, so that a message to a stranger passes many links.

Between two neighbours there is one link each way. A message takes the shorter way round; where both are
as long, even positions send upwards and odd ones downwards, so that neither direction carries it all. In a
torus it goes along its row first and then along its column (dimension-ordered routing). A rank still
sends one message and receives one at a time, whatever its number of neighbours. A message streams
through all its links at once; links after the first add `hop` seconds each to its delay.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, chapters 5 and 8.
"""

from counterpoint.models.link import Link
from counterpoint.models.network import Network, Route, bandwidth, count, seconds


def steps_round(source: int, dest: int, size: int) -> int:
    """Steps of the shorter way from `source` to `dest` round a ring of `size`: up if positive, else down."""
    up = (dest - source) % size
    return up if 2 * up < size or (2 * up == size and source % 2 == 0) else up - size


def _cut(size: int) -> int:
    """Links that lead from one half of a ring of `size` to the other, those that no message takes left out."""
    return min(size - 1, 2)


def _second(size: int, position: int, step: int) -> str:
    """Tells the two cables of a ring of two apart."""
    return " (second cable)" if size == 2 and (position + (step < 0)) % 2 else ""


class Torus2D(Network):
    """`rows` * `columns` ranks on a grid whose edges are joined; rank = row * columns + column.

    link: every link's `Link`; its alpha is a message's time between neighbours besides its bytes.
    hop: seconds for each link after the first.
    """

    def __init__(self, rows: int, columns: int, link: Link, hop: float = 0.0) -> None:
        who = type(self).__name__
        self.rows, self.columns = count(who, "rows", rows), count(who, "columns", columns)
        self.link, self.hop = link, seconds(who, "hop", hop)
        ranks = self.rows * self.columns
        super().__init__(ranks, 4 * ranks, link.gamma)

    def __repr__(self) -> str:
        return f"Torus2D({self.rows}, {self.columns}, {self.link!r}, hop={self.hop})"

    def route(self, source: int, dest: int) -> Route:
        """Out, along the row, along the column, in."""
        self.check(source, dest)
        columns, between = self.columns, []
        row, column = divmod(source, columns)
        to_row, to_column = divmod(dest, columns)
        # Each rank owns four links, numbered right, left, down, up.
        steps = steps_round(column, to_column, columns)
        for _ in range(abs(steps)):
            between.append(4 * (row * columns + column) + (steps < 0))
            column = (column + (1 if steps > 0 else -1)) % columns
        steps = steps_round(row, to_row, self.rows)
        for _ in range(abs(steps)):
            between.append(4 * (row * columns + column) + 2 + (steps < 0))
            row = (row + (1 if steps > 0 else -1)) % self.rows
        return self._route(source, dest, between)

    def _route(self, source: int, dest: int, between: list[int]) -> Route:
        first = 2 * self.ranks
        links = (source, *(first + number for number in between), self.ranks + dest)
        alpha = self.link.alpha
        delay = alpha + self.hop * max(len(between) - 1, 0)
        return Route(links, (self.link.beta,) * len(links), alpha, delay)

    def inner_name(self, number: int) -> str:
        """Such as "row 1: 4 -> 5" and "column 2: 6 -> 10"."""
        rank, direction = divmod(number, 4)
        row, column = divmod(rank, self.columns)
        step = -1 if direction % 2 else 1
        if direction < 2:
            to = row * self.columns + (column + step) % self.columns
            return f"row {row}: {rank} -> {to}{_second(self.columns, column, step)}"
        to = (row + step) % self.rows * self.columns + column
        return f"column {column}: {rank} -> {to}{_second(self.rows, row, step)}"

    def hops(self, source: int, dest: int) -> int:
        """Links between two ranks, their own ways out and in left out."""
        return len(self.route(source, dest).links) - 2

    def diameter(self) -> int:
        """The most `hops` between any two ranks."""
        return self.rows // 2 + self.columns // 2

    def bisection_bandwidth(self) -> float:
        """Bytes a second, one way, between two halves of whole rows or whole columns, whichever is less.

        With an odd number of them, the halves are as equal as can be. Never more than the ranks of the
        smaller half can send.
        """
        halves = [
            min(_cut(lines) * length, lines // 2 * length)
            for lines, length in ((self.rows, self.columns), (self.columns, self.rows))
            if lines > 1
        ]
        return min(halves, default=0) * bandwidth(self.link.beta) if halves else bandwidth(0)


class Ring(Torus2D):
    """`ranks` ranks in a ring: a torus of one row.

    link: every link's `Link`; its alpha is a message's time between neighbours besides its bytes.
    hop: seconds for each link after the first.
    """

    def __init__(self, ranks: int, link: Link, hop: float = 0.0) -> None:
        super().__init__(1, count("Ring", "ranks", ranks), link, hop)
        self.links = 4 * self.ranks

    def __repr__(self) -> str:
        return f"Ring({self.ranks}, {self.link!r}, hop={self.hop})"
