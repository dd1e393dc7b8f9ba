"""Known-wrong answers: one file an exercise, each with the sentence that must refuse it.

`python -m tests.wrong_answers` prints them as a table. Each file has a list `WRONG` of
(the mistake, the answer, a part of the sentence meant for it, the points it may earn).
"""

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Wrong:
    """One planted answer."""

    exercise: str
    mistake: str
    answer: Any
    says: str
    points: int
    seconds: float
    """The limit to run it under: small for those that never end."""

    def __str__(self) -> str:
        return f"{self.exercise}: {self.mistake}"


def planted() -> Iterator[Wrong]:
    """All of them, by exercise."""
    for path in sorted(HERE.glob("*.py")):
        if path.stem in ("__main__", "planted"):
            continue
        name = path.stem.replace("_", "-")
        for mistake, answer, says, points in runpy.run_path(str(path), run_name=path.stem)["WRONG"]:
            endless = mistake.startswith("never ends")
            yield Wrong(name, mistake, answer, says, points, 2.0 if endless else 20.0)
