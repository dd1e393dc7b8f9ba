"""Ranks as processes: what only they can get wrong. The contract they share is in the other files."""

import io
import linecache
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

from counterpoint.collectives import all_reduce
from counterpoint.collectives.ring import ring_all_gather, ring_reduce_scatter
from counterpoint.models import Link
from counterpoint.ranks import DeadlockError, RankFailed, connect, disconnect, launch
from counterpoint.ranks.nursery import NURSERY


def group_ends_within(group, seconds):
    """Whether every process of a process group has ended by then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def killed_half_way(comm, x):
    chunks = list(x.tensor_split(comm.size))
    before = time.perf_counter()
    try:
        ring_reduce_scatter(comm, chunks)
        if comm.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        ring_all_gather(comm, chunks)
        comm.barrier()
    except RankFailed as error:
        print(f"{time.perf_counter() - before:.2f} s: {error}")
        raise


@pytest.mark.parametrize("count", [1000, 3_000_000])
def test_a_killed_rank_is_an_error_on_every_other_that_names_it(count):
    said = io.StringIO()
    with pytest.raises(RankFailed, match=r"rank 2's process was ended by SIGKILL") as caught:
        launch(killed_half_way, 4, (torch.ones(count),), world="processes", output=said)
    assert caught.value.rank == 2
    lines = said.getvalue().splitlines()
    assert sorted(line[:8] for line in lines) == ["[rank 0]", "[rank 1]", "[rank 3]"], lines
    for line in lines:
        assert "rank 2's process" in line
        assert float(re.search(r"([\d.]+) s:", line)[1]) < 5.0  # stated: about a second


def test_a_process_that_exits_is_named_with_its_status():
    def worker(comm):
        if comm.rank == 1:
            os._exit(7)
        comm.barrier()

    with pytest.raises(RankFailed, match=r"rank 1's process ended with exit status 7") as caught:
        launch(worker, 3, world="processes")
    assert caught.value.rank == 1


@pytest.mark.slow
def test_a_process_that_is_stopped_is_named_within_the_stated_time():
    """Slow: it takes the ten seconds of `watch.SILENCE`."""

    def worker(comm, x):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        comm.recv(x, 1)

    before = time.monotonic()
    with pytest.raises(
        RankFailed, match=r"rank 1 has given no sign of life for 10 s while rank \d waits"
    ) as caught:
        launch(worker, 3, (torch.ones(1),), world="processes")
    assert caught.value.rank == 1
    assert time.monotonic() - before < 10 + 10


def test_an_error_that_cannot_travel_is_told_in_words_with_its_traceback():
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} and {b}")

    def worker(comm):
        raise Odd("this", "that")

    with pytest.raises(RankFailed, match="raised Odd: this and that") as caught:
        launch(worker, 1, world="processes")
    cause = caught.value.__cause__
    assert "this and that" in str(cause)
    assert 'raise Odd("this", "that")' in cause.__notes__[0]


def test_a_result_that_cannot_travel_is_an_error_that_says_what_to_return():
    with pytest.raises(RankFailed, match="returned a generator, which cannot be sent"):
        launch(lambda comm: (i for i in range(3)), 2, world="processes")


def test_an_argument_that_cannot_travel_is_refused_before_any_process_starts():
    class Rooted:
        def __deepcopy__(self, memo):
            return self

        def __reduce__(self):
            raise TypeError("this stays here")

    with pytest.raises(TypeError, match=r"rank 1's arguments cannot be sent.*this stays here"):
        launch(lambda comm, it: None, per_rank=[1, Rooted()], world="processes")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"share": True}, "processes share no memory"),
        ({"network": Link()}, "keep the wall clock"),
        ({"backend": "mpi"}, "no backend 'mpi'"),
        ({"seed": 1}, "no option 'seed'"),
        ({"sampler": print}, "watches ranks of this process"),
    ],
)
def test_what_processes_have_not_is_refused(options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        launch(lambda comm: None, 2, world="processes", **options)


def test_phantom_tensors_are_refused_with_the_world_that_takes_them():
    with pytest.raises(RankFailed, match="world='simulated'"):
        launch(lambda comm: comm.isend(torch.empty(3, device="meta"), 0), 1, world="processes")


def test_what_ranks_changed_in_place_comes_home():
    run = launch(lambda comm, x: x.add_(comm.rank), 3, (torch.zeros(2),), world="processes")
    assert [own[0].tolist() for own in run.args] == [[0, 0], [1, 1], [2, 2]]


def test_a_send_lasts_as_long_as_its_receive_on_one_clock():
    run = launch(
        lambda comm, x: all_reduce(comm, x, algorithm="ring"), 4, (torch.ones(100_000),), world="processes"
    )
    sends = {event.message: event for event in run.trace.sends}
    receives = [event for event in run.trace if event.kind in ("recv", "reduce")]
    assert len(sends) == len(receives) == 24
    for receive in receives:
        assert (sends[receive.message].start, sends[receive.message].end) == (receive.start, receive.end)
    assert run.clock == "wall"
    assert np.all(run.trace.end >= run.trace.start)
    assert run.trace.start.min() >= 0 and run.trace.end.max() <= run.seconds


def test_a_function_from_a_cell_keeps_its_lines():
    text = "def worker(comm, x):\n    if comm.rank == 0:\n        comm.recv(x, 1)\n"
    name = "<cell of a notebook>"
    space = {"__name__": "__main__"}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)
    with pytest.raises(DeadlockError, match=r"comm\.recv\(x, 1\)") as caught:
        launch(space["worker"], 2, (torch.ones(1),), world="processes")
    assert caught.value.waits[0].file == name
    assert caught.value.waits[0].line == 3
    assert caught.value.run.trace.sources[name] == text.splitlines()


def test_forty_launches_leave_no_process_and_no_thread():
    launch(lambda comm: None, 2, world="processes")
    threads = threading.active_count()
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(40):
        launch(lambda comm: comm.barrier(), 2, world="processes")
    assert threading.active_count() <= threads
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 2


def test_a_window_is_memory_that_processes_share_and_that_has_no_name():
    def worker(comm):
        window = comm.window((comm.size, 1000), torch.float64)
        for dest in range(comm.size):
            window.peer(dest)[comm.rank] = 10.0 * comm.rank + dest  # a kernel's write, straight into the peer
            window.moved("put", dest, 8000)
        window.fence()
        again = comm.window_of(window.local[1:2])
        return window.local[:, 0].tolist(), again.peer(0)[0, 5].item()

    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    run = launch(worker, 3, world="processes")
    assert [mine for mine, _ in run.results] == [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    assert [first for _, first in run.results] == [10, 10, 10]
    assert run.trace.where(kind="put").nbytes.sum() == 6 * 8000
    if before:
        assert not {name for name in os.listdir("/dev/shm") if "counterpoint" in name} - before


def test_windows_that_are_gone_leave_nothing_mapped():
    def worker(comm, x):
        for _ in range(20):
            all_reduce(comm, x, "max", "two-shot")
            all_reduce(comm, x, "max", "one-shot")
        kept = comm.window(3)
        return [
            mapped() is not None for _, _, mapped, _, _ in comm._port.segments.mapped
        ], kept.local.tolist()

    results = launch(worker, 2, (torch.ones(100),), world="processes").results
    assert results == [([True], [0.0] * 3)] * 2


def test_a_processs_own_memory_is_no_window():
    with pytest.raises(RankFailed, match=r"others cannot reach; open a window with comm\.window"):
        launch(lambda comm, x: comm.window_of(x), 2, (torch.ones(3),), world="processes")


def test_more_shared_memory_than_there_is_is_refused_on_every_rank():
    said = io.StringIO()

    def worker(comm):
        try:
            comm.window((1 << 50,), torch.uint8)
        except ValueError as error:
            print(error)

    launch(worker, 2, world="processes", output=said)
    lines = said.getvalue().splitlines()
    assert len(lines) == 2 and all(
        "2,251,799,813,685,248 bytes of shared memory are not to be had" in x for x in lines
    )


ENDLESS = """
import os, sys, torch
from counterpoint.ranks import launch
from counterpoint.ranks.nursery import NURSERY

def worker(comm):
    comm.barrier()
    print("working")
    while True:
        pass

launch(lambda comm: None, 1, world="processes")
print(NURSERY._process.pid)
try:
    launch(worker, 3, world="processes")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def endless():
    """A program whose three rank processes compute for ever, and the process group they are in."""
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", ENDLESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    group = int(program.stdout.readline())
    for _ in range(3):
        assert "working" in program.stdout.readline()
    yield program, group
    program.kill()
    program.wait()
    program.stdin.close()
    program.stdout.close()


def test_rank_processes_do_not_outlive_a_kernel_that_is_killed(endless):
    program, group = endless
    program.kill()
    assert group_ends_within(group, 10)


def test_an_interrupt_of_the_kernel_ends_every_rank_process(endless):
    program, group = endless
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    left = subprocess.run(
        ["ps", "-o", "pid=", "-s", str(group)], capture_output=True, text=True
    ).stdout.split()
    assert left == [str(group)]  # the nursery waits for the next launch
    program.stdin.write("\n")
    program.stdin.flush()
    assert group_ends_within(group, 10)


WORKER = """
import sys, torch
import counterpoint as cp
from counterpoint.collectives import all_reduce

comm = cp.connect(trace=True)
x = torch.arange(1000.0) + comm.rank
all_reduce(comm, x, algorithm="ring")
assert torch.equal(x, 3 * torch.arange(1000.0) + 3)
if "fail" in sys.argv:
    if comm.rank == 1:
        raise KeyError("lost")
    comm.recv(x, 1)
if "forget" not in sys.argv:
    trace = cp.disconnect(comm)
    print(f"rank {comm.rank}: {trace}\\n", end="", flush=True)
"""


def torchrun(tmp_path, *arguments):
    (tmp_path / "worker.py").write_text(WORKER)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3"]
    return subprocess.run(
        [*command, str(tmp_path / "worker.py"), *arguments],
        capture_output=True, text=True, timeout=120, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_the_same_worker_runs_under_torchrun_and_its_trace_is_gathered(tmp_path):
    done = torchrun(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rank 0: Trace(3 ranks, " in done.stdout and "12 messages, 16000 bytes, 4 steps)" in done.stdout
    assert "rank 1: None" in done.stdout


def test_a_program_that_forgets_to_disconnect_ends_well(tmp_path):
    done = torchrun(tmp_path, "forget")
    assert done.returncode == 0, done.stderr


def test_under_torchrun_a_rank_that_raises_is_told_to_the_others(tmp_path):
    done = torchrun(tmp_path, "fail")
    assert done.returncode != 0
    assert "rank 1 raised KeyError: 'lost'" in done.stderr


def test_connect_outside_torchrun_says_how_to_start(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="start the program with torchrun"):
        connect()


def test_only_a_connection_can_be_disconnected():
    with pytest.raises(RankFailed, match=r"give the Comm that connect\(\) returned"):
        launch(lambda comm: disconnect(comm), 1)


def test_the_nursery_comes_back_after_it_was_killed():
    launch(lambda comm: None, 1, world="processes")
    NURSERY._process.kill()
    NURSERY._process.wait()
    assert launch(lambda comm: comm.rank, 2, world="processes").results == [0, 1]


def test_an_interrupt_in_a_notebook_leaves_no_rank_and_the_next_cell_works():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(extra_arguments=["--IPKernelApp.log_level=40"])
    try:
        run_cell(
            client, "from counterpoint.ranks import launch\nlaunch(lambda comm: None, 1, world='processes')"
        )
        cell = "def worker(comm):\n    print('working')\n    while True: pass\n\nlaunch(worker, 2, world='processes')"
        request = client.execute(cell, stop_on_error=False)  # else the kernel aborts what is asked just after
        heard = ""
        while heard.count("working") < 2:
            message = client.get_iopub_msg(timeout=60)
            heard += message["content"].get("text", "")
        manager.interrupt_kernel()
        while (reply := client.get_shell_msg(timeout=60))["parent_header"]["msg_id"] != request:
            pass
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        look = (
            "import subprocess; from counterpoint.ranks.nursery import NURSERY; group = NURSERY._process.pid\n"
            "print(subprocess.run(['ps', '-o', 'pid=', '-s', str(group)], capture_output=True, text=True)"
            ".stdout.split() == [str(group)])"
        )
        assert run_cell(client, look) == "True\n"
        again = "print(launch(lambda comm: comm.rank, 2, world='processes').results)"
        assert run_cell(client, again) == "[0, 1]\n"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run_cell(client, code):
    """What the cell printed."""
    said = []

    def hear(message):
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=hear, timeout=120)
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(said)


def test_a_store_that_is_lost_is_asked_once():
    from counterpoint.ranks.board import Board

    class Gone:
        asked = 0

        def check(self, keys):
            self.asked += 1
            raise RuntimeError("timed out")

    board = Board(Gone(), 2)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="timed out"):
            board.failure()
    assert board.store.asked == 1
