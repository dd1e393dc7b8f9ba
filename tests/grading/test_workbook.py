"""The workbook keeps what the learner has, whatever the course does."""

import json
import shutil
import subprocess
import sys
from subprocess import PIPE

import pytest

from counterpoint.grading import workbook
from counterpoint.grading.workbook import DELIVERED, MARK, find_workbook, make_workbook

LESSON = "course/08_all_reduce.ipynb"
NEW = "course/08_all_reduce.new.ipynb"
EXERCISE = "exercises/08_all_reduce/08_all_reduce.ipynb"


def contents(folder):
    """Every file below `folder` with its bytes, in the manifest too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def source(tmp_path):
    """A small course."""
    root = tmp_path / "source"
    for name, text in {
        LESSON: "lesson, first edition",
        EXERCISE: "exercise",
        "course/pictures/ring.svg": "<svg/>",
        "course/.ipynb_checkpoints/old.ipynb": "not to be copied",
        "exercises/08_all_reduce/__pycache__/x.pyc": "not to be copied",
        "solutions/08_all_reduce/08_all_reduce.ipynb": "not to be copied",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "workbook"


def names(folder):
    return {name for name in contents(folder) if not name.startswith(MARK)}


def test_the_first_time_copies_lessons_and_exercises(source, folder):
    report = make_workbook(folder, source)
    assert names(folder) == {LESSON, EXERCISE, "course/pictures/ring.svg"}
    assert len(report.copied) == 3
    assert not report.kept
    assert not report.arrived


def test_the_second_time_changes_nothing_and_writes_nothing(source, folder, monkeypatch):
    make_workbook(folder, source)
    before = contents(folder)
    monkeypatch.setattr(workbook, "_draft", lambda *_: pytest.fail("wrote a file"))
    report = make_workbook(folder, source)
    assert contents(folder) == before
    assert len(report.kept) == 3
    assert not report.copied


def test_a_lesson_the_learner_deleted_comes_back(source, folder):
    make_workbook(folder, source)
    (folder / LESSON).unlink()
    make_workbook(folder, source)
    assert (folder / LESSON).read_text() == "lesson, first edition"


@pytest.mark.parametrize("mine", ["my own notes", "lesson, first edition"])
def test_a_new_edition_arrives_beside_the_learners_file(source, folder, mine):
    make_workbook(folder, source)
    (folder / LESSON).write_text(mine)
    (source / LESSON).write_text("lesson, second edition")
    report = make_workbook(folder, source)
    assert (folder / LESSON).read_text() == mine
    assert (folder / NEW).read_text() == "lesson, second edition"
    assert "has a new version: 08_all_reduce.new.ipynb" in str(report)


def test_a_new_edition_arrives_once_whatever_becomes_of_it(source, folder):
    make_workbook(folder, source)
    (source / LESSON).write_text("lesson, second edition")
    make_workbook(folder, source)
    (folder / NEW).unlink()
    assert not make_workbook(folder, source).arrived
    assert NEW not in names(folder)


def test_a_third_edition_does_not_overwrite_the_second(source, folder):
    make_workbook(folder, source)
    (source / LESSON).write_text("lesson, second edition")
    make_workbook(folder, source)
    (folder / NEW).write_text("second edition with my notes")
    (source / LESSON).write_text("lesson, third edition")
    make_workbook(folder, source)
    assert (folder / NEW).read_text() == "second edition with my notes"
    assert (folder / "course/08_all_reduce.new-2.ipynb").read_text() == "lesson, third edition"


def test_a_learner_who_took_the_new_edition_over_is_left_alone(source, folder):
    make_workbook(folder, source)
    (source / LESSON).write_text("lesson, second edition")
    make_workbook(folder, source)
    (folder / NEW).rename(folder / LESSON)
    report = make_workbook(folder, source)
    assert not report.arrived
    assert NEW not in names(folder)


def test_work_outside_the_course_is_not_touched(source, folder):
    (folder / "course").mkdir(parents=True)
    (folder / LESSON).write_text("here before the workbook was")
    (folder / "mine.ipynb").write_text("mine")
    make_workbook(folder, source)
    assert (folder / LESSON).read_text() == "here before the workbook was"
    assert (folder / "mine.ipynb").read_text() == "mine"
    assert (folder / NEW).read_text() == "lesson, first edition"


@pytest.mark.parametrize("damage", ["", "{", '{"version": 1}', '{"version": 2, "files": {}}', "[]"])
def test_a_damaged_manifest_costs_no_work(source, folder, damage):
    make_workbook(folder, source)
    (folder / LESSON).write_text("my own notes")
    (folder / MARK / DELIVERED).write_text(damage)
    make_workbook(folder, source)
    assert (folder / LESSON).read_text() == "my own notes"
    assert json.loads((folder / MARK / DELIVERED).read_text())["version"] == 1


def test_a_file_system_without_hard_links_works_too(source, folder, monkeypatch):
    def no_link(*_):
        raise PermissionError("this file system has no hard links")

    monkeypatch.setattr(workbook.os, "link", no_link)
    make_workbook(folder, source)
    (source / LESSON).write_text("lesson, second edition")
    make_workbook(folder, source)
    assert names(folder) == {LESSON, NEW, EXERCISE, "course/pictures/ring.svg"}


def test_a_copy_cut_short_leaves_no_half_file(source, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workbook, "_draft", full)
    with pytest.raises(OSError, match="No space"):
        make_workbook(folder, source)
    assert contents(folder) == {}
    monkeypatch.undo()
    assert len(make_workbook(folder, source).copied) == 3


def test_the_course_itself_is_no_workbook(source):
    before = contents(source)
    for folder in (source, source / "course", source / "exercises" / "mine"):
        with pytest.raises(ValueError, match="is the course itself; choose another"):
            make_workbook(folder, source)
    assert contents(source) == before


def test_a_source_without_a_course_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="neither course nor exercises"):
        make_workbook(tmp_path / "workbook", tmp_path)


def test_a_workbook_is_found_from_any_folder_inside_it(source, folder, tmp_path):
    make_workbook(folder, source)
    assert find_workbook(folder / "exercises" / "08_all_reduce") == folder
    assert find_workbook(folder) == folder
    assert find_workbook(source) is None


# Another process that makes the workbook as soon as it is told to; it loads that one file, not all of torch.
MAKER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("workbook", sys.argv[1])
module = sys.modules["workbook"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("ready", flush=True)
sys.stdin.readline()
module.make_workbook(sys.argv[2], sys.argv[3])
"""


def test_four_at_once_make_one_workbook(source, folder):
    for number in range(50):
        (source / f"course/{number:02}.ipynb").write_text(f"lesson {number}" * 1000)
    make_workbook(folder, source)
    (folder / LESSON).write_text("my own notes")
    (source / LESSON).write_text("lesson, second edition")
    shutil.rmtree(folder / "exercises")
    command = [sys.executable, "-c", MAKER, workbook.__file__, folder, source]
    makers = [subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) for _ in range(4)]
    assert [maker.stdout.readline() for maker in makers] == ["ready\n"] * 4
    for maker in makers:
        maker.stdin.write("go\n")
        maker.stdin.flush()
    for maker in makers:
        maker.communicate()
    assert [maker.returncode for maker in makers] == [0] * 4
    assert (folder / LESSON).read_text() == "my own notes"
    assert (folder / NEW).read_text() == "lesson, second edition"
    assert names(folder) == {name for name in names(source) if name.split("/")[0] != "solutions"} - {
        "course/.ipynb_checkpoints/old.ipynb",
        "exercises/08_all_reduce/__pycache__/x.pyc",
    } | {NEW}
    assert set(contents(folder)) - names(folder) == {f"{MARK}/{DELIVERED}"}
