"""Every planted wrong answer is refused, with the points and the sentence that are meant for it."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

from counterpoint.grading import registry
from counterpoint.grading.checking import grade_answer
from counterpoint.grading.child import Child, Limits

FOLDER = Path(__file__).parents[1] / "wrong_answers"
PLANTED = list(runpy.run_path(str(FOLDER / "planted.py"), run_name="planted")["planted"]())


@pytest.mark.parametrize("wrong", PLANTED, ids=str)
def test_is_refused_with_its_sentence(wrong, child: Child) -> None:
    limits = Limits(seconds=wrong.seconds)
    verdict = grade_answer(wrong.exercise, wrong.answer, limits=limits, child=child)
    assert not verdict.passed
    assert verdict.points == wrong.points, str(verdict)
    assert wrong.says in verdict.message
    assert wrong.says, "plant the sentence"
    # Sentences speak of the learner's lines; results are shown a few elements at a time.
    assert str(FOLDER) not in str(verdict)
    assert "tensor([" not in str(verdict)
    assert "<style>" in verdict._repr_html_()


def test_each_exercise_has_three_at_least() -> None:
    counted = Counter(wrong.exercise for wrong in PLANTED)
    assert all(counted[name] >= 3 for name in registry.exercises())
    assert set(counted) <= set(registry.exercises())
