"""exercises/ is generated from solutions/ by nbgrader, and committed: this writes it, or compares.

python -m counterpoint.grading.release            write exercises/
python -m counterpoint.grading.release --check    say what differs; exit status 1 if anything does
"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from counterpoint.grading.notebooks import EXERCISES, SOLUTIONS
from counterpoint.grading.workbook import course_source


def generate(root: Path, folder: Path) -> list[Path]:
    """Generate every topic of root/solutions into `folder`; the paths below it that were made.

    root: a course with solutions/ and nbgrader_config.py. Raises RuntimeError with nbgrader's own words.
    """
    topics = sorted(path.name for path in (root / SOLUTIONS).iterdir() if path.is_dir())
    for topic in topics:
        done = subprocess.run(
            [
                sys.executable, "-m", "nbgrader", "generate_assignment", topic, "--no-db", "--force",
                f"--CourseDirectory.root={root}", f"--CourseDirectory.release_directory={folder}",
            ],
            cwd=root, capture_output=True, text=True, env=_environment(),
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"nbgrader could not generate {topic}:\n{done.stderr}")
    return [path.relative_to(folder) for path in sorted(folder.rglob("*.ipynb"))]


def differing(root: Path) -> list[str]:
    """What root/exercises would have to change to agree with root/solutions, one line each."""
    with tempfile.TemporaryDirectory() as name:
        made = generate(root, Path(name))
        there = {path.relative_to(root / EXERCISES) for path in (root / EXERCISES).rglob("*.ipynb")}
        lines = [f"{path}: not generated from {SOLUTIONS}/" for path in sorted(there - set(made))]
        for path in made:
            mine = root / EXERCISES / path
            if not mine.exists():
                lines.append(f"{path}: missing")
            elif not filecmp.cmp(mine, Path(name) / path, shallow=False):
                lines.append(f"{path}: differs from what {SOLUTIONS}/ generates")
    return lines


def write(root: Path) -> list[Path]:
    """Write root/exercises; what is there and not generated any more goes."""
    with tempfile.TemporaryDirectory() as name:
        made = generate(root, Path(name))
        for path in made:
            (root / EXERCISES / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(name) / path, root / EXERCISES / path)
    for old in (root / EXERCISES).rglob("*.ipynb"):
        if old.relative_to(root / EXERCISES) not in made and ".ipynb_checkpoints" not in old.parts:
            old.unlink()
    return made


def _environment() -> dict[str, str]:
    """nbgrader calls alembic by its bare name."""
    bin_folder = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")])}


def main(arguments: list[str]) -> int:
    root = course_source()
    if not (root / SOLUTIONS).is_dir():
        print(f"{root} has no {SOLUTIONS}/: exercises are generated in the course's repository")
        return 1
    if arguments == ["--check"]:
        lines = differing(root)
        print("\n".join(lines) or f"{EXERCISES}/ agrees with {SOLUTIONS}/")
        return 1 if lines else 0
    for path in write(root):
        print(f"{EXERCISES}/{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
