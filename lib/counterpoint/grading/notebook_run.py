"""Runs one notebook to its end, whatever its cells do, and writes each test cell's points as it goes.

python -m counterpoint.grading.notebook_run NOTEBOOK SCORES FOLDER CELL_SECONDS
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from counterpoint.grading.verdict import MIME


class Recorder:
    """Takes the cells' outputs as they come, and appends the scores to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failed: dict[str, str] = {}
        """By grade_id: how a cell that is no test failed."""

    def executed(self, cell: Any, cell_index: int, **_: Any) -> None:
        """Called after each cell."""
        marks = cell.metadata.get("nbgrader") or {}
        name = marks.get("grade_id", "")
        if not marks.get("grade"):
            error = _error(cell)
            if name and error:
                self.failed[name] = error
            return
        exercise = name.removesuffix("-test")
        points, reason = score(cell, float(marks["points"]))
        if not reason and exercise in self.failed:
            reason = f"the cell {exercise} did not run: {self.failed[exercise]}"
        row = {"name": exercise, "points": points, "reason": reason or _error(cell)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def score(cell: Any, most: float) -> tuple[float, str]:
    """(points, the check's sentence), by nbgrader's rules: an error is 0, a number is that many points,
    anything else all of them. What goes to standard error counts for nothing."""
    message = ""
    for output in cell.outputs:
        if MIME in output.get("data", {}):
            verdict = output["data"][MIME]
            message = " ".join(
                [f"{verdict['points']} of {verdict['max_points']}.", verdict["message"]]
            ).strip()
    for output in cell.outputs:
        if output.output_type == "error":
            return 0.0, message
        if output.output_type == "execute_result":
            try:
                return min(max(float(output["data"]["text/plain"]), 0.0), most), message
            except (KeyError, ValueError):
                return most, message
    return most, message


def _error(cell: Any) -> str:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
    return ""


def main(arguments: list[str]) -> int:
    source, scores, folder, cell_seconds = arguments
    notebook = nbformat.read(source, as_version=4)
    if sys.platform == "win32":
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    client = NotebookClient(
        notebook,
        timeout=float(cell_seconds),
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": folder}},
        on_cell_executed=Recorder(Path(scores)).executed,
    )
    try:
        client.execute()
    except DeadKernelError:
        print("its kernel died", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
