"""The learner's workbook: their own copy of the lessons and exercises, which no tool ever overwrites.

What is missing is copied in. What is there stays as it is, byte for byte. When the course has a new
version of something delivered before, it arrives beside the learner's own, as NAME.new.ipynb.

`.counterpoint/delivered.json` in the workbook remembers the digest of each file's version that was
delivered last, so each new version arrives once, whatever the learner does with it.
"""

import hashlib
import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import counterpoint

PARTS = ("course", "exercises")
MARK = ".counterpoint"  # the folder that makes a folder a workbook
DELIVERED = "delivered.json"


@dataclass
class Report:
    """What `make_workbook` did. The paths are relative to `folder`."""

    folder: Path
    copied: list[Path] = field(default_factory=list)  # were missing
    arrived: list[tuple[Path, Path]] = field(default_factory=list)  # the learner's, the new beside it
    kept: list[Path] = field(default_factory=list)  # were there already

    def __str__(self) -> str:
        lines = [f"{self.folder}: {len(self.copied)} files copied in, {len(self.kept)} left as they are"]
        lines += [f"  {mine} has a new version: {new.name}" for mine, new in self.arrived]
        return "\n".join(lines)


def make_workbook(folder: str | Path, source: str | Path | None = None) -> Report:
    """Make or complete the workbook at `folder`, overwriting nothing.

    folder: made if it is not there.
    source: a folder with course/ and exercises/; that of this installation if None.

    Returns what was copied, kept, and delivered beside an older version.
    Raises ValueError if `folder` is, or lies in, the course itself; FileNotFoundError if `source` has
    no course.
    """
    folder = Path(folder).expanduser().resolve()
    source = course_source() if source is None else Path(source).resolve()
    parts = [source / part for part in PARTS if (source / part).is_dir()]
    if not parts:
        raise FileNotFoundError(
            f"{source} has neither {' nor '.join(PARTS)}: install counterpoint again, or say where they are"
        )
    if folder == source or any(folder.is_relative_to(part) for part in parts):
        raise ValueError(f"{folder} is the course itself; choose another, such as {source / 'workbook'}")

    manifest = folder / MARK / DELIVERED
    delivered = _read(manifest)
    before = dict(delivered)
    report = Report(folder)
    for part in parts:
        for path in _files(part):
            name = path.relative_to(source)
            _deliver(path.read_bytes(), name, delivered, report)
    if delivered != before or not manifest.exists():
        _write(manifest, delivered)
    return report


def course_source() -> Path:
    """The folder with course/ and exercises/: the repository's, or the installed package's own."""
    package = Path(counterpoint.__file__).parent
    repository = package.parents[1]
    if (repository / "pyproject.toml").is_file() and (repository / "course").is_dir():
        return repository
    return package / "_workbook"


def find_workbook(start: str | Path = ".") -> Path | None:
    """The workbook that `start` lies in, or None."""
    start = Path(start).resolve()
    return next((place for place in (start, *start.parents) if (place / MARK).is_dir()), None)


def _deliver(content: bytes, name: Path, delivered: dict[str, str], report: Report) -> None:
    """Bring one file into the workbook; note in `delivered` and `report` what was done."""
    digest = _digest(content)
    mine = report.folder / name
    last = delivered.get(name.as_posix())
    delivered[name.as_posix()] = digest
    if create(mine, content):
        report.copied.append(name)
        return
    report.kept.append(name)
    if digest == last or digest == _digest(mine.read_bytes()):
        return
    # The learner's file began as another version, or as nothing of ours.
    for number in range(1, 1000):
        label = "new" if number == 1 else f"new-{number}"
        new = name.with_name(f"{name.stem}.{label}{name.suffix}")
        there = report.folder / new
        if create(there, content) or _digest(there.read_bytes()) == digest:
            report.arrived.append((name, new))
            return
    raise FileExistsError(f"{mine} has 999 new versions beside it; delete those you no longer need")


def create(path: Path, content: bytes) -> bool:
    """Write a file that is not there, whole or not at all. Returns False if it is there."""
    if os.path.lexists(path):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(path, content)
    try:
        os.link(draft, path)  # unlike rename, fails where the name is taken
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            return False
    finally:
        draft.unlink()
    return True


def _files(part: Path) -> list[Path]:
    """All files below `part`, without hidden ones, caches, and links that lead nowhere."""
    return [
        path
        for path in sorted(part.rglob("*"))
        if path.is_file() and not any(name.startswith((".", "__")) for name in path.relative_to(part).parts)
    ]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(manifest: Path) -> dict[str, str]:
    """The digests delivered last. A damaged manifest counts as none: at worst news arrives twice."""
    try:
        record = json.loads(manifest.read_text(encoding="utf-8"))
        return dict(record["files"]) if record["version"] == 1 else {}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def _write(manifest: Path, delivered: dict[str, str]) -> None:
    """Replace the manifest, whole or not at all. Two at once deliver, and so write, the same."""
    manifest.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": 1, "files": dict(sorted(delivered.items()))}, indent=1) + "\n"
    os.replace(_draft(manifest, text.encode()), manifest)


def _draft(path: Path, content: bytes) -> Path:
    """A new hidden file beside `path`, with its content."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with draft.open("xb") as file:
        file.write(content)
    return draft
