"""A barrier: nobody begins a phase before all have ended the one before it.

Who comes last turns the phase: runs the action, counts the phase on, wakes the others. Who comes earlier waits until
the phase it came in is over, and not until "all are here": a fast worker that is back already, for the next phase,
would see to it that they never are, or that they are too early. Source: Herlihy and Shavit, The Art of
Multiprocessor Programming, chapter on barriers (the sense of theirs is our phase number's last bit).
"""

from collections.abc import Callable

from counterpoint.balance.conditions import Member, Place
from counterpoint.balance.failures import BrokenBarrier
from counterpoint.balance.strangers import Strangers


class Barrier:
    """A meeting of `parties` threads, again and again.

    parties: how many must come; `join` and `leave` change it. action: called without arguments when all have come and
    none has left, by the one that came last; it must not use this barrier. name: for errors and the trace. crew: the
    `Crew` whose workers use it; None: any threads. `phase` is the number of the phase under way, from 0.
    """

    def __init__(
        self,
        parties: int,
        action: Callable[[], object] | None = None,
        *,
        name: str = "",
        crew: Place | None = None,
    ) -> None:
        place: Place = Strangers() if crew is None else crew
        self.name = name or place.name_for("barrier")
        if type(parties) is not int or parties < 0:
            raise ValueError(
                f"{self.name}: {parties!r} cannot meet; give how many must come, 0 if all will join"
            )
        self.parties, self.phase = parties, 0
        self._action, self._place, self._lock = action, place, place.lock
        self._members: dict[Member, None] = {}
        """Those known to take part; the other places are free."""
        self._here: dict[Member, None] = {}
        """Those who have come in this phase."""
        self._acting: Member | None = None
        """Who runs the action."""
        self._broken: tuple[str, str, BaseException] | None = None
        self._turned = place.condition(
            self.name,
            self._missing,
            "Who comes no more must leave() the barrier, so that the others do not wait.",
        )

    def wait(self) -> int:
        """Wait until all have come. Returns the number of the phase that this ended.

        Cost: some 10 us for each that is woken. Raises BrokenBarrier, from what the action raised or from what ended a
        waiting thread, for everyone that waits or comes later; ValueError for one more than there are places.
        """
        with self._lock:
            me = self._place.me()
            self._wait_while_acting(me)
            self._raise_if_broken()
            self._take_place(me)
            phase = self.phase
            self._here[me] = None
            self._turn_if_all_are_here(me)
            try:
                while self.phase == phase and self._broken is None:
                    self._turned.wait()
            except BaseException as error:
                if self.phase == phase:
                    self._break(me, f"{me.name} ended while it waited in phase {phase}", error)
                raise
            if self.phase == phase:
                self._raise_if_broken()
            self._place.has_passed(self.name, phase)
        return phase

    def join(self, parties: int = 1) -> None:
        """So many more must come, in this phase already; from an action: in the next."""
        with self._lock:
            self._raise_if_broken()
            if type(parties) is not int or parties < 1:
                raise ValueError(f"{self.name}: {parties!r} cannot join; at least 1")
            self.parties += parties

    def leave(self) -> None:
        """The caller comes no more. If all others are here, the phase ends, and the caller runs the action.

        Raises ValueError if it has no place; BrokenBarrier, from the cause, if the action that it runs raises.
        """
        with self._lock:
            me = self._place.me()
            self._wait_while_acting(me)
            if self._broken is not None:
                return  # nobody waits for it any more
            self._forget_the_dead()
            if me not in self._members and len(self._members) >= self.parties:
                raise ValueError(
                    f"{self.name}: {me.name} cannot leave, for it has no place; {self._places()}"
                )
            self._members.pop(me, None)
            self.parties -= 1
            self._turn_if_all_are_here(me)

    def _turn_if_all_are_here(self, me: Member) -> None:
        if not self._here or len(self._here) < self.parties:
            return
        self._here.clear()
        if self._action is not None:
            self._acting = me
            self._lock.release()  # the action may take its time, and use queues
            raised: BaseException | None = None
            try:
                with self._place.compute(self.name, self.phase):
                    self._action()
            except BaseException as error:
                raised = error
            self._lock.acquire()
            self._acting = None
            if raised is not None:
                what = f"its action, run by {me.name} at the end of phase {self.phase}, raised"
                self._break(me, f"{what} {type(raised).__name__}: {raised}", raised)
                if not isinstance(raised, Exception):
                    raise raised
                self._raise_if_broken()
        self.phase += 1
        self._turned.notify_all()

    def _wait_while_acting(self, me: Member) -> None:
        if self._acting is me:
            raise RuntimeError(
                f"{self.name}: {me.name} calls the barrier from its action; move the call out of it"
            )
        while self._acting is not None:
            self._turned.wait()

    def _take_place(self, me: Member) -> None:
        if me not in self._members:
            self._forget_the_dead()
            if len(self._members) >= self.parties:
                raise ValueError(
                    f"{self.name}: {me.name} is one too many; {self._places()}; join() makes room"
                )
            self._members[me] = None

    def _forget_the_dead(self) -> None:
        """When somebody asks for a place: those of threads that have ended without leaving are free."""
        if len(self._members) >= self.parties:
            for member in [m for m in self._members if not m.is_alive()]:
                del self._members[member]

    def _places(self) -> str:
        return (
            f"its {self.parties} places are those of {', '.join(m.name for m in self._members) or 'nobody'}"
        )

    def _missing(self) -> str:
        if self._acting is not None:
            return f"{self._acting.name} has not ended the action of phase {self.phase}"
        away = [
            m.name + ", which has ended" * (not m.is_alive()) for m in self._members if m not in self._here
        ]
        if free := self.parties - len(self._members):
            away.append(f"{free} that never came")
        here = f"{len(self._here)} of {self.parties} are here in phase {self.phase}"
        return f"{here}; missing: {'; '.join(away)}"

    def _break(self, who: Member, why: str, cause: BaseException) -> None:
        if self._broken is None:
            self._broken = (f"{self.name} is broken: {why}; make a new barrier", who.name, cause)
            self._turned.notify_all()

    def _raise_if_broken(self) -> None:
        if self._broken is not None:
            raise BrokenBarrier(*self._broken)
