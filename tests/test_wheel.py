"""The wheel carries the library and the course, and works where no repository is."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A folder with what pip would install."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_has_the_library_with_its_drawings_and_types(unpacked):
    library = ROOT / "lib" / "counterpoint"
    wanted = {name for name in below(library) if "__pycache__" not in name}
    assert "py.typed" in wanted
    assert any(name.endswith(".js") for name in wanted)
    assert wanted <= below(unpacked / "counterpoint")


def test_the_wheel_has_the_course_and_no_solutions(unpacked):
    files = below(unpacked)
    for part in ("course", "exercises"):
        for name in below(ROOT / part):
            hidden = any(piece.startswith((".", "__")) for piece in name.split("/"))
            assert (f"counterpoint/_workbook/{part}/{name}" in files) != hidden
    assert not [name for name in files if "solutions/" in name]
    assert not [name for name in files if name.startswith(("tests/", "course/", "lib/"))]


def test_an_installed_wheel_makes_the_workbook(unpacked, tmp_path):
    code = "import sys; from counterpoint.grading.workbook import make_workbook; make_workbook(sys.argv[1])"
    here = {**os.environ, "PYTHONPATH": str(unpacked)}
    subprocess.run([sys.executable, "-c", code, tmp_path / "mine"], env=here, cwd=tmp_path, check=True)
    assert (tmp_path / "mine" / "course" / "00_orientation.ipynb").is_file()
