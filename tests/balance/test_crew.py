"""A crew starts, works and ends together: failures stop everyone, standstills are named, all is in the trace."""

# ruff: noqa: PT012 - what a crew raises comes at the end of its context, which is several statements
import _thread
import gc
import threading
import time
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

from counterpoint.balance.barrier import Barrier
from counterpoint.balance.crew import Crew
from counterpoint.balance.failures import StandstillError, WorkerFailed, WorkerStopped
from counterpoint.balance.queues import FifoQueue, PriorityQueue
from counterpoint.trace import UNKNOWN, to_chrome


def pipeline(items=20):
    """One producer, two that square, one that collects."""
    with Crew() as crew:
        raw, squared = FifoQueue(2, name="raw", crew=crew), FifoQueue(2, name="squared", crew=crew)

        def produce():
            for item in range(items):
                raw.put(item)
            raw.close()

        def square():
            for item in raw:
                with crew.compute("square", item):
                    product = item * item
                squared.put(product)

        producer = crew.start("producer", produce)
        squarers = crew.start("squarer", square, count=2)
        crew.start("collector", lambda: sorted(squared))
        crew.join(producer + squarers)
        squared.close()
    return crew


def test_results_and_names_are_in_the_order_of_the_starts():
    crew = pipeline()
    assert crew.names == ["producer", "squarer 0", "squarer 1", "collector"]
    assert crew.results == [None, None, None, [i * i for i in range(20)]]
    assert [worker.number for worker in crew.workers] == [0, 1, 2, 3]


def test_the_trace_says_who_put_who_got_and_what_was_done():
    trace = pipeline().trace
    assert (trace.ranks, trace.clock, trace.actor) == (4, "wall", "worker")
    puts = {e.message: e for e in trace.where(kind="put")}
    gets = trace.where(kind="get")
    assert len(puts) == len(gets) == 40
    for get in gets:
        put = puts[get.message]
        assert (get.peer, get.op, get.tag) == (put.rank, put.op, put.tag) and put.end <= get.start
    assert sorted(trace.where(rank=0, kind="put").tag) == list(range(20))
    squares = [e for e in trace.where(kind="compute") if e.op == "square"]
    assert sorted(e.tag for e in squares) == list(range(20)) and {e.rank for e in squares} <= {1, 2}
    lines = trace.text("line")
    assert sum(line == "" for line in lines) <= 4  # what a worker did last is followed by no call
    assert all("test_crew.py" in line for line in lines if line)
    assert "worker 3" in str(to_chrome(trace)) and "messages" in repr(trace)


def test_the_events_of_a_worker_follow_one_another_without_gaps():
    trace = pipeline().trace
    for rank in range(4):
        own = trace.where(rank=rank)
        assert (own.start[1:] == own.end[:-1]).all() and (own.end >= own.start).all() and own.start[0] > 0


def test_a_wait_names_where_and_lasts_as_long_as_it_did():
    with Crew() as crew:
        queue, began = FifoQueue(name="mail", crew=crew), threading.Event()

        def reader():
            began.set()
            return queue.get()

        [worker] = crew.start("reader", reader)
        began.wait()
        while not crew.asleep:
            pass
        queue.put("a letter")  # by the body: nobody of the trace
    [wait] = crew.trace.where(kind="wait")
    [get] = crew.trace.where(kind="get")
    assert wait.op == "mail.get()" and wait.end > wait.start and get.start >= wait.end
    assert (get.peer, get.message, get.tag) == (UNKNOWN, UNKNOWN, 0) and worker.result == "a letter"


def test_a_wait_for_what_is_outside_the_crew_is_a_wait_in_the_trace():
    def download():
        with crew.waiting("download", 7):
            pass

    with Crew() as crew:
        crew.start("worker", download)
    [wait] = crew.trace.where(kind="wait")
    assert (wait.op, wait.tag) == ("download", 7)


# -- a worker that raises ----------------------------------------------------------------------------


def test_a_worker_that_raises_ends_all_others_wherever_they_wait():
    ended = []

    def waits(meet):
        try:
            meet()
        except WorkerStopped:
            ended.append(1)
            raise

    def fails():
        for item in jobs:
            if item == 2:
                while len(crew.asleep) < 4:
                    pass
                raise KeyError("no such tile")

    with pytest.raises(WorkerFailed) as caught, Crew() as crew:
        jobs, full = FifoQueue(name="jobs", crew=crew), FifoQueue(1, crew=crew)
        full.put(0)
        for item in range(5):
            jobs.put(item)
        crew.start("getter", waits, FifoQueue(crew=crew).get)
        crew.start("putter", waits, lambda: full.put(1))
        crew.start("meeter", waits, Barrier(2, crew=crew).wait)
        crew.start("joiner", waits, lambda: crew.join(crew.workers[:1]))
        crew.start("renderer", fails)
    error = caught.value
    assert (error.worker, error.item, error.number, error.queue) == ("renderer", 2, 2, "jobs")
    assert error.cause is error.__cause__ and isinstance(error.cause, KeyError)
    assert str(error) == (
        "renderer raised KeyError: 'no such tile'; the last item it had got was number 2 of jobs: 2; "
        "4 others were at work and are stopped"
    )
    assert len(ended) == 4 and crew.trace.where(kind="get").tag.tolist() == [0, 1, 2]


def test_workers_that_compute_are_stopped_too():
    spinning = threading.Event()

    def compute():
        spinning.set()
        while True:
            pass

    def fail():
        spinning.wait()
        raise ValueError("enough")

    with (
        pytest.raises(WorkerFailed, match="fail raised ValueError: enough; it had got no item; 1 others"),
        Crew() as crew,
    ):
        crew.start("compute", compute)
        crew.start("fail", fail)
    assert not any(worker.thread.is_alive() for worker in crew.workers)


def test_the_body_is_woken_and_told_when_a_worker_raises():
    after = []
    with pytest.raises(WorkerFailed) as caught, Crew() as crew:
        queue = FifoQueue(crew=crew)
        crew.start("worker", lambda: 1 / 0)
        try:
            queue.get()
        except WorkerFailed as error:
            after.append(error)
    assert after == [caught.value]


def test_an_exception_of_the_body_ends_the_workers_and_is_raised_as_it_is():
    with pytest.raises(LookupError, match="mine"), Crew() as crew:
        crew.start("reader", FifoQueue(crew=crew).get)
        crew.start("reader too", FifoQueue(crew=crew).get)
        raise LookupError("mine")
    assert not any(worker.thread.is_alive() for worker in crew.workers)


def test_an_item_whose_repr_is_long_or_raises_does_not_spoil_the_message():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no words")

    for item in (Odd(), "x" * 10_000):
        with pytest.raises(WorkerFailed, match="number 0 of queue 0") as caught, Crew() as crew:
            queue = FifoQueue(crew=crew)
            queue.put(item)

            def work(queue=queue):
                queue.get()
                raise ValueError

            crew.start("worker", work)
        assert len(str(caught.value)) < 300 and caught.value.item is item


def test_five_hundred_failing_crews_leave_no_thread():
    before = threading.active_count()
    for number in range(500):
        with pytest.raises((WorkerFailed, StandstillError)), Crew() as crew:
            queue = FifoQueue(1, crew=crew)
            barrier = Barrier(3, lambda: 1 / 0, crew=crew)
            crew.start("getter", queue.get)
            if number % 3 == 0:
                crew.start("fails", lambda: 1 / 0)
            elif number % 3 == 1:
                crew.start("meeter", barrier.wait, count=3)
    assert threading.active_count() == before


def test_a_crew_is_forgotten_with_its_last_name():
    def failed():
        crew = Crew()
        with pytest.raises(WorkerFailed), crew:
            crew.start("worker", lambda: 1 / 0)
        return weakref.ref(crew)

    ref = failed()
    gc.collect()
    assert ref() is None


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="interrupts reach main only"
)
@pytest.mark.parametrize("where", ["waits", "at its end", "computes"])
def test_an_interrupt_ends_every_worker(where):
    started = threading.Barrier(3)

    def interrupt():
        started.wait()
        _thread.interrupt_main()
        FifoQueue(crew=crew).get()

    def compute():
        started.wait()
        while True:
            pass

    def meet():
        started.wait()
        Barrier(2, crew=crew).wait()

    with pytest.raises(KeyboardInterrupt), Crew() as crew:
        for worker in (interrupt, compute, meet):
            crew.start(worker.__name__, worker)
        if where == "waits":
            FifoQueue(crew=crew).get()
        while where == "computes":
            pass
    assert not any(worker.thread.is_alive() for worker in crew.workers)


# -- a standstill ------------------------------------------------------------------------------------


def test_a_standstill_tells_each_who_waits_for_what():
    told = []

    def work(meet):
        try:
            meet()
        except StandstillError as error:
            told.append(error)
            raise

    with pytest.raises(StandstillError) as caught, Crew() as crew:
        empty, full = FifoQueue(name="empty", crew=crew), PriorityQueue(1, name="full", crew=crew)
        full.put(1)
        crew.start("reader", work, empty.get)
        crew.start("writer", work, lambda: full.put(2))
        crew.start("meeter", work, Barrier(2, name="sync", crew=crew).wait)
        crew.start("ends", lambda: None)
        crew.join(crew.workers)
    text = str(caught.value)
    assert text.startswith("standstill: all 4 that have not ended wait for each other:")
    assert "reader waits at empty.get()" in text and ": the queue is empty" in text
    assert "writer waits at full.put()" in text and ": the queue is full (1 of 1 items)" in text
    assert (
        "meeter waits at sync" in text and ": 1 of 2 are here in phase 0; missing: 1 that never came" in text
    )
    assert "the crew's maker waits at the end of reader" in text and "reader has not ended" in text
    assert "test_crew.py" in text and "full.put(2)" in text
    assert "Close a queue after its last put" in text and "See that someone gets from a full queue" in text
    assert len(told) == 3 and all(error is not caught.value for error in told)


def test_no_standstill_is_seen_while_anybody_could_still_act():
    """A worker that computes, or the body, may put yet."""
    release = threading.Event()

    def slow():
        release.wait()
        queue.put(1)

    with Crew() as crew:
        queue = FifoQueue(crew=crew)
        crew.start("reader", queue.get, count=2)
        while len(crew.asleep) < 2:
            pass
        crew.start("slow", slow)
        release.set()
        while crew.asleep and len(crew.asleep) > 1:
            pass
        queue.put(2)
    assert sorted(worker.result for worker in crew.workers[:2]) == [1, 2]


def test_forgetting_to_close_is_a_standstill_when_the_last_producer_ends():
    with pytest.raises(StandstillError, match="consumer waits, and all others have ended"), Crew() as crew:
        queue = FifoQueue(name="jobs", crew=crew)
        crew.start("producer", lambda: [queue.put(i) for i in range(5)])
        crew.start("consumer", lambda: list(queue))


def test_a_forgotten_notify_is_a_standstill_of_ones_own_condition():
    """Whether what one waits for has become true does not matter: nobody says so."""
    mail = []

    def reader():
        with arrived:
            while not mail:
                arrived.wait()

    def writer(notifies):
        with arrived:
            mail.append("a letter")
            if notifies:
                arrived.notify()

    for notifies in (True, False):
        mail.clear()
        crew = Crew()
        arrived = crew.condition("mail", lambda: f"{len(mail)} letters", "notify those who wait")
        end = nullcontext() if notifies else pytest.raises(StandstillError, match=r"at mail .*: 1 letters")
        with end, crew:
            crew.start("reader", reader)
            while not crew.asleep:
                pass
            crew.start("writer", writer, notifies)


def test_a_wait_after_the_crews_end_is_answered():
    with Crew() as crew:
        queue = FifoQueue(crew=crew)
        crew.start("writer", lambda: queue.put(1))
    assert queue.get() == 1
    with pytest.raises(StandstillError, match="the crew's maker waits, and all others have ended"):
        queue.get()


# -- wrong use ---------------------------------------------------------------------------------------


def test_a_stranger_is_told_to_be_started_by_the_crew():
    said = []
    with Crew() as crew:
        queue = FifoQueue(crew=crew)

        def stranger():
            with pytest.raises(
                RuntimeError, match=r"thread odd is no worker of this crew; start it by crew\.start"
            ):
                queue.put(1)
            said.append(1)

        thread = threading.Thread(target=stranger, name="odd")
        thread.start()
        thread.join()
    assert said and len(queue) == 0


def test_two_workers_of_one_name_are_refused():
    with Crew() as crew:
        crew.start("worker 1", int)
        with pytest.raises(ValueError, match="there is a worker worker 1 already; give each its own name"):
            crew.start("worker", int, count=2)
    assert crew.names == ["worker 1"]


@pytest.mark.parametrize("count", [0, -1, 2.0, True])
def test_a_count_that_is_none_is_refused(count):
    with Crew() as crew, pytest.raises(ValueError, match="count is at least 1"):
        crew.start("worker", int, count=count)


def test_a_crew_works_once_and_only_in_its_context():
    crew = Crew()
    with pytest.raises(ValueError, match="cannot start outside the crew's context"):
        crew.start("worker", int)
    with crew:
        crew.start("worker", int)
    with pytest.raises(RuntimeError, match="a crew works once"), crew:
        pass


def test_two_crews_live_side_by_side_and_one_within_a_worker_of_another():
    def inner():
        with Crew() as crew:
            queue = FifoQueue(crew=crew)
            crew.start("writer", lambda: queue.put(threading.current_thread().name))
            return queue.get()

    with Crew() as crew:
        crew.start("outer", inner, count=3)
    assert crew.results == ["writer"] * 3


def test_workers_inherit_the_starters_context():
    with np.errstate(divide="raise"), Crew() as crew:
        crew.start("worker", lambda: np.geterr()["divide"])
        crew.start("other", lambda: time.get_clock_info("perf_counter").monotonic)
    assert crew.results[1] is True
    assert crew.results[0] == ("raise" if int(np.__version__.split(".")[0]) >= 2 else "warn")
