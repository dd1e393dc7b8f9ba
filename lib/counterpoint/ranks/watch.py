"""The watch: a thread of each rank process that tells the others how its rank is, and looks how they are."""

import threading
import time

from counterpoint.ranks.board import State
from counterpoint.ranks.errors import RankFailed, store_lost
from counterpoint.ranks.process_port import ProcessPort
from counterpoint.ranks.standstill import Standstill, standstill

OFTEN, SELDOM = 0.05, 0.25
"""Seconds between two notices: of a rank that waits, and of one that does not."""

SILENCE = 10.0
"""Seconds without a notice after which a rank that somebody waits for is held to hang."""


class Watch(threading.Thread):
    """Ends when the run has failed, or by `stop`."""

    def __init__(self, port: ProcessPort) -> None:
        super().__init__(name=f"watch of rank {port.rank}", daemon=True)
        self.port, self.ended = port, threading.Event()
        self.tick, self.telling = 0, threading.Lock()
        self.heard: dict[int, tuple[int, float]] = {}
        """Each rank's last notice that was new, and when this rank first saw it."""
        self.looked: tuple[Standstill, list[State]] | None = None
        self.tell()

    def tell(self) -> State:
        """Put up a notice."""
        with self.telling:
            self.tick += 1
            state = self.port.state(self.tick)
            self.port.station.board.publish(self.port.rank, state)
        return state

    def run(self) -> None:
        station = self.port.station
        mark, pause = 0, OFTEN
        while not self.ended.wait(pause) and station.failure is None:
            try:
                failure = station.board.failure()
                if failure is not None:
                    station.failed(failure)
                    return
                state = self.tell()
                if state.waiting is not None and state.mark == mark:
                    self.look(station.board.states())
                    pause = min(1.2 * pause, SELDOM)
                else:
                    self.looked, pause = None, OFTEN if state.waiting is not None else SELDOM
                mark = state.mark
            except RuntimeError as error:
                if not self.ended.is_set():
                    station.failed(store_lost(error))
                return
            except BaseException as error:  # without a watch nobody would notice a deadlock
                station.fail(
                    RankFailed(
                        f"rank {station.rank}'s watch failed ({type(error).__name__}: {error})", station.rank
                    )
                )
                raise

    def look(self, states: list[State]) -> None:
        """Whether this rank waits in vain: in a deadlock seen twice, or for a rank that shows no life."""
        station = self.port.station
        before, self.looked = self.looked, None
        if before is not None and before[0].holds(before[1], states):
            station.fail(before[0].error)
            return
        found = standstill(station.rank, states)
        if found is not None:
            self.looked = found, states
        now = time.monotonic()
        for rank in self._awaited():
            tick, since = self.heard.get(rank, (-1, now))
            if states[rank].tick != tick:
                self.heard[rank] = states[rank].tick, now
            elif now - since > SILENCE:
                said = f"rank {rank} has given no sign of life for {SILENCE:g} s while rank {station.rank} waits for it"
                why = "its process hangs or is stopped, or its host cannot be reached"
                station.fail(RankFailed(f"{said}: {why}", rank))

    def _awaited(self) -> set[int]:
        """Who must act, or whose payload is on its way, before this rank goes on."""
        with self.port.station.lock:
            blocked = self.port.blocked
            if blocked is None:
                return set()
            awaited = {request.peer for request in blocked.requests if not request.done}
            return (awaited | set(blocked.members)) - {self.port.rank}

    def stop(self) -> None:
        self.ended.set()
        self.join(5.0)
