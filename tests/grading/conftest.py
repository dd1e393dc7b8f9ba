"""The course's exercise notebooks as Python, and a child process for all tests of one run."""

import linecache
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.grading import notebooks
from counterpoint.grading.child import Child

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def child() -> Iterator[Child]:
    """One warm process, for all checks."""
    warm = Child()
    warm.start()
    yield warm
    warm.stop()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes its progress into the repository."""
    monkeypatch.chdir(tmp_path)


def cells(part: str, topic: str) -> list[dict[str, Any]]:
    """The cells of a topic's notebook in solutions/ or exercises/."""
    return notebooks.read(ROOT / part / topic / f"{topic}.ipynb")["cells"]


def answers(part: str, topic: str) -> dict[str, Any]:
    """What the cells that hold answers define, run in one namespace as a kernel would."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(part, topic):
        name = notebooks.grade_id(cell)
        if notebooks.marked(cell).get("solution") or name == "setup":
            text, file = notebooks.text(cell), f"<{part} {topic} {name}>"
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            try:
                exec(compile(text, file, "exec"), space)
            except NotImplementedError:
                assert part == "exercises"
    return space


@pytest.fixture(scope="session")
def solved() -> dict[str, dict[str, Any]]:
    """By topic, what solutions/ defines."""
    return {path.name: answers("solutions", path.name) for path in sorted((ROOT / "solutions").iterdir())}


@pytest.fixture(scope="session")
def stubs() -> dict[str, dict[str, Any]]:
    """By topic, what exercises/ defines."""
    return {path.name: answers("exercises", path.name) for path in sorted((ROOT / "exercises").iterdir())}
