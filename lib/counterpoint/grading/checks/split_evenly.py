"""split-evenly: each worker one contiguous part of the tasks, as even as can be."""

from typing import Any

import torch

from counterpoint.balance.schedules import even_parts
from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.grading.loops import (
    TOPIC,
    Loop,
    Unusable,
    failed,
    loops,
    many,
    numbers,
    of,
    read,
    stopped,
    watched,
    whole,
)


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """The loop; room for how often each task is done (then: tasks beyond the end, negative lengths); the lengths."""
    loop = of(case)
    return numbers(case), torch.zeros(loop.tasks + 2).long(), torch.zeros(loop.workers).long()


def call(comm: Any, answer: Any, loop: torch.Tensor, done: torch.Tensor, lengths: torch.Tensor) -> Any:
    """(first, length) of every worker; what these come to is counted in `done` and `lengths`."""
    numbers = read(loop)
    if numbers is None:
        return None
    workers, tasks, _ = numbers
    parts = []
    for worker in range(workers):
        returned = watched(answer, worker, workers, tasks)
        part = whole(returned, f"worker {worker}", "two numbers, `first, length`")
        if len(part) != 2:
            raise Unusable(
                f"worker {worker} returned {many(len(part), 'number')}; it should return `first, length`."
            )
        parts.append(part)
    for first, length in parts:
        end = first + max(length, 0)
        inside = slice(min(max(first, 0), tasks), max(0, min(end, tasks)))
        done[inside] += 1
        done[tasks] += max(length, 0) - len(range(*inside.indices(tasks)))
        done[tasks + 1] += length < 0
    lengths.copy_(torch.tensor([length for _, length in parts]).sort(descending=True).values)
    return _settled(parts)


def _settled(parts: Any) -> torch.Tensor:
    """As a tensor; where a part without tasks begins is nobody's business."""
    return torch.tensor([[first if length else -1, length] for first, length in parts]).long()


def wants(case: Case, rank: int) -> list[Want]:
    loop = of(case)
    parts = even_parts(loop.tasks, loop.workers)
    once = torch.cat([torch.ones(loop.tasks), torch.zeros(2)]).long()
    return [
        Want("how often each task is done", 1, once),
        Want("the lengths", 2, torch.tensor([part.length for part in parts]), part="even"),
        Want("what it returned", None, _settled(parts), part="order"),
    ]


def the_split(evidence: Evidence) -> Finding | None:
    """Every wrong split; the usual ones by their names. Tasks lost in any run come before uneven ones in the first."""
    ended = [attempt for attempt in evidence.attempts if attempt.failure is None]
    for attempt in ended:
        sentence = _broken(of(attempt.case), attempt.results[0].tolist())
        if sentence:
            return Finding(f"With {attempt.case}, {sentence}")
    if len(ended) < len(evidence.attempts):
        return failed(next(attempt for attempt in evidence.attempts if attempt.failure is not None))
    if not evidence.here:
        return None
    return Finding(f"With {evidence.case}, {_uneven(of(evidence.case), evidence.shown.results[0].tolist())}")


def _broken(loop: Loop, parts: list[list[int]]) -> str:
    """The sentence for tasks that are not done once; "" if all are."""
    p, n = loop.workers, loop.tasks
    floor, rest = divmod(n, p)
    for worker, (first, length) in enumerate(parts):
        if length < 0:
            return (
                f"worker {worker} gets **{length} tasks**. Rounding n / p up to {-(-n // p)} gives the first workers "
                f"more than an even share, so nothing is left for the last ones. Round down to {floor}, and give one "
                f"more to the first {rest}."
            )
        if length and not 0 <= first <= n - length:
            return (
                f"the part of worker {worker} is tasks {first} to {first + length - 1}, and there are tasks 0 to "
                f"{n - 1}: it is **off the end**. Only {rest} of the workers do {floor + 1}, the others {floor}."
            )
    owner: dict[int, int] = {}
    twice = None
    for worker, (first, length) in enumerate(parts):
        for task in range(first, first + length):
            if owner.setdefault(task, worker) != worker and twice is None:
                twice = task, worker
    lost = [task for task in range(n) if task not in owner]
    if lost and all(length == floor for _, length in parts) and lost == list(range(n - rest, n)):
        which = f"task {lost[0]}" if rest == 1 else f"{rest} tasks, the first of them task {lost[0]}"
        return (
            f"**nobody does {which}**. Everyone gets ⌊{n} / {p}⌋ = {floor}, together {p * floor}: the **rest of "
            f"the division**, {n} mod {p} = {rest}, is lost."
        )
    if twice is not None:
        task, worker = twice
        return (
            f"**task {task} is done twice**, by worker {owner[task]} and by worker {worker}, whose part begins at task "
            f"{parts[worker][0]}. Before it come worker · ⌊n / p⌋ tasks, and **one more for each longer part** before "
            f"it: min(worker, n mod p)."
        )
    return (
        f"**nobody does task {lost[0]}**: it lies between two parts, or outside all of them." if lost else ""
    )


def _uneven(loop: Loop, parts: list[list[int]]) -> str:
    """The sentence for a split in which every task is done once."""
    p, n = loop.workers, loop.tasks
    floor, rest = divmod(n, p)
    lengths = [length for _, length in parts]
    shown = ", ".join(map(str, lengths))
    if max(lengths) - min(lengths) > 1:
        told = f"the workers get {shown}: every task once, but **not evenly**. "
        if lengths == [floor] * (p - 1) + [floor + rest]:
            return told + (
                f"The rest of the division, {rest}, **all goes to the last worker**, and while it does its "
                f"{lengths[-1]} the others wait. One each to the first {rest}, and nobody has more than {floor + 1}."
            )
        if lengths[0] == -(-n // p):
            return told + (
                f"You **round up**, so the first ones get {lengths[0]} and the last is left with {lengths[-1]}. Only "
                f"the first {rest} should get {floor + 1}, the others {floor}."
            )
        return told + f"Even is {floor + 1} for the first {rest} and {floor} for the others."
    if sorted(lengths, reverse=True) != lengths:
        return (
            f"the workers get {shown}: even, but the **longer parts come first**, {floor + 1} for workers 0 to "
            f"{rest - 1}, so that everybody who computes the split finds the same one."
        )
    return (
        f"worker 0 begins at task {parts[0][0]}: the parts should **ascend with the workers**, from task 0."
    )


EXERCISE = Exercise(
    name="split-evenly",
    topic=TOPIC,
    title="Split evenly",
    function="my_part",
    parameters=("worker", "workers", "tasks"),
    minutes=10,
    difficulty=1,
    parts=(
        Part("correct", 3, "every task is done once"),
        Part("even", 1, "no worker has two tasks more than another"),
        Part("order", 1, "the longer parts come first"),
    ),
    hints=(
        "Write down the split of 10 tasks among 4 workers. How many have 3? How does that number come out of 10 and 4?",
        "`short, longer = divmod(tasks, workers)`: everyone has `short`, and the first `longer` workers one more. How "
        "many of the workers before yours have one more?",
        "Before worker w come w workers: w · short tasks, and one more for each that is among the first `longer`, "
        "which are min(w, longer).",
    ),
    cases=loops(
        (4, 10, 1), (4, 11, 1), (8, 10, 1), (3, 10, 1), (4, 8, 1), (8, 3, 1), (5, 0, 1), (1, 7, 1), (1, 0, 1),
        (2, 9, 1), (6, 35, 1), (8, 1, 1), (7, 1000, 1), (7, 48, 1), (5, 6, 1), (3, 2, 1), (64, 1000, 1), (64, 63, 1),
    ),
    inputs=inputs,
    call=call,
    wants=wants,
    diagnoses=(stopped, the_split),
)  # fmt: skip
