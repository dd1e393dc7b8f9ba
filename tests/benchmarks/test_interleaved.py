"""Teams are right, sleep and end; rounds take turns; a record names no host."""

import shutil
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import torch
from interleaved import record, table
from interleaved.rounds import interleave
from interleaved.seat import PATTERN, Seat
from interleaved.teams import ProcessTeam, TeamFailed, ThreadTeam, gloo_team, openmpi_team

LONG = len(PATTERN) + 5  # elements: a block of the check, and a part of one


@pytest.fixture(params=["gloo", "openmpi"])
def team(request):
    """A peer's team of three, if it is there."""
    start = {"gloo": gloo_team, "openmpi": openmpi_team}[request.param]
    try:
        made = start(3)
    except TeamFailed as error:
        pytest.skip(f"no {request.param}: {error}")
    yield made
    made.stop()


def test_a_peers_sums_are_right_and_it_ends_when_its_parent_is_gone(team):
    assert [team.prepare(count) for count in (1, 1000, LONG)] == [0, 0, 0]
    assert team.seconds(2) > 0
    team.stop()  # closes the connections, as the parent's end would
    assert team.process.returncode == 0
    assert not Path(team.folder.name).exists()


def seat(comm, call):
    """A rank thread's seat whose call is `call(comm, vector)`."""
    return Seat(
        comm.rank, comm.size, new=torch.empty, call=lambda vector, _: call(comm, vector),
        barrier=comm.barrier, values=lambda vector: vector.numpy(),
    )  # fmt: skip


def test_wrong_elements_of_all_ranks_are_counted():
    team = ThreadTeam(2, lambda comm: seat(comm, lambda comm, vector: vector.fill_(-1)))
    assert team.prepare(LONG) == 2 * LONG
    team.stop()


def test_a_rank_that_raises_is_heard_and_no_thread_is_left():
    before = set(threading.enumerate())

    def fail(comm, vector):
        raise ZeroDivisionError("rank's own mistake")

    team = ThreadTeam(2, lambda comm: seat(comm, fail))
    with pytest.raises(Exception, match="rank's own mistake"):
        team.prepare(4)
    team.stop()
    assert set(threading.enumerate()) <= before


def process_team(*command):
    return ProcessTeam(1, command, tempfile.TemporaryDirectory())


def test_processes_that_cannot_start_say_why_and_are_ended():
    with pytest.raises(TeamFailed, match="did not start: no such thing"):
        process_team(sys.executable, "-c", "raise SystemExit('no such thing')")


def test_processes_that_break_say_why_and_are_ended():
    code = (
        "from interleaved.peer_rank import serve; from interleaved.seat import Seat; import numpy\n"
        "def call(vector, _): raise SystemExit('it broke here')\n"
        "serve(Seat(0, 1, new=numpy.empty, call=call, barrier=lambda: None), {'by': 'hand'})"
    )
    team = process_team(sys.executable, "-c", code)
    assert team.about == {"by": "hand"}
    with pytest.raises(TeamFailed, match="it broke here"):
        team.prepare(4)
    assert team.process.poll() is not None


def test_without_mpirun_the_team_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TeamFailed, match="mpirun is not installed"):
        openmpi_team(2)


def test_contestants_take_turns_and_every_other_round_goes_backwards():
    turns = []

    def contestant(name, seconds):
        def turn(iters):
            turns.append((name, iters))
            return seconds

        return turn

    timings = interleave({"a": contestant("a", 0.1), "b": contestant("b", 0.01)}, rounds=3, segment=0.1)
    assert turns[:2] == [("a", 1), ("b", 1)]
    assert "".join(name for name, _ in turns[2:]) == "abbaab"
    assert {iters for name, iters in turns[2:] if name == "b"} == {10}
    assert (timings["a"].iters, timings["b"].iters) == (1, 10)


def test_the_median_counts_and_the_extremes_are_kept():
    times = iter([1, 5, 2, 9])
    timing = interleave({"a": lambda iters: next(times)}, rounds=3, segment=0)["a"]
    assert (timing.median, timing.least, timing.most) == (5, 2, 9)


def test_rounds_end_when_it_is_enough():
    turns = []
    interleave(
        {"a": lambda iters: turns.append(1) or 1.0}, rounds=9, segment=1, enough=lambda done: done == 2
    )
    assert len(turns) == 1 + 2


def test_when_time_is_up_before_the_first_round_the_first_turn_counts():
    timing = interleave({"a": lambda iters: 2.0}, rounds=9, segment=1, enough=lambda done: True)["a"]
    assert (timing.median, timing.iters, timing.turns) == (2.0, 1, 1)


def test_a_record_is_named_after_the_processor_and_the_day(tmp_path):
    about = {"machine": {"cpu": "Xeon(R) Gold 6 @ 2.10GHz", "cores": 4}, "date": "2026-12-01T10:00"}
    path = record.save("sort", about, tmp_path)
    assert path.name == "sort-xeon-gold-6-4-cores-2026-12-01.json"


def test_figures_keep_their_width():
    assert table.figures([1.25, 1234.5, None], 6, 1) == "   1.2   1234      –"
    assert [table.size(n) for n in (4, 4096, 5 << 20)] == ["4 B", "4 KiB", "5 MiB"]
