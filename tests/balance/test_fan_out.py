"""fan_out: results in order, at most so many at once, errors with their item, the rest cancelled, retries counted."""

import _thread
import threading

import pytest

from counterpoint.balance.cancellation import Cancellation
from counterpoint.balance.failures import Cancelled, WorkerFailed
from counterpoint.balance.fan_out import FanOut, ItemFailed, fan_out
from counterpoint.balance.task_failed import TaskFailed


@pytest.mark.parametrize("workers", [1, 2, 5, 200])
def test_results_are_in_the_order_of_the_items(workers):
    run = fan_out(lambda item: item * item, range(100), workers)
    assert run.results == [item * item for item in range(100)] and run.attempts == [1] * 100
    done = [e for e in run.trace.where(kind="compute") if e.op == "<lambda>"]
    assert sorted(e.tag for e in done) == list(range(100)) and run.trace.ranks == min(workers, 100)


def test_no_items_are_no_work():
    run = fan_out(len, [], 4)
    assert (run.results, run.attempts, len(run.trace)) == ([], [], 0) and isinstance(run, FanOut)


def test_never_more_than_workers_at_once_and_that_many_if_they_can():
    now, most, lock, all_in = 0, 0, threading.Lock(), threading.Barrier(3)

    def count(item):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        all_in.wait()  # passes only if three are in here together
        with lock:
            now -= 1

    fan_out(count, range(30), 3)
    assert most == 3


def test_the_first_error_says_which_item_and_cancels_what_has_not_begun():
    begun = []

    def work(item):
        begun.append(item)
        if item == "d":
            raise KeyError("bad tile")
        return item

    with pytest.raises(TaskFailed) as caught:
        fan_out(work, "abcdefgh", 1)
    error = caught.value
    assert (error.index, error.item, error.attempts, error.worker) == (3, "d", 1, 0)
    assert (
        isinstance(error, ItemFailed) and error.cause is error.__cause__ and isinstance(error.cause, KeyError)
    )
    assert str(error) == (
        "item 3 ('d') failed on worker 0: KeyError: 'bad tile'; 3 of 8 items were done, no more are begun"
    )
    assert begun == list("abcd") and sorted(set(error.trace.where(kind="get").tag)) == [0, 1, 2, 3]


def test_running_tasks_hear_of_the_first_error():
    stop, heard, running = Cancellation(), [], threading.Barrier(2)

    def work(item):
        running.wait()
        if item == 0:
            raise ValueError("first")
        heard.append(stop.wait(60))
        stop.check()

    with pytest.raises(ItemFailed, match="ValueError: first"):
        fan_out(work, range(2), 2, cancellation=stop)
    assert heard == [True] and stop.requested


def test_running_tasks_that_do_not_ask_are_waited_for():
    running, ended = threading.Barrier(2), []
    stop = Cancellation()

    def work(item):
        running.wait()
        if item == 0:
            raise ValueError("first")
        stop.wait(60)
        for _ in range(100_000):
            pass
        ended.append(item)

    with pytest.raises(ItemFailed):
        fan_out(work, range(2), 2, cancellation=stop)
    assert ended == [1]


def test_ones_own_cancellation_says_how_far_it_came():
    stop = Cancellation()
    with pytest.raises(Cancelled, match="3 of 10 items were done") as caught:
        fan_out(lambda item: item == 3 and (stop.request(), stop.check()), range(10), 1, cancellation=stop)
    assert len(caught.value.trace.where(kind="get", rank=0)) == 4


def test_retries_ask_the_backoff_and_count():
    asked, failing = [], {2: 3, 5: 1}

    def work(item):
        if failing.get(item, 0):
            failing[item] -= 1
            raise OSError("not now")
        return item

    run = fan_out(work, range(8), 3, retries=3, backoff=lambda failed: asked.append(failed) or 0.0)
    assert run.results == list(range(8)) and run.attempts == [1, 1, 4, 1, 1, 2, 1, 1]
    assert sorted(asked) == [1, 1, 2, 3]
    assert run.trace.text("op").count("work") == 12
    assert all(e.kind == "wait" for e in run.trace if e.op == "backoff")


def test_an_item_that_fails_every_attempt_says_how_many():
    def work(item):
        raise OSError("never")

    with pytest.raises(ItemFailed, match="failed on worker 0: 3 times, at last OSError: never") as caught:
        fan_out(work, ["x"], 4, retries=2)
    assert caught.value.attempts == 3


def test_a_backoff_ends_with_a_cancellation():
    running = threading.Barrier(2)

    def work(item):
        running.wait()
        raise (OSError if item == 0 else ValueError)("both fail")

    def backoff(failed):
        return 3600.0

    stop = Cancellation()

    def wait_or_stop(failed):
        stop.request()
        return backoff(failed)

    with pytest.raises(Cancelled, match="0 of 2 items"):
        fan_out(work, range(2), 2, retries=5, backoff=wait_or_stop, cancellation=stop)


def test_progress_is_called_in_the_callers_thread_after_each_item():
    calls, threads = [], set()

    def progress(done, items):
        calls.append((done, items))
        threads.add(threading.current_thread())

    fan_out(str, range(10), 3, progress=progress)
    assert calls == [(n, 10) for n in range(1, 11)] and threads == {threading.current_thread()}


def test_what_progress_raises_ends_the_work():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        fan_out(str, range(1000), 3, progress=lambda done, items: 1 / 0)
    assert threading.active_count() == before


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="interrupts reach main only"
)
def test_an_interrupt_leaves_no_thread_behind():
    before, stop = threading.active_count(), Cancellation()

    def work(item):
        if item == 3:
            _thread.interrupt_main()
            stop.wait(60)
            while True:
                pass

    with pytest.raises(KeyboardInterrupt):
        fan_out(work, range(100), 2, cancellation=stop)
    assert stop.requested and threading.active_count() == before


def test_a_task_that_asks_for_the_interpreters_end_is_no_item_to_try_again():
    def work(item):
        raise SystemExit(3)

    with pytest.raises(WorkerFailed) as caught:
        fan_out(work, range(3), 1, retries=5)
    assert isinstance(caught.value.cause, SystemExit)


@pytest.mark.parametrize(
    ("named", "said"), [({"workers": 0}, "workers"), ({"workers": 1, "retries": -1}, "retries")]
)
def test_numbers_that_make_no_sense_are_refused(named, said):
    with pytest.raises(ValueError, match=f"fan_out: {said} is a whole number of at least"):
        fan_out(str, [1], **named)
