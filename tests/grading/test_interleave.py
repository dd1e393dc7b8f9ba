"""The schedule that forces interleavings: it finds a race, ends when all wait, and repeats itself."""

from math import comb

import pytest

from counterpoint.grading.interleave import ENDLESS, Schedule, interleavings


def adding(locked: bool, workers: int = 2):
    """Workers that add one to the counter, and return nothing."""

    def make(schedule: Schedule):
        def add():
            if locked:
                with schedule.lock:
                    schedule.counter.write(schedule.counter.read() + 1)
            else:
                schedule.counter.write(schedule.counter.read() + 1)

        return [add] * workers

    return make


def last_written(run) -> int:
    return [step.value for step in run.steps if step.act == "writes"][-1]


def test_the_race_is_found_with_a_single_switch() -> None:
    bad = next(run for run in interleavings(adding(locked=False)) if last_written(run) != 2)
    assert [str(step) for step in bad.steps] == [
        "worker 0 reads 0", "worker 1 reads 0", "worker 1 writes 1", "worker 0 writes 1",
    ]  # fmt: skip


@pytest.mark.parametrize("workers", [2, 3])
def test_with_the_lock_there_is_none(workers: int) -> None:
    runs = list(interleavings(adding(locked=True, workers=workers)))
    assert {last_written(run) for run in runs} == {workers}
    assert not any(run.waiting or run.error for run in runs)


def test_every_interleaving_is_tried_once_in_order() -> None:
    without_chance = list(interleavings(adding(locked=False), chance=0))
    orders = [tuple(step.worker for step in run.steps) for run in without_chance]
    every = orders[-comb(4, 2) :]
    assert len(set(every)) == comb(4, 2)
    assert orders[:2] == [(0, 0, 1, 1), (1, 1, 0, 0)]


def test_runs_are_the_same_again() -> None:
    once, again = ([run.steps for run in interleavings(adding(locked=False, workers=3))] for _ in "ab")
    assert once == again


def test_it_ends_when_all_wait() -> None:
    def make(schedule: Schedule):
        return [schedule.lock.acquire] * 3

    for run in interleavings(make):
        assert len(run.waiting) == 2
        assert run.holder not in run.waiting
        assert not run.endless


def test_one_that_waits_for_itself_is_seen() -> None:
    def make(schedule: Schedule):
        def twice():
            with schedule.lock, schedule.lock:
                pass

        return [twice]

    run = next(interleavings(make))
    assert (run.waiting, run.holder) == ((0,), 0)


def test_asking_in_vain_is_no_standstill() -> None:
    def make(schedule: Schedule):
        def add():
            while not schedule.lock.acquire(blocking=False):
                pass
            schedule.counter.write(schedule.counter.read() + 1)
            schedule.lock.release()

        return [add] * 2

    runs = list(interleavings(make))
    assert {last_written(run) for run in runs} == {2}
    assert not any(run.waiting for run in runs)


def test_an_endless_run_is_given_up() -> None:
    def make(schedule: Schedule):
        def forever():
            while True:
                schedule.counter.read()

        return [forever]

    run = next(interleavings(make))
    assert run.endless
    assert len(run.steps) == ENDLESS


def test_what_a_worker_raises_ends_the_run() -> None:
    def make(schedule: Schedule):
        return [schedule.lock.release]

    run = next(interleavings(make))
    assert isinstance(run.error, RuntimeError)
    assert str(run.error) == "worker 0 releases the lock, which nobody holds"
