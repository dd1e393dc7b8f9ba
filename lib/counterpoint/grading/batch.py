"""Grades whole notebooks without anybody there: the same check, the same points as in the notebook.

Each notebook runs in a process of its own under a limit for each cell and one overall. Locked cells that
were edited or deleted are first restored from the course's own notebook. Each test cell's points are
written down as soon as it has run, so a crash keeps those before it. Points follow nbgrader's rules.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import counterpoint
from counterpoint.grading import notebooks
from counterpoint.grading.notebooks import EXERCISES, SOLUTIONS, Notebook
from counterpoint.grading.record import FOLDER_VARIABLE
from counterpoint.grading.restore import restore
from counterpoint.grading.verdict import PICTURES_VARIABLE
from counterpoint.grading.workbook import course_source

CELL_SECONDS, SECONDS = 60.0, 600.0


@dataclass(frozen=True)
class Score:
    """The points of one exercise in one notebook."""

    topic: str
    name: str
    points: float
    max_points: float
    reason: str
    """The check's sentence; or why it did not come to one."""
    file: str
    """Which file was graded."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def grade(
    folder: str | Path,
    names: Sequence[str] | None = None,
    *,
    cell_seconds: float = CELL_SECONDS,
    seconds: float = SECONDS,
    source: str | Path | None = None,
) -> list[Score]:
    """Grade the exercise notebooks below `folder`; nothing there is changed.

    folder: a workbook, or a folder of topics such as exercises/. names: topics ("08_all_reduce", "08") or
    exercises ("ring-all-reduce") to grade; all if None. cell_seconds, seconds: limits for each cell and
    for each notebook. source: the course with solutions/ or exercises/, that of this installation if None.

    Returns one score an exercise, in the course's order; what is missing in the folder scores 0.
    Raises ValueError if `names` has one that fits nothing, or `folder` has no exercises.
    """
    folder = Path(folder)
    course = Path(source) if source is not None else course_source()
    below = folder / EXERCISES if (folder / EXERCISES).is_dir() else folder
    topics = {path.parent.name: path for path in sorted(_originals(course))}
    if not any((below / topic).is_dir() for topic in topics):
        raise ValueError(f"{folder} has no exercise notebooks; give the workbook's folder")
    scores: list[Score] = []
    unused = set(names or ())
    for topic, original_path in topics.items():
        original = notebooks.read(original_path)
        tests = list(_tests(original))
        wanted = _wanted(topic, [name for name, _ in tests], names, unused)
        if wanted:
            mine = below / topic / f"{topic}.ipynb"
            found = _grade_topic(topic, mine, original, tests, cell_seconds, seconds)
            scores += [score for score in found if score.name in wanted]
    if unused:
        known = ", ".join(topics)
        raise ValueError(f"nothing is called {sorted(unused)[0]!r}; give a topic ({known}) or an exercise")
    return scores


def _originals(course: Path) -> list[Path]:
    """The course's own notebooks: the solutions where they are present, else the exercises."""
    for part in (SOLUTIONS, EXERCISES):
        found = [path / f"{path.name}.ipynb" for path in (course / part).glob("*") if path.is_dir()]
        if found:
            return [path for path in found if path.is_file()]
    return []


def _tests(original: Notebook) -> Iterator[tuple[str, float]]:
    """(exercise, points) of each test cell."""
    for cell in original["cells"]:
        marks = notebooks.marked(cell)
        if marks.get("grade"):
            yield marks["grade_id"].removesuffix("-test"), float(marks["points"])


def _wanted(topic: str, own: list[str], names: Sequence[str] | None, unused: set[str]) -> set[str]:
    if names is None:
        return set(own)
    found: set[str] = set()
    for name in names:
        hits = set(own) if topic == name or topic.startswith(f"{name}_") else {name} & set(own)
        if hits:
            unused.discard(name)
        found |= hits
    return found


def _grade_topic(
    topic: str,
    mine: Path,
    original: Notebook,
    tests: list[tuple[str, float]],
    cell_seconds: float,
    seconds: float,
) -> list[Score]:
    done: dict[str, dict[str, Any]] = {}
    why = ""
    try:
        done, why = _run(restore(notebooks.read(mine), original), mine.parent, cell_seconds, seconds)
    except (ValueError, OSError) as error:
        why = "there is no such notebook" if isinstance(error, FileNotFoundError) else str(error)
    return [
        Score(topic, name, 0.0, most, why or "its test cell did not run", str(mine))
        if name not in done
        else Score(topic, name, min(done[name]["points"], most), most, done[name]["reason"], str(mine))
        for name, most in tests
    ]


def _run(
    notebook: Notebook, folder: Path, cell_seconds: float, seconds: float
) -> tuple[dict[str, dict[str, Any]], str]:
    """Run the notebook in a process; ({exercise: {points, reason}}, why the others have none)."""
    with tempfile.TemporaryDirectory() as name:
        there, scores = Path(name) / "notebook.ipynb", Path(name) / "scores.jsonl"
        notebooks.write(there, notebook)
        scores.touch()
        process = subprocess.Popen(
            [
                sys.executable, "-m", "counterpoint.grading.notebook_run",
                str(there), str(scores), str(folder.resolve()), str(cell_seconds),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=_environment(), start_new_session=True,
        )  # fmt: skip
        why = ""
        try:
            _, said = process.communicate(timeout=seconds)
            if process.returncode:
                why = f"the notebook stopped: {_last_line(said)}"
        except subprocess.TimeoutExpired:
            why = f"the notebook was not done after {seconds:g} seconds"
        finally:
            _end(process)
        rows = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    return {row["name"]: row for row in rows}, why


def _environment() -> dict[str, str]:
    library = str(Path(counterpoint.__file__).parents[1])
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")]))
    return os.environ | {
        "PYTHONPATH": path,
        FOLDER_VARIABLE: "off",
        PICTURES_VARIABLE: "off",
        "PYTHONWARNINGS": "ignore",
    }


def _end(process: subprocess.Popen) -> None:
    """End it and what it started; kernels end by themselves when their starter is gone."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    elif process.poll() is None:
        process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def _last_line(said: str | None) -> str:
    lines = [line.strip() for line in (said or "").splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
