"""The load-balance lab: who computes which tile of a picture, and when, under a schedule of your choice."""

from counterpoint.viz.lab.widget import LoadBalanceLab

__all__ = ["LoadBalanceLab"]
