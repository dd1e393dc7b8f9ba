"""Compares what the ranks hold with what they should, counts costs, and gives the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from counterpoint.grading.child.attempt import Attempt
from counterpoint.grading.diagnoses import Difference
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.grading.verdict import Score


def differences(exercise: Exercise, attempt: Attempt) -> list[Difference]:
    """Every place that does not hold exactly what it should; inputs are exact, so is the comparison."""
    if attempt.failure is not None:
        return []
    found = []
    for rank in range(attempt.case.ranks):
        for want in exercise.wants(attempt.case, rank):
            difference = _compare(attempt, rank, want)
            if difference is not None:
                found.append(difference)
    return found


def _compare(attempt: Attempt, rank: int, want: Want) -> Difference | None:
    if want.where is None:
        actual = attempt.results[rank]
        if actual is None:
            return Difference(rank, want, "missing", None)
    else:
        whole = attempt.after[rank][want.where]
        actual = whole.flatten()[want.offset : want.offset + want.value.numel()]
    kind = _kind(actual, want.value)
    if kind:
        return Difference(rank, want, kind, actual)
    unequal = (actual != want.value).flatten()
    if not unequal.any():
        return None
    return Difference(rank, want, "value", actual, int(unequal.int().argmax()))


def _kind(actual: Any, value: torch.Tensor) -> str:
    if not isinstance(actual, torch.Tensor):
        return "type"
    if actual.shape != value.shape:
        return "shape"
    return "dtype" if actual.dtype != value.dtype else ""


def points(
    exercise: Exercise, attempts: Sequence[Attempt], found: dict[int, list[Difference]]
) -> list[Score]:
    """The points of each part, with the reason. Costs are counted once everything else is right."""
    targets = {target.part for target in exercise.targets}
    failed = {i for i, a in enumerate(attempts) if a.failure is not None}
    scores: list[Score] = []
    for part in exercise.parts:
        if part.name in targets:
            continue
        if scores and not scores[0].points:
            scores.append(Score(part.name, 0, part.points, "judged once the result is right."))
            continue
        wrong = failed | {i for i, all_ in found.items() if any(d.want.part == part.name for d in all_)}
        scores.append(_result(part, attempts, wrong))
    complete = all(score.points == score.max_points for score in scores)
    for part in exercise.parts:
        if part.name in targets:
            scores.append(_cost(exercise, part, attempts, complete))
    order = [part.name for part in exercise.parts]
    return sorted(scores, key=lambda score: order.index(score.name))


def _result(part: Part, attempts: Sequence[Attempt], wrong: set[int]) -> Score:
    total = len(attempts)
    if not wrong:
        return Score(part.name, part.points, part.points, f"{part.says} ({tried(attempts)}).")
    right = f"right in {total - len(wrong)} of {total} runs"
    for partial, words, holds in part.partly:
        if not any(holds(attempts[i].case) for i in wrong):
            return Score(part.name, partial, part.points, f"{right}: {words}.")
    return Score(part.name, 0, part.points, f"{right}." if len(wrong) < total else "wrong in every run.")


def _cost(exercise: Exercise, part: Part, attempts: Sequence[Attempt], complete: bool) -> Score:
    if not complete:
        return Score(part.name, 0, part.points, "counted once the result is right.")
    misses = []
    for target in exercise.targets:
        if target.part != part.name:
            continue
        for attempt in attempts:
            assert attempt.trace is not None
            counted, most = target.count(attempt.trace.totals()), target.most(attempt.case)
            if counted > most:
                misses.append((telling(attempt.case), target.says(attempt.case, counted, most)))
    if misses:
        return Score(part.name, 0, part.points, min(misses)[1])
    return Score(part.name, part.points, part.points, f"{part.says}.")


def tried(attempts: Sequence[Attempt]) -> str:
    """ "p = 1…8, lengths 0 to 20,001, 3 dtypes"."""
    all_ = [attempt.case for attempt in attempts]
    ranks = [case.ranks for case in all_]
    counts = [case.count for case in all_]
    dtypes = len({case.dtype for case in all_})
    if max(ranks) == 1:
        return f"{len(all_)} runs"
    words = [f"p = {min(ranks)}…{max(ranks)}"]
    if len(set(counts)) > 1:
        words.append(f"lengths {min(counts):,} to {max(counts):,}")
    if dtypes > 1:
        words.append(f"{dtypes} dtypes")
    return ", ".join(words)


def telling(case: Case) -> tuple:
    """Sorts cases by how well they explain a mistake: four ranks, a few elements each, first."""
    size = case.count if case.count >= case.ranks else 10**6 - case.count
    return (abs(case.ranks - 4) if case.ranks > 2 else 3, size > 100, size, case.dtype)
