"""Every lesson keeps to the limits that make it readable, and runs from top to bottom in a learner's workbook."""

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from counterpoint.grading.workbook import make_workbook

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "course").glob("*.ipynb"))
CELLS, CODE_LINES, ALL_CODE_LINES, WORDS, WITHOUT_PICTURE, SECONDS = (30, 60), 15, 150, 80, 10, 60

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def test_there_are_lessons():
    assert len(LESSONS) >= 2


# -- limits --------------------------------------------------------------------------------------------


@each_lesson
def test_a_lesson_keeps_to_its_limits(path):
    found = list(faults(nbformat.read(path, 4)))
    assert not found, "\n".join(found)


def faults(notebook: Any) -> Iterator[str]:
    """What makes a lesson harder to read than a lesson may be."""
    cells = notebook.cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    if not CELLS[0] <= len(cells) <= CELLS[1]:
        yield f"{len(cells)} cells; between {CELLS[0]} and {CELLS[1]} is what an hour holds"
    if (lines := sum(cell.source.count("\n") + 1 for cell in code)) > ALL_CODE_LINES:
        yield f"{lines} lines of code in all; at most {ALL_CODE_LINES}"
    for cell in cells:
        if cell.cell_type == "markdown" and len(cell.source.split()) > WORDS:
            yield f"{cell.id}: {len(cell.source.split())} words; at most {WORDS}, one idea a cell"
    for cell in code:
        if cell.source.count("\n") + 1 > CODE_LINES:
            yield f"{cell.id}: {cell.source.count(chr(10)) + 1} lines; import it and show its source"
        if cell is not code[0] and any(
            isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(ast.parse(cell.source))
        ):
            yield f"{cell.id}: imports; they belong in the first code cell"


@pytest.mark.parametrize(
    "planted, said",
    [
        (["x = 1"] * 29, "29 cells"),
        (["x = 1"] * 61, "61 cells"),
        (["x = 1"] * 30 + ["y = 2\n" * 16], "show its source"),
        (["x = 1\n" * 9] * 30, "lines of code in all"),
        (["import os"] + ["x = 1"] * 30 + ["def f():\n    import sys"], "the first code cell"),
    ],
)
def test_a_planted_fault_is_named(planted, said):
    cells = [nbformat.v4.new_code_cell(source) for source in planted]
    assert any(said in fault for fault in faults(nbformat.v4.new_notebook(cells=cells)))


def test_too_many_words_are_named():
    cell = nbformat.v4.new_markdown_cell("word " * (WORDS + 1))
    assert any("one idea a cell" in fault for fault in faults(nbformat.v4.new_notebook(cells=[cell])))


# -- links ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workbook(tmp_path_factory) -> Path:
    """A learner's workbook with all lessons and exercises."""
    folder = tmp_path_factory.mktemp("learner") / "workbook"
    make_workbook(folder, ROOT)
    return folder


@each_lesson
def test_links_lead_to_files_that_are_in_the_workbook(path, workbook):
    text = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    inside = [link for link in links if "://" not in link]
    assert inside, "a lesson links at least to its exercises"
    missing = [link for link in inside if not (workbook / "course" / link.partition("#")[0]).is_file()]
    assert not missing


# -- running -------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_lesson
def test_a_lesson_runs_in_under_a_minute_and_shows_pictures(path, workbook):
    notebook = nbformat.read(workbook / "course" / path.name, 4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(workbook / "course")}},
    )
    start = time.monotonic()
    client.execute(env=one_thread())
    taken = time.monotonic() - start
    assert taken < SECONDS, f"{taken:.0f} s"
    said = [text for cell in notebook.cells for text in complaints(cell)]
    assert not said, said
    assert longest_gap(notebook) <= WITHOUT_PICTURE


def one_thread() -> dict[str, str]:
    """The environment of a kernel whose torch has one thread."""
    import os

    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}


def complaints(cell: Any) -> Iterator[str]:
    """What a cell wrote to stderr, warnings included."""
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.name == "stderr":
            yield f"{cell.id}: {output.text}"


def longest_gap(notebook: Any) -> int:
    """The most cells in a row without a picture."""
    gap = longest = 0
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        gap = 0 if any("image/png" in output.get("data", {}) for output in outputs) else gap + 1
        longest = max(longest, gap)
    return longest
