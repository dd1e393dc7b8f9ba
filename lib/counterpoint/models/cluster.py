"""A cluster in two levels: fast links inside a node, slower ones from each node to a switch.

The node's links to the switch (its rails, or network cards) are shared by its ranks; the switch itself is
never full. That sharing is what hierarchical all-reduce is for.
"""

from counterpoint.models.link import Link
from counterpoint.models.network import Network, Route, bandwidth, count


class Cluster(Network):
    """`nodes` nodes of `per_node` ranks each; rank r is in node r // per_node.

    inside: each rank's `Link` within its node. between: the `Link` of each rail; its alpha is the whole
    latency of a message between nodes. rails: links from each node to the switch and as many back.
    A message leaves by its sender's rail and comes in by its receiver's: the i-th rank of a node has
    rail i mod rails. Reductions take the larger gamma of the two.
    """

    def __init__(self, nodes: int, per_node: int, inside: Link, between: Link, rails: int = 1) -> None:
        self.nodes, self.per_node = count("Cluster", "nodes", nodes), count("Cluster", "per_node", per_node)
        self.rails = count("Cluster", "rails", rails)
        if self.rails > self.per_node:
            raise ValueError(
                f"Cluster: {rails} rails for {per_node} ranks a node, but a message takes one rail; "
                f"give at most {per_node}, and a smaller between.beta if a rank drives several"
            )
        self.inside, self.between = inside, between
        gamma = max(inside.gamma, between.gamma)
        super().__init__(self.nodes * self.per_node, 2 * self.nodes * self.rails, gamma)

    def __repr__(self) -> str:
        parts = f"{self.inside!r}, {self.between!r}, rails={self.rails}"
        return f"Cluster({self.nodes}, {self.per_node}, {parts})"

    def route(self, source: int, dest: int) -> Route:
        """Within a node: out, in. Between nodes: out, to the switch, from the switch, in."""
        self.check(source, dest)
        inside, between, rails = self.inside, self.between, self.rails
        node, place = divmod(source, self.per_node)
        to_node, to_place = divmod(dest, self.per_node)
        if node == to_node:
            return Route((source, self.ranks + dest), (inside.beta,) * 2, inside.alpha, inside.alpha)
        up = 2 * (self.ranks + node * rails + place % rails)
        down = 2 * (self.ranks + to_node * rails + to_place % rails) + 1
        betas = (inside.beta, between.beta, between.beta, inside.beta)
        return Route((source, up, down, self.ranks + dest), betas, between.alpha, between.alpha)

    def inner_name(self, number: int) -> str:
        """Such as "node 2 to the switch" and "the switch to node 0, rail 3"."""
        rail, down = divmod(number, 2)
        node, rail = divmod(rail, self.rails)
        which = f", rail {rail}" if self.rails > 1 else ""
        return (f"the switch to node {node}" if down else f"node {node} to the switch") + which

    def bisection_bandwidth(self) -> float:
        """Bytes a second, one way, from half of the nodes to the others (of one node, from half its ranks)."""
        if self.nodes == 1:
            return self.per_node // 2 * bandwidth(self.inside.beta)
        rails, ranks = self.rails * bandwidth(self.between.beta), self.per_node * bandwidth(self.inside.beta)
        return self.nodes // 2 * min(rails, ranks)
