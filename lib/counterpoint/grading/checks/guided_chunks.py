"""guided-chunks: large chunks while there is time to make up for them, small ones towards the end."""

from collections.abc import Callable
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


def taken(loop: Loop, size: Callable[[int], int]) -> list[int]:
    """The chunks when each is `size(left)`, but no more than what is left; [] if they never end."""
    sizes, left = [], loop.tasks
    while left > 0:
        sizes.append(min(size(left), left))
        if sizes[-1] <= 0:
            return []
        left -= sizes[-1]
    return sizes


def due(loop: Loop, left: int) -> int:
    """What the next worker should take when so many are left."""
    return min(left, max(loop.chunk, -(-left // loop.workers)))


def call(comm: Any, answer: Any, loop: torch.Tensor) -> Any:
    numbers = read(loop)
    if numbers is None:
        return None
    return torch.tensor(whole(watched(answer, *numbers), "your function", "a list of chunk sizes")).long()


def wants(case: Case, rank: int) -> list[Want]:
    loop = of(case)
    return [Want("what it returned", None, torch.tensor(taken(loop, lambda left: due(loop, left))).long())]


def never_ends(evidence: Evidence) -> Finding | None:
    """Chunks of 0 tasks for ever."""
    failure, loop = evidence.shown.failure, of(evidence.case)
    if failure is None or failure.exception != "Endless":
        return None
    sizes = [int(n) for n in failure.message.split(",") if n]
    if 0 not in sizes:
        return None
    before = sizes[: sizes.index(0)]
    left = loop.tasks - sum(before)
    if left <= 0:
        return Finding(
            f"{_told(loop)}your loop **never ends**: nothing is left, and it goes on with chunks of 0 tasks."
        )
    return Finding(
        f"{_told(loop)}your loop **never ends**: after {_few(before)} there are {left} left, and from then on it takes "
        f"chunks of 0. {left} / {loop.workers} rounded **down** is 0; guided rounds up, so as long as tasks are left a "
        f"chunk has at least one."
    )


def the_chunks(evidence: Evidence) -> Finding | None:
    """Every wrong list; the usual ones by their names."""
    if not evidence.here or not isinstance(evidence.shown.results[0], torch.Tensor):
        return None
    loop, sizes = of(evidence.case), evidence.shown.results[0].tolist()
    return Finding(_told(loop) + (_named(loop, sizes) or _first_wrong(loop, sizes)))


def _told(loop: Loop) -> str:
    return f"With {loop}, at least {loop.chunk} at a time, "


def _named(loop: Loop, sizes: list[int]) -> str:
    """The sentence for a list that follows another rule; "" if none is known."""
    p, n, smallest = loop.workers, loop.tasks, loop.chunk
    yours = f"yours are {_few(sizes)}. "
    even = -(-n // p)
    if any(size <= 0 for size in sizes):
        number = next(i for i, size in enumerate(sizes) if size <= 0)
        return f"{yours}Chunk {number} has **{many(sizes[number], 'task')}**: a worker would come and get nothing."
    if sizes and sum(sizes) > n and sizes[:-1] == taken(loop, lambda left: due(loop, left))[:-1]:
        left = n - sum(sizes[:-1])
        return (
            f"{yours}They add up to {sum(sizes)}: when {many(left, 'task')} {'is' if left == 1 else 'are'} left, the "
            f"last chunk takes {sizes[-1]}. **No more than what is left** can be taken, even where that is less than "
            f"the smallest."
        )
    if (
        len(sizes) > 1
        and sizes[0] > 1
        and sizes in (taken(loop, lambda left: max(smallest, even)), [even] * len(sizes))
    ):
        return (
            f"{yours}They are ⌈{n} / {p}⌉ = {even} each: computed from **all tasks** and not from **what is left**. "
            f"After the first chunk {n - sizes[0]} are left, and the second is {due(loop, n - sizes[0])}."
        )
    if sizes == taken(loop, lambda left: max(smallest, left // p)) or sizes == taken(
        loop, lambda left: max(smallest, 1, left // p)
    ):
        i = next(i for i, size in enumerate(sizes) if size != due(loop, n - sum(sizes[:i])))
        left = n - sum(sizes[:i])
        return f"{yours}Chunk {i} is {left} / {p} rounded **down**; guided rounds up: {due(loop, left)}."
    if smallest > 1 and sizes == taken(loop, lambda left: -(-left // p)):
        i = next(i for i, size in enumerate(sizes) if size < smallest)
        return (
            f"{yours}Chunk {i} has {many(sizes[i], 'task')}, and **smallest is {smallest}**: below it a visit to the "
            f"shared counter costs more than it evens out."
        )
    if sizes == taken(loop, lambda left: max(smallest, -(-left // (2 * p)))):
        return f"{yours}They are **half** of an even share of what is left: a good rule too, but asked for is all."
    return ""


def _first_wrong(loop: Loop, sizes: list[int]) -> str:
    """The first chunk that does not follow from those before it."""
    left = loop.tasks
    for number, size in enumerate(sizes):
        if left <= 0:
            return (
                f"the chunks before chunk {number} are all {loop.tasks} tasks, and it takes **{size} more**."
            )
        if size != due(loop, left):
            down = ", rounded **up**" if size == left // loop.workers else ""
            return (
                f"chunk {number} has {many(size, 'task')}. Before it **{left} are left**: ⌈{left} / {loop.workers}⌉ = "
                f"{-(-left // loop.workers)}{down}, so with at least {loop.chunk} and at most {left} it is "
                f"{due(loop, left)}."
            )
        left -= size
    return f"your chunks are {_few(sizes)}, and **{many(left, 'task')} {'is' if left == 1 else 'are'} left over**."


def _few(sizes: list[int]) -> str:
    return (", ".join(map(str, sizes[:12])) + (", …" if len(sizes) > 12 else "")) or "none"


EXERCISE = Exercise(
    name="guided-chunks",
    topic=TOPIC,
    title="Guided chunks",
    function="chunk_sizes",
    parameters=("workers", "tasks", "smallest"),
    minutes=15,
    difficulty=2,
    parts=(
        Part(
            "correct", 4, "every chunk is an even share of what is left, and all of them are all tasks",
            partly=((2, "right where the smallest chunk is 1", lambda case: of(case).chunk == 1),),
        ),
    ),
    hints=(
        "10 tasks, 4 workers: the first takes ⌈10 / 4⌉ = 3. How many are left for the second, and how many does it "
        "take?",
        "Keep `left` in a variable and go on while it is above 0. `-(-left // workers)` is left / workers rounded up.",
        "A chunk is `min(left, max(smallest, -(-left // workers)))`: at least the smallest, at most what is left.",
    ),
    cases=loops(
        (4, 10, 1), (4, 13, 3), (2, 20, 4), (3, 17, 1), (4, 16, 1), (8, 100, 1), (8, 100, 6), (3, 2, 5), (5, 0, 2),
        (1, 7, 1), (1, 7, 9), (6, 1000, 1), (7, 1000, 16), (8, 3, 1), (2, 1, 1), (4, 12, 12), (64, 4096, 8), (3, 9, 3),
    ),
    inputs=lambda case, rank: (numbers(case),),
    call=call,
    wants=wants,
    diagnoses=(never_ends, stopped, the_chunks),
)  # fmt: skip
