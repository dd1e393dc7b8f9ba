"""exercises/ is what nbgrader makes of solutions/, byte for byte, and a difference is noticed."""

import shutil
from pathlib import Path

import pytest

from counterpoint.grading import notebooks
from counterpoint.grading.release import differing, write

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_committed_exercises_are_generated_from_the_solutions() -> None:
    assert differing(ROOT) == [], "run: python -m counterpoint.grading.release"


@pytest.mark.slow
def test_a_difference_is_noticed_and_mended(tmp_path: Path) -> None:
    topic = "00_orientation"
    shutil.copytree(ROOT / "solutions" / topic, tmp_path / "solutions" / topic)
    shutil.copytree(ROOT / "exercises" / topic, tmp_path / "exercises" / topic)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    path = tmp_path / "exercises" / topic / f"{topic}.ipynb"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"2 lines", b"3 lines"))
    extra = tmp_path / "exercises" / "99_extra" / "99_extra.ipynb"
    extra.parent.mkdir()
    notebooks.write(extra, {"cells": []})
    lines = differing(tmp_path)
    assert [line.split(":")[0] for line in lines] == ["99_extra/99_extra.ipynb", f"{topic}/{topic}.ipynb"]
    write(tmp_path)
    assert path.read_bytes() == before
    assert not extra.exists()
