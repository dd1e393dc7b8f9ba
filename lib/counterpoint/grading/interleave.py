"""Workers that take turns by a plan: every step on something shared is a point where another may go on.

Each worker is a greenlet. Before it reads, writes, acquires or releases it says so and stops; the schedule picks one
that can go on, does its step and lets it run to its next. So a run is a list of choices and can be had again, and
`interleavings` tries them in order: first those with few switches, which are the easiest to read, then seeded ones.
After Musuvathi and Qadeer, Iterative context bounding for systematic testing (PLDI 2007).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

ENDLESS = 400
"""Steps after which a run is given up; the longest of a right answer has fewer than 100."""


@dataclass(frozen=True)
class Step:
    """One step of one worker: it "reads", "writes", "acquires", "releases", or "tries" in vain."""

    worker: int
    act: str
    value: Any = None
    turn: int = 0
    """How many turns the worker had ended before (see `Schedule.turn`)."""

    def __str__(self) -> str:
        what = f" {self.value!r:.30}" if self.act in ("reads", "writes") else " the lock"
        what += " in vain" if self.act == "tries" else ""
        return f"worker {self.worker} {self.act}{what}"


@dataclass
class Run:
    """One interleaving: its steps, what each worker returned, and who could not go on."""

    steps: list[Step] = field(default_factory=list)
    results: dict[int, Any] = field(default_factory=dict)
    waiting: tuple[int, ...] = ()
    """The workers that wait when nobody can go on."""
    holder: int | None = None
    """Who holds the lock in the end."""
    endless: bool = False
    error: Exception | None = None
    """What a worker raised; the run ends with it."""
    choices: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """At each point (who went on, who could have)."""


Choose = Callable[[int, tuple[int, ...], int | None], int]
"""(number of the point, who can go on, who went last) -> who goes on."""


class Schedule:
    """Plays workers' functions in the order that `choose` gives."""

    def __init__(self, choose: Choose) -> None:
        self._choose, self._run = choose, Run()
        self._over = False
        self._wants: dict[int, tuple[Callable[[], bool], Callable[[], Any]]] = {}
        """By worker, the step that it stands before: whether it can be done, and what does it."""
        self._tired: set[int] = set()
        """Who tried in vain since another worker's last step: asking again at once changes nothing."""
        self._turns: dict[int, int] = {}
        self._me: dict[greenlet, int] = {}
        self.counter, self.lock = Number(self), Lock(self)

    def turn(self) -> None:
        """The running worker has ended a turn, such as one call of the function under test."""
        self._turns[self.me] = self._turns.get(self.me, 0) + 1

    @property
    def me(self) -> int:
        """The worker that runs."""
        return self._me[getcurrent()]

    @property
    def steps(self) -> list[Step]:
        """What has been done so far."""
        return self._run.steps

    def step(self, act: Callable[[], Any], ready: Callable[[], bool] = lambda: True) -> Any:
        """Stop the running worker until it is chosen; it is not while `ready()` is false. Returns `act()`."""
        if self._over:
            raise GreenletExit
        self._wants[self.me] = (ready, act)
        home = getcurrent().parent
        assert home is not None
        return home.switch()

    def say(self, act: str, value: Any = None) -> None:
        """Note a step of the worker that was chosen."""
        worker = self._now
        self._run.steps.append(Step(worker, act, value, self._turns.get(worker, 0)))
        if act == "tries":
            self._tired.add(worker)
        else:
            self._tired.clear()

    def play(self, workers: Sequence[Callable[[], Any]]) -> Run:
        """Run them all until they have returned, one has raised, or nobody can go on."""
        run, last = self._run, None
        lets = [greenlet(self._body(worker)) for worker in workers]
        self._me = {let: number for number, let in enumerate(lets)}
        try:
            for number, let in enumerate(lets):
                self._now = number
                self._resume(number, let)
            while run.error is None and self._wants:
                can = tuple(w for w in sorted(self._wants) if self._wants[w][0]())
                fresh = tuple(w for w in can if w not in self._tired) or can
                if not can or len(run.steps) >= ENDLESS:
                    run.waiting, run.endless = tuple(sorted(self._wants)), bool(can)
                    break
                last = self._choose(len(run.choices), fresh, last)
                run.choices.append((last, fresh))
                self._now = last
                _, act = self._wants.pop(last)
                try:
                    value = act()
                except Exception as error:  # raised where the worker's step is
                    self._resume(last, lets[last], error)
                else:
                    self._resume(last, lets[last], None, value)
        finally:
            self._over, run.holder = True, self.lock.holder
            for let in lets:
                if let and not let.dead:
                    let.throw(GreenletExit)
        return run

    def _body(self, worker: Callable[[], Any]) -> Callable[[], None]:
        def body() -> None:
            me = self.me
            try:
                self._run.results[me] = worker()
            except Exception as error:
                if not self._over:
                    self._run.error = error

        return body

    def _resume(self, number: int, let: greenlet, error: Exception | None = None, value: Any = None) -> None:
        if error is not None:
            let.throw(error)
        elif not let:  # not begun
            let.switch()
        else:
            let.switch(value)


class Number:
    """A shared number, behind `read` and `write` alone."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._value = schedule, 0

    def read(self) -> int:
        def act() -> int:
            self._schedule.say("reads", self._value)
            return self._value

        return self._schedule.step(act)

    def write(self, value: int) -> None:
        def act() -> None:
            self._value = value
            self._schedule.say("writes", value)

        self._schedule.step(act)


class Lock:
    """As `threading.Lock`, but only its holder may release it. A timeout never comes."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.holder: int | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = self._schedule.me

        def act() -> bool:
            free = self.holder is None
            if free:
                self.holder = me
            self._schedule.say("acquires" if free else "tries")
            return free

        return self._schedule.step(act, lambda: not blocking or self.holder is None)

    def release(self) -> None:
        if self._schedule._over:
            return  # on the way out of a `with` of a run that has ended
        me = self._schedule.me

        def act() -> None:
            if self.holder != me:
                held = "nobody holds" if self.holder is None else f"worker {self.holder} holds"
                raise RuntimeError(f"worker {me} releases the lock, which {held}")
            self.holder = None
            self._schedule.say("releases")

        self._schedule.step(act)

    def locked(self) -> bool:
        return self.holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


Workers = Callable[[Schedule], Sequence[Callable[[], Any]]]
"""Makes the functions of a run's workers, which share the schedule's `counter` and `lock`."""


def interleavings(workers: Workers, most: int = 400, chance: int = 100) -> Iterator[Run]:
    """Runs of the workers, each interleaved otherwise: those without a switch that is not forced, with one, with
    two, with any number, up to `most` of each; then `chance` random ones of a fixed seed."""
    for switches in (0, 1, 2, None):
        yield from _in_order(workers, switches, most)
    drawn = random.Random(0)
    for _ in range(chance):
        schedule = Schedule(lambda point, can, last: drawn.choice(can))
        yield schedule.play(workers(schedule))


def _in_order(workers: Workers, switches: int | None, most: int) -> Iterator[Run]:
    """Depth first: repeat the last run up to its last choice that has an alternative left, and take that."""
    prefix: list[int] = []
    for _ in range(most):
        schedule = Schedule(_follow(prefix))
        run = schedule.play(workers(schedule))
        yield run
        made = run.choices
        for point in reversed(range(len(made))):
            later = _alternatives(made, point, switches)
            if later:
                prefix = [who for who, _ in made[:point]] + [later[0]]
                break
        else:
            return


def _follow(prefix: list[int]) -> Choose:
    def choose(point: int, can: tuple[int, ...], last: int | None) -> int:
        if point < len(prefix) and prefix[point] in can:
            return prefix[point]
        return _order(can, last)[0]

    return choose


def _order(can: tuple[int, ...], last: int | None) -> list[int]:
    """Who goes on, in the order of trying: who went last, then by number."""
    return sorted(can, key=lambda worker: (worker != last, worker))


def _alternatives(made: list[tuple[int, tuple[int, ...]]], point: int, switches: int | None) -> list[int]:
    """Who has not been tried at this point, if one more switch is allowed."""
    who, can = made[point]
    last = made[point - 1][0] if point else None
    order = _order(can, last)
    later = order[order.index(who) + 1 :]
    if switches is None or last not in can:
        return later
    before = sum(made[i][0] != made[i - 1][0] and made[i - 1][0] in made[i][1] for i in range(1, point))
    return later if before < switches else []
