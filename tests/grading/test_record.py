"""Progress is never lost: not by two kernels, not by a broken file, not by a newer one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.grading import hint, progress, solution
from counterpoint.grading.record import FILE, Progress, table
from counterpoint.grading.registry import exercises

WRITER = """
import sys
from counterpoint.grading.record import Progress
which = sys.argv[1]
progress = Progress.here()
for i in range(40):
    progress.record(f"{which}-{i}", i, 40)
    progress.record("shared", i, 40)
    progress.keep_guess(f"{which}-{i}", str(i), "ms")
assert not progress.notes, progress.notes
"""


def test_kernels_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / ".counterpoint").mkdir()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], cwd=tmp_path) for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    kept = Progress.here(tmp_path).read()
    assert {f"{w}-{i}" for w in "abc" for i in range(40)} <= set(kept["exercises"])
    assert len(kept["guesses"]) == 120
    assert kept["exercises"]["shared"]["attempts"] == 120
    assert [p.name for p in (tmp_path / ".counterpoint").iterdir() if p.name.startswith(f".{FILE}")] == []


def test_it_lies_in_the_workbook_whichever_folder_the_notebook_is_in(tmp_path: Path) -> None:
    (tmp_path / ".counterpoint").mkdir()
    below = tmp_path / "exercises" / "08_all_reduce"
    below.mkdir(parents=True)
    Progress.here(below).record("x", 1, 2)
    assert Progress.here(tmp_path).of("x")["best"] == 1


def test_without_a_workbook_it_is_made_here_and_git_ignores_it(tmp_path: Path) -> None:
    Progress.here(tmp_path).record("x", 1, 2)
    assert (tmp_path / ".counterpoint" / ".gitignore").read_text() == "*\n"


def test_the_best_attempt_counts(tmp_path: Path) -> None:
    here = Progress.here(tmp_path)
    for points in (1, 5, 3):
        here.record("x", points, 5)
    entry = here.of("x")
    assert (entry["best"], entry["last"], entry["attempts"]) == (5, 3, 3)
    assert entry["passed"]


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"exercises": {}}', '{"version": "one"}', "\x00\xff"])
def test_a_broken_file_is_kept_aside_and_said_so(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / ".counterpoint"
    folder.mkdir()
    (folder / FILE).write_bytes(broken.encode("latin-1"))
    here = Progress.here(tmp_path)
    here.record("x", 1, 2)
    aside = list(folder.glob("progress.unreadable-*.json"))
    assert [path.read_bytes() for path in aside] == [broken.encode("latin-1")]
    assert "kept as" in here.notes[0]
    assert here.of("x")["best"] == 1


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / ".counterpoint"
    folder.mkdir()
    newer = json.dumps({"version": 2, "exercises": {}, "guesses": {}, "badges": ["a"]})
    (folder / FILE).write_text(newer)
    here = Progress.here(tmp_path)
    here.record("x", 1, 2)
    assert (folder / FILE).read_text() == newer
    assert "newer Counterpoint" in here.notes[0]


def test_unknown_entries_survive(tmp_path: Path) -> None:
    here = Progress.here(tmp_path)
    here.change(lambda record: record.update(later="yes"))
    here.record("x", 1, 2)
    assert here.read()["later"] == "yes"


def test_the_table_has_every_exercise_in_order(tmp_path: Path) -> None:
    Progress.here(tmp_path).record("hello-neighbour", 2, 2)
    rows = table(tmp_path)
    assert [row["name"] for row in rows] == list(exercises())
    assert rows[0]["points"] == 2
    assert "hello-neighbour" in str(progress())
    assert "<table>" in progress()._repr_html_()


def test_hints_go_one_level_further_each_time() -> None:
    shown = [str(hint("ring-all-gather")) for _ in range(4)]
    assert [text.count("Hint ") for text in shown] == [1, 2, 3, 3]
    assert "the last one" in shown[3]
    assert "did you mean" in str(hint("ring-all-gathr"))


def test_a_solution_opens_after_passing_or_on_request() -> None:
    assert "opens when you have passed" in str(solution("star-all-reduce"))
    assert "recv_reduce(tensor, source)" in str(solution("star-all-reduce", show=True))
    Progress.here().record("star-all-reduce", 4, 4)
    assert "recv_reduce(tensor, source)" in str(solution("star-all-reduce"))


def test_a_solution_that_is_not_installed_is_said_to_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.grading.notebooks.course_source", lambda: tmp_path)
    text = str(solution("star-all-reduce", show=True))
    assert "not part of this installation" in text
    assert "solutions/08_all_reduce/08_all_reduce.ipynb" in text


def test_one_attempt_and_two_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = next(iter(exercises()))
    Progress.here().take_hint(exercises()[name])
    assert "  1 hint\n" in str(progress())
    Progress.here().record(name, 0, 2)
    assert "1 attempt, 1 hint\n" in str(progress())
    Progress.here().record(name, 0, 2)
    assert "2 attempts, 1 hint\n" in str(progress())
