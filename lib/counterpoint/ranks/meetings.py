"""Meetings of rank processes: a barrier, a split. Everyone tells the first member, who tells everyone."""

import pickle
from typing import TYPE_CHECKING, Any

import torch

from counterpoint.ranks.arrival import header_of_meeting
from counterpoint.ranks.wire import INLINE, Moving

if TYPE_CHECKING:
    from counterpoint.ranks.station import Station


class Meetings:
    """One station's part in them. A meeting is a communicator's number and its own."""

    def __init__(self, station: "Station") -> None:
        self.station = station
        self.open: dict[tuple[int, int], dict[int, Any]] = {}
        """At their first member's: what those have brought who came."""
        self.replies: dict[tuple[int, int], list[Any]] = {}
        self.told: list[Moving] = []

    def come(self, comm: int, members: tuple[int, ...], number: int, value: Any) -> None:
        """This rank brings `value`."""
        if members[0] == self.station.rank:
            self._bring(comm, members, number, self.station.rank, value)
        else:
            self._tell(members[0], comm, number, (members, value))

    def heard(self, peer: int, comm: int, number: int, said: Any) -> None:
        """A packet has come: what a member brings, as (members, value), or what all have brought, as a list."""
        station = self.station
        if isinstance(said, list):
            with station.lock:
                station.read[peer] += 1
                self.replies[comm, number] = said
                station.wake()
        else:
            self._bring(comm, said[0], number, peer, said[1])

    def _bring(self, comm: int, members: tuple[int, ...], number: int, rank: int, value: Any) -> None:
        """At the first member's: `rank` has come. When all have, everyone gets what all have brought."""
        station = self.station
        with station.lock:
            if rank != station.rank:
                station.read[rank] += 1
            met = self.open.setdefault((comm, number), {})
            met[rank] = value
            if len(met) < len(members):
                return
            del self.open[comm, number]
            values = [met[member] for member in members]
        for member in members[1:]:
            self._tell(member, comm, number, values)
        with station.lock:
            self.replies[comm, number] = values
            station.wake()

    def _tell(self, peer: int, comm: int, number: int, value: Any) -> None:
        station = self.station
        text = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        inline = text.numel() <= INLINE
        with station.lock:
            payload = -1 if inline else station.payloads[peer]
            station.payloads[peer] += not inline
            station.sent[peer] += 1
        header = header_of_meeting(comm, number, payload, text.numel())
        station.wire.post(peer, header, text if inline else None)
        if not inline:
            self.told.append(station.wire.give(peer, text, payload))
