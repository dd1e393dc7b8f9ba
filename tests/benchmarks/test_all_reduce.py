"""The all-reduce benchmark runs, checks every contestant, and keeps what its figures depend on."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import all_reduce
import pytest
import torch
from interleaved.rounds import Timing
from interleaved.seat import Seat
from interleaved.teams import TeamFailed, ThreadTeam

from counterpoint.ranks import launch

SCRIPT = Path(all_reduce.__file__)
TINY = ["--sizes", "4KiB:8KiB", "--ranks", "3", "--rounds", "1"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One tiny run with --save: what it printed, and the file."""
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, SCRIPT, "--quick", "--save", "--folder", folder, *TINY]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return done.stdout, file


def test_a_run_prints_a_row_for_each_number_of_ranks_and_size(ran):
    rows = re.findall(r"^ +(\d+) +(\d+ KiB) \|", ran[0], re.MULTILINE)
    assert rows == [("3", "4 KiB"), ("3", "8 KiB")]


def test_what_is_saved_says_where_when_and_what(ran):
    text = ran[1].read_text()
    kept = json.loads(text)
    assert kept["sizes"] == [4096, 8192]
    assert kept["dtype"] == "float32"
    assert kept["machine"]["cpu"]
    assert kept["machine"]["cores"] >= 1
    assert {"python", "torch", "counterpoint"} <= kept["versions"].keys()
    assert re.fullmatch(rf"all_reduce-[a-z0-9-]+-{kept['date'][:10]}\.json", ran[1].name)
    host = platform.node()
    assert not host or not re.search(rf"(?<!\w){re.escape(host)}(?!\w)", text + ran[1].name)


def test_every_row_has_every_contestant_or_the_reason_is_kept(ran):
    kept = json.loads(ran[1].read_text())
    assert [(row["ranks"], row["nbytes"]) for row in kept["rows"]] == [(3, 4096), (3, 8192)]
    there = {*all_reduce.OURS, *all_reduce.PEERS} - kept["missing"].keys()
    for row in kept["rows"]:
        assert row["us"].keys() == there
        assert all(us > 0 for us in (*row["us"].values(), row["floor_us"]))
    if "openmpi" not in kept["missing"]:
        assert "Open MPI" in kept["versions"]["mpi"]


def test_ratios_are_our_time_over_theirs():
    seconds = {
        "star": 4, "tree": 3, "ring": 2, "two-shot": 5, "direct": 6, "auto": 8, "gloo": 16, "openmpi": 1,
        "copy": 0.5,
    }  # fmt: skip
    row = all_reduce.row(2, 64, {name: Timing(each, each, each, 1, 1) for name, each in seconds.items()})
    assert row["best"] == "ring"
    assert row["over"]["gloo"] == {
        "star": 0.25, "tree": 0.188, "ring": 0.125, "two-shot": 0.312, "direct": 0.375, "auto": 0.5, "best": 0.125,
    }  # fmt: skip
    assert row["over"]["openmpi"]["best"] == 2
    assert row["over_floor"] == {"direct": 12, "ring": 4}
    assert row["copy_gb_per_s"] == round(2 * 2 * 64 / 0.5 / 1e9, 2)


def idle(comm):
    """A contestant that is very fast: it does nothing."""
    return Seat(
        comm.rank, comm.size, new=torch.empty, call=lambda *_: None, barrier=comm.barrier,
        values=lambda vector: vector.numpy(),
    )  # fmt: skip


def test_a_peer_that_does_nothing_ends_the_run(monkeypatch):
    monkeypatch.setattr(all_reduce, "PEERS", {"gloo": lambda ranks: ThreadTeam(ranks, idle)})
    with pytest.raises(SystemExit, match=r"gloo, 2 ranks, 4096 bytes: \d+ elements are wrong"):
        all_reduce.main(["--sizes", "4KiB", "--ranks", "2", "--rounds", "1"])


@pytest.mark.parametrize("name", all_reduce.OURS)
def test_each_of_ours_is_checked_too(monkeypatch, name):
    right = all_reduce.all_reduce

    def wrong(comm, vector, algorithm):
        right(comm, vector, algorithm=algorithm)
        if algorithm == name and comm.rank == 1:
            vector[-1] += 1

    monkeypatch.setattr(all_reduce, "PEERS", {})
    monkeypatch.setattr(all_reduce, "all_reduce", wrong)
    with pytest.raises(SystemExit, match=f"{name}, 2 ranks, 4096 bytes: 1 elements"):
        all_reduce.main(["--sizes", "4KiB", "--ranks", "2", "--rounds", "1"])


def test_a_peer_that_is_not_there_leaves_a_dash_and_the_reason(monkeypatch, capsys, tmp_path):
    def absent(ranks):
        raise TeamFailed("mpirun is not installed")

    monkeypatch.setattr(all_reduce, "PEERS", {"openmpi": absent})
    all_reduce.main(["--sizes", "4KiB", "--ranks", "2", "--rounds", "1", "--save", "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "no openmpi: mpirun is not installed" in printed
    assert "–" in next(line for line in printed.splitlines() if "4 KiB |" in line)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["missing"] == {"openmpi": "mpirun is not installed"}


@pytest.mark.parametrize(("ranks", "threads"), [(2, 2), (8, 2), (3, 1), (8, 5)])
def test_the_floor_moves_every_ranks_bytes_in_and_out(ranks, threads):
    seats = launch(lambda comm: all_reduce.copier(ranks, comm), threads, trace=False).results
    halves = sum(len(seat.new(4000)) // 2 for seat in seats)
    assert 4 * halves == 2 * ranks * 4000  # two copies, each reads and writes half of all bytes


def test_the_floors_copy_copies_one_way_and_back():
    (seat,) = launch(lambda comm: all_reduce.copier(2, comm), 1, trace=False).results
    vector = torch.arange(8.0)
    seat.call(vector, "")
    assert vector.tolist() == [0, 1, 2, 3] * 2


def test_quick_takes_five_sizes_from_the_first_to_the_last():
    sizes = all_reduce.arguments(["--quick"]).sizes
    assert len(sizes) == 5
    assert (sizes[0], sizes[-1]) == (4 << 10, 64 << 20)


@pytest.mark.parametrize("wrong", [["--ranks", "0"], ["--ranks", "two"], ["--sizes", "6"], ["--sizes", "x"]])
def test_what_cannot_be_measured_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        all_reduce.arguments(wrong)
    assert "error:" in capsys.readouterr().err
