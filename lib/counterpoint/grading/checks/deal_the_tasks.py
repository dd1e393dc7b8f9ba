"""deal-the-tasks: chunks dealt out in turn, like cards."""

from typing import Any

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.grading.loops import (
    TOPIC,
    Loop,
    loops,
    many,
    numbers,
    of,
    read,
    stopped,
    watched,
    whole,
)


def hands(loop: Loop) -> list[list[int]]:
    """What each worker should do, in order."""
    return [
        [task for task in range(loop.tasks) if task // loop.chunk % loop.workers == worker]
        for worker in range(loop.workers)
    ]


def call(comm: Any, answer: Any, loop: torch.Tensor) -> Any:
    """The lists of all workers, one after another, each behind its length."""
    numbers = read(loop)
    if numbers is None:
        return None
    workers, tasks, chunk = numbers
    found = []
    for worker in range(workers):
        returned = watched(answer, worker, workers, tasks, chunk)
        found.append(whole(returned, f"worker {worker}", "a list of task numbers"))
    return _flat(found)


def _flat(lists: list[list[int]]) -> torch.Tensor:
    return torch.tensor([n for own in lists for n in (len(own), *own)]).long()


def _lists(flat: list[int]) -> list[list[int]]:
    found, at = [], 0
    while at < len(flat):
        found.append(flat[at + 1 : at + 1 + flat[at]])
        at += 1 + flat[at]
    return found


def wants(case: Case, rank: int) -> list[Want]:
    return [Want("what it returned", None, _flat(hands(of(case))))]


def the_deal(evidence: Evidence) -> Finding | None:
    """Every wrong deal; the usual ones by their names."""
    if not evidence.here or not isinstance(evidence.shown.results[0], torch.Tensor):
        return None
    loop = of(evidence.case)
    lists, right = _lists(evidence.shown.results[0].tolist()), hands(loop)
    told = f"With {loop} in chunks of {loop.chunk}, "
    why = _outside(loop, lists) or _twice(loop, lists, right) or _lost(loop, lists)
    return Finding(told + (why or _otherwise(loop, lists, right)))


def _outside(loop: Loop, lists: list[list[int]]) -> str:
    for worker, own in enumerate(lists):
        for task in own:
            if task == loop.tasks and not any(0 in other for other in lists):
                return (
                    f"worker {worker} does task {task}, and nobody does task 0: tasks are **counted from 0**."
                )
            if not 0 <= task < loop.tasks:
                return (
                    f"worker {worker} does task {task}, and there are tasks 0 to {loop.tasks - 1}: it is **off the "
                    f"end**. The last chunk is cut short where the tasks end: min(first + chunk, tasks)."
                )
    return ""


def _twice(loop: Loop, lists: list[list[int]], right: list[list[int]]) -> str:
    p, chunk = loop.workers, loop.chunk
    owner: dict[int, int] = {}
    for worker, own in enumerate(lists):
        for task in own:
            if task not in owner:
                owner[task] = worker
                continue
            if owner[task] == worker:
                told = f"**task {task} is done twice**, both times by worker {worker}. "
            else:
                told = f"**task {task} is done twice**, by worker {owner[task]} and by worker {worker}. "
            mine, due = lists[0][chunk : chunk + 1], right[0][chunk : chunk + 1]
            if lists[0][:chunk] == right[0][:chunk] and mine and due and mine != due:
                return told + (
                    f"Worker 0's second chunk begins at task {mine[0]}, and should at {due[0]}: before it is its turn "
                    f"again, each of the {p} workers gets {many(chunk, 'task')}, so the **stride is workers · chunk** "
                    f"= {p * chunk}."
                )
            return told + f"Chunk c, which begins at task c · {chunk}, belongs to worker c mod {p} alone."
    return ""


def _lost(loop: Loop, lists: list[list[int]]) -> str:
    p, n, chunk = loop.workers, loop.tasks, loop.chunk
    done = {task for own in lists for task in own}
    lost = [task for task in range(n) if task not in done]
    if not lost:
        return ""
    which = f"task {lost[0]}" if len(lost) == 1 else f"{len(lost)} tasks, the first of them task {lost[0]}"
    told = f"**nobody does {which}**. "
    if lost == list(range(n - n % chunk, n)):
        return told + (
            f"{n // chunk} chunks are whole, and the **last one is partial**: {n} mod {chunk} = {n % chunk}. It "
            f"counts too, as worker {n // chunk % p}'s."
        )
    if lost == list(range(n - n % (p * chunk), n)):
        return told + (
            f"{n // (p * chunk)} rounds of workers · chunk = {p * chunk} tasks are whole, and the **last round is "
            f"not**: some workers get less in it, or nothing. Chunks are dealt while tasks are left."
        )
    return told + f"It is in chunk {lost[0] // chunk}, so it is worker {lost[0] // chunk % p}'s."


def _otherwise(loop: Loop, lists: list[list[int]], right: list[list[int]]) -> str:
    """Every task is done once, but by another worker or at another time."""
    p, n, chunk = loop.workers, loop.tasks, loop.chunk
    worker = next(w for w in range(p) if lists[w] != right[w])
    told = f"worker {worker} does {_few(lists[worker])}; its tasks are {_few(right[worker])}. "
    if [sorted(own) for own in lists] == right:
        return told + "They are the right ones, **not in order**."
    if lists == [list(range(w, n, p)) for w in range(p)]:
        return told + f"You deal **one task at a time** (cyclic), and a chunk is {chunk} neighbours."
    if [task for own in lists for task in own] == list(range(n)):
        return (
            told
            + "Each gets **one contiguous part**; a chunk at a time is dealt, to one worker after another."
        )
    return told + f"Chunk c, which begins at task c · {chunk}, belongs to worker c mod {p}."


def _few(tasks: list[int]) -> str:
    return (", ".join(map(str, tasks[:8])) + (", …" if len(tasks) > 8 else "")) or "nothing"


EXERCISE = Exercise(
    name="deal-the-tasks",
    topic=TOPIC,
    title="Deal the tasks",
    function="my_tasks",
    parameters=("worker", "workers", "tasks", "chunk"),
    minutes=15,
    difficulty=2,
    parts=(
        Part(
            "correct", 4, "every task is dealt once, to its worker and in order",
            partly=((2, "right where the chunks come out even", lambda case: of(case).whole),),
        ),
    ),
    hints=(
        "Deal 11 tasks to 2 workers in chunks of 2, on paper. At which tasks do worker 0's chunks begin? And worker "
        "1's?",
        "Worker w's first chunk begins at w · chunk, and its next one workers · chunk tasks further on: "
        "`range(worker * chunk, tasks, workers * chunk)` are the beginnings.",
        "From each beginning `first` come the tasks `range(first, min(first + chunk, tasks))`: the last chunk may be "
        "cut short.",
    ),
    cases=loops(
        (2, 11, 2), (3, 12, 2), (2, 6, 2), (3, 13, 3), (4, 10, 1), (3, 17, 4), (4, 3, 2), (8, 5, 3), (5, 0, 2),
        (1, 7, 3), (2, 3, 5), (6, 100, 7), (7, 1000, 16), (8, 64, 8), (8, 65, 8), (8, 63, 8), (3, 1, 1), (1, 0, 1),
    ),
    inputs=lambda case, rank: (numbers(case),),
    call=call,
    wants=wants,
    diagnoses=(stopped, the_deal),
)  # fmt: skip
