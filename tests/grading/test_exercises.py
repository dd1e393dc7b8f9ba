"""The course's exercises: every stub fails kindly, every solution earns everything, and they agree."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from counterpoint.grading import notebooks, registry
from counterpoint.grading.checking import grade_answer
from counterpoint.grading.checks.read_a_deadlock import CYCLE, WAITS
from counterpoint.grading.child import Child
from counterpoint.grading.exercise import Exercise
from counterpoint.grading.hints import explained
from counterpoint.ranks import DeadlockError, launch

ROOT = Path(__file__).parents[2]
EXERCISES = registry.exercises()

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


def cells_of(part: str, topic: str) -> dict[str, str]:
    notebook = notebooks.read(ROOT / part / topic / f"{topic}.ipynb")
    return {cell["id"]: notebooks.text(cell) for cell in notebook["cells"]}


@every_exercise
def test_the_solution_earns_every_point(exercise: Exercise, solved: dict, child: Child) -> None:
    verdict = grade_answer(exercise.name, solved[exercise.topic][exercise.function], child=child)
    assert verdict.passed, str(verdict)


@every_exercise
def test_the_stub_fails_with_a_friendly_sentence(exercise: Exercise, stubs: dict, child: Child) -> None:
    verdict = grade_answer(exercise.name, stubs[exercise.topic][exercise.function], child=child)
    assert verdict.points == 0
    assert "othing is here yet" in verdict.message


@every_exercise
def test_the_solution_has_the_stubs_signature(exercise: Exercise, solved: dict, stubs: dict) -> None:
    mine, given = (space[exercise.topic][exercise.function] for space in (solved, stubs))
    if callable(mine):
        assert inspect.signature(mine) == inspect.signature(given)
        assert tuple(inspect.signature(mine).parameters) == exercise.parameters
        assert mine.__doc__ == given.__doc__


@every_exercise
def test_the_card_says_what_the_check_counts(exercise: Exercise) -> None:
    cells = cells_of("solutions", exercise.topic)
    card = cells[f"{exercise.name}-card"]
    assert exercise.card in card
    assert exercise.title in card
    assert "You'll build" in card
    assert "Why it matters:" in card
    test = notebooks.cell_of(f"{exercise.name}-test", exercise.topic, "solutions")
    assert test is not None
    assert notebooks.marked(test)["points"] == exercise.max_points
    assert notebooks.marked(test)["locked"]
    assert notebooks.text(test) == f'cp.check("{exercise.name}", {exercise.function}).points'


@every_exercise
def test_there_is_a_guess_before_the_stub(exercise: Exercise) -> None:
    ids = list(cells_of("solutions", exercise.topic))
    assert ids.index(f"{exercise.name}-guess") < ids.index(exercise.name) < ids.index(f"{exercise.name}-test")
    assert "cp.predict(" in cells_of("solutions", exercise.topic)[f"{exercise.name}-guess"]


@every_exercise
def test_there_are_three_hints_and_an_explained_solution(exercise: Exercise) -> None:
    assert len(exercise.hints) == 3
    found = explained(exercise)
    assert found is not None
    prose, code = found
    assert len(prose.split()) >= 20
    assert "SOLUTION" not in code
    assert exercise.function in code


@every_exercise
def test_the_solution_is_not_much_longer_than_the_stub_says(exercise: Exercise) -> None:
    text = cells_of("solutions", exercise.topic)[exercise.name]
    promised = re.search(r"(\d+) lines?\.", text)
    if not promised:
        pytest.skip("the stub promises no length: the answer is a value")
    region = text.split("### BEGIN SOLUTION")[1].split("### END SOLUTION")[0].splitlines()
    lines = [line for line in region if line.strip() and not line.strip().startswith("#")]
    assert len(lines) <= int(promised[1]) + 2


@pytest.mark.parametrize("topic", sorted({e.topic for e in EXERCISES.values()}))
def test_notebooks_are_clean(topic: str) -> None:
    for part in ("solutions", "exercises"):
        notebook = json.loads((ROOT / part / topic / f"{topic}.ipynb").read_text(encoding="utf-8"))
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(set(ids)) == len(ids)
        for cell in notebook["cells"]:
            assert not re.fullmatch(r"[0-9a-f]{8}", cell["id"]), "give the cell a name of its own"
            if cell["cell_type"] == "code":
                assert cell["outputs"] == []
                assert cell["execution_count"] is None
            elif cell["cell_type"] == "markdown":
                assert len(notebooks.text(cell).split()) <= 90


def test_the_released_notebooks_hold_no_solution() -> None:
    for path in (ROOT / "exercises").rglob("*.ipynb"):
        assert "SOLUTION" not in path.read_text(encoding="utf-8")


def test_the_deadlock_to_read_is_the_one_that_the_check_knows() -> None:
    space: dict[str, Any] = {}
    text = cells_of("solutions", "08_all_reduce")
    exec(text["setup"] + "\n" + text["read-a-deadlock-run"], space)
    with pytest.raises(DeadlockError) as caught:
        launch(space["assemble"], 6, (space["torch"].ones(4),))
    assert tuple(caught.value.cycle) == CYCLE
    assert {wait.rank: wait.peers[0] for wait in caught.value.waits} == WAITS


def test_a_misspelt_name_leads_to_the_right_one() -> None:
    verdict = grade_answer("ring-allreduce", None)
    assert verdict.max_points == 0
    assert "did you mean 'ring-all-reduce'" in str(verdict)
    assert "there are hello-neighbour" in grade_answer("xyzzy", None).message
    assert grade_answer(None, None).max_points == 0  # type: ignore[arg-type]
