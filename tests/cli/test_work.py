"""grade, progress and reset print what the library says of a learner's work."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from counterpoint.cli import main
from counterpoint.grading import batch
from counterpoint.grading.batch import Score
from counterpoint.grading.workbook import make_workbook

FULL = Score("08_all_reduce", "star-all-reduce", 4, 4, "4 of 4.", "a.ipynb")
PART = Score(
    "08_all_reduce", "ring-all-reduce", 2.5, 6, "You send the whole vector in every step.", "a.ipynb"
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command, in a folder that has no workbook yet."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def graded(monkeypatch):
    """What `grade` was asked; it answers with FULL and PART, or with those that are named."""
    asked = []

    def grade(folder, names=None):
        asked.append((folder, names))
        return [score for score in (FULL, PART) if names is None or score.name in names]

    monkeypatch.setattr(batch, "grade", grade)
    return asked


@pytest.mark.parametrize("command", [["grade"], ["progress"], ["reset", "ring-all-reduce"]])
def test_without_a_workbook_each_says_how_to_get_one(run, command):
    result = run(*command)
    assert "there is no workbook here" in result.output
    assert result.exit_code == 1


@pytest.mark.parametrize("place", [".", "exercises", ".."])
def test_the_workbook_is_found_from_inside_and_from_beside(run, tmp_path, monkeypatch, graded, place):
    make_workbook("workbook")
    monkeypatch.chdir(tmp_path / "workbook" / place)
    run("grade")
    assert graded[0][0].resolve() == tmp_path / "workbook"


def test_grade_prints_points_and_reasons(run, graded, tmp_path):
    lines = run("grade", "--folder", tmp_path).output.splitlines()
    assert lines == [
        "    4/4  star-all-reduce",
        "  2.5/6  ring-all-reduce",
        f"{'':>7}  {PART.reason}",
        " 6.5/10  in all",
    ]


def test_grade_succeeds_only_with_full_points(run, graded, tmp_path):
    assert run("grade", "--folder", tmp_path).exit_code == 1
    assert run("grade", "--folder", tmp_path, "star-all-reduce").exit_code == 0


def test_grade_exports_several_workbooks(run, graded, tmp_path):
    for name in ("ada", "grace"):
        (tmp_path / name).mkdir()
    folders = ["--folder", "ada", "--folder", "grace"]
    rows = json.loads(run("grade", *folders, "--json").output)
    assert [(row["folder"], row["points"]) for row in rows] == [
        ("ada", 4),
        ("ada", 2.5),
        ("grace", 4),
        ("grace", 2.5),
    ]
    table = list(csv.DictReader(io.StringIO(run("grade", *folders, "--csv").output)))
    assert [row["reason"] for row in table] == [row["reason"] for row in rows]
    assert run("grade", *folders).output.count("in all") == 2


def test_grade_answers_an_unknown_name_with_a_sentence(run):
    make_workbook("workbook")
    result = run("grade", "no-such-thing")
    assert "Error: nothing is called 'no-such-thing'" in result.output
    assert result.exit_code == 1


def test_progress_lists_every_exercise(run):
    make_workbook("workbook")
    rows = json.loads(run("progress", "--json").output)
    text = run("progress").output
    assert rows
    assert all(row["name"] in text for row in rows)
    assert text.endswith(f"0 of {sum(row['max_points'] for row in rows)} points\n")


def test_reset_brings_the_stub_back_and_keeps_the_work(run, tmp_path):
    make_workbook("workbook")
    notebook = tmp_path / "workbook" / "exercises" / "00_orientation" / "00_orientation.ipynb"
    stub = json.loads(notebook.read_text(encoding="utf-8"))
    mine = json.loads(notebook.read_text(encoding="utf-8"))
    (cell,) = (
        c for c in mine["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "hello-neighbour"
    )
    cell["source"] = "my work"
    notebook.write_text(json.dumps(mine), encoding="utf-8")
    result = run("reset", "hello-neighbour")
    assert result.exit_code == 0, result.output
    assert json.loads(notebook.read_text(encoding="utf-8")) == stub
    (kept,) = (tmp_path / "workbook" / ".counterpoint" / "kept").iterdir()
    assert "my work" in kept.read_text(encoding="utf-8")
    assert str(kept) in result.output


def test_reset_answers_an_unknown_name_with_a_sentence(run):
    make_workbook("workbook")
    assert (
        "no exercise 'ring-al-reduce'; did you mean 'ring-all-reduce'"
        in run("reset", "ring-al-reduce").output
    )
