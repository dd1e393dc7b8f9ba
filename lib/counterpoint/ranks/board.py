"""The notice board of a run on processes: what each rank can be told even when no message can reach it.

It is kept in a torch.distributed store: each rank's state (which is also its sign of life), what each
announced as its n-th collective, and the first failure. The store answers at once; no call here waits for
another rank.
"""

import pickle
from dataclasses import dataclass, field, replace
from typing import Any

from counterpoint.ranks.errors import Waiting


@dataclass(frozen=True)
class State:
    """What one rank says of itself, again and again.

    tick: counts up with every notice. mark: changes whenever the rank begins or ends a wait. sent, read:
    packets to and from every other rank. waiting: how it waits, for people. needs: the ranks that must act
    first. meeting: the meeting it waits in, if it does, with its members. unmatched: payloads, as
    (source, number), that have been announced to it and that it has not asked for.
    """

    tick: int
    mark: int
    sent: tuple[int, ...] = ()
    read: tuple[int, ...] = ()
    returned: bool = False
    waiting: Waiting | None = None
    needs: tuple[int, ...] = ()
    sends: tuple[tuple[int, int], ...] = ()
    """Among `needs`: (rank, number) of payloads given and not yet taken."""
    meeting: tuple[Any, ...] | None = None
    members: tuple[int, ...] = ()
    unmatched: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def same_as(self, earlier: "State") -> bool:
        """Whether the rank has stood still since that notice."""
        return self.tick > earlier.tick and replace(self, tick=earlier.tick) == earlier


class Board:
    """The notices of one run. Raises RuntimeError when the store is gone."""

    def __init__(self, store: Any, size: int) -> None:
        self.store, self.size = store, size
        self.lost: RuntimeError | None = None
        """Why the store could not be reached. It is not asked again: each try may take as long as the first."""

    def _ask(self, word: str, *given: Any) -> Any:
        if self.lost is not None:
            raise RuntimeError(str(self.lost)) from self.lost
        try:
            return getattr(self.store, word)(*given)
        except RuntimeError as error:
            self.lost = error
            raise

    def publish(self, rank: int, state: State) -> None:
        self._ask("set", f"state/{rank}", pickle.dumps(state))

    def states(self) -> list[State]:
        """Every rank's last notice. Each must have given one: `World` does when it is made."""
        return [
            pickle.loads(text) for text in self._ask("multi_get", [f"state/{r}" for r in range(self.size)])
        ]

    def state(self, rank: int) -> State:
        return pickle.loads(self._ask("get", f"state/{rank}"))

    def fail(self, error: BaseException) -> BaseException:
        """Pin up what ended the run, unless something did before; returns what counts."""
        return pickle.loads(_bytes(self._ask("compare_set", "failure", "", pickle.dumps(error).hex())))

    def failure(self) -> BaseException | None:
        if not self._ask("check", ["failure"]):
            return None
        return pickle.loads(_bytes(self._ask("get", "failure")))

    def announce(self, key: str, rank: int, said: tuple[str, str]) -> dict[int, tuple[str, str]]:
        """Add what a rank says under `key`; returns what all who have come so far said."""
        self._ask("append", key, pickle.dumps((rank, said)).hex() + "\n")
        return self.announced(key)

    def announced(self, key: str) -> dict[int, tuple[str, str]]:
        return dict(pickle.loads(_bytes(line)) for line in self._ask("get", key).split())

    def forget(self, key: str) -> None:
        self._ask("delete_key", key)


def _bytes(text: bytes | str) -> bytes:
    return bytes.fromhex(text.decode() if isinstance(text, bytes) else text)
