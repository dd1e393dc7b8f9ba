"""What this machine has, and what each gap means for a learner.

Only a few things are needed; without the rest the course still works, and says what it leaves out.
"""

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's table."""

    what: str
    state: str  # "ok", "gap" (the course works without) or "broken" (it does not)
    found: str
    meaning: str = ""  # of a gap, with its remedy


def examine() -> list[Finding]:
    """Look at everything the course can use, in the order of its importance."""
    looks: list[Callable[[], Finding]] = [
        _python,
        _cores,
        _torch,
        _jupyterlab,
        _cuda,
        _triton,
        _numba,
        _compiler,
        _browser,
        _nbgrader,
        _workbook,
    ]
    return [look() for look in looks]


def find_browser() -> str | None:
    """The path of a Chromium for the browser tests, or None. $CHROMIUM names one that is elsewhere."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)


def _python() -> Finding:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    return Finding("Python", "ok", found)


def _cores() -> Finding:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if count == 1:
        return Finding("cores", "gap", "1", "everything works; nothing will be faster in parallel here")
    return Finding("cores", "ok", str(count))


def _torch() -> Finding:
    try:
        import torch
    except Exception as error:  # a broken build raises OSError and others
        return Finding("torch", "broken", f"{type(error).__name__}: {error}", "install counterpoint again")
    return Finding("torch", "ok", torch.__version__)


def _jupyterlab() -> Finding:
    return _package("jupyterlab", "broken", "pip install counterpoint brings it; lessons are notebooks")


def _cuda() -> Finding:
    try:
        import torch

        if torch.cuda.is_available():
            names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
            return Finding("CUDA", "ok", f"{torch.version.cuda}: {', '.join(names)}")
        build = "a CPU build of torch" if torch.version.cuda is None else "no device"
    except Exception as error:
        build = f"{type(error).__name__}: {error}"
    meaning = "cells for a GPU run on the CPU or show recorded results, and say so"
    return Finding("CUDA", "gap", build, meaning)


def _triton() -> Finding:
    if sys.platform != "linux":
        return Finding(
            "triton",
            "gap",
            f"none for {platform.system()}",
            "Triton kernels can be read, not run; the Numba and torch versions run",
        )
    meaning = "Triton kernels can be read, not run: pip install triton"
    return _package("triton", "gap", meaning)


def _numba() -> Finding:
    meaning = "compiled CPU kernels fall back to plain torch or NumPy: pip install numba"
    return _package("numba", "gap", meaning)


def _compiler() -> Finding:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "cl"))), None)
    if compiler is None:
        meaning = "Triton and torch.compile need one: install gcc or clang"
        return Finding("C compiler", "gap", "none", meaning)
    return Finding("C compiler", "ok", compiler)


def _browser() -> Finding:
    browser = find_browser()
    if browser is None:
        meaning = "only the browser tests need one: install chromium, or set CHROMIUM to its path"
        return Finding("Chromium", "gap", "none", meaning)
    return Finding("Chromium", "ok", browser)


def _nbgrader() -> Finding:
    meaning = "only instructors need it: pip install 'counterpoint[instructor]'"
    return _package("nbgrader", "gap", meaning)


def _workbook() -> Finding:
    from counterpoint.grading.workbook import course_source, find_workbook

    if not (course_source() / "course").is_dir():
        meaning = "this installation carries no lessons; install counterpoint again"
        return Finding("course", "broken", str(course_source()), meaning)
    workbook = find_workbook() or find_workbook(Path("workbook"))
    if workbook is None:
        return Finding("workbook", "gap", "none here", "counterpoint lab makes it, in ./workbook")
    return Finding("workbook", "ok", str(workbook))


def _package(name: str, otherwise: str, meaning: str) -> Finding:
    try:
        return Finding(name, "ok", version(name))
    except PackageNotFoundError:
        return Finding(name, otherwise, "not installed", meaning)
