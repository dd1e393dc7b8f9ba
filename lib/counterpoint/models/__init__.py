"""Machines on paper: what an algorithm should cost, before it is run."""

from counterpoint.models.cost import Cost
from counterpoint.models.link import Link

__all__ = ["Cost", "Link"]
