"""Direct all-reduce, plain and compiled: same bits, same trace, and nothing hangs in compiled code."""

import random
import subprocess
import sys
import threading
import time

import pytest
import torch

from counterpoint.collectives import all_reduce, broadcast, direct, kernels, two_shot
from counterpoint.models import Link
from counterpoint.ranks import DeadlockError, LaunchTimeout, MismatchError, RankFailed, cpu, handoff, launch

FLOATS = [torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
RANKS = [1, 2, 3, 4, 5, 7, 8, 16]


@pytest.fixture(scope="module")
def compiled():
    """Where there is Numba: what these tests add up in float32 is compiled before they begin."""
    if not kernels.compile_for(torch.float32):
        pytest.skip("no compiled code here: Numba is missing, or the system has no sched_yield")


def run(name, data, op="sum", **settings):
    return launch(lambda comm, x: all_reduce(comm, x, op, name), per_rank=data, **settings)


def rounding(p, count, dtype=torch.float32):
    """Inputs whose sum depends on the order in which it is made."""
    generator = torch.Generator().manual_seed(count + p)
    if dtype in INTEGERS:
        return [torch.randint(-9, 9, (count,), generator=generator).to(dtype) for _ in range(p)]
    return [(torch.randn(count, generator=generator) * 10.0**rank).to(dtype) for rank in range(p)]


def bits(tensor):
    return tensor.view(torch.uint8) if tensor.numel() else tensor


# Compiled code does what the plain way does.


@pytest.mark.parametrize("p", RANKS)
def test_compiled_and_plain_leave_the_same_bits_and_transfers(compiled, p):
    for count in sorted({0, 1, p - 1, p, p + 1, 1000, 32 * 1024 * p + 5}):
        ours, plain = run("direct", rounding(p, count)), run("two-shot", rounding(p, count))
        assert all(torch.equal(bits(r), bits(plain.results[0])) for r in ours.results), count
        assert ours.trace.totals() == plain.trace.totals(), count
        assert ours.trace.byte_matrix().tolist() == plain.trace.byte_matrix().tolist()
        moved, expected = ours.trace.transfers, plain.trace.transfers
        for column in ("rank", "peer", "kind", "nbytes", "step", "message", "comm"):
            assert sorted(moved.columns[column].tolist()) == sorted(expected.columns[column].tolist()), column


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_every_compiled_dtype_and_op_leaves_the_bits_of_the_plain_way(compiled, dtype):
    assert kernels.compile_for(dtype)
    for op in kernels.OPS:
        if op == "avg" and dtype in INTEGERS:
            continue
        for p in (2, 3, 5):
            data = rounding(p, 1003, dtype)
            ours, plain = run("direct", data, op), run("two-shot", data, op)
            assert all(torch.equal(bits(r), bits(plain.results[0])) for r in ours.results), (op, p)


def test_nan_wins_in_min_and_max_as_in_the_plain_way(compiled):
    nan = float("nan")
    data = [
        torch.tensor(v)
        for v in ([nan, 1.0, -0.0, 0.0, 2.0], [1.0, nan, 0.0, -0.0, -2.0], [3.0, 4.0, 0.0, 0.0, nan])
    ]
    for op in ("min", "max"):
        ours, plain = run("direct", data, op).results, run("two-shot", data, op).results
        assert torch.equal(ours[1].isnan(), plain[1].isnan()) and ours[1].isnan().sum() == 3
        assert torch.equal(ours[1].nan_to_num(), plain[1].nan_to_num())
        assert all(torch.equal(bits(r), bits(ours[0])) for r in ours), "the zeros' signs too"


def test_dtypes_and_ops_that_are_not_compiled_go_the_plain_way(compiled):
    for dtype, op in [
        (torch.bfloat16, "sum"),
        (torch.float16, "max"),
        (torch.int32, "xor"),
        (torch.complex64, "sum"),
    ]:
        data = [(torch.arange(7) + rank).to(dtype) for rank in range(3)]
        ours, plain = run("direct", data, op), run("two-shot", data, op)
        assert all(torch.equal(r, plain.results[0]) for r in ours.results), dtype


@pytest.mark.parametrize(
    "settings", [{"world": "simulated"}, {"world": "processes"}, {"network": Link(1e-6)}], ids=str
)
def test_other_worlds_and_virtual_clocks_go_the_plain_way(compiled, settings):
    data = rounding(3, 100)
    assert torch.equal(run("direct", data, **settings).results[1], run("direct", data).results[1])


def test_tensors_without_memory_here_go_the_plain_way(compiled):
    trace = run("direct", [torch.empty(1000, device="meta")] * 3).trace
    assert trace.totals().bytes_total == 2 * 2 * 4000


def test_strided_and_odd_tensors_are_written_through(compiled):
    def worker(comm, base):
        all_reduce(comm, base[:, ::2], algorithm="direct")
        all_reduce(comm, base.t()[1:4:2], algorithm="direct")
        scalar = torch.tensor(float(comm.rank))
        return all_reduce(comm, scalar, algorithm="direct")

    bases = [torch.arange(12.0).reshape(2, 6) + 100 * rank for rank in range(3)]
    done = launch(worker, per_rank=bases)
    for (base,) in done.args:
        for column in range(6):
            whole = sum(b[:, column] for b in bases)
            expected = whole if column % 2 == 0 or column in (1, 3) else None
            if expected is not None:
                assert torch.equal(base[:, column], expected)
    assert torch.equal(done.args[1][0][:, 5], bases[1][:, 5])
    assert [r.item() for r in done.results] == [3.0] * 3


def test_in_place_changes_are_seen_by_autograd(compiled):
    def worker(comm):
        x = torch.ones(4, requires_grad=True)
        y = x * 2
        z = y * y
        with torch.no_grad():
            all_reduce(comm, y, algorithm="direct")
        z.sum().backward()

    with pytest.raises(RankFailed, match="modified by an inplace operation"):
        launch(worker, 2)


def test_inference_tensors_are_reduced_too(compiled):
    with torch.inference_mode():
        assert run("direct", [torch.ones(5)] * 3).results[0].tolist() == [3.0] * 5


def test_many_calls_mixed_with_other_collectives_and_groups(compiled):
    def worker(comm, x):
        half = comm.split(comm.rank % 2)
        for turn in range(50):
            all_reduce(comm, x, "max", "direct")
            y = torch.full((3,), float(comm.rank + turn))
            all_reduce(half, y, algorithm="direct")
            assert y[0] == sum(r + turn for r in range(comm.rank % 2, comm.size, 2))
            if turn % 7 == 0:
                broadcast(comm, y, turn % comm.size)
                all_reduce(comm, y.double(), algorithm="direct")
        return x

    data = [torch.arange(5.0) * rank for rank in range(6)]
    for trace in (True, False):
        assert all(torch.equal(r, data[-1]) for r in launch(worker, per_rank=data, trace=trace).results)


def test_messages_and_compiled_calls_share_one_count_of_steps(compiled):
    def worker(comm, x, name):
        if comm.rank < 2:
            comm.sendrecv(x.clone(), 1 - comm.rank, x, 1 - comm.rank)
        all_reduce(comm, x, algorithm=name)
        comm.sendrecv(x.clone(), (comm.rank + 1) % 3, x, (comm.rank - 1) % 3)

    steps = [
        [len(step) for step in launch(worker, 3, (torch.ones(6), name)).trace.by_step()]
        for name in ("direct", "two-shot")
    ]
    assert steps[0] == steps[1]


# Ready or not.


def test_without_numba_everything_goes_the_plain_way():
    program = (
        "import sys; sys.modules['numba'] = None\n"
        "import torch\n"
        "from counterpoint.collectives import all_reduce, direct\n"
        "from counterpoint.ranks import launch\n"
        "assert not direct.prepare(torch.float32)\n"
        "def worker(comm, x):\n"
        "    for _ in range(30): all_reduce(comm, x, 'max', 'direct')\n"
        "    return all_reduce(comm, x, algorithm='direct')\n"
        "print(launch(worker, 3, (torch.ones(4),)).results[0].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[3.0, 3.0, 3.0, 3.0]\n", done.stderr


def test_nothing_is_compiled_for_a_few_calls_and_nobody_waits_for_it():
    program = (
        "import sys, torch\n"
        "from counterpoint.collectives import all_reduce, direct\n"
        "from counterpoint.ranks import launch\n"
        "def worker(comm, x, calls):\n"
        "    for _ in range(calls): all_reduce(comm, x, 'max', 'direct')\n"
        "    if calls <= direct.FIRST_CALLS: assert 'numba' not in sys.modules\n"
        "    return all_reduce(comm, x, algorithm='direct')\n"
        "for calls in (direct.FIRST_CALLS - 1, 100):\n"
        "    print(launch(worker, 3, (torch.ones(4), calls)).results[0].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[3.0, 3.0, 3.0, 3.0]\n" * 2, done.stderr


def test_auto_is_direct_from_the_launch_after_prepare(compiled, monkeypatch):
    monkeypatch.setattr(kernels, "_prepared", set())

    def worker(comm, x):
        if comm.rank == 0 and x.dtype == torch.float32:
            all_reduce(comm, x)
            direct.prepare()  # for those in this launch it is too late
        else:
            all_reduce(comm, x)
        return all_reduce(comm, x, "max")

    data = [torch.arange(5.0) + rank for rank in range(4)]
    kinds = [set(launch(worker, per_rank=data).trace.text("kind")) for _ in range(2)]
    assert "send" in kinds[0] and "get" not in kinds[0]
    assert "get" in kinds[1] and "send" not in kinds[1]
    halves = launch(worker, per_rank=[x.half() for x in data])
    assert "send" in halves.trace.text("kind")
    simulated = launch(worker, per_rank=data, world="simulated")
    assert "send" in simulated.trace.text("kind")


# What differs is named, and whoever never comes, or fails, ends the run.


@pytest.mark.parametrize("late", [0.0, 0.02])
@pytest.mark.parametrize("differ", ["count", "dtype", "uncompiled dtype", "op", "algorithm", "call"])
def test_ranks_that_differ_are_told_which_is_the_odd_one(compiled, differ, late):
    def worker(comm, x):
        all_reduce(comm, x, "max", "direct")
        odd = comm.rank == 2
        if odd:
            time.sleep(late)  # stands for work: the others have gone to wait in Python by then
        if differ == "count" and odd:
            x = x[:-1]
        if differ == "dtype" and odd:
            x = x.int()
        if differ == "uncompiled dtype" and odd:
            x = x.half()
        if differ == "call" and odd:
            broadcast(comm, x)
        op = "max" if differ == "op" and odd else "sum"
        all_reduce(comm, x, op, "ring" if differ == "algorithm" and odd else "direct")

    for trace in (True, False):
        with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
            launch(worker, 4, (torch.ones(8),), trace=trace, timeout=30)


def test_a_rank_that_never_comes_is_named(compiled):
    def worker(comm, x):
        all_reduce(comm, x, algorithm="direct")
        if comm.rank != 1:
            all_reduce(comm, x, algorithm="direct")

    with pytest.raises(DeadlockError, match="rank 1 has returned") as caught:
        launch(worker, 4, (torch.ones(8),), timeout=30)
    assert {w.call for w in caught.value.waits} == {"all_reduce"}


@pytest.mark.parametrize("cores", [2, 8])
def test_a_rank_leaves_soon_although_the_one_before_it_does_not_come_again(compiled, cores):
    """The courtesy of leaving in turn has an end: rank 1 returns a moment later, rank 0 at once."""
    words = handoff.new_words(cores)
    for rank in (0, 1, 2):
        cpu.leave_in_turn(words, rank, cores, 3)
    assert not words.any(), "nobody's place has changed"


def test_a_rank_that_waits_for_those_who_wait_for_it_is_a_deadlock(compiled):
    def worker(comm, x):
        all_reduce(comm, x, algorithm="direct")
        if comm.rank == 1:
            comm.recv(x, 0)
        all_reduce(comm, x, algorithm="direct")

    with pytest.raises(DeadlockError) as caught:
        launch(worker, 2, (torch.ones(8),), timeout=30)
    assert caught.value.cycle == [0, 1]


def test_a_rank_that_fails_stops_those_who_wait(compiled):
    def worker(comm, x):
        all_reduce(comm, x, algorithm="direct")
        if comm.rank == 1:
            raise KeyError("mine")
        all_reduce(comm, x, algorithm="direct")

    with pytest.raises(RankFailed, match="rank 1 raised KeyError"):
        launch(worker, 5, (torch.ones(8),), timeout=30)


def test_time_outs_reach_ranks_that_wait_for_a_busy_one(compiled):
    stop = threading.Event()

    def worker(comm, x):
        all_reduce(comm, x, algorithm="direct")
        while comm.rank == 1 and not stop.is_set():
            pass
        all_reduce(comm, x, algorithm="direct")

    try:
        with pytest.raises(LaunchTimeout, match="waits in all_reduce for rank 1"):
            launch(worker, 3, (torch.ones(8),), timeout=0.3)
    finally:
        stop.set()


INTERRUPTED = """
import _thread, threading, torch
from counterpoint.collectives import all_reduce, direct
from counterpoint.ranks import launch

direct.prepare()
started = threading.Barrier(3, action=lambda: threading.Timer(0.2, _thread.interrupt_main).start())

def worker(comm, x):
    started.wait()
    while True:
        all_reduce(comm, x, "max", "direct")
        while comm.rank == LAZY:
            pass

try:
    launch(worker, 3, (torch.ones(1000),))
except KeyboardInterrupt:
    left = [t.name for t in threading.enumerate() if t.name.startswith("rank")]
    print("interrupted, left:", left)
"""


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [None, 1], ids=["all in compiled code", "one computes, the others wait"])
def test_an_interrupt_ends_every_rank_and_leaves_nothing_behind(lazy):
    program = INTERRUPTED.replace("LAZY", str(lazy))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted, left: []\n", done.stderr


def test_late_ranks_are_waited_for_and_woken(compiled):
    """Whoever comes last finds the others asleep in Python, at either end of the call."""

    def worker(comm, x):
        for turn in range(6):
            if turn % comm.size == comm.rank:
                time.sleep(0.003)
            all_reduce(comm, x, "max", "direct")
        return x, comm._port.world.announced

    for trace in (True, False):
        for x, announced in launch(worker, 4, (torch.arange(3.0),), trace=trace, timeout=30).results:
            assert x.tolist() == [0, 1, 2]
            assert announced == {}, "announcements of those who were late are cleared away"


def test_failures_at_random_points_end_every_launch(compiled):
    draw = random.Random(11)
    for _ in range(150):
        p, calls, count = draw.randint(2, 8), draw.randint(1, 6), draw.choice([1, 50, 20_000])
        victim, point, leaves = draw.randrange(p), draw.randrange(calls + 1), draw.random() < 0.3

        def worker(comm, x, victim=victim, point=point, calls=calls, leaves=leaves):
            for call in range(calls):
                if comm.rank == victim and call == point:
                    if leaves:
                        return
                    raise ZeroDivisionError
                all_reduce(comm, x, "max", "direct")

        settings = {"trace": draw.random() < 0.5, "timeout": 30}
        if point == calls:
            launch(worker, p, (torch.ones(count),), **settings)
        else:
            with pytest.raises(DeadlockError if leaves else RankFailed):
                launch(worker, p, (torch.ones(count),), **settings)


# Planted mistakes.


def in_another_order(comm, x):
    """Adds in rank order of the receiver's left: another order of rounding."""
    window = comm.window_of(x)
    for block in two_shot.blocks(comm.size, comm.rank, len(x), x.element_size()):
        total = window.get(torch.empty_like(x[block]), comm.rank, block)
        for k in range(1, comm.size):
            window.reduce_from(total, (comm.rank - k) % comm.size, "sum", block)
        for dest in range(comm.size):
            window.put(total, dest, block)
    window.fence()
    return x


def off_by_one(comm, x):
    window = comm.window_of(x)
    for block in two_shot.blocks(comm.size, comm.rank, len(x) - 1, x.element_size()):
        total = window.get(torch.empty_like(x[block]), comm.rank, block)
        for k in range(1, comm.size):
            window.reduce_from(total, (comm.rank + k) % comm.size, "sum", block)
        for dest in range(comm.size):
            window.put(total, dest, block)
    window.fence()
    return x


def no_last_fence(comm, x):
    window = comm.window_of(x)
    comm.compute(float(comm.rank))
    for block in two_shot.blocks(comm.size, comm.rank, len(x), x.element_size()):
        total = window.get(torch.empty_like(x[block]), comm.rank, block)
        for k in range(1, comm.size):
            window.reduce_from(total, (comm.rank + k) % comm.size, "sum", block)
        for dest in range(comm.size):
            window.put(total, dest, block)
    return x.clone()


def test_another_order_of_addition_shows_in_the_bits():
    data = rounding(4, 1001)
    right = run("two-shot", data).results[0]
    wrong = launch(in_another_order, per_rank=data).results[0]
    assert not torch.equal(bits(right), bits(wrong)) and torch.allclose(right, wrong)


@pytest.mark.parametrize("planted", [off_by_one, no_last_fence])
def test_planted_mistakes_show_in_the_simulator(planted):
    data = [(torch.arange(41) * 16 + rank * 3 + 1).float() for rank in range(4)]
    results = launch(planted, per_rank=data, world="simulated").results
    assert not all(torch.equal(r, sum(data)) for r in results)
