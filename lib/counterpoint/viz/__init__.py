"""Figures and widgets of values: what they show comes from a trace or a model, never from a drawing."""

from counterpoint.viz.charts import curves
from counterpoint.viz.costs import CostExplorer
from counterpoint.viz.crews import crew_lanes, queue_levels
from counterpoint.viz.lab import LoadBalanceLab
from counterpoint.viz.lanes import image, worker_lanes
from counterpoint.viz.matrix import byte_matrix
from counterpoint.viz.player import Player, film
from counterpoint.viz.source import show_source
from counterpoint.viz.themed import Themed

__all__ = [
    "CostExplorer",
    "LoadBalanceLab",
    "Player",
    "Themed",
    "byte_matrix",
    "crew_lanes",
    "curves",
    "film",
    "image",
    "queue_levels",
    "show_source",
    "worker_lanes",
]
