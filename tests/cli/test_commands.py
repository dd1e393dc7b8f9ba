"""The command parses, calls, prints; its exit status says whether all is well."""

import json
import types

import pytest
from click.testing import CliRunner

from counterpoint import __version__
from counterpoint.cli import doctor, lab, main


def run(*arguments):
    """The command's result, without a traceback of its own."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_help_names_every_command_in_a_sentence():
    text = run("--help").output
    for name in main.commands:
        assert name in text
    assert run("--version").output.strip().endswith(__version__)


# -- lab ---------------------------------------------------------------------------------------------


def test_lab_makes_the_workbook_and_completes_it(tmp_path):
    first = run("lab", tmp_path / "mine", "--make-only")
    again = run("lab", tmp_path / "mine", "--make-only")
    assert (tmp_path / "mine" / ".counterpoint").is_dir()
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert ": 0 files copied in" in again.output


def test_lab_inside_a_workbook_means_that_workbook(tmp_path, monkeypatch):
    run("lab", tmp_path / "mine", "--make-only")
    (tmp_path / "mine" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "mine" / "deep")
    assert run("lab", "--make-only").output.startswith(f"{tmp_path / 'mine'}: 0 files")


def test_lab_opens_jupyterlab_there(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(lab, "open_lab", lambda *where, **how: opened.append((where, how)) or 0)
    assert run("lab", tmp_path / "mine", "--no-browser", "--port", 8890).exit_code == 0
    assert opened == [((tmp_path / "mine",), {"browser": False, "port": 8890})]


def test_the_lab_opens_on_the_first_page_where_there_is_one(tmp_path):
    assert "--LabApp.default_url=/lab" in lab.lab_command(tmp_path)
    (tmp_path / "course").mkdir()
    (tmp_path / lab.FIRST_PAGE).write_text("{}")
    command = lab.lab_command(tmp_path, browser=False, port=8890)
    assert f"--LabApp.default_url=/lab/tree/{lab.FIRST_PAGE}" in command
    assert {"--no-browser", "--port=8890", "--ServerApp.port_retries=0"} <= set(command)


def test_the_lab_has_no_news_and_asks_no_network(monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    ours, theirs = lab.lab_environment()["JUPYTER_CONFIG_PATH"].split(lab.os.pathsep)
    assert theirs == "mine"
    settings = json.loads((lab.Path(ours) / "labconfig" / "page_config.json").read_text())
    assert settings["disabledExtensions"] == {"@jupyterlab/apputils-extension:announcements": True}


# -- doctor ------------------------------------------------------------------------------------------


def test_doctor_says_what_is_there_and_what_a_gap_means():
    findings = {finding.what: finding for finding in doctor.examine()}
    assert {"Python", "cores", "torch", "CUDA", "triton", "numba", "Chromium", "nbgrader"} <= set(findings)
    assert all(finding.meaning for finding in findings.values() if finding.state != "ok")


def test_doctor_prints_a_table_or_json(monkeypatch):
    gap = doctor.Finding("triton", "gap", "none", "read, not run")
    monkeypatch.setattr(doctor, "examine", lambda: [gap])
    assert run("doctor").output.splitlines()[1:] == ["gap    triton  none", "               → read, not run"]
    assert json.loads(run("doctor", "--json").output) == [vars(gap)]
    assert run("doctor").exit_code == 0


def test_doctor_fails_where_something_needed_is_broken(monkeypatch):
    broken = doctor.Finding("torch", "broken", "OSError", "install again")
    monkeypatch.setattr(doctor, "examine", lambda: [broken])
    assert run("doctor").exit_code == 1


def test_the_browser_is_the_one_that_is_named(monkeypatch, tmp_path):
    browser = tmp_path / "mine"
    browser.touch(mode=0o755)
    monkeypatch.setenv("CHROMIUM", str(browser))
    assert doctor.find_browser() == str(browser)
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "absent"))
    assert doctor.find_browser() is None


def test_doctor_copes_with_a_torch_that_cannot_be_loaded(monkeypatch):
    broken = types.ModuleType("torch")
    broken.__getattr__ = lambda name: (_ for _ in ()).throw(OSError("libcudart is missing"))
    monkeypatch.setitem(doctor.sys.modules, "torch", broken)
    assert doctor._cuda().state == "gap"
    monkeypatch.setitem(doctor.sys.modules, "torch", None)
    assert doctor._torch().state == "broken"


# -- bench -------------------------------------------------------------------------------------------


def test_bench_prints_a_row_for_each_size():
    result = run("bench", "all_reduce", "--ranks", 3, "--sizes", "1KiB:4KiB", "--iters", 2)
    rows = [line.split() for line in result.output.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["1024", "2048", "4096"]
    assert all(len(row) == 8 for row in rows)
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["all_reduce", "--sizes", "4lb"], "size '4lb': give a number"),
        (["all_reduce", "--sizes", "4KiB:1KiB"], "FROM above 0 and not above TO"),
        (["all_reduce", "--dtype", "float23"], "dtype 'float23'"),
        (["all_confuse"], "no collective 'all_confuse'"),
    ],
)
def test_bench_answers_a_mistake_with_a_sentence(arguments, said):
    result = run("bench", *arguments)
    assert said in result.output
    assert result.exit_code == 1
