"""Figures in columns: groups of columns with two lines of headings, and numbers that keep their width."""

from collections.abc import Sequence


def heading(*groups: tuple[str, Sequence[str], int]) -> str:
    """Two lines over the columns. A group is its title, its columns' names, and the width of each."""
    lines = ["", ""]
    for title, names, width in groups:
        below = " ".join(f"{name:>{width}}" for name in names)
        room = max(len(title), len(below))
        lines[0] += f"{title:<{room}} | "
        lines[1] += f"{below:<{room}} | "
    return "\n".join(line.rstrip(" |") for line in lines)


def figures(values: Sequence[float | None], width: int, digits: int) -> str:
    """Numbers side by side, without decimals from 1000 on; a dash for what was not measured."""
    texts = ("–" if v is None else f"{v:.{digits}f}" if v < 1000 else f"{v:.0f}" for v in values)
    return " ".join(f"{text:>{width}}" for text in texts)


def size(nbytes: int) -> str:
    """In the largest unit that leaves a whole number."""
    power = 2 if nbytes % (1 << 20) == 0 else 1 if nbytes % (1 << 10) == 0 else 0
    return f"{nbytes >> 10 * power} {('B', 'KiB', 'MiB')[power]}"
