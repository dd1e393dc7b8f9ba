"""A payload whose other end stops or dies when half of it has moved: who waits for it must hear of that.

gloo never wakes who waits for such a payload (see companion.py), so this is for us to get right.
"""

import io
import os
import re
import signal
import threading
import time

import pytest
import torch

from counterpoint.ranks import RankFailed, launch
from counterpoint.ranks.wire import OUTSTANDING

COUNT = 1 << 27
"""Bytes of the payload: what takes long enough to be met half way."""

STATED = {signal.SIGKILL: 1, signal.SIGSTOP: 11}
"""Seconds within which the other end hears of it."""


def half_way(comm, victim, how):
    """Rank 1 sends to rank 0; the victim's process gets a signal once rank 0's memory is half filled."""
    x = torch.full((COUNT,), comm.rank, dtype=torch.uint8)
    pids = comm._exchange(os.getpid(), "test")
    met, stop = [], threading.Event()

    def strike():
        while not stop.is_set():
            if x[COUNT // 2]:
                met.append((time.monotonic(), int(x[-1])))
                os.kill(pids[victim], how)
                return

    striker = threading.Thread(target=strike)
    if comm.rank == 0:
        striker.start()
    try:
        comm.recv(x, 1) if comm.rank == 0 else comm.send(x, 0)
        comm.barrier()
    except RankFailed:
        print(f"half {met[0][1] == 0 if met else 'sent'}" if comm.rank == 0 else "heard")
        raise
    finally:
        stop.set()


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)], ids=lambda how: how.name
)
@pytest.mark.parametrize("victim", [0, 1], ids=["receiver", "sender"])
def test_the_other_end_hears_within_the_stated_time(victim, how):
    said = io.StringIO()
    before = time.monotonic()
    with pytest.raises(RankFailed) as caught:
        launch(half_way, 2, (victim, how), world="processes", output=said, timeout=60)
    assert caught.value.rank == victim
    assert re.search("SIGKILL|sign of life for 10 s", str(caught.value)), caught.value
    assert said.getvalue() == ("[rank 1] heard\n" if victim == 0 else "[rank 0] half True\n")
    assert time.monotonic() - before < STATED[how] + 15


@pytest.mark.slow
def test_who_sends_small_messages_to_a_stopped_rank_hears_of_it_too():
    """They leave at once, until the connection and `wire.OUTSTANDING` are full. Slow: `watch.SILENCE`."""

    def worker(comm, x):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        try:
            for sent in range(100_000):  # noqa: B007
                comm.send(x, 1)
        except RankFailed:
            print("heard after", sent)
            raise

    said = io.StringIO()
    before = time.monotonic()
    with pytest.raises(RankFailed, match=r"rank 1 has given no sign of life for 10 s while rank 0 waits"):
        launch(worker, 2, (torch.ones(8000, dtype=torch.uint8),), world="processes", output=said, timeout=60)
    assert int(re.fullmatch(r"\[rank 0\] heard after (\d+)\n", said.getvalue())[1]) > OUTSTANDING
    assert time.monotonic() - before < 11 + 15


def test_small_messages_beyond_what_may_be_under_way_arrive_in_order():
    def worker(comm, x):
        for number in range(2000):
            if comm.rank == 0:
                x[0] = number
                comm.send(x, 1)
            else:
                comm.recv(x, 0)
                assert x[0] == number

    launch(worker, 2, (torch.zeros(1),), world="processes")
