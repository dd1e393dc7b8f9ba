"""Rings and tori: ranks joined to their neighbours, so that a message to a stranger crosses many links.

Between two neighbours there is one link each way. A message takes the shorter way round; where both are
as long, even positions send up and odd ones down, so that neither direction carries it all. In a torus it
goes along its row first and then along its column (dimension-ordered routing). It streams through all its
links at once; each after the first adds `hop` seconds to its delay. A rank still sends one message and
receives one at a time, whatever the number of its neighbours.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, chapters 5 and 8.
"""

from counterpoint.models.link import Link
from counterpoint.models.network import Network, Route, bandwidth, count, seconds


def walk(source: int, dest: int, size: int) -> tuple[list[int], int]:
    """The shorter way round a ring of `size`: the positions that it leaves, and the step, 1 up or -1 down."""
    up = (dest - source) % size
    if 2 * up < size or (2 * up == size and source % 2 == 0):
        return [(source + i) % size for i in range(up)], 1
    return [(source - i) % size for i in range(size - up)], -1


def _mark(size: int, position: int, step: int) -> str:
    """Tells the two cables of a ring of two (or one) apart; no message takes the second."""
    return " (second cable)" if size <= 2 and (position + (step < 0)) % 2 else ""


class _Direct(Network):
    """What rings and tori share: equal links, and a delay that grows with their number."""

    def __init__(self, ranks: int, links_of_each: int, link: Link, hop: float) -> None:
        super().__init__(ranks, ranks * links_of_each, link.gamma)
        self.link, self.hop = link, seconds(type(self).__name__, "hop", hop)

    def _route(self, source: int, dest: int, between: list[int]) -> Route:
        first = 2 * self.ranks
        links = (source, *(first + number for number in between), self.ranks + dest)
        alpha = self.link.alpha
        delay = alpha + self.hop * max(len(between) - 1, 0)
        return Route(links, (self.link.beta,) * len(links), alpha, delay)

    def hops(self, source: int, dest: int) -> int:
        """Links between two ranks, their own ways out and in left out."""
        return len(self.route(source, dest).links) - 2


class Ring(_Direct):
    """`ranks` ranks in a ring.

    link: every link's `Link`; its alpha is a message's time between neighbours besides its bytes.
    hop: seconds for each link after the first.
    """

    def __init__(self, ranks: int, link: Link, hop: float = 0.0) -> None:
        super().__init__(count("Ring", "ranks", ranks), 2, link, hop)

    def __repr__(self) -> str:
        return f"Ring({self.ranks}, {self.link!r}, hop={self.hop})"

    def route(self, source: int, dest: int) -> Route:
        """Out, the shorter way round, in."""
        self.check(source, dest)
        left, step = walk(source, dest, self.ranks)
        return self._route(source, dest, [2 * rank + (step < 0) for rank in left])

    def inner_name(self, number: int) -> str:
        """Such as "4 -> 5"."""
        rank, down = divmod(number, 2)
        step = -1 if down else 1
        return f"{rank} -> {(rank + step) % self.ranks}{_mark(self.ranks, rank, step)}"

    def diameter(self) -> int:
        """The most `hops` between any two ranks."""
        return self.ranks // 2

    def bisection_bandwidth(self) -> float:
        """Bytes a second, one way, from one half of the ring to the other (two links, if there are four ranks)."""
        return min(self.ranks // 2, 2) * bandwidth(self.link.beta)


class Torus2D(_Direct):
    """`rows` * `columns` ranks on a grid whose edges are joined; rank = row * columns + column.

    link: every link's `Link`; its alpha is a message's time between neighbours besides its bytes.
    hop: seconds for each link after the first.
    """

    def __init__(self, rows: int, columns: int, link: Link, hop: float = 0.0) -> None:
        self.rows, self.columns = count("Torus2D", "rows", rows), count("Torus2D", "columns", columns)
        super().__init__(self.rows * self.columns, 4, link, hop)

    def __repr__(self) -> str:
        return f"Torus2D({self.rows}, {self.columns}, {self.link!r}, hop={self.hop})"

    def route(self, source: int, dest: int) -> Route:
        """Out, along the row, along the column, in."""
        self.check(source, dest)
        columns = self.columns
        row, column = divmod(source, columns)
        to_row, to_column = divmod(dest, columns)
        # Each rank owns four links: to the right, left, down and up of it.
        left, step = walk(column, to_column, columns)
        between = [4 * (row * columns + position) + (step < 0) for position in left]
        left, step = walk(row, to_row, self.rows)
        between += [4 * (position * columns + to_column) + 2 + (step < 0) for position in left]
        return self._route(source, dest, between)

    def inner_name(self, number: int) -> str:
        """Such as "row 1: 4 -> 5" and "column 2: 6 -> 10"."""
        rank, direction = divmod(number, 4)
        row, column = divmod(rank, self.columns)
        step = -1 if direction % 2 else 1
        if direction < 2:
            dest = row * self.columns + (column + step) % self.columns
            return f"row {row}: {rank} -> {dest}{_mark(self.columns, column, step)}"
        dest = (row + step) % self.rows * self.columns + column
        return f"column {column}: {rank} -> {dest}{_mark(self.rows, row, step)}"

    def diameter(self) -> int:
        """The most `hops` between any two ranks."""
        return self.rows // 2 + self.columns // 2

    def bisection_bandwidth(self) -> float:
        """Bytes a second, one way, between two halves of whole rows or of whole columns, whichever is less.

        Of an odd number of rows, the smaller half has one less.
        """
        links = [
            min(lines // 2, 2) * length  # a line of the cut has two links, but a rank sends one message
            for lines, length in ((self.rows, self.columns), (self.columns, self.rows))
            if lines > 1
        ]
        return min(links, default=0) * bandwidth(self.link.beta)
