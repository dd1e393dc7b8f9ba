"""`reset` puts one exercise back and keeps everything else, the learner's work included."""

import json
import shutil
from pathlib import Path

import pytest

from counterpoint.grading import notebooks
from counterpoint.grading.reset import reset

ROOT = Path(__file__).parents[2]
TOPIC = "08_all_reduce"


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A workbook in which every exercise is solved."""
    (tmp_path / ".counterpoint").mkdir()
    shutil.copytree(ROOT / "solutions" / TOPIC, tmp_path / "exercises" / TOPIC)
    return tmp_path


def texts(path: Path) -> dict[str, str]:
    return {cell["id"]: notebooks.text(cell) for cell in notebooks.read(path)["cells"]}


def test_one_exercise_is_its_stub_again_and_the_rest_is_as_it_was(workbook: Path) -> None:
    path = workbook / "exercises" / TOPIC / f"{TOPIC}.ipynb"
    before, bytes_before = texts(path), path.read_bytes()
    done = reset("ring-all-gather", workbook)
    after = texts(path)
    released = texts(ROOT / "exercises" / TOPIC / f"{TOPIC}.ipynb")
    assert {name for name in before if before[name] != after[name]} == {"ring-all-gather"}
    assert after["ring-all-gather"] == released["ring-all-gather"]
    assert list(before) == list(after)
    assert done.copy.read_bytes() == bytes_before
    assert done.copy.parent == workbook / ".counterpoint" / "kept"
    assert str(done.copy) in str(done)


def test_twice_in_a_second_keeps_two_copies(workbook: Path) -> None:
    assert reset("ring-all-gather", workbook).copy != reset("ring-all-gather", workbook).copy


def test_a_deleted_answer_comes_back_before_its_test(workbook: Path) -> None:
    path = workbook / "exercises" / TOPIC / f"{TOPIC}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] != "star-all-reduce"]
    notebooks.write(path, notebook)
    reset("star-all-reduce", workbook)
    names = list(texts(path))
    assert names.index("star-all-reduce") + 1 == names.index("star-all-reduce-test")


def test_a_name_or_a_folder_that_is_wrong_is_an_error(workbook: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'star-all-reduce'"):
        reset("star-allreduce", workbook)
    with pytest.raises(ValueError, match="give the workbook's folder"):
        reset("hello-neighbour", workbook)
