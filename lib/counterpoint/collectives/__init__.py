"""Collectives: one algorithm a file, its cost beside it; here, the names that people call."""

from counterpoint.collectives.all_gather import all_gather
from counterpoint.collectives.all_reduce import ALGORITHMS, all_reduce, cheapest
from counterpoint.collectives.all_to_all import all_to_all
from counterpoint.collectives.broadcast import broadcast
from counterpoint.collectives.explain import explain
from counterpoint.collectives.exscan import exscan
from counterpoint.collectives.gather import gather
from counterpoint.collectives.one_shot import one_shot_all_reduce
from counterpoint.collectives.rabenseifner import rabenseifner_all_reduce
from counterpoint.collectives.recursive_doubling import recursive_doubling_all_reduce
from counterpoint.collectives.reduce import reduce
from counterpoint.collectives.reduce_scatter import reduce_scatter
from counterpoint.collectives.ring import ring_all_reduce
from counterpoint.collectives.scan import scan
from counterpoint.collectives.scatter import scatter
from counterpoint.collectives.star import star_all_reduce
from counterpoint.collectives.tree import tree_all_reduce
from counterpoint.collectives.two_shot import two_shot_all_reduce

__all__ = [
    "ALGORITHMS", "all_gather", "all_reduce", "all_to_all", "broadcast", "cheapest", "explain", "exscan",
    "gather", "one_shot_all_reduce", "rabenseifner_all_reduce", "recursive_doubling_all_reduce", "reduce",
    "reduce_scatter", "ring_all_reduce", "scan", "scatter", "star_all_reduce", "tree_all_reduce",
    "two_shot_all_reduce",
]  # fmt: skip
