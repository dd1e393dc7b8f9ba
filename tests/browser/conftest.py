"""JupyterLab, served as `counterpoint lab` serves it, and a Chromium that lets nothing out.

One server for the whole session, one browser for each file. A test gets a page of its own, opens a notebook of a
learner's workbook on it, and afterwards asks what went wrong: in cells, on the console, or towards other
hosts.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.lab import lab_command, lab_environment
from counterpoint.grading.workbook import make_workbook

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True)
class Lab:
    """A running server and the workbook that it serves."""

    address: str
    token: str
    workbook: Path


@dataclass
class Notebook:
    """One notebook on one page of the browser."""

    page: Any
    lab: Lab
    console: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def open(self, path: str, kernel: bool = True) -> None:
        """Show the workbook's notebook `path`, each of its cells marked with its id."""
        self.page.goto(f"{self.lab.address}/lab?reset&token={self.lab.token}")
        self.page.wait_for_function("() => window.jupyterapp")
        self.page.evaluate(OPEN, [path, kernel])

    def run_all(self) -> None:
        """Run all cells, and wait until the last has run."""
        self.page.evaluate(RUN_ALL)

    def faults(self) -> list[str]:
        """All that has gone wrong on this page so far."""
        outside = [f"asked for {url}" for url in self.outside]
        return [*self.errors(), *self.console, *outside]

    def errors(self) -> list[str]:
        """What cells raised."""
        return self.page.evaluate(ERRORS)

    def cell(self, name: str) -> Any:
        """The cell of that id, scrolled to."""
        self.page.evaluate(SHOW, name)
        return self.page.locator(f'[data-cell="{name}"]')

    def player(self, name: str) -> Any:
        """The player that the cell `name` shows."""
        return self.cell(name).get_by_test_id("player").first

    def type_into(self, name: str, source: str) -> None:
        """Replace what the cell says, by the keyboard, and run it."""
        editor = self.cell(name).locator(".cm-content")
        editor.click()
        editor.press("ControlOrMeta+a")
        editor.press("Delete")
        self.page.keyboard.insert_text(source)
        self.run(name)

    def run(self, name: str) -> None:
        """Run one cell, and wait until it has run."""
        self.page.evaluate(RUN, name)

    def theme(self, name: str) -> None:
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def save(self) -> None:
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

    def has_kernel(self) -> bool:
        return self.page.evaluate(
            "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel != null"
        )

    def stop_kernel(self) -> None:
        self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def close(self) -> None:
        """Leave the page; its kernel goes too."""
        self.stop_kernel()
        self.page.context.close()


OPEN = """async ([path, kernel]) => {
  const app = window.jupyterapp;
  await app.restored;
  const kernelPreference = kernel ? undefined : { shouldStart: false, canStart: true, autoStartDefault: false };
  const panel = await app.commands.execute("docmanager:open", { path, factory: "Notebook", kernelPreference });
  await panel.context.ready;
  await panel.revealed;
  for (const cell of panel.content.widgets) cell.node.dataset.cell = cell.model.id;
}"""

READY = """
  const app = window.jupyterapp, panel = app.shell.currentWidget;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
"""

RUN_ALL = f"async () => {{ {READY} await app.commands.execute('notebook:run-all-cells'); }}"

RUN = f"""async (name) => {{ {READY}
  panel.content.activeCellIndex = panel.content.widgets.findIndex(cell => cell.model.id === name);
  await app.commands.execute("notebook:run-cell");
}}"""

SHOW = """async (name) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const index = notebook.widgets.findIndex(cell => cell.model.id === name);
  if (index < 0) throw new Error(`no cell ${name}`);
  await notebook.scrollToItem(index, "start");
}"""

ERRORS = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap(cell =>
  (cell.model.outputs?.toJSON() ?? []).filter(output => output.output_type === "error")
    .map(output => `${cell.model.id}: ${output.ename}: ${output.evalue}`))"""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A server with a workbook of all lessons and exercises."""
    folder = tmp_path_factory.mktemp("lab")
    workbook = make_workbook(folder / "workbook", ROOT).folder
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    command = [
        *lab_command(workbook, browser=False, port=port), "--ip=127.0.0.1",
        f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = lab_environment() | {name: str(folder / name) for name in own} | {"OMP_NUM_THREADS": "1"}
    with (folder / "log").open("w+") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            _answer(f"http://127.0.0.1:{port}/api", server, folder / "log")
            yield Lab(f"http://127.0.0.1:{port}", token, workbook)
        finally:
            _end(server)


def _answer(address: str, server: subprocess.Popen, log: Path, seconds: float = 60) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=20):
                return
        except urllib.error.URLError:
            time.sleep(0.1)
    pytest.fail(f"JupyterLab did not answer; it said:\n{log.read_text(errors='replace')}")


def _end(server: subprocess.Popen) -> None:
    """The server ends its kernels when it is told to stop; whatever is left goes with its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, number)
        except ProcessLookupError:
            break
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            continue
    server.wait()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """One Chromium. For a module, since while playwright runs no other event loop can, nor another of it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def new_notebook(browser: Any, lab: Lab) -> Any:
    """A function that makes a `Notebook` on a fresh page; what leaves the server is noted and stopped."""

    def make(**options: Any) -> Notebook:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        page = context.new_page()
        page.set_default_timeout(60_000)
        notebook = Notebook(page, lab)

        def judge(route: Any) -> None:
            if route.request.url.startswith((lab.address, "data:", "blob:")):
                route.continue_()
            else:
                notebook.outside.append(route.request.url)
                route.abort()

        context.route("**/*", judge)
        page.on("console", lambda m: notebook.console.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: notebook.console.append(error.stack or str(error)))
        return notebook

    return make
