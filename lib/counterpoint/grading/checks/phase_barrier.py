"""phase-barrier: nobody begins a phase before all have ended the one before it, again and again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.grading.interleave import Run, Schedule, Step, interleavings
from counterpoint.grading.loops import Loop, many, numbers, of, read, stopped

MOST = 150
"""Interleavings that are tried for each number of switches."""
MOST_SHOWN = 14
"""Steps of an interleaving that a sentence shows."""
EARLY = 2
"""The `chunk` of runs in which one wait may come back without a notification."""


@dataclass(frozen=True)
class Meeting(Loop):
    """Workers that meet once in each of `tasks` phases."""

    def __str__(self) -> str:
        return f"{many(self.workers, 'worker')} and {many(self.tasks, 'phase')}"


def meetings(*triples: tuple[int, int, int]) -> tuple[Meeting, ...]:
    """Runs with (workers, phases, 1 or EARLY), the most telling first."""
    return tuple(Meeting(1, number, "int64", 8192, *triple) for number, triple in enumerate(triples, 1))


NEVER_RESET = "The count `arrived` was **never reset**, so the next phase does not begin at 0."


class State:
    """The barrier's numbers. Who does not hold the lock may be interrupted at each reading and writing."""

    def __init__(self, schedule: Schedule, size: int) -> None:
        vars(self).update(_schedule=schedule, _values={"arrived": 0, "phase": 0, "size": size})

    def __getattr__(self, name: str) -> Any:
        if name not in vars(self)["_values"]:
            raise AttributeError(f"the state has arrived, phase and size, and no {name!r}")
        if name != "size":
            self._point()
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("arrived", "phase"):
            raise AttributeError(f"of the state, arrived and phase can be set, and not {name!r}")
        self._point()
        self._values[name] = value
        self._schedule.say(f"sets `{name}` to", value)

    def _point(self) -> None:
        if self._schedule.lock.holder != self._schedule.me:
            self._schedule.step(lambda: None)


class Condition:
    """As `threading.Condition`, with the schedule's lock. `early` waits may come back without a notification."""

    def __init__(self, schedule: Schedule, early: int) -> None:
        self._schedule, self._lock, self._early = schedule, schedule.lock, early
        self._asleep: list[int] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        me = self._must_hold("waits")
        self._schedule.say("waits, and gives up", "the lock")
        self._asleep.append(me)
        self._lock.holder = None

        def ready() -> bool:
            return self._lock.holder is None and (me not in self._asleep or self._early > 0)

        def act() -> bool:
            self._lock.holder = me
            if me in self._asleep:
                self._asleep.remove(me)
                self._early -= 1
                self._schedule.say("comes back", "without a notification")
            else:
                self._schedule.say("comes back", "and has the lock")
            return True

        return self._schedule.step(act, ready)

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        while not (result := predicate()):
            self.wait()
        return result

    def notify(self, n: int = 1) -> None:
        self._must_hold("notifies")
        del self._asleep[:n]
        self._schedule.say("notifies", many(n, "worker"))

    def notify_all(self) -> None:
        self._must_hold("notifies")
        self._asleep.clear()
        self._schedule.say("notifies", "all")

    def _must_hold(self, what: str) -> int:
        me = self._schedule.me
        if self._lock.holder != me:
            raise RuntimeError(f"worker {me} {what} and does not hold the condition's lock")
        return me


def call(comm: Any, answer: Callable, loop: torch.Tensor) -> Any:
    """The phases, where nobody left one early; else the sentence about the first run that went wrong."""
    values = read(loop)
    if values is None:
        return None
    size, phases, early = values

    def make(schedule: Schedule) -> list[Callable[[], list[str]]]:
        state, condition = State(schedule, size), Condition(schedule, early - 1)
        came: list[list[int]] = [[] for _ in range(phases)]

        def worker() -> list[str]:
            found = []
            for phase in range(phases):
                schedule.step(partial(schedule.say, "is done with its part of phase", phase))
                came[phase].append(schedule.me)
                answer(state, condition)
                schedule.turn()
                missing = sorted(set(range(size)) - set(came[phase]))
                if missing:
                    steps = told(schedule.steps)
                    found.append(
                        f"worker {schedule.me} **leaves phase {phase}** before worker {missing[0]} has come:\n\n{steps}"
                    )
            return found

        return [worker] * size

    for run in interleavings(make, most=MOST):
        if run.error is not None:
            raise run.error
        wrong = [sentence for sentences in run.results.values() for sentence in sentences]
        if wrong:
            return wrong[0] + _why(run)
        if run.waiting:
            return standstill(run)
    return torch.arange(phases)


def wants(case: Case, rank: int) -> list[Want]:
    part = "correct" if of(case).tasks == 1 else "reuse"
    return [Want("what it returned", None, torch.arange(of(case).tasks), part=part)]


# -- the sentences ---------------------------------------------------------------------------------------


def standstill(run: Run) -> str:
    """Who waits, and for what."""
    waiters = ", ".join(map(str, run.waiting))
    start = f"there is a **standstill**: {'workers' if len(run.waiting) > 1 else 'worker'} {waiters} "
    if run.endless:
        return f"the run **never ends**: it was stopped after {len(run.steps)} steps.\n\n{told(run.steps)}"
    if run.holder is not None:
        tail = f"cannot go on, and the lock is still held by worker {run.holder}."
    elif any(step.value == "1 worker" for step in run.steps):
        tail = "waited and **was not notified**: `notify` wakes one worker, and all that wait must wake."
        tail = tail.replace("was", "were") if len(run.waiting) > 1 else tail
    elif run.steps and not any("`phase`" in step.act for step in run.steps):
        tail = (
            "still waits. Nothing tells a waiting worker that its phase is over once the **count has begun anew**: "
            "that is what `state.phase` is for."
        )
        tail = tail.replace("waits", "wait", 1) if len(run.waiting) > 1 else tail
    elif _never_reset(run) and len(run.waiting) > 1 and max(step.turn for step in run.steps):
        tail = f"wait for a phase to end that nobody ends. {NEVER_RESET}"
    else:
        tail = "wait for a phase to end that nobody ends." if len(run.waiting) > 1 else "waits for ever."
    return f"{start}{tail}\n\n{told(run.steps)}"


def _why(run: Run) -> str:
    """What the steps say about a worker that left early."""
    if any(step.value == "without a notification" for step in run.steps):
        return "\n\nA wait may come back early. Ask **again** after it, with `while` and not with `if`."
    if any("`phase`" in step.act for step in run.steps):
        return "\n\nThe phase was ended **before all** `state.size` workers had been counted."
    if not any(step.act.startswith("waits") for step in run.steps):
        return "\n\nNobody waited: `condition.wait()` was never called."
    return f"\n\n{NEVER_RESET}" if _never_reset(run) else ""


def _never_reset(run: Run) -> bool:
    arrived = [step.value for step in run.steps if "arrived" in step.act]
    return bool(arrived) and 0 not in arrived


def told(steps: Sequence[Step]) -> str:
    """The last steps, a line each."""
    shown = steps[-MOST_SHOWN:]
    lines = [
        f"{number}. {step if step.value is None else f'worker {step.worker} {step.act} {step.value}'}"
        for number, step in enumerate(shown, 1)
    ]
    if len(shown) < len(steps):
        lines.insert(0, f"({many(len(steps) - len(shown), 'step')} before)")
    return "\n".join(lines) or "(no step on the state or the condition)"


def the_run(evidence: Evidence) -> Finding | None:
    """The sentence that the run came with."""
    result = evidence.shown.results[0] if evidence.here else None
    return Finding(f"With {of(evidence.case)}, {result}") if isinstance(result, str) else None


EXERCISE = Exercise(
    name="phase-barrier",
    topic="03_coordinating_workers",
    title="Phase barrier",
    function="wait",
    parameters=("state", "condition"),
    minutes=20,
    difficulty=3,
    parts=(
        Part("correct", 2, "nobody leaves a single phase before all have come"),
        Part("reuse", 2, "it holds again and again, with fast workers and waits that come back early"),
    ),
    hints=(
        "Who comes last has nobody to wait for. What must it do for the others, and for the next phase?",
        "Keep the phase in which you came: `phase = state.phase`. It is over when `state.phase` is another. Who "
        "waits for that asks again after every wait.",
        "In `with condition:` count yourself. The last one sets `arrived` to 0, adds 1 to `phase` and calls "
        "`notify_all()`; the others do `while state.phase == phase: condition.wait()`.",
    ),
    cases=meetings(
        (2, 1, 1), (1, 1, 1), (3, 1, 1),
        (2, 3, 1), (2, 2, EARLY), (3, 2, 1), (3, 3, 1), (3, 2, EARLY), (1, 3, 1),
    ),
    inputs=lambda case, rank: (numbers(case),),
    call=call,
    wants=wants,
    diagnoses=(stopped, the_run),
)  # fmt: skip
