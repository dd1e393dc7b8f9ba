"""Runs the answer on its cases, on ranks as threads, and turns whatever happens into values."""

import linecache
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from counterpoint.collectives import explain
from counterpoint.grading.child.attempt import Attempt, Failure, Other, Wait
from counterpoint.grading.exercise import Case, Exercise
from counterpoint.pipes import pickles
from counterpoint.ranks import (
    CommError,
    DeadlockError,
    LaunchTimeout,
    MismatchError,
    RankFailed,
    launch,
)

PLAIN = (type(None), bool, int, float, complex, str)


def run(task: dict, send: Callable[[Any], None], printed: Callable[[], Any]) -> None:
    """Do one task: "run" sends an ("attempt", Attempt) for each case, "explain" a provenance."""
    exercise, answer = pickles.loads(task["job"])
    files = set(task["sources"])

    def worker(comm: Any, *inputs: Any) -> Any:
        return exercise.call(comm, answer, *inputs)

    for case in task["cases"]:
        stdout, kept = sys.stdout, printed()
        sys.stdout = kept
        try:
            if task["do"] == "explain":
                send(("explained", _explained(exercise, worker, case, task["seconds"])))
            else:
                attempt = _attempt(exercise, worker, case, files, task["seconds"])
                attempt.printed = kept.kept
                send(("attempt", attempt))
        finally:
            sys.stdout = stdout


def _attempt(exercise: Exercise, worker: Callable, case: Case, files: set[str], seconds: float) -> Attempt:
    inputs = [exercise.inputs(case, rank) for rank in range(case.ranks)]
    try:
        done = launch(worker, per_rank=inputs, eager_limit=case.eager_limit, timeout=seconds)
    except CommError as error:
        trace = error.run.trace if error.run is not None else None
        return Attempt(case, trace=trace, failure=failure(error, files))
    results = [_plain(value) for value in done.results]
    after = [tuple(_plain(value) for value in args) for args in done.args]
    return Attempt(case, results, after, done.trace)


def _explained(exercise: Exercise, worker: Callable, case: Case, seconds: float) -> tuple:
    """The provenance of the case's run, and the same of what each rank returned."""
    inputs = [exercise.inputs(case, rank) for rank in range(case.ranks)]
    found = explain(worker, per_rank=inputs, eager_limit=case.eager_limit, timeout=seconds)
    if found.error is not None:
        found.error = RuntimeError(str(found.error))  # the original would bring its whole run
    elif any(want.where is None for want in exercise.wants(case, 0)):
        return found, [_returned(worker, inputs, rank, case, seconds) for rank in range(case.ranks)]
    return found, []


def _returned(worker: Callable, inputs: list, rank: int, case: Case, seconds: float) -> np.ndarray | None:
    """How often each rank's input is in what `rank` returned, contributors by elements."""
    table = []
    for contributor in range(case.ranks):
        marked = [tuple(torch.full_like(t, r == contributor) for t in own) for r, own in enumerate(inputs)]
        try:
            done = launch(worker, per_rank=marked, eager_limit=case.eager_limit, timeout=seconds)
        except CommError:
            return None
        result = done.results[rank]
        if not isinstance(result, torch.Tensor):
            return None
        table.append(result.detach().flatten().double().round().long().numpy())
    return np.stack(table) if len({len(row) for row in table}) == 1 else None


def failure(error: CommError, files: set[str]) -> Failure:
    """What went wrong between the ranks, as values; `files` are the learner's own."""
    if isinstance(error, DeadlockError | LaunchTimeout):
        kind = "deadlock" if isinstance(error, DeadlockError) else "stopped"
        waits = tuple(
            Wait(w.rank, w.call, tuple(w.peers), w.tag, w.nbytes, w.line, w.code, w.file) for w in error.waits
        )
        return Failure(kind, str(error), waits=waits, cycle=tuple(getattr(error, "cycle", ())))
    rank, cause = -1, error
    if isinstance(error, RankFailed):
        rank, cause = error.rank, error.__cause__ or error  # type: ignore[assignment]
    kind = "mismatch" if isinstance(cause, MismatchError) else "raised"
    line, code = _line_of(cause, files)
    return Failure(kind, str(cause), rank, type(cause).__name__, line, code)


def _line_of(error: BaseException, files: set[str]) -> tuple[int, str]:
    """The innermost of the learner's lines that the exception passed through."""
    found, trace = (0, ""), error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in files:
            found = trace.tb_lineno, linecache.getline(name, trace.tb_lineno).strip()
        trace = trace.tb_next
    return found


def _plain(value: Any) -> Any:
    """The value itself if it travels well, else what can be said of it."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if type(value) in PLAIN:
        return value
    try:
        shown = repr(value)
    except Exception as error:
        shown = f"(its repr raises {type(error).__name__})"
    return Other(type(value).__name__, shown[:200])
