"""One contract for every schedule: each task exactly once, on threads and on the virtual clock."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.balance import (
    Dynamic,
    Guided,
    Static,
    WorkStealing,
    as_schedule,
    parallel_for,
    simulate,
)
from counterpoint.balance.shares import Counter, Deques

EVERY = ["static", "static,1", "static,3", "dynamic", "dynamic,4", "guided", "guided,5", "work_stealing,2"]


def taken(share, workers, order):
    """All takes, the workers asking in the order that `order` (a generator of numbers) gives."""
    asking, takes = list(range(workers)), []
    while asking:
        worker = asking[next(order) % len(asking)]
        take = share.take(worker)
        if take is None:
            asking.remove(worker)
        else:
            takes.append((worker, take))
    return takes


def faults(takes, tasks):
    """What is wrong with the takes: tasks that nobody has, or that two have."""
    times = np.zeros(tasks, int)
    for _, (first, length, _) in takes:
        times[first : first + length] += 1
    return {"lost": np.flatnonzero(times == 0).tolist(), "twice": np.flatnonzero(times > 1).tolist()}


@settings(max_examples=60, deadline=None)
@given(
    tasks=st.integers(0, 70),
    workers=st.integers(1, 9),
    chunk=st.integers(1, 80),
    seed=st.lists(st.integers(0, 100), min_size=1, max_size=40),
)
def test_every_task_is_taken_once_whoever_asks_when(tasks, workers, chunk, seed):
    for schedule in (Static(), Static(chunk), Dynamic(chunk), Guided(chunk), WorkStealing(chunk)):
        order = iter(lambda: seed[0] if len(seed) == 1 else seed.append(seed.pop(0)) or seed[-1], None)
        takes = taken(schedule.share(tasks, workers), workers, order)
        assert faults(takes, tasks) == {"lost": [], "twice": []}, schedule
        assert all(length >= 1 for _, (_, length, _) in takes)


@pytest.mark.parametrize("schedule", EVERY)
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("tasks", [0, 1, 7, 100])
def test_threads_do_every_task_once_and_results_are_in_order(schedule, workers, tasks):
    done = []
    run = parallel_for(lambda n: done.append(n) or n * n, range(10, 10 + tasks), workers, schedule)
    assert sorted(done) == list(range(10, 10 + tasks))
    assert list(run.results) == [n * n for n in range(10, 10 + tasks)]
    assert len(run.computed) == tasks == len(run.owner) and (run.owner >= 0).all()
    assert run.takes.length.sum() == tasks and run.trace.clock == "wall"


@pytest.mark.parametrize("schedule", EVERY)
@pytest.mark.parametrize("workers", [1, 2, 3, 64])
@pytest.mark.parametrize("tasks", [0, 1, 7, 100])
def test_no_virtual_worker_does_two_things_at_a_time(schedule, workers, tasks):
    costs = 1.0 + np.arange(tasks) % 7
    run = simulate(costs, workers, schedule, take_seconds=0.5, steal_seconds=0.25)
    assert np.allclose(run.costs, costs, atol=1e-12) and len(run.computed) == tasks
    for worker in range(workers):
        mine = run.trace.where(rank=worker, kind=("take", "compute"))
        assert (np.diff(mine.start) >= 0).all() and (mine.start[1:] >= mine.end[:-1]).all()


def test_static_gives_the_longer_parts_first():
    run = simulate([1.0] * 10, 4, "static")
    assert run.owner.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]


def test_static_with_a_chunk_deals_in_turn():
    run = simulate([1.0] * 10, 3, "static,2")
    assert run.owner.tolist() == [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]


def test_guided_takes_an_even_share_of_what_is_left():
    run = simulate([1.0] * 100, 4, "guided,3")
    by_first = run.takes.length[np.argsort(run.takes.offset)]
    assert by_first.tolist() == [25, 19, 14, 11, 8, 6, 5, 3, 3, 3, 3]


def test_guided_is_as_bad_as_static_where_the_expensive_half_comes_first():
    costs = [1.0] * 50 + [0.0] * 50
    assert simulate(costs, 2, "guided").imbalance == simulate(costs, 2, "static").imbalance == 2.0
    assert simulate(costs, 2, "dynamic").imbalance == 1.0


def test_a_thief_takes_the_back_half_of_the_longest_deque():
    run = simulate([1.0] * 8 + [0.0] * 8, 2, "work_stealing", steal_seconds=0.5)
    first = run.steals[0]
    assert (first.rank, first.peer, first.start, first.end) == (1, 0, 0.0, 0.5)
    assert run.owner[:8].tolist() == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
        1,
    ]  # task 0 had begun; 4 of the 7 others were stolen
    assert run.makespan == 4.5


@pytest.mark.parametrize("text", ["static", "static,2", "dynamic,1", "guided,7", "work_stealing,3"])
def test_a_name_reads_as_its_schedule(text):
    assert as_schedule(text).name == text and as_schedule(as_schedule(text)).name == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cyclic", "there are static, dynamic"),
        ("dynamic,0", "at least 1 task, not 0"),
        ("dynamic,-1", "number of tasks"),
        ("guided,", "number of tasks"),
        ("static,x", "number of tasks"),
    ],
)
def test_other_texts_are_refused(text, says):
    with pytest.raises(ValueError, match=says):
        as_schedule(text)


def test_what_is_no_schedule_is_refused():
    with pytest.raises(TypeError, match="no schedule"):
        as_schedule(4)


class Racing:
    """A counter that is read and moved in two acts, with a pause between them where two threads meet."""

    def __init__(self, tasks, lock):
        self.next, self.tasks, self.lock, self.meet = 0, tasks, lock, threading.Barrier(2)

    def take(self, worker):
        with self.lock:
            first = self.next
            try:
                self.meet.wait(0.2)
            except threading.BrokenBarrierError:
                pass
            if first >= self.tasks:
                return None
            self.next = first + 1
            return first, 1, -1


def two_threads_take(share):
    takes = []
    threads = [threading.Thread(target=lambda: takes.append((0, share.take(0)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return takes


def test_without_its_lock_the_counter_gives_a_task_twice_and_the_contract_sees_it():
    class Nothing:
        def __enter__(self): ...
        def __exit__(self, *error): ...

    assert faults(two_threads_take(Racing(2, Nothing())), 2) == {"lost": [1], "twice": [0]}
    assert faults(two_threads_take(Racing(2, threading.Lock())), 2) == {"lost": [], "twice": []}


@pytest.mark.parametrize(
    "make", [lambda: Counter(20000, lambda left: 1), lambda: Deques([(0, 20000), (20000, 0)], 1)]
)
def test_many_threads_lose_nothing_under_pressure(make):
    share, takes = make(), [[], []]

    def worker(me):
        while take := share.take(me):
            takes[me].append((me, take))

    threads = [threading.Thread(target=worker, args=(me,)) for me in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults(takes[0] + takes[1], 20000) == {"lost": [], "twice": []}
