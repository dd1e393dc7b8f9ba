"""Deadlock among processes, read off the notice board.

A notice is old when it is read, so one look proves nothing. Two do: if all the ranks in question have put up
another notice since the first look, and in it nothing has changed, then at the moment of the first look they
all waited, at once, as the notices say; and if each had read every packet that the others had sent it,
nothing was on its way to any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from counterpoint.ranks.board import State
from counterpoint.ranks.deadlock import find_deadlock
from counterpoint.ranks.errors import DeadlockError, Waiting


@dataclass
class Standstill:
    """A deadlock, if the notices it was read from still hold; `involved` are the ranks they are of."""

    error: DeadlockError
    involved: list[int]

    def holds(self, before: Sequence[State], now: Sequence[State]) -> bool:
        """Whether the ranks have stood still from `before` to `now`, both taken after one another."""
        return all(now[rank].same_as(before[rank]) for rank in self.involved)


def standstill(rank: int, states: Sequence[State]) -> Standstill | None:
    """Whether `rank` seems to wait for itself through others, or for a rank that has returned."""
    ranks = seen(states)
    if ranks[rank].blocked is None:
        return None
    error = find_deadlock(ranks[rank], ranks)  # type: ignore[arg-type]
    if error is None:
        return None
    reached = set(error.cycle) or _reached(rank, ranks)
    hosts = {states[r].members[0] for r in reached if states[r].meeting is not None}
    involved = sorted(reached | hosts)
    return Standstill(error, involved) if _quiet(involved, states) else None


def seen(states: Sequence[State]) -> "list[Seen]":
    """The ranks, as their notices show them."""
    return [Seen(rank, state, _edges(rank, states)) for rank, state in enumerate(states)]


def _edges(rank: int, states: Sequence[State]) -> list[int]:
    """The ranks that must act before `rank` can go on."""
    state = states[rank]
    if state.meeting is not None:
        return [r for r in state.members if states[r].meeting != state.meeting]
    taken = {peer for peer, number in state.sends if (rank, number) not in states[peer].unmatched}
    return [peer for peer in state.needs if peer not in taken]


def _reached(rank: int, ranks: "Sequence[Seen]") -> set[int]:
    """`rank`, whoever it waits for that waits or has returned, whoever those wait for, and so on."""
    reached, ahead = set(), [rank]
    while ahead:
        here = ranks[ahead.pop()]
        if here.rank not in reached and (here.returned or here.blocked is not None):
            reached.add(here.rank)
            ahead += here.blocked.peers() if here.blocked is not None else []
    return reached


def _quiet(ranks: Sequence[int], states: Sequence[State]) -> bool:
    """Whether each has read all that the others of them have sent it."""
    return all(states[a].sent[b] == states[b].read[a] for a in ranks for b in ranks if a != b)


class Seen:
    """A rank as its notice shows it: as much of a `Port` as `find_deadlock` looks at."""

    def __init__(self, rank: int, state: State, edges: list[int]) -> None:
        self.rank, self.returned = rank, state.returned
        self.blocked = _SeenBlocked(state.waiting, edges) if state.waiting is not None else None


class _SeenBlocked:
    def __init__(self, waiting: Waiting, edges: list[int]) -> None:
        self.waiting, self.edges = waiting, edges

    def peers(self) -> list[int]:
        return self.edges

    def describe(self) -> Waiting:
        return replace(self.waiting, peers=self.edges)
