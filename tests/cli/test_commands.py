"""The command parses, calls, prints; its exit status says whether all is well."""

import gzip
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
        (["all_reduce", "--algorithm", "bus"], "no algorithm 'bus'; there are auto, star"),
        (["all_reduce", "--dtype", "bool"], "'sum' is not defined on bool"),
    ],
)
def test_bench_answers_a_mistake_with_a_sentence(arguments, said):
    result = run("bench", *arguments)
    assert said in result.output
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world", "simulated"), "go together"),
        (("--network", "nvlink-node"), "go together"),
        (("--world", "simulated", "--network", "abacus"), "no network 'abacus'"),
        (("--world", "moon"), "'moon' is not one of"),
        (("--hosts", "--ranks", "4"), "torchrun says who the ranks are"),
        (("--hosts", "--world", "threads"), "torchrun says who the ranks are"),
        (("--hosts",), "start the program with torchrun"),
    ],
)
def test_bench_answers_a_world_that_does_not_fit_with_a_sentence(arguments, said):
    result = run("bench", "all_reduce", *arguments)
    assert result.exit_code != 0 and said in result.output


def test_bench_runs_on_processes_and_on_simulated_ranks():
    result = run("bench", "all_reduce", "--ranks", 2, "--sizes", "1KiB", "--iters", 1, "--world", "processes")
    assert result.exit_code == 0, result.output
    assert "2 ranks as processes over gloo" in result.output and "values : 0 OK" in result.output
    result = run(
        "bench",
        "all_reduce",
        "--ranks",
        8,
        "--sizes",
        "1KiB:4KiB",
        "--world",
        "simulated",
        "--network",
        "nvlink-node",
    )
    assert result.exit_code == 0, result.output
    assert "virtual time" in result.output and result.output.count("N/A") == 3


def test_every_world_of_launch_can_be_timed():
    from counterpoint.cli.networks import WORLDS
    from counterpoint.ranks.launch import WORLDS as LAUNCHED

    assert sorted(WORLDS) == sorted({*LAUNCHED, "cuda"})


def test_bench_without_a_gpu_says_so(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = run("bench", "all_reduce", "--world", "cuda")
    assert result.exit_code == 1 and "torch finds no GPU here" in result.output


# -- simulate ----------------------------------------------------------------------------------------


def test_simulate_says_time_bandwidth_messages_and_the_busiest_link_and_writes_the_trace(tmp_path):
    file = tmp_path / "trace.json"
    result = run(
        "simulate", "all_reduce", "--ranks", 4, "--alpha", 1e-6, "--beta", 1e-9, "--size", "1MiB",
        "--algorithm", "ring", "--trace", file,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    for word in ("all_reduce (ring), 1 MiB a rank, 4 ranks", "formula", "busbw", "24; 6 MiB", "rank 0, out"):
        assert word in result.output
    events = json.loads(file.read_text())["traceEvents"]
    assert sum(event["ph"] == "s" for event in events) == 24


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give --network NAME"),
        (("--network", "nvlink-node", "--alpha", 1), "give --network NAME"),
        (("--beta", 1, "--network", "nvlink-node"), "give --network NAME"),
        (("--alpha", -1), "--alpha -1.0: give seconds"),
        (("--network", "nvlink-node", "--ranks", 9), "a node has 8 GPUs"),
        (("--network", "nvlink-node", "--size", "much"), "size 'much'"),
        (("--network", "nvlink-node", "--size", "1KiB:2KiB"), "give one size"),
        (("--network", "nvlink-node", "--dtype", "float7"), "dtype 'float7'"),
        (("--network", "nvlink-node", "--algorithm", "bus"), "no algorithm 'bus'"),
        (("--network", "nvlink-node", "--op", "xor"), "'xor' is defined on integers"),
        (("--network", "nvlink-node", "--op", "add"), "no reduction 'add'"),
        (("--network", "nvlink-node", "--trace", "no/such/folder.json"), "there is no folder no"),
    ],
)
def test_simulate_answers_a_mistake_with_a_sentence(arguments, said):
    result = run("simulate", "all_reduce", *arguments)
    assert result.exit_code != 0 and said in result.output


def test_simulate_takes_a_reduction_and_says_which():
    arguments = ("simulate", "all_reduce", "--ranks", 2, "--alpha", 1e-6, "--algorithm", "star")
    assert "all_reduce (star, max), 64 MiB" in run(*arguments, "--op", "max").output
    result = run("simulate", "broadcast", "--alpha", 1e-6, "--op", "max")
    assert result.exit_code == 1 and "broadcast reduces nothing" in result.output


def test_one_rank_is_one_rank():
    assert "64 MiB a rank, 1 rank on nvlink-node" in run(
        "simulate", "all_reduce", "--ranks", 1, "--network", "nvlink-node"
    ).output  # fmt: skip


def test_simulate_writes_a_compressed_trace(tmp_path):
    file = tmp_path / "trace.json.gz"
    result = run("simulate", "broadcast", "--ranks", 3, "--alpha", 1e-6, "--size", "1KiB", "--trace", file)
    assert result.exit_code == 0, result.output
    with gzip.open(file, "rt") as text:
        assert sum(event["ph"] == "s" for event in json.load(text)["traceEvents"]) == 2


@pytest.mark.parametrize(
    "command",
    [("networks",), ("simulate", "all_reduce", "--network", "list"), ("bench", "x", "--network", "list")],
)
def test_every_preset_is_listed_with_its_figures_and_their_source(command):
    from counterpoint.models import PRESETS

    result = run(*command)
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert [line.split()[0] for line in lines[::3]] == list(PRESETS)
    assert [line.split()[0] for line in lines[2::3]] == ["from"] * len(PRESETS)
    about = {line.split()[0]: lines[3 * i + 1].strip() for i, line in enumerate(lines[::3])}
    assert about["gigabit-ethernet"] == "23 us a message, 0.1187 GB/s; reduces 8.533 GB/s"
    assert about["nvlink-cluster"].startswith("in a node 3.4 us a message, 370.8 GB/s; between nodes 14 us")
    assert about["cm-5"] == "L 6 us, o 2 us, g 4 us, G 250 ns"
