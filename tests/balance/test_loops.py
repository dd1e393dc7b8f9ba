"""What a shared loop measures, and what it does when something goes wrong."""

import json
import threading
import time

import numpy as np
import pytest

from counterpoint.balance import TaskFailed, lower_bound, lpt, parallel_for, simulate
from counterpoint.trace import to_chrome


def test_measures_of_a_run_worked_out_by_hand():
    run = simulate([4.0, 1.0, 1.0, 2.0], 2, "static", take_seconds=9.0)
    assert run.busy.tolist() == [5.0, 3.0] and run.finish.tolist() == [5.0, 3.0]
    assert (run.makespan, run.work, run.ideal, run.lower_bound) == (5.0, 8.0, 4.0, 4.0)
    assert (run.speedup, run.efficiency, run.imbalance) == (1.6, 0.8, 1.25)
    assert run.overhead == 0 and run.owner.tolist() == [0, 0, 1, 1]


def test_the_shared_counter_serves_one_worker_at_a_time():
    run = simulate([3.0, 3.0, 3.0], 3, "dynamic", take_seconds=1.0)
    assert sorted(run.computed.start.tolist()) == [1.0, 2.0, 3.0]
    assert run.waiting == 0 + 1 + 2 and run.overhead == 1 + 2 + 3 and run.makespan == 6.0


def test_a_slow_worker_takes_fewer_tasks():
    run = simulate([1.0] * 30, 2, "dynamic", speeds=[1.0, 0.5])
    assert np.bincount(run.owner).tolist() == [20, 10]


def test_the_longest_task_bounds_too():
    assert lower_bound([1, 9, 2], 3) == 9 and lower_bound([], 3) == 0 and lower_bound([2, 2, 2], 2) == 3


def test_lpt_takes_the_long_ones_first():
    span, owner = lpt([2, 7, 3, 6, 4], 2)
    assert (span == 11 and owner.tolist() == [0, 0, 1, 1, 1]) or span == 12


def test_lpt_keeps_grahams_bound_and_meets_it():
    rng = np.random.default_rng(5)
    for workers in (2, 3, 4):
        worst = [2 * workers - 1 - k // 2 for k in range(2 * workers)] + [workers]  # his example
        assert lpt(worst, workers)[0] == 4 * workers - 1  # the best is 3 workers
        costs = rng.random(60)
        assert lpt(costs, workers)[0] <= (4 / 3 - 1 / (3 * workers)) * lower_bound(costs, workers) * 1.05


def test_a_simulation_is_the_same_every_time():
    costs = np.random.default_rng(1).random(500)
    runs = [simulate(costs, 64, "work_stealing", steal_seconds=0.01) for _ in range(2)]
    assert runs[0].to_json() == runs[1].to_json() and len(runs[0].steals) > 0


def test_the_json_is_json_in_order_of_time():
    found = json.loads(json.dumps(simulate([1.0] * 20, 3, "work_stealing", steal_seconds=0.1).to_json()))
    starts = [row[2] for row in found["tasks"]]
    assert starts == sorted(starts) and len(found["tasks"]) == 20
    assert sum(row[5] for row in found["takes"]) == 20


def test_perfetto_calls_them_workers():
    names = [
        e["args"]["name"]
        for e in to_chrome(simulate([1.0], 2).trace)["traceEvents"]
        if e["name"] == "thread_name"
    ]
    assert names == ["worker 0", "worker 1"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"workers": 0}, "at least 1, not 0"),
        ({"workers": 1.5}, "whole number"),
        ({"workers": True}, "whole number"),
        ({"costs": [1.0, -1.0]}, "task 1 costs -1.0"),
        ({"costs": [float("nan")]}, "task 0 costs nan"),
        ({"costs": [[1.0]]}, "not of shape"),
        ({"take_seconds": -1.0}, "take_seconds"),
        ({"steal_seconds": float("inf")}, "steal_seconds"),
        ({"speeds": [1.0]}, "2 positive numbers"),
        ({"speeds": [1.0, 0.0]}, "2 positive numbers"),
    ],
)
def test_bad_numbers_are_refused(change, says):
    settings = {"costs": [1.0, 2.0], "workers": 2} | change
    with pytest.raises(ValueError, match=says):
        simulate(**settings)


def test_a_failing_task_is_named_and_no_other_begins():
    begun = []

    def body(task):
        begun.append(task)
        if task == 3:
            raise KeyError("three")

    with pytest.raises(TaskFailed, match=r"task 3, run by worker [01], raised KeyError: 'three'") as caught:
        parallel_for(body, range(1000), 2, "dynamic")
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.task == 3
    assert len(begun) < 1000


def test_after_a_failure_no_thread_is_left():
    for _ in range(200):
        with pytest.raises(TaskFailed):
            parallel_for(lambda n: 1 // (n - 5), range(20), 3, "work_stealing")
    assert not [t for t in threading.enumerate() if t.name.startswith("worker")]


def test_an_interrupt_ends_the_loop(monkeypatch):
    begun, first = [], threading.Event()

    def body(task):
        begun.append(task)
        first.set()

    def join(self, timeout=None, real=threading.Thread.join):
        if self.name == "worker 0" and not begun.count("interrupted"):
            first.wait(10)
            begun.append("interrupted")
            raise KeyboardInterrupt
        real(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(KeyboardInterrupt):
        parallel_for(body, range(10_000_000), 2)
    assert not [t for t in threading.enumerate() if t.name.startswith("worker")]
    assert len(begun) < 10_000_000


def test_threads_overlap_where_the_body_lets_go_of_the_lock():
    """Two tasks that each wait for the other: only possible if both run at once."""
    meet = threading.Barrier(2)
    parallel_for(lambda task: meet.wait(10), range(2), 2, "dynamic")


def test_the_simulator_repeats_a_measured_loop_from_its_costs():
    """Sleeping tasks have sure lengths, so both clocks share them alike, whoever comes first."""
    sleeps = [0.02] * 6 + [0.001] * 6
    for schedule in ("static", "static,1", "guided"):
        run = parallel_for(lambda k: time.sleep(sleeps[k]), range(12), 2, schedule)
        again = simulate(run.costs, 2, schedule)
        assert sorted(run.busy) == pytest.approx(sorted(again.busy))
        assert again.makespan <= run.makespan


def test_a_bar_counts_the_tasks(capfd):
    parallel_for(lambda task: None, range(40), 2, progress=True)
    assert "40/40" in capfd.readouterr().err
