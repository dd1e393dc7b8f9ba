"""The batch grader: nbgrader's points, whatever was done to the notebook, and nothing lost in a crash."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoint.grading import notebooks
from counterpoint.grading.batch import grade
from counterpoint.grading.restore import restore

ROOT = Path(__file__).parents[2]
TOPIC = "01_numbers"


def code(name: str, text: str, **marks: Any) -> dict[str, Any]:
    marks = {"schema_version": 3, "grade": False, "locked": False, "solution": False, "task": False, **marks}
    return {
        "cell_type": "code", "id": name, "execution_count": None, "outputs": [], "source": text,
        "metadata": {"nbgrader": marks | {"grade_id": name}},
    }  # fmt: skip


def region(name: str, body: str) -> dict[str, Any]:
    text = f"def {name}(x):\n    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"
    return code(name, text, solution=True)


SOLVED = {
    "cells": [
        code("setup", "import sys", locked=True),
        region("double", "return 2 * x"),
        code(
            "double-test",
            'print("noise", file=sys.stderr)\nsum(double(x) == 2 * x for x in (0, 1, 2, 3))',
            grade=True, locked=True, points=4,
        ),
        region("triple", "return 3 * x"),
        code("triple-test", "assert triple(2) == 6", grade=True, locked=True, points=2),
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}  # fmt: skip


def changed(**texts: str) -> dict[str, Any]:
    """The solved notebook with other texts in some cells; an empty one deletes the cell."""
    notebook = copy.deepcopy(SOLVED)
    names = {name.replace("_", "-"): text for name, text in texts.items()}
    for cell in notebook["cells"]:
        cell["source"] = names.get(cell["id"], cell["source"])
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["source"]]
    return notebook


LEARNERS: dict[str, tuple[dict[str, Any], list[float]]] = {
    "perfect": (SOLVED, [4, 2]),
    "naive": (changed(double="def double(x):\n    return x + x if x < 3 else x"), [3, 2]),
    "empty": (
        changed(
            double="def double(x):\n    raise NotImplementedError()",
            triple="def triple(x):\n    raise NotImplementedError()",
        ),
        [0, 0],
    ),
    "edited-test": (changed(double="def double(x):\n    return 7", double_test="4"), [0, 2]),
    "deleted-test": (changed(triple="def triple(x):\n    return 7", triple_test=""), [4, 0]),
    "syntax-error": (changed(double="def double(x:\n    return 2 * x"), [0, 2]),
    "endless-loop": (changed(double="def double(x):\n    while True:\n        pass"), [0, 2]),
}


def hand_in(folder: Path, notebook: dict[str, Any]) -> Path:
    path = folder / TOPIC / f"{TOPIC}.ipynb"
    path.parent.mkdir(parents=True)
    notebooks.write(path, notebook)
    return path


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one topic, with two exercises that need nothing."""
    hand_in(tmp_path / "course" / "solutions", SOLVED)
    return tmp_path / "course"


@pytest.mark.slow
def test_the_points_are_nbgraders(course: Path) -> None:
    shutil.copy(ROOT / "nbgrader_config.py", course)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("c.Execute.timeout = 4\n")
    for learner, (notebook, _) in LEARNERS.items():
        hand_in(course / "submitted" / learner, notebook)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for step in ("generate_assignment", "autograde"):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", step, TOPIC, "--force"],
            cwd=course, env=os.environ | {"PATH": path}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    theirs = json.loads(
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", READ_GRADEBOOK, str(course / "gradebook.db"), TOPIC],
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    for learner, (_, points) in LEARNERS.items():
        scores = grade(course / "submitted" / learner, source=course, cell_seconds=4)
        assert [score.points for score in scores] == points, learner
        assert theirs[learner] == points, learner
        if learner == "syntax-error":
            assert "the cell double did not run: SyntaxError" in scores[0].reason


READ_GRADEBOOK = """
import json, sys
from nbgrader.api import Gradebook
found = {}
with Gradebook("sqlite:///" + sys.argv[1]) as gradebook:
    for submission in gradebook.assignment_submissions(sys.argv[2]):
        grades = {grade.name: grade.score for notebook in submission.notebooks for grade in notebook.grades}
        found[submission.student.id] = [grades["double-test"], grades["triple-test"]]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_kernel_that_dies_keeps_what_was_scored_before(course: Path, tmp_path: Path) -> None:
    notebook = changed(triple="import os\nos._exit(1)")
    hand_in(tmp_path / "mine", notebook)
    first, second = grade(tmp_path / "mine", source=course)
    assert (first.points, second.points) == (4, 0)
    assert "its kernel died" in second.reason


@pytest.mark.slow
def test_a_notebook_that_takes_too_long_keeps_what_was_scored_before(course: Path, tmp_path: Path) -> None:
    loop = "while True:\n    try:\n        while True:\n            pass\n    except KeyboardInterrupt:\n        pass"
    hand_in(tmp_path / "mine", changed(triple=loop))
    first, second = grade(tmp_path / "mine", source=course, cell_seconds=1, seconds=8)
    assert (first.points, second.points) == (4, 0)
    assert "not done after 8 seconds" in second.reason


@pytest.mark.slow
def test_the_courses_own_notebook_gets_the_checks_points_and_sentences(tmp_path: Path) -> None:
    topic = "00_orientation"
    folder = tmp_path / "workbook" / "exercises"
    shutil.copytree(ROOT / "solutions" / topic, folder / topic)
    path = folder / topic / f"{topic}.ipynb"
    path.write_text(path.read_text().replace("sendrecv(mine, right, theirs, left)", "send(mine, right)"))
    before = path.read_bytes()
    (score,) = grade(folder.parent, ["00"])
    assert (score.name, score.points, score.max_points) == ("hello-neighbour", 0, 2)
    assert score.file == str(path)
    assert "nobody took them" in score.reason
    assert path.read_bytes() == before
    assert json.dumps(score.to_json())
    assert not list(tmp_path.rglob(".counterpoint"))


def test_what_is_missing_or_no_notebook_scores_nothing_and_says_why(course: Path, tmp_path: Path) -> None:
    path = hand_in(tmp_path / "mine", SOLVED)
    path.write_text("{")
    assert {(s.points, "is not a notebook" in s.reason) for s in grade(tmp_path / "mine", source=course)} == {
        (0, True)
    }
    path.unlink()
    assert {s.reason for s in grade(tmp_path / "mine", source=course)} == {"there is no such notebook"}


def test_a_name_that_fits_nothing_is_an_error(course: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "mine", SOLVED)
    with pytest.raises(ValueError, match="nothing is called 'quadruple'; give a topic \\(01_numbers\\)"):
        grade(tmp_path / "mine", ["quadruple"], source=course)
    with pytest.raises(ValueError, match="has no exercise notebooks"):
        grade(tmp_path / "elsewhere", source=course)


def test_restoring_puts_deleted_cells_back_in_their_places() -> None:
    gone = copy.deepcopy(SOLVED)
    gone["cells"] = [cell for cell in gone["cells"] if cell["id"] not in ("setup", "double-test")]
    restored = [cell["id"] for cell in restore(gone, SOLVED)["cells"]]
    assert restored == [cell["id"] for cell in SOLVED["cells"]]


def test_copies_of_test_cells_and_invented_ones_count_for_nothing() -> None:
    more = copy.deepcopy(SOLVED)
    more["cells"].append(copy.deepcopy(more["cells"][2]))
    more["cells"].append(code("bonus", "100", grade=True, locked=True, points=100))
    restored = restore(more, SOLVED)["cells"]
    assert [bool(notebooks.marked(cell)) for cell in restored[-2:]] == [False, False]
