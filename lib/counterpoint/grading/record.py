"""The learner's progress: points, hints taken and guesses, in one small file of their folder.

`.counterpoint/progress.json` in the nearest folder, upwards from here, that has a `.counterpoint`; else
made here at the first thing worth keeping. Every change is read, made and written under a lock, and the
file is replaced as a whole, so two kernels at once lose nothing. A file that can't be read is kept aside.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from counterpoint.grading.workbook import MARK, find_workbook

if TYPE_CHECKING:
    from counterpoint.grading.exercise import Exercise

FILE, LOCK, VERSION = "progress.json", "progress.lock", 1
FOLDER_VARIABLE = "COUNTERPOINT_PROGRESS"
"""Names the folder instead; "off" keeps nothing (the batch grader's own runs)."""


@dataclass
class Progress:
    """One folder's progress. `notes` says what could not be read or kept."""

    folder: Path | None
    """The `.counterpoint` folder; None keeps nothing."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def here(cls, start: str | Path = ".") -> Progress:
        """The progress that belongs to the folder `start`, or that the environment names."""
        named = os.environ.get(FOLDER_VARIABLE)
        if named:
            return cls(None if named == "off" else Path(named))
        return cls((find_workbook(start) or Path(start).resolve()) / MARK)

    def read(self) -> dict[str, Any]:
        """All that is kept: {"version", "exercises": {name: …}, "guesses": {key: …}}."""
        if self.folder is None:
            return _empty()
        path = self.folder / FILE
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(record, dict) or not isinstance(record["version"], int):
                raise ValueError("no version")
        except FileNotFoundError:
            return _empty()
        except (ValueError, KeyError) as error:
            self._set_aside(path, error)
            return _empty()
        return _empty() | record

    def change(self, edit: Callable[[dict[str, Any]], None]) -> None:
        """Read, `edit` in place and write, while no other kernel does. Never raises: it notes."""
        if self.folder is None:
            return
        try:
            _make(self.folder)
            with _locked(self.folder / LOCK):
                record = self.read()
                if record["version"] > VERSION:
                    self.notes.append(f"Not kept: {self.folder / FILE} was written by a newer Counterpoint.")
                    return
                edit(record)
                _replace(self.folder / FILE, json.dumps(record, indent=1, sort_keys=True) + "\n")
        except OSError as error:
            self.notes.append(f"Not kept: {self.folder / FILE} can't be written ({error.strerror}).")

    def record(self, name: str, points: int, max_points: int) -> None:
        """Count an attempt; the best one stays."""

        def edit(record: dict[str, Any]) -> None:
            entry = record["exercises"].setdefault(name, {})
            entry["attempts"] = entry.get("attempts", 0) + 1
            entry["best"] = max(points, entry.get("best", 0))
            entry["last"], entry["max"] = points, max_points
            if points == max_points:
                entry.setdefault("passed", _now())

        self.change(edit)

    def of(self, name: str) -> dict[str, Any]:
        """What is kept of one exercise: attempts, best, last, max, passed, hints."""
        return self.read()["exercises"].get(name, {})

    def next_hint(self, exercise: Exercise) -> tuple[str, str]:
        """(label, text) of the first hint that was not taken yet, or of the last."""
        level = min(self.of(exercise.name).get("hints", 0), len(exercise.hints) - 1)
        return f"Hint {level + 1} of {len(exercise.hints)}", exercise.hints[level]

    def take_hint(self, exercise: Exercise) -> int:
        """Count one more hint as taken; how many are taken now."""
        taken = min(self.of(exercise.name).get("hints", 0) + 1, len(exercise.hints))

        def edit(record: dict[str, Any]) -> None:
            entry = record["exercises"].setdefault(exercise.name, {})
            entry["hints"] = max(taken, entry.get("hints", 0))

        self.change(edit)
        return taken

    def guess(self, key: str) -> dict[str, Any] | None:
        return self.read()["guesses"].get(key)

    def keep_guess(self, key: str, text: str, unit: str) -> None:
        def edit(record: dict[str, Any]) -> None:
            record["guesses"][key] = {"text": text, "unit": unit, "when": _now()}

        self.change(edit)

    def _set_aside(self, path: Path, error: Exception) -> None:
        stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S-%f")
        aside = path.with_name(f"progress.unreadable-{stamp}.json")
        try:
            os.replace(path, aside)
        except OSError:
            return
        self.notes.append(f"{path} could not be read ({error}); it is kept as {aside.name}.")


def table(folder: str | Path | None = None) -> list[dict[str, Any]]:
    """One row an exercise, in the course's order: topic, name, title, points, max_points, attempts,
    hints, passed (when, or None)."""
    from counterpoint.grading import registry  # imports torch, which the batch grader can do without

    kept = Progress.here(folder or ".").read()["exercises"]
    rows = []
    for exercise in registry.exercises().values():
        entry = kept.get(exercise.name, {})
        rows.append(
            {
                "topic": exercise.topic,
                "name": exercise.name,
                "title": exercise.title,
                "points": entry.get("best", 0),
                "max_points": exercise.max_points,
                "attempts": entry.get("attempts", 0),
                "hints": entry.get("hints", 0),
                "passed": entry.get("passed"),
            }
        )
    return rows


@dataclass(frozen=True)
class Table:
    """The rows of `table`, shown as one."""

    rows: list[dict[str, Any]]
    notes: list[str]

    def __str__(self) -> str:
        lines = []
        for row in self.rows:
            points = f"{row['points']}/{row['max_points']}"
            lines.append(f"{_mark(row)} {row['topic']:16} {row['name']:22} {points:>6}   {_tries(row)}")
        done, most = (sum(row[key] for row in self.rows) for key in ("points", "max_points"))
        return "\n".join([*lines, f"  {done} of {most} points", *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{_mark(row)}</td><td>{row['topic']}</td><td><code>{row['name']}</code></td>"
            f"<td>{row['points']} of {row['max_points']}</td><td>{_tries(row)}</td></tr>"
            for row in self.rows
        )
        head = "<tr><th></th><th>topic</th><th>exercise</th><th>points</th><th>attempts</th></tr>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{head}{body}</table>{notes}"


def progress() -> Table:
    """Every exercise with the points of your best attempt."""
    here = Progress.here()
    here.read()
    return Table(table(), here.notes)


def _mark(row: dict[str, Any]) -> str:
    return "●" if row["points"] == row["max_points"] else "◐" if row["points"] else "○"


def _tries(row: dict[str, Any]) -> str:
    tried = (row["attempts"], "attempt"), (row["hints"], "hint")
    return ", ".join(_count(number, word) for number, word in tried if number)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _empty() -> dict[str, Any]:
    return {"version": VERSION, "exercises": {}, "guesses": {}}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _make(folder: Path) -> None:
    """The folder, which tells git by itself that it is no part of a repository."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file; another process that wants it waits. It is let go even if we are killed."""
    with path.open("a+b") as file:
        _lock(file)
        yield


def _lock(file: IO[bytes]) -> None:
    if os.name == "nt":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)


def _replace(path: Path, text: str) -> None:
    """Write the file, whole or not at all."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
