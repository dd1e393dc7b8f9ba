"""read-a-deadlock: who waits for whom? An answer in words, not a function."""

from typing import Any

from counterpoint.grading.exercise import Exercise, Part

WAITS = {0: 1, 1: 3, 2: 0, 3: 4, 4: 1, 5: 2}
"""Who waits for whom in the program that the notebook shows; a test runs it and compares."""
CYCLE = (1, 3, 4)
POINTS = 2


def value(answer: Any) -> tuple[int, str]:
    """The points for a list of ranks, and why."""
    if answer is None or answer is ... or answer == []:
        return 0, "Nothing is here yet. Give the ranks of the cycle as a list, such as `[0, 1]`."
    try:
        ranks = [int(rank) for rank in answer]
    except (TypeError, ValueError):
        return 0, f"The answer is `{answer!r:.60}`; a list of ranks is wanted, such as `[0, 1]`."
    strange = [rank for rank in ranks if rank not in WAITS]
    if strange:
        return 0, f"There is no rank {strange[0]}: the program runs on ranks 0 to {len(WAITS) - 1}."
    if len(ranks) > 1 and ranks[0] == ranks[-1]:
        ranks.pop()
    if sorted(ranks) == sorted(CYCLE):
        start = ranks.index(CYCLE[0])
        if tuple(ranks[start:] + ranks[:start]) == CYCLE:
            return POINTS, "Right: rank 1 waits for rank 3, which waits for rank 4, which waits for rank 1."
        return 1, (
            "These are the ranks of the cycle, but not in its order: each rank in the list should wait for the next."
        )
    if set(ranks) > set(CYCLE):
        extra = sorted(set(ranks) - set(CYCLE))[0]
        return 0, (
            f"Rank {extra} does wait, but nobody in the cycle waits for it. If rank {extra} did not exist, the others "
            f"would be stuck all the same: it is a victim, not a cause."
        )
    for first, second in zip(ranks, ranks[1:] + ranks[:1], strict=True):
        if WAITS[first] != second:
            return 0, (
                f"Rank {first} does not wait for rank {second}. Find its line in the message, and follow it from there."
            )
    return 0, "A rank is named twice, or one is missing."


EXERCISE = Exercise(
    name="read-a-deadlock",
    topic="08_all_reduce",
    title="Read a deadlock",
    function="cycle",
    parameters=(),
    minutes=5,
    difficulty=1,
    parts=(Part("correct", POINTS, "the cycle, in its order"),),
    hints=(
        "Six ranks wait, but not all of them are to blame. Begin with any rank, and ask: whom does it wait for? And "
        "that one?",
        "Follow the arrows from rank 5. After some steps you meet a rank that you have met before. The cycle begins "
        "there.",
        "Rank 5 waits for 2, which waits for 0, which waits for 1. From here it is a circle: list that alone.",
    ),
    value=value,
)
