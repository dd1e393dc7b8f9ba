"""Collectives: one algorithm a file, its cost beside it; here, the names that people call."""

from counterpoint.collectives.all_gather import all_gather
from counterpoint.collectives.all_reduce import ALGORITHMS, all_reduce, cheapest
from counterpoint.collectives.broadcast import broadcast
from counterpoint.collectives.explain import explain
from counterpoint.collectives.reduce import reduce
from counterpoint.collectives.reduce_scatter import reduce_scatter
from counterpoint.collectives.ring import ring_all_reduce
from counterpoint.collectives.star import star_all_reduce
from counterpoint.collectives.tree import tree_all_reduce

__all__ = [
    "ALGORITHMS", "all_gather", "all_reduce", "broadcast", "cheapest", "explain", "reduce",
    "reduce_scatter", "ring_all_reduce", "star_all_reduce", "tree_all_reduce",
]  # fmt: skip
