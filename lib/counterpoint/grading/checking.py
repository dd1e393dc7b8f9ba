"""`check`: run the answer, judge it, explain it, keep the points. It returns a verdict and never raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpoint.grading import judge, registry
from counterpoint.grading.answer import Unfit, inspect_answer, is_stub, pack
from counterpoint.grading.child import Attempt, Child, Limits, Stopped
from counterpoint.grading.child.process import CHILD
from counterpoint.grading.diagnoses import Difference, Evidence
from counterpoint.grading.diagnoses.general import diagnose
from counterpoint.grading.diagnoses.patterns import pattern
from counterpoint.grading.exercise import Exercise
from counterpoint.grading.picture import picture
from counterpoint.grading.record import Progress
from counterpoint.grading.verdict import Score, Verdict, show

DEFAULT = Limits()
OWN = ("counterpoint/collectives/", "torch/distributed/")
"""Where the lines lie that an answer may not have its messages sent from."""


def check(name: str, answer: Any, *, keep: bool = True, limits: Limits = DEFAULT) -> Verdict:
    """Grade `answer`, the learner's function, as the exercise `name`; show the verdict and return it.

    The function runs on many ranks, lengths and dtypes in a process of its own, at most 20 seconds and
    2 GiB. What it prints or warns of changes nothing. The points are kept with the progress; keep=False is
    for a demonstration, which is no attempt of the learner's.
    """
    verdict = grade_answer(name, answer, limits=limits)
    if verdict.max_points:
        progress = Progress.here() if keep else Progress(None)
        progress.record(verdict.name, verdict.points, verdict.max_points)
        if not verdict.passed:
            verdict.hint_label, verdict.hint = progress.next_hint(registry.find(name))
        verdict.remarks += progress.notes
    show(verdict)
    return verdict


def grade_answer(
    name: str,
    answer: Any,
    *,
    limits: Limits = DEFAULT,
    child: Child = CHILD,
) -> Verdict:
    """`check` without its surroundings: nothing is shown and nothing kept."""
    if not isinstance(name, str) or name not in registry.exercises():
        text = f"There is no exercise {name!r}; {registry.nearest(name)}"
        return Verdict(str(name), "No such exercise", [], text)
    exercise = registry.find(name)
    try:
        return _grade(exercise, answer, limits, child)
    except Unfit as unfit:
        return _nothing(exercise, str(unfit))
    except Exception as error:  # ours, not the learner's: say so
        text = f"this check itself failed ({type(error).__name__}: {error}). That is not your fault; please report it."
        return _nothing(exercise, text)


def _grade(exercise: Exercise, answer: Any, limits: Limits, child: Child) -> Verdict:
    if exercise.value is not None:
        points, reason = exercise.value(answer)
        (part,) = exercise.parts
        score = Score(part.name, points, part.points, part.says + "." if points == part.points else reason)
        return Verdict(exercise.name, exercise.title, [score], reason)
    inspect_answer(exercise, answer)
    if is_stub(answer):
        raise Unfit(f"nothing is here yet: `{exercise.function}` is still the stub.")
    return Check(exercise, pack(exercise, answer), limits, child).verdict()


class Check:
    """One answer on its way through the child."""

    def __init__(self, exercise: Exercise, packed: dict, limits: Limits, child: Child) -> None:
        self.exercise, self.packed, self.limits, self.child = exercise, packed, limits, child

    def verdict(self) -> Verdict:
        attempts: list[Attempt] = []
        try:
            for _, attempt in self._work("run", self.exercise.cases):
                attempts.append(attempt)
        except Stopped as stopped:
            return _nothing(self.exercise, self._stopped(stopped, attempts))
        line = own_call(attempts)
        if line:
            text = (
                f"your function leaves the work to the library (`{line}`). Here you build it yourself, "
                f"from `comm.send`, `comm.recv` and their kin."
            )
            return _nothing(self.exercise, text)
        found = {i: judge.differences(self.exercise, a) for i, a in enumerate(attempts)}
        scores = judge.points(self.exercise, attempts, found)
        evidence = self._evidence(attempts, found, scores)
        return self._told(evidence, scores)

    def _told(self, evidence: Evidence, scores: list[Score]) -> Verdict:
        exercise, shown = self.exercise, evidence.shown
        finding, comparison = diagnose(evidence), []
        if evidence.wrong:
            message = " ".join(filter(None, [pattern(evidence), finding.sentence]))
            if not finding.sentence:
                message = f"{message} {_unexplained(evidence)}".strip()
                comparison = evidence.here[0].rows
        elif any(score.points < score.max_points for score in scores):
            lost = [s.reason for s in scores if s.points < s.max_points]
            message = " ".join([f"The result is right ({judge.tried(evidence.attempts)}).", *lost])
            message = f"{message} {finding.sentence}".strip()
        else:
            message = finding.sentence
        return Verdict(
            exercise.name, exercise.title, scores, message,
            comparison=comparison, printed=shown.printed,
            picture=picture(evidence, finding.message, finding.sentence),
            caption=f"Your run with {shown.case}:",
        )  # fmt: skip

    def _evidence(
        self, attempts: list[Attempt], found: dict[int, list[Difference]], scores: list[Score]
    ) -> Evidence:
        """Choose the run that explains most, and look at it more closely."""
        evidence = Evidence(self.exercise, attempts, found, attempts[0])
        candidates = evidence.wrong or attempts
        evidence.shown = min(candidates, key=lambda a: judge.telling(a.case))
        try:
            for _, value in self._work("explain", [evidence.case]):
                evidence.provenance, evidence.returned = value
        except Stopped:
            pass  # the verdict stands without it
        return evidence

    def _work(self, what: str, cases: Sequence) -> Any:
        task = self.packed | {"do": what, "cases": list(cases)}
        return self.child.work(task, self.limits)

    def _stopped(self, stopped: Stopped, attempts: list[Attempt]) -> str:
        number = min(len(attempts), len(self.exercise.cases) - 1)
        case = self.exercise.cases[number]
        if stopped.why == "time":
            lines = sorted(set(stopped.lines))
            at = ", ".join(f"line {number} (`{text}`)" for number, text in lines[:2])
            where = f" It was at your {at}." if at else ""
            done, asks = "", "Does that loop ever end?"
            if attempts:
                done = f" {len(attempts)} of {len(self.exercise.cases)} runs were done."
                asks = "Is it slow there (printing is), or endless?"
            return (
                f"your function was **still running after {self.limits.seconds:g} seconds**, with {case}, so "
                f"it was ended.{done}{where} {asks}"
            )
        if stopped.why == "broken":
            return f"the process that ran your function failed: {stopped.detail}"
        return f"your function ended the process that ran it, with {case}: {stopped.detail}."


def own_call(attempts: Sequence[Attempt]) -> str:
    """The text of a library line that sent the answer's messages; "" if it sent them itself."""
    for attempt in attempts:
        if attempt.trace is None:
            continue
        for line in set(attempt.trace.text("line")):
            file, _, number = line.rpartition(":")
            place = next((own for own in OWN if own in file.replace("\\", "/")), None)
            if place:
                return f"{place}{file.rpartition('/')[2]}:{number}"
    return ""


def _nothing(exercise: Exercise, text: str) -> Verdict:
    """No points, for a reason that has nothing to do with the parts."""
    scores = [Score(part.name, 0, part.points, "not judged.") for part in exercise.parts]
    return Verdict(exercise.name, exercise.title, scores, text[0].upper() + text[1:])


def _unexplained(evidence: Evidence) -> str:
    difference = evidence.here[0]
    return (
        f"With {evidence.case}, rank {difference.rank} ends with something else than it should in "
        f"{difference.want.what}; the first difference is below."
    )
