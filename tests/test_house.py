"""The house is in order: notebooks without outputs, files of a readable length, nothing of one machine."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 300  # lines; aim at 100
NOTEBOOKS = ("course", "solutions", "exercises")
OF_ONE_MACHINE = {
    "a path of somebody's machine": re.compile(r"(?<![\w.~])/(?:home|root|Users|work)/\w"),
    "the address of a package index": re.compile(
        r"(?:index-url|find-links|registry)\s*[=:]\s*\S*//|https?://\S*(?:pypi|pythonhosted|registry|/simple/)"
    ),
}


def files(*patterns: str) -> list[Path]:
    """The repository's files that match, tracked or new; of an unpacked archive, all."""
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return [path for pattern in patterns for path in ROOT.glob(f"**/{pattern}")]
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


# -- the rules, each a list of complaints about one text --------------------------------------------


def notebook_faults(notebook: dict, text: str = "") -> Iterator[str]:
    """What keeps a notebook from being a source: outputs, counts, unstable ids, an older format."""
    version = (notebook["nbformat"], notebook["nbformat_minor"])
    if version != (4, 5):
        yield f"format {version[0]}.{version[1]}, not 4.5, the first with cell ids"
    if "widgets" in notebook["metadata"]:
        yield "carries the state of widgets"
    if notebook["metadata"].get("kernelspec", {}).get("name") != "python3":
        yield "names no kernel `python3`, so JupyterLab would ask its reader for one"
    ids = [cell.get("id") for cell in notebook["cells"]]
    for number, cell in enumerate(notebook["cells"]):
        who = f"cell {number} ({cell.get('id')})"
        if cell.get("outputs"):
            yield f"{who} has outputs; clear them"
        if cell.get("execution_count") is not None:
            yield f"{who} has an execution count; clear it"
        if not cell.get("id"):
            yield f"{who} has no id"
        elif re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?", cell["id"]):
            yield f"{who} has an id drawn by chance; give it a name, which stays when the cell moves"
        elif ids.count(cell["id"]) > 1:
            yield f"{who} shares its id"


def length_faults(text: str) -> Iterator[str]:
    """A file longer than can be read in one sitting."""
    length = text.count("\n")
    if length > LONGEST:
        yield f"{length} lines; split it, for nobody reads more than {LONGEST} at once"


def machine_faults(text: str) -> Iterator[str]:
    """Traces of the machine that the text was written on."""
    for what, pattern in OF_ONE_MACHINE.items():
        for match in pattern.finditer(text):
            yield f"line {text.count(chr(10), 0, match.start()) + 1}: {what}: {match[0]}"


# -- the repository ---------------------------------------------------------------------------------


def complaints(paths: list[Path], faults) -> str:
    """One line for each fault of each file."""
    return "\n".join(
        f"{path.relative_to(ROOT)}: {fault}"
        for path in paths
        for fault in faults(path.read_text(encoding="utf-8"))
    )


def test_notebooks_are_sources():
    found = complaints(
        files(*(f"{folder}/*.ipynb" for folder in NOTEBOOKS)), lambda text: notebook_faults(json.loads(text))
    )
    assert not found, found


def test_files_of_the_library_can_be_read_in_one_sitting():
    paths = files("lib/*.py", "lib/*.js")
    assert len(paths) > 10
    found = complaints(paths, length_faults)
    assert not found, found


def test_nothing_of_one_machine_is_kept():
    texts = {"", ".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".js", ".css", ".ipynb", ".cfg"}
    paths = [path for path in files("*") if path.suffix in texts and path != Path(__file__)]
    assert len(paths) > 20
    found = complaints(paths, machine_faults)
    assert not found, found


# -- the rules themselves -----------------------------------------------------------------------------


def notebook(**changes) -> dict:
    """A sound notebook of one cell, changed."""
    cell = {"cell_type": "code", "id": "ring-run", "source": "1", "outputs": [], "execution_count": None}
    return {
        "nbformat": 4,
        "nbformat_minor": changes.pop("minor", 5),
        "metadata": changes.pop("metadata", {"kernelspec": {"name": "python3"}}),
        "cells": [{**cell, **changes}] * changes.pop("times", 1),
    }


def test_a_sound_notebook_has_no_faults():
    assert list(notebook_faults(notebook())) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outputs": [{"output_type": "stream"}]}, "has outputs"),
        ({"execution_count": 3}, "execution count"),
        ({"id": None}, "no id"),
        ({"id": "a0b1c2d3"}, "drawn by chance"),
        ({"times": 2}, "shares its id"),
        ({"minor": 4}, "format 4.4"),
        ({"metadata": {"widgets": {}}}, "state of widgets"),
        ({"metadata": {}}, "names no kernel"),
    ],
)
def test_a_planted_fault_of_a_notebook_is_named(changes, said):
    assert any(said in fault for fault in notebook_faults(notebook(**changes)))


def test_a_file_that_is_too_long_is_named():
    assert not list(length_faults("\n" * LONGEST))
    assert list(length_faults("\n" * (LONGEST + 1)))


@pytest.mark.parametrize("text", ["see /home/ada/x", "'/root/x'", "pip --index-url=https://a.b/simple/"])
def test_traces_of_a_machine_are_named(text):
    assert list(machine_faults(text))


@pytest.mark.parametrize("text", ["course/work/x", "~/work/x", "https://example.org/home/x", "/tmp/x"])
def test_what_any_machine_has_is_no_trace(text):
    assert not list(machine_faults(text))
