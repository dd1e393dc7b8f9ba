"""Windows: what is written before a fence is read after it, every access is counted, and no fence hangs."""

import random

import pytest
import torch

from counterpoint.models import Cluster, Link, LogGP
from counterpoint.ranks import CommError, DeadlockError, MismatchError, RankFailed, launch

LINK = Link(alpha=1.0, beta=0.25, gamma=0.125)
"""Times that no order of adding rounds."""
RANKS = [1, 2, 3, 4, 5, 7, 8, 16]


@pytest.fixture(params=["threads", "simulated", "processes"])
def world(request):
    """launch, where ranks reach each other's memory."""
    return lambda *given, **settings: launch(*given, world=request.param, timeout=30, **settings)


@pytest.fixture(params=["threads", "simulated"])
def one_memory(request):
    """launch, where a window can be made of any tensor, and where there is a virtual clock."""
    return lambda *given, **settings: launch(*given, world=request.param, timeout=30, **settings)


def unique(rank, count):
    return torch.arange(count, dtype=torch.float32) * 32 + rank


@pytest.mark.parametrize("p", RANKS)
def test_what_was_put_before_a_fence_is_read_after_it(world, p):
    def worker(comm):
        window = comm.window((comm.size, 3), torch.int64)
        for dest in range(comm.size):
            window.put(torch.full((3,), comm.rank * 100 + dest), dest, comm.rank)
        window.fence()
        everything = [window.get(torch.empty(comm.size, 3, dtype=torch.int64), r) for r in range(comm.size)]
        return window.local.clone(), torch.stack(everything)

    for rank, (mine, everything) in enumerate(world(worker, p).results):
        expected = torch.arange(p) + torch.arange(p)[:, None] * 100  # [source, dest]
        assert mine[:, 0].tolist() == expected[:, rank].tolist()
        assert torch.equal(everything[..., 2], expected.T)


def test_a_fresh_window_holds_zeros_of_the_asked_shape_and_dtype(world):
    run = world(lambda comm: comm.window((2, 3), torch.float64).local.clone(), 2)
    assert all(torch.equal(part, torch.zeros(2, 3, dtype=torch.float64)) for part in run.results)


def test_a_window_of_a_tensor_is_that_tensor(one_memory):
    def worker(comm, x):
        window = comm.window_of(x)
        window.put(torch.full((2,), 1.0 + comm.rank), (comm.rank + 1) % comm.size, slice(1, 3))
        window.fence()
        return window.local.data_ptr() == x.data_ptr()

    run = one_memory(worker, 3, (torch.zeros(4),))
    assert all(run.results)
    assert [own.tolist() for (own,) in run.args] == [[0, 3, 3, 0], [0, 1, 1, 0], [0, 2, 2, 0]]


@pytest.mark.parametrize("op, expected", [("sum", 0 + 1 + 2), ("max", 2), ("min", 0)])
def test_reduce_from_accumulates_what_it_reads(world, op, expected):
    def worker(comm):
        window = comm.window(5)
        window.local.fill_(comm.rank)
        window.fence()
        total = window.local.clone()
        for k in range(1, comm.size):
            window.reduce_from(total, (comm.rank + k) % comm.size, op)
        return total.tolist()

    assert world(worker, 3).results == [[expected] * 5] * 3


def test_strided_tensors_are_filled_and_read_through(world):
    def worker(comm, base):
        window = comm.window((2, 3))
        window.put(base[:, ::2], (comm.rank + 1) % comm.size)
        window.fence()
        window.get(base[:, 1::2], comm.rank)
        return base

    bases = [torch.arange(12.0).reshape(2, 6) + 100 * rank for rank in range(2)]
    for rank, base in enumerate(world(worker, per_rank=bases).results):
        assert torch.equal(base[:, ::2], bases[rank][:, ::2])
        assert torch.equal(base[:, 1::2], bases[1 - rank][:, ::2])


def test_any_part_that_is_a_view_can_be_asked_for(one_memory):
    def worker(comm, x):
        window = comm.window_of(x)
        there = (comm.rank + 1) % comm.size
        column = window.get(torch.empty(3), there, (slice(None), 1))
        whole = window.get(torch.empty(6), there)
        window.fence()
        return column.tolist(), whole.tolist()

    data = [unique(rank, 6).reshape(3, 2) for rank in range(2)]
    for rank, (column, whole) in enumerate(one_memory(worker, per_rank=data).results):
        assert column == data[1 - rank][:, 1].tolist()
        assert whole == data[1 - rank].flatten().tolist()


# What is counted, and what it takes.


def reads_its_right(comm, x):
    window = comm.window_of(x)
    window.get(torch.empty_like(x), (comm.rank + 1) % comm.size)
    window.fence()


def test_a_gets_bytes_leave_the_rank_that_is_read_and_a_puts_the_one_that_writes(one_memory):
    def worker(comm, x):
        window = comm.window_of(x)
        if comm.rank == 0:
            window.get(torch.empty(4), 2)
            window.put(torch.ones(1), 1, slice(0, 1))
        window.fence()

    trace = one_memory(worker, 3, (torch.zeros(4),)).trace
    assert trace.byte_matrix().tolist() == [[0, 4, 0], [0, 0, 0], [16, 0, 0]]
    assert [(e.kind, e.rank, e.peer, e.nbytes) for e in trace.transfers] == [
        ("get", 0, 2, 16),
        ("put", 0, 1, 4),
    ]
    totals = trace.totals()
    assert (totals.messages, totals.bytes_total, totals.bytes_busiest, totals.steps) == (2, 20, 16, 2)
    assert len(set(trace.transfers.message.tolist())) == 2
    assert len(trace.unreceived) == 0


def test_access_to_ones_own_part_is_a_copy_and_not_counted(one_memory):
    def worker(comm, x):
        window = comm.window_of(x)
        window.get(torch.empty(4), comm.rank)
        window.put(torch.ones(4), comm.rank)
        window.fence()

    trace = one_memory(worker, 2, (torch.zeros(4),)).trace
    assert trace.totals().messages == 0 and trace.totals().bytes_total == 0
    assert len(trace.where(kind="copy", rank=0)) == 2


def test_opening_a_window_is_its_first_fence_and_steps_are_fences(world):
    def worker(comm, fences):
        window = comm.window(1)
        for _ in range(fences):
            window.fence()

    for fences in range(4):
        trace = world(worker, 3, (fences,)).trace
        assert trace.steps == fences + 1
        assert trace.where(kind="fence", rank=1).step.tolist() == list(range(1, fences + 2))


def test_fences_and_messages_share_one_count_of_steps(one_memory):
    def worker(comm, x):
        if comm.rank < 2:
            comm.sendrecv(x.clone(), 1 - comm.rank, x, 1 - comm.rank)
        window = comm.window_of(x)
        window.put(x, (comm.rank + 1) % 3)
        window.fence()
        comm.sendrecv(x.clone(), (comm.rank + 1) % 3, x, (comm.rank - 1) % 3)

    trace = one_memory(worker, 3, (torch.zeros(2),)).trace
    assert sorted(set(trace.where(kind="fence").step.tolist())) == [2, 3]
    assert set(trace.where(kind="put").step.tolist()) == {3}
    assert set(trace.where(kind="send").step.tolist()) == {1, 4}
    assert [len(step) for step in trace.by_step()] == [2, 0, 3, 3]


def test_a_kernel_that_touches_peers_itself_reports_what_it_moved(one_memory):
    def kernel(comm, x):
        window = comm.window_of(x)
        peer = (comm.rank + 1) % comm.size
        mine = window.peer(peer).clone()
        window.moved("get", peer, mine.nbytes)
        window.moved("get", comm.rank, mine.nbytes)
        window.fence()
        return mine

    reported = one_memory(kernel, 3, (torch.zeros(4),), network=LINK)
    called = one_memory(reads_its_right, 3, (torch.zeros(4),), network=LINK)
    assert reported.trace.byte_matrix().tolist() == called.trace.byte_matrix().tolist()
    assert reported.seconds == called.seconds
    assert len(reported.trace.where(kind="copy")) == 3


def test_a_get_and_a_put_take_a_messages_time_and_a_fence_none(one_memory):
    def worker(comm, x, kind):
        window = comm.window_of(x)
        there = (comm.rank + 1) % comm.size
        if kind == "get":
            window.get(torch.empty_like(x), there)
        elif kind == "put":
            window.put(torch.empty_like(x), there)
        elif kind == "reduce":
            window.reduce_from(torch.zeros_like(x), there)
        window.fence()

    x = torch.zeros(8)
    seconds = {k: one_memory(worker, 4, (x, k), network=LINK).seconds for k in ("", "get", "put", "reduce")}
    assert seconds == {"": 0, "get": 1 + 8, "put": 1 + 8, "reduce": 1 + 8 + 4}


def test_a_fence_brings_every_clock_to_the_latest(one_memory):
    def worker(comm):
        window = comm.window(1)
        comm.compute(float(comm.rank))
        window.fence()

    run = one_memory(worker, 3, network=LINK)
    assert run.seconds == 2.0
    assert set(run.trace.where(kind="fence", step=2).end.tolist()) == {2.0}


def test_ranks_that_read_one_at_once_take_turns_at_its_way_out_in_the_simulator():
    def worker(comm, x, same):
        window = comm.window_of(x)
        if comm.rank:
            window.get(torch.empty_like(x), 0 if same else (comm.rank + 1) % comm.size)
        window.fence()

    x = torch.zeros(8)
    many = launch(worker, 5, (x, True), network=LINK, world="simulated").seconds
    apart = launch(worker, 5, (x, False), network=LINK, world="simulated").seconds
    assert (many, apart) == (4 * 9, 9)


@pytest.mark.parametrize(
    "network", [LogGP(8, 1e-6, 1e-7, 2e-7, 1e-9), Cluster(2, 4, Link(1e-6, 1e-11), Link(2e-6, 1e-9))]
)
def test_one_get_takes_what_one_message_takes_on_any_network(network):
    def sends(comm, x):
        if comm.rank == 7:
            comm.send(x, 0)
        elif comm.rank == 0:
            comm.recv(x, 7)

    def gets(comm, x):
        window = comm.window_of(x)
        if comm.rank == 0:
            window.get(torch.empty_like(x), 7)
        window.fence()

    x = torch.zeros(1000)
    both = [
        launch(f, 8, (x,), network=network, world="simulated", eager_limit=1 << 20).seconds
        for f in (sends, gets)
    ]
    assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_phantom_windows_cost_what_real_ones_cost():
    def worker(comm, device):
        window = comm.window(1000, device=device)
        window.reduce_from(torch.empty(1000, device=device), (comm.rank + 1) % comm.size)
        window.put(torch.empty(10, device=device), (comm.rank + 1) % comm.size, slice(0, 10))
        window.fence()

    runs = [launch(worker, 4, (d,), network=LINK, world="simulated") for d in ("meta", "cpu")]
    assert runs[0].seconds == runs[1].seconds
    assert runs[0].trace.byte_matrix().tolist() == runs[1].trace.byte_matrix().tolist()


def test_the_simulator_says_the_same_of_windows_every_time():
    def worker(comm, x):
        window = comm.window_of(x)
        for k in range(1, comm.size):
            comm.compute(0.001 * comm.rank)
            window.get(torch.empty_like(x), (comm.rank * k) % comm.size)
        window.fence()

    network = Cluster(2, 4, Link(1e-6, 1e-11), Link(2e-6, 1e-9))
    runs = [launch(worker, 8, (torch.zeros(50),), network=network, world="simulated").trace for _ in range(2)]
    assert all((runs[0].columns[name] == runs[1].columns[name]).all() for name in runs[0].columns)


# Groups, and what does not fit.


def test_a_groups_window_numbers_ranks_within_the_group(world):
    def worker(comm):
        half = comm.split(comm.rank % 2)
        window = half.window(1, torch.int64)
        window.put(torch.tensor([comm.rank]), (half.rank + 1) % half.size)
        window.fence()
        return int(window.local)

    run = world(worker, 6)
    assert run.results == [4, 5, 0, 1, 2, 3]
    assert run.trace.byte_matrix()[4, 0] == 8


@pytest.mark.parametrize("differ", ["shape", "dtype", "call"])
def test_ranks_that_open_different_windows_are_told_which_is_odd(world, differ):
    def worker(comm):
        odd = comm.rank == 2
        if differ == "call" and odd:
            comm.window_of(torch.zeros(4))
        comm.window(
            5 if differ == "shape" and odd else 4, torch.int32 if differ == "dtype" and odd else torch.float32
        )

    with pytest.raises(MismatchError, match="rank 2 is in another collective than the rest"):
        world(worker, 4)


def test_fences_of_different_windows_are_a_mismatch(world):
    def worker(comm):
        one, other = comm.window(1), comm.window(1)
        (other if comm.rank == 1 else one).fence()

    with pytest.raises(MismatchError, match="rank 1 is in another collective"):
        world(worker, 3)


@pytest.mark.parametrize(
    "use, said",
    [
        (lambda w: w.get(torch.empty(3), 1), "get has 3 x torch.float32 here and 4 x torch.float32"),
        (lambda w: w.put(torch.empty(4, dtype=torch.int32), 1), "put has 4 x torch.int32 here"),
        (lambda w: w.reduce_from(torch.empty(2), 0, "sum", slice(3, 9)), "1 x torch.float32 in that part of rank 0"),
        (lambda w: w.get(torch.empty(4), 2), "get names rank 2; this communicator has ranks 0 to 1"),
        (lambda w: w.peer(-1), "peer names rank -1"),
        (lambda w: w.get([0.0], 1), "get: list given where a tensor is wanted"),
        (lambda w: w.reduce_from(torch.empty(4), 1, "mean"), "no reduction 'mean'"),
        (lambda w: w.moved("read", 1, 4), "moved: no kind 'read'"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_named(world, use, said):
    with pytest.raises(RankFailed) as failed:
        world(lambda comm: use(comm.window(4)), 2)
    assert said in str(failed.value.__cause__)


def test_a_tensor_that_is_not_contiguous_is_no_window(world):
    with pytest.raises(RankFailed, match="not contiguous"):
        world(lambda comm, x: comm.window_of(x[::2]), 2, (torch.zeros(4),))


# Failures: no fence hangs.


def test_a_fence_that_one_rank_never_reaches_names_who_has_returned(world):
    def worker(comm):
        window = comm.window(1)
        if comm.rank != 2:
            window.fence()

    with pytest.raises(DeadlockError, match="rank 2 has returned") as caught:
        world(worker, 4)
    assert {w.call for w in caught.value.waits} == {"fence"}
    assert "window.fence()" in str(caught.value)


def test_a_fence_and_a_receive_that_wait_for_each_other_are_a_deadlock(world):
    def worker(comm, x):
        window = comm.window(1)
        if comm.rank == 1:
            comm.recv(x, 0)
        window.fence()
        if comm.rank == 0:
            comm.send(x, 1)

    with pytest.raises(DeadlockError) as caught:
        world(worker, 2, (torch.zeros(1),))
    assert caught.value.cycle == [0, 1]


@pytest.mark.parametrize("when", ["opening", "fence"])
def test_a_rank_that_fails_stops_those_in_a_fence(world, when):
    def worker(comm):
        if when == "opening" and comm.rank == 1:
            raise KeyError("mine")
        window = comm.window(1)
        if comm.rank == 1:
            raise KeyError("mine")
        window.fence()

    with pytest.raises(RankFailed, match="rank 1 raised KeyError"):
        world(worker, 5)


def test_failures_at_random_points_end_every_launch(world):
    draw = random.Random(7)
    for _ in range(150):
        p, rounds = draw.randint(2, 8), draw.randint(1, 4)
        victim, point = draw.randrange(p), draw.randrange(3 * rounds + 2)
        leaves = draw.random() < 0.3

        def worker(comm, victim=victim, point=point, rounds=rounds, leaves=leaves):
            done = 0

            def maybe():
                nonlocal done
                if comm.rank == victim and done == point:
                    if leaves:
                        raise StopIteration
                    raise ZeroDivisionError
                done += 1

            try:
                maybe()
                window = comm.window(8)
                for _ in range(rounds):
                    maybe()
                    window.put(torch.ones(8), (comm.rank + 1) % comm.size)
                    maybe()
                    window.fence()
                    maybe()
            except StopIteration:
                return

        try:
            world(worker, p)
        except CommError:
            assert point < 3 * rounds + 1
