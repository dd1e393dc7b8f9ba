"""Nothing hangs: deadlocks, failing ranks, ranks that left, time-outs, interrupts; for every world."""

import gc
import io
import subprocess
import sys
import threading
import weakref

import pytest
import torch

from counterpoint.ranks import CommError, DeadlockError, LaunchTimeout, RankFailed, launch


def all_send_first(comm, x):
    comm.send(x, (comm.rank + 1) % comm.size)
    comm.recv(x, (comm.rank - 1) % comm.size)


def test_eight_ranks_that_all_send_first_are_told_who_waits_for_whom(world):
    with pytest.raises(DeadlockError) as caught:
        world(all_send_first, 8, (torch.ones(4),), eager_limit=0)
    text = str(caught.value)
    for rank in range(8):
        line = f"rank {rank} waits in send to rank {(rank + 1) % 8} (tag 0, 16 bytes)"
        assert line in text
    assert "test_failures.py" in text and "comm.send(x, (comm.rank + 1) % comm.size)" in text
    assert "cycle: 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 0" in text
    assert caught.value.cycle == list(range(8))
    assert [w.rank for w in caught.value.waits] == list(range(8))


def test_the_same_program_works_by_luck_when_messages_are_small(world):
    assert world(all_send_first, 8, (torch.ones(4),)).trace.totals().messages == 8


def test_a_cycle_is_found_while_other_ranks_still_compute():
    """Threads only: simulated ranks take turns, so nobody computes while others wait."""
    stop = threading.Event()

    def worker(comm, x):
        if comm.rank == 2:
            while not stop.is_set():
                pass
        comm.recv(x, 1 - comm.rank)

    try:
        with pytest.raises(DeadlockError) as caught:
            launch(worker, 3, (torch.ones(1),))
    finally:
        stop.set()
    assert caught.value.cycle == [0, 1]
    assert "none has sent" in str(caught.value)


def test_waiting_for_a_rank_that_returned_names_it(world):
    def worker(comm, x):
        if comm.rank == 0:
            comm.recv(x, 1)

    with pytest.raises(DeadlockError, match="rank 1 has returned, but others still wait for it"):
        world(worker, 2, (torch.ones(1),))


def test_a_barrier_that_one_rank_never_reaches_is_a_deadlock(world):
    def worker(comm):
        if comm.rank != 2:
            comm.barrier()

    with pytest.raises(DeadlockError, match="rank 2 has returned") as caught:
        world(worker, 4)
    assert {w.call for w in caught.value.waits} == {"barrier"}


def test_a_deadlock_among_some_ends_the_rest_too(world):
    def worker(comm, x):
        if comm.rank < 2:
            comm.recv(x, 1 - comm.rank)
        else:
            comm.recv(x, 0)

    with pytest.raises(DeadlockError) as caught:
        world(worker, 4, (torch.ones(1),))
    assert caught.value.cycle == [0, 1]


def test_the_failed_run_keeps_what_happened_until_then(world):
    with pytest.raises(DeadlockError) as caught:
        world(all_send_first, 4, (torch.ones(4),), eager_limit=0)
    trace = caught.value.run.trace
    assert trace.totals().messages == 4
    waits = trace.where(kind="wait")
    assert sorted(waits.rank) == [0, 1, 2, 3]
    assert set(waits.text("op")) == {"send"}


def test_a_rank_that_raises_stops_the_others_with_its_error(world):
    seen = io.StringIO()

    def worker(comm, x):
        try:
            comm.barrier()
            if comm.rank == 1:
                raise KeyError("lost")
            comm.recv(x, 1)
        except RankFailed as error:
            print(error)
            raise

    with pytest.raises(RankFailed, match=r"rank 1 raised KeyError: 'lost'.*raise KeyError") as caught:
        world(worker, 4, (torch.ones(1),), output=seen)
    assert caught.value.rank == 1
    assert isinstance(caught.value.__cause__, KeyError)
    assert sorted(line[:8] for line in seen.getvalue().splitlines()) == ["[rank 0]", "[rank 2]", "[rank 3]"]


def test_a_failure_ends_ranks_that_only_compute(world):
    def worker(comm):
        if comm.rank == 0:
            raise ValueError("no")
        while True:
            pass

    with pytest.raises(RankFailed):
        world(worker, 3)


def test_polling_for_ever_is_ended_by_the_timeout(world):
    def worker(comm, x):
        if comm.rank == 0:
            request = comm.irecv(x, 1)
            while not request.test():
                pass
        else:
            comm.recv(x, 0)

    with pytest.raises(LaunchTimeout, match=r"not over after 0.2 s") as caught:
        world(worker, 2, (torch.ones(1),), timeout=0.2)
    assert [w.rank for w in caught.value.waits] == [1]
    assert "ranks [0]" in str(caught.value)


def test_an_exception_handler_in_a_rank_cannot_keep_it_alive(world):
    def worker(comm, x):
        if comm.rank == 0:
            raise ValueError("no")
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass

    with pytest.raises(RankFailed):
        world(worker, 2, (torch.ones(1),))


@pytest.mark.slow
def test_a_thousand_deadlocks_and_failures_leave_no_thread_behind():
    def failing(comm, x):
        if comm.rank == 3:
            raise ValueError("no")
        comm.recv(x, 3)

    before = threading.active_count()
    for number in range(1000):
        with pytest.raises(CommError):
            launch((all_send_first, failing)[number % 2], 4, (torch.ones(4),), eager_limit=0)
    assert threading.active_count() == before


def test_a_failed_run_is_freed_with_its_error(world):
    def worker(comm, x):
        comm.recv(x, comm.rank)

    held = []
    try:
        world(worker, 1, (torch.ones(1),))
    except CommError as error:
        held.append(weakref.ref(error.run))
    gc.collect()
    assert held[0]() is None


INTERRUPTED = """
import _thread, sys, threading, torch
from counterpoint.ranks import launch

started = threading.Barrier(3, action=lambda: threading.Timer(0.1, _thread.interrupt_main).start())

def worker(comm, x):
    started.wait()
    if comm.rank == 0:
        while True:
            pass
    comm.recv(x, 0)

try:
    launch(worker, 3, (torch.ones(1),))
except KeyboardInterrupt:
    left = [t.name for t in threading.enumerate() if t.name.startswith("rank")]
    print("interrupted, left:", left)
"""


def test_an_interrupt_ends_every_rank_and_leaves_nothing_behind():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted, left: []\n", done.stderr
