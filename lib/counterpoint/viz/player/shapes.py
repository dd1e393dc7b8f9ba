"""What shape a run's messages have: a tree with its root, a ring, or neither."""

from counterpoint.trace import Trace


def parents(trace: Trace) -> list[int] | None:
    """Each rank's parent (-1 for the root) if the messages run along a tree, else None.

    A tree: every rank takes part, and the pairs that exchange messages connect them with one pair
    fewer than there are ranks. The first message of a pair says which way is up: what is reduced
    comes from a child, what is stored comes from the parent.
    """
    ranks, sends = trace.ranks, trace.sends
    received = trace.where(kind=("recv", "reduce"))
    kinds = dict(zip(received.message.tolist(), received.text("kind"), strict=True))
    up: dict[tuple[int, int], tuple[int, int]] = {}
    for message, a, b in zip(sends.message.tolist(), sends.rank.tolist(), sends.peer.tolist(), strict=True):
        child, parent = (a, b) if kinds.get(message) == "reduce" else (b, a)
        up.setdefault((min(a, b), max(a, b)), (child, parent))
    if ranks < 3 or len(up) != ranks - 1:
        return None
    links: list[list[int]] = [[] for _ in range(ranks)]
    for a, b in up:
        links[a].append(b)
        links[b].append(a)
    below = {child for child, _ in up.values()}
    roots = [rank for rank in range(ranks) if rank not in below]
    root = roots[0] if roots else max(range(ranks), key=lambda rank: len(links[rank]))
    return hang(root, links)


def hang(root: int, links: list[list[int]]) -> list[int] | None:
    """The tree's parents when it hangs from `root`; None if `links` don't reach every rank."""
    found, reached = [-2] * len(links), [root]
    found[root] = -1
    for rank in reached:
        for other in links[rank]:
            if found[other] == -2:
                found[other] = rank
                reached.append(other)
    return found if len(reached) == len(links) else None


def binomial(ranks: int) -> list[int]:
    """The parents of the binomial tree with root 0: clear the lowest set bit."""
    return [rank & (rank - 1) if rank else -1 for rank in range(ranks)]


def is_ring(trace: Trace) -> bool:
    """Whether every message goes from a rank to the next, or every one to the one before."""
    sends = trace.sends
    hops = set(((sends.peer - sends.rank) % trace.ranks).tolist())
    return len(hops) == 1 and hops <= {1, trace.ranks - 1}
