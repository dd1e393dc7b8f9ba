"""The cost explorer: what each algorithm costs on a link, and where one overtakes another."""

from counterpoint.viz.costs.widget import CostExplorer

__all__ = ["CostExplorer"]
