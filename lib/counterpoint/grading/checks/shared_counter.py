"""shared-counter: whoever is free takes the next task, and no task is taken twice."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.grading.interleave import Run, Schedule, Step, interleavings
from counterpoint.grading.loops import Unusable, loops, many, numbers, of, read, stopped, whole

FURTHER = 200
"""Interleavings that are tried after a wrong one, for one that is told in fewer steps."""
MOST_SHOWN = 12
"""Steps of an interleaving that a sentence shows."""


def taking(answer: Callable, tasks: int) -> Callable[[Schedule], Callable[[], list[int]]]:
    """A worker that takes tasks until there are none, or until it has had two more than there are."""

    def make(schedule: Schedule) -> Callable[[], list[int]]:
        def worker() -> list[int]:
            mine: list[int] = []
            while len(mine) < tasks + 2:
                task = answer(schedule.counter, schedule.lock, tasks)
                schedule.turn()
                if task is None:
                    break
                mine += whole([task], "your function", "the number of a task, or None")
            return mine

        return worker

    return make


def call(comm: Any, answer: Callable, loop: torch.Tensor) -> Any:
    """The tasks that were taken, where each was once; else the sentence about the first run that went wrong."""
    values = read(loop)
    if values is None:
        return None
    workers, tasks, _ = values
    worker = taking(answer, tasks)

    def make(schedule: Schedule) -> list[Callable[[], list[int]]]:
        return [worker(schedule) for _ in range(workers)]

    shortest, further = "", FURTHER
    for run in interleavings(make):
        if run.error is not None and (workers == 1 or isinstance(run.error, Unusable)):
            raise run.error
        wrong = alone(run, tasks) if workers == 1 else together(run, tasks)
        if wrong and (not shortest or wrong.count("\n") < shortest.count("\n")):
            shortest = wrong
        further -= bool(shortest)
        if workers == 1 or not further:
            break
    return shortest or torch.arange(tasks)


def wants(case: Case, rank: int) -> list[Want]:
    part = "correct" if of(case).workers == 1 else "interleavings"
    return [Want("what it returned", None, torch.arange(of(case).tasks), part=part)]


# -- the sentences ---------------------------------------------------------------------------------------


def alone(run: Run, tasks: int) -> str:
    """What is wrong with the run of a single worker; "" if nothing is."""
    if run.waiting:
        return f"{_standstill(run)}\n\n{_told(run.steps, run.waiting)}"
    mine = run.results[0]
    if mine == list(range(tasks)):
        return ""
    got = ", ".join(map(str, mine[:8])) + (", …" if len(mine) > 8 else "")
    start = f"a worker that is alone gets {got or 'no task'}{'' if len(mine) > tasks + 1 else ', then None'}"
    if not any(step.act == "reads" for step in run.steps):
        return (
            f"{start}. Your function **never reads the counter**, which is where the next task's number is."
        )
    if mine and len(set(mine)) < len(mine):
        again = next(task for task, times in Counter(mine).items() if times > 1)
        return f"{start}: task {again} is **done again**. The number must be moved on by 1 each time."
    if any(not 0 <= task < tasks for task in mine):
        beyond = next(task for task in mine if not 0 <= task < tasks)
        last = f"the last is {tasks - 1}" if tasks else "there is none at all"
        return f"{start}: there is **no task {beyond}**, for they are counted from 0, and {last}."
    lost = sorted(set(range(tasks)) - set(mine))
    if lost:
        return f"{start}: task {lost[0]} is **lost**."
    return f"{start}: all tasks, but the counter gives them in the order 0, 1, 2, …"


def together(run: Run, tasks: int) -> str:
    """What is wrong with one interleaving, and its steps; "" if nothing is."""
    if run.error is not None:
        what = f"{type(run.error).__name__}: {run.error}"
        return f"in this interleaving your function raises **{what}**:\n\n{_told(run.steps)}"
    if run.waiting:
        return f"{_standstill(run)}\n\n{_told(run.steps, run.waiting)}"
    takers: dict[int, list[tuple[int, int]]] = {}
    for worker, mine in run.results.items():
        for turn, task in enumerate(mine):
            takers.setdefault(task, []).append((worker, turn))
    for task in sorted(takers):
        turns = takers[task]
        if not 0 <= task < tasks:
            return _raced(run, turns[:1], f"there is **no task {task}**: the last is {tasks - 1}")
        if len(turns) > 1:
            return _raced(run, turns[:2], f"task {task} is **done twice**")
    lost = sorted(set(range(tasks)) - set(takers))
    if lost:
        return f"in this interleaving task {lost[0]} is **lost**:\n\n{_told(run.steps)}"
    return ""


def _raced(run: Run, turns: Sequence[tuple[int, int]], outcome: str) -> str:
    """The steps from the first to the last of these turns, what came of them, and where the lock was."""
    inside = [i for i, step in enumerate(run.steps) if (step.worker, step.turn) in turns]
    shown = run.steps[inside[0] : inside[-1] + 1] if inside else run.steps
    acts = [step.act for step in run.steps if (step.worker, step.turn) == turns[0]]
    return f"this interleaving goes wrong:\n\n{_told(shown)}\n\nSo {outcome}. {_lock(acts)}"


def _lock(acts: Sequence[str]) -> str:
    """Where in one call the lock was, against the reading and the writing."""
    if "acquires" not in acts:
        return "Another worker came between the read and the write, for **nobody took the lock**."
    if "reads" in acts and acts.index("reads") < acts.index("acquires"):
        return "The number was read **before** the lock was taken, so another worker could move it meanwhile."
    if "releases" in acts and "writes" in acts and acts.index("releases") < acts.index("writes"):
        return "The lock was **released between** the read and the write, and another worker came in there."
    return "Reading the number and moving it on must be **one act**, all under one hold of the lock."


def _standstill(run: Run) -> str:
    """Who waits for whom."""
    waiter = run.waiting[0]
    if run.endless:
        return f"worker {waiter} goes on **without end**: the run was stopped after {len(run.steps)} steps."
    if run.holder in run.waiting:
        return (
            f"there is a **standstill**: worker {run.holder} waits for the lock, which it **holds itself**. Whoever "
            f"acquires it must release it again, on every way out."
        )
    return (
        f"there is a **standstill**: worker {waiter} waits for the lock, and worker {run.holder} has ended **without "
        f"releasing** it. On which way out does your function keep the lock?"
    )


def _told(steps: Sequence[Step], waiting: Sequence[int] = ()) -> str:
    """The last steps, a line each, and who waits after them."""
    shown = steps[-MOST_SHOWN:]
    lines = [f"{number}. {step}" for number, step in enumerate(shown, 1)]
    lines += [f"{number}. worker {worker} waits" for number, worker in enumerate(waiting, len(lines) + 1)]
    if len(shown) < len(steps):
        lines.insert(0, f"({many(len(steps) - len(shown), 'step')} before)")
    return "\n".join(lines) or "(no step on the counter or the lock)"


def the_run(evidence: Evidence) -> Finding | None:
    """The sentence that the run came with."""
    result = evidence.shown.results[0] if evidence.here else None
    return Finding(f"With {of(evidence.case)}, {result}") if isinstance(result, str) else None


EXERCISE = Exercise(
    name="shared-counter",
    topic="03_coordinating_workers",
    title="Shared counter",
    function="next_task",
    parameters=("counter", "lock", "tasks"),
    minutes=15,
    difficulty=2,
    parts=(
        Part("correct", 3, "a worker that is alone gets every task in turn, and then None"),
        Part("interleavings", 2, "however two or three workers were interleaved, every task was taken once"),
    ),
    hints=(
        "Two workers both read 3 before either writes. Which task does each of them do, and what does the counter "
        "say afterwards? What would have to be impossible?",
        "`with lock:` holds the lock for the lines below it, and releases it on every way out, `return` included. "
        "Which lines must be below it so that nobody comes between?",
        "Under the lock: `task = counter.read()`, and if `task < tasks`, `counter.write(task + 1)` and return `task`. "
        "If not, return None.",
    ),
    cases=loops(
        (1, 5, 1), (1, 1, 1), (1, 0, 1), (1, 40, 1),
        (2, 2, 1), (2, 1, 1), (3, 2, 1), (2, 3, 1), (3, 1, 1), (2, 0, 1), (3, 4, 1),
    ),
    inputs=lambda case, rank: (numbers(case),),
    call=call,
    wants=wants,
    diagnoses=(stopped, the_run),
)  # fmt: skip
