"""JupyterLab, opened on a workbook, without news pop-ups and without asking the network for anything."""

import os
import subprocess
import sys
from pathlib import Path

FIRST_PAGE = "course/00_orientation.ipynb"
SETTINGS = Path(__file__).parent / "jupyter"


def lab_command(workbook: Path, browser: bool = True, port: int | None = None) -> list[str]:
    """The command line that serves `workbook` with this Python's JupyterLab."""
    page = FIRST_PAGE if (workbook / FIRST_PAGE).is_file() else ""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={workbook}"]
    command += [f"--LabApp.default_url=/lab/tree/{page}" if page else "--LabApp.default_url=/lab"]
    command += ["--LabApp.extension_manager=readonly"]  # the other kind asks a package index at start
    if not browser:
        command += ["--no-browser"]
    if port is not None:
        command += [f"--port={port}", "--ServerApp.port_retries=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command += ["--allow-root"]  # in containers one often is; the server listens to this machine only
    return command


def lab_environment() -> dict[str, str]:
    """This environment, with our page settings and this Python's kernel before the user's own."""
    paths = [str(SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {
        **os.environ,
        "JUPYTER_CONFIG_PATH": os.pathsep.join(paths),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def open_lab(workbook: Path, browser: bool = True, port: int | None = None) -> int:
    """Serve `workbook` until the learner stops it. Returns JupyterLab's exit status, if at all."""
    command, environment = lab_command(workbook, browser, port), lab_environment()
    if os.name == "posix":
        os.execve(command[0], command, environment)  # becomes JupyterLab, which then gets every signal
    with subprocess.Popen(command, env=environment) as server:
        while True:
            try:
                return server.wait()
            except KeyboardInterrupt:
                continue  # JupyterLab got it too, and asks whether to stop
