"""Machines on paper: what an algorithm should cost, before it is run."""

from counterpoint.models.cluster import Cluster
from counterpoint.models.cost import Cost
from counterpoint.models.crossbar import Crossbar
from counterpoint.models.fit import fit_link
from counterpoint.models.link import Link
from counterpoint.models.load import Load, loads
from counterpoint.models.logp import LogGP, optimal_broadcast
from counterpoint.models.network import Network, Route, carry
from counterpoint.models.presets import PRESETS, as_network, preset
from counterpoint.models.torus import Ring, Torus2D

__all__ = [
    "PRESETS",
    "Cluster",
    "Cost",
    "Crossbar",
    "Link",
    "Load",
    "LogGP",
    "Network",
    "Ring",
    "Route",
    "Torus2D",
    "as_network",
    "carry",
    "fit_link",
    "loads",
    "optimal_broadcast",
    "preset",
]
