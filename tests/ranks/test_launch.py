"""launch: arguments, copies, torch's state, printing, clocks, and two worlds side by side."""

import threading

import numpy as np
import pytest
import torch

from counterpoint.collectives import all_reduce
from counterpoint.models import Link
from counterpoint.ranks import CommError, Run, launch


def add_rank(comm, x):
    x += comm.rank
    return x


def test_every_rank_gets_its_own_copy_and_the_callers_tensor_is_unchanged():
    x = torch.zeros(3)
    run = launch(add_rank, 4, (x,))
    assert isinstance(run, Run)
    assert [r[0].item() for r in run.results] == [0.0, 1.0, 2.0, 3.0]
    assert x.tolist() == [0.0] * 3
    assert run.args[2][0].tolist() == [2.0] * 3


def test_share_aliases_on_purpose():
    x = torch.zeros(3)
    launch(add_rank, 1, (x,), share=True)
    run = launch(lambda comm, t: t.data_ptr(), 3, (x,), share=True)
    assert set(run.results) == {x.data_ptr()}


def test_per_rank_takes_tuples_or_single_arguments():
    run = launch(lambda comm, a, b: (a, b), per_rank=[(1, 2), (3, 4)])
    assert run.results == [(1, 2), (3, 4)]
    assert launch(lambda comm, a: a, per_rank=[5, 6]).results == [5, 6]


def test_views_of_one_vector_stay_views_of_one_vector():
    x = torch.arange(6.0)

    def worker(comm, chunks, whole):
        chunks[0].fill_(-1.0)
        return whole

    run = launch(worker, 2, (list(x.tensor_split(3)), x))
    assert run.results[0].tolist() == [-1.0, -1.0, 2.0, 3.0, 4.0, 5.0]
    assert x[0] == 0.0


def test_ranks_given_one_tensor_many_times_get_a_copy_each():
    x = torch.zeros(2)
    run = launch(add_rank, per_rank=[x] * 3)
    assert [r[0].item() for r in run.results] == [0.0, 1.0, 2.0]
    assert x.tolist() == [0.0, 0.0]


def test_a_piece_of_a_large_tensor_is_copied_alone():
    pieces = torch.arange(12.0).view(3, 4).t()
    run = launch(lambda comm, x: x, per_rank=list(pieces.chunk(2)))
    assert torch.equal(torch.cat(run.results), pieces)
    assert run.results[0].stride() == pieces.stride()
    assert run.results[0].untyped_storage().nbytes() < 12 * 4


@pytest.mark.parametrize(
    "special",
    [
        torch.tensor([1 + 2j]).conj(),
        torch.eye(2).to_sparse(),
        torch.empty(2, 0),
        torch.ones(1).expand(3),
        torch.nn.Parameter(torch.ones(2)),
        torch.empty(3, device="meta"),
    ],
    ids=["conj", "sparse", "empty", "expanded", "parameter", "meta"],
)
def test_tensors_of_every_make_are_copied(special):
    twin = launch(lambda comm, x: x, 2, (special,)).results[1]
    assert type(twin) is type(special) and twin.shape == special.shape
    assert twin.requires_grad == special.requires_grad
    if special.device.type != "meta":
        assert torch.equal(twin.to_dense() if twin.is_sparse else twin, special.to_dense())


def test_a_module_among_the_arguments_is_copied_for_each_rank():
    layer = torch.nn.Linear(2, 2)
    run = launch(lambda comm, m: m, 2, (layer,))
    assert run.results[0] is not layer
    assert run.results[0].weight.data_ptr() != run.results[1].weight.data_ptr()


def test_a_tensor_inside_a_graph_arrives_as_a_leaf():
    w = torch.ones(2, requires_grad=True)
    run = launch(lambda comm, t: (t.is_leaf, t.requires_grad), 2, (w * 2,))
    assert run.results == [(True, True)] * 2


@pytest.mark.parametrize(
    "kwargs, sentence",
    [
        ({"ranks": 0}, "ranks = 0"),
        ({"ranks": "four"}, "ranks = 'four'"),
        ({"ranks": True}, "ranks = True"),
        ({"ranks": 2.0}, "ranks = 2.0"),
        ({"ranks": torch.tensor(True)}, r"ranks = tensor\(True\)"),
        ({"ranks": torch.ones(3)}, r"ranks = tensor\(\[1"),
        ({}, "ranks = None"),
        ({"ranks": 3, "per_rank": [1, 2]}, "ranks = 3, but per_rank has 2"),
        ({"args": (1,), "per_rank": [1, 2]}, "args or per_rank, not both"),
        ({"ranks": 2, "network": [Link()]}, "network has 1 entries for 2 ranks"),
        ({"ranks": 2, "eager_limit": -1}, "eager_limit = -1"),
        ({"ranks": 2, "eager_limit": True}, "eager_limit = True"),
        ({"ranks": 2, "timeout": True}, "timeout = True"),
        ({"ranks": 2, "timeout": float("nan")}, "timeout = nan"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(kwargs, sentence):
    with pytest.raises(ValueError, match=sentence):
        launch(lambda comm, *rest: None, **kwargs)


@pytest.mark.parametrize("two", [np.int64(2), torch.tensor(2)], ids=["numpy", "tensor"])
def test_a_count_may_be_any_integer(two):
    run = launch(lambda comm: comm.size, two, eager_limit=two, timeout=np.float32(60))
    assert run.results == [2, 2]
    assert type(run.ranks) is type(run.settings["eager_limit"]) is int


def test_what_is_no_list_and_no_file_is_named():
    with pytest.raises(TypeError, match="per_rank = 4; give a list"):
        launch(add_rank, per_rank=4)
    with pytest.raises(TypeError, match="output = 'file'; give an open file"):
        launch(add_rank, 2, output="file")


def test_output_that_cannot_be_written_to_is_named_before_anything_runs(tmp_path):
    ran = []
    (tmp_path / "log").touch()
    with (
        (tmp_path / "log").open() as reading,
        pytest.raises(ValueError, match="cannot be written to; open it"),
    ):
        launch(lambda comm: ran.append(comm.rank), 2, output=reading)
    with pytest.raises(ValueError, match="cannot be written to"):
        launch(lambda comm: ran.append(comm.rank), 2, output=reading)  # closed by now
    assert ran == []


def test_a_function_whose_call_runs_nothing_is_refused():
    def lazy(comm):
        yield comm.rank

    async def later(comm):
        return comm.rank

    with pytest.raises(TypeError, match=r"lazy is a generator function, .* take the yield out"):
        launch(lazy, 2)
    with pytest.raises(TypeError, match=r"later is a coroutine function, .* take the async out"):
        launch(later, 2)

    class Lazy:
        def __call__(self, comm):
            yield comm.rank

    with pytest.raises(TypeError, match=r"Lazy object .* is a generator function"):
        launch(Lazy(), 2)


@pytest.mark.parametrize("world", ["threads", "simulated"])
def test_a_comm_that_is_kept_after_its_run_says_that_it_is_over(world):
    comms = launch(lambda comm: comm, 2, world=world).results
    for call in (
        lambda comm: comm.send(torch.ones(2), 1),
        lambda comm: comm.recv(torch.ones(2), 1),
        lambda comm: comm.barrier(),
        lambda comm: comm.agree("anything"),
    ):
        with pytest.raises(CommError, match="the run of this Comm is over"):
            call(comms[0])


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("opened", [False, True], ids=["unused", "used"])
def test_phantoms_do_not_slip_through_a_comm_that_is_kept(opened, fails):
    x, y = torch.empty(3, device="meta"), torch.empty(3, device="meta")
    comms = {}

    def worker(comm):
        comms[comm.rank] = comm
        if opened:
            comm.sendrecv(x, 1 - comm.rank, y, 1 - comm.rank)
            comm.send(x, 1 - comm.rank)  # nobody receives it
        if fails:
            raise ValueError("enough")

    try:
        launch(worker, 2, world="simulated")
    except CommError:
        assert fails
    for call in (
        lambda comm: comm.send(x, 1),
        lambda comm: comm.recv(y, 1),
        lambda comm: comm.recv_reduce(y, 1),
        lambda comm: comm.sendrecv(x, 1, y, 1),
    ):
        with pytest.raises(CommError, match="enough" if fails else "the run of this Comm is over"):
            call(comms[0])


@pytest.mark.parametrize("world", ["threads", "simulated"])
def test_a_window_that_is_kept_after_its_run_can_be_looked_at_but_not_used(world):
    windows = launch(lambda comm: comm.window(2), 2, world=world).results
    assert windows[0].local.tolist() == [0.0, 0.0]
    for call in (lambda w: w.get(torch.ones(2), 1), lambda w: w.put(torch.ones(2), 1), lambda w: w.fence()):
        with pytest.raises(CommError, match="the run of this Comm is over"):
            call(windows[0])


def test_a_lone_tensor_for_args_is_explained():
    with pytest.raises(TypeError, match="give a tuple, as in"):
        launch(add_rank, 2, torch.ones(3))
    with pytest.raises(TypeError, match="not a function"):
        launch(3, 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_grad_mode_is_inherited(enabled):
    with torch.set_grad_enabled(enabled):
        assert launch(lambda comm: torch.is_grad_enabled(), 3).results == [enabled] * 3


def test_inference_mode_and_autocast_are_inherited():
    with torch.inference_mode():
        run = launch(lambda comm, x: all_reduce(comm, x), 2, (torch.ones(3),))
    assert run.results[0].tolist() == [2.0] * 3
    with torch.autocast("cpu", torch.bfloat16):
        run = launch(lambda comm, x: (x @ x).dtype, 2, (torch.ones(3, 3),))
    assert run.results == [torch.bfloat16] * 2


def test_torchs_thread_count_does_not_leak():
    before = torch.get_num_threads()
    launch(lambda comm: torch.ones(10).sum().item(), 8)
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert (torch.get_num_threads(), later[0]) == (before, before)


def test_what_a_rank_prints_carries_its_rank_and_whole_lines(capsys):
    def worker(comm):
        print("one", comm.rank)
        print("two\nthree", end="")

    launch(worker, 2)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"[rank {r}] {t}" for r in range(2) for t in (f"one {r}", "two", "three"))


def test_a_launch_inside_a_rank_prints_with_both_ranks(capsys):
    def inner(comm):
        print("deep")

    def outer(comm):
        launch(inner, 1)

    launch(outer, 1)
    assert capsys.readouterr().out == "[rank 0] [rank 0] deep\n"


def test_two_worlds_side_by_side_do_not_meet():
    def worker(comm, x):
        for _ in range(50):
            all_reduce(comm, x, "max", algorithm="ring")
        return x.item()

    outcomes = {}

    def run(value):
        outcomes[value] = launch(worker, 3, (torch.tensor([value]),)).results

    threads = [threading.Thread(target=run, args=(value,)) for value in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {1.0: [1.0] * 3, 2.0: [2.0] * 3}


def test_backward_with_a_collective_in_it_works_in_every_rank():
    class SumOverRanks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, comm):
            ctx.comm = comm
            return all_reduce(comm, x.clone())

        @staticmethod
        def backward(ctx, grad):
            return all_reduce(ctx.comm, grad.clone()), None

    def worker(comm, w):
        y = SumOverRanks.apply(w * (comm.rank + 1), comm)
        (y * y).sum().backward()
        return w.grad

    p = 4
    run = launch(worker, p, (torch.ones(5, requires_grad=True),))
    total = sum(range(1, p + 1))
    for rank in range(p):
        assert torch.equal(run.results[rank], torch.full((5,), 2.0 * total * p * (rank + 1)))


def test_a_run_without_a_trace_has_none():
    run = launch(add_rank, 2, (torch.zeros(1),), trace=False)
    assert run.trace is None and run.clock == "wall" and run.seconds > 0


def test_a_network_makes_the_clock_virtual_and_exact():
    def ping_pong(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)
            comm.recv(x, 1)
        else:
            comm.recv(x, 0)
            comm.send(x, 0)

    run = launch(ping_pong, 2, (torch.ones(25),), network=Link(alpha=2.0, beta=0.5))
    assert (run.clock, run.seconds) == ("virtual", 2 * (2.0 + 100 * 0.5))
    again = launch(ping_pong, 2, (torch.ones(25),), network=Link(alpha=2.0, beta=0.5))
    for name, values in run.trace.columns.items():
        assert (values == again.trace.columns[name]).all(), f"{name} differs between two runs"


def test_a_synchronous_message_starts_when_both_ends_are_ready():
    def worker(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)
        else:
            comm.compute(10.0)
            comm.recv(x, 0)

    late = launch(worker, 2, (torch.ones(1),), network=Link(alpha=1.0), eager_limit=0)
    assert late.seconds == 11.0
    assert late.trace.where(kind="wait", rank=0)[0].end == 10.0
    early = launch(worker, 2, (torch.ones(1),), network=Link(alpha=1.0))
    assert early.seconds == 10.0, "a buffered message has arrived by the time it is received"


def test_a_faster_link_at_one_rank_is_used_by_that_rank_only():
    def gather(comm, x):
        if comm.rank == 0:
            for source in (1, 2, 3):
                comm.recv(x, source)
        else:
            comm.send(x, 0)

    slow, fast = Link(beta=1.0), Link(beta=0.125)
    x = torch.zeros(2)
    assert launch(gather, 4, (x,), network=slow).seconds == 24.0
    assert launch(gather, 4, (x,), network=[fast, slow, slow, slow]).seconds == 10.0


def test_phases_label_what_follows_and_a_context_puts_the_old_one_back():
    def worker(comm, x):
        other = 1 - comm.rank
        comm.phase("first")
        comm.sendrecv(x, other, torch.empty_like(x), other)
        with comm.phase("second"):
            comm.sendrecv(x, other, torch.empty_like(x), other)
        comm.sendrecv(x, other, torch.empty_like(x), other)

    trace = launch(worker, 2, (torch.ones(1),)).trace
    assert trace.where(rank=0).sends.text("phase") == ["first", "second", "first"]


def test_compute_refuses_time_that_runs_backwards():
    from counterpoint.ranks import RankFailed

    with pytest.raises(RankFailed, match=r"compute\(-1\)"):
        launch(lambda comm: comm.compute(-1), 1)


def test_messages_that_arrive_while_a_rank_computes_are_there_when_it_looks():
    def worker(comm, x):
        if comm.rank == 0:
            comm.compute(10.0)
            comm.recv(x, 1)
            comm.recv(x, 2)
        else:
            comm.send(x, 0)

    run = launch(worker, 3, (torch.ones(1),), network=Link(alpha=1.0))
    assert run.seconds == 10.0, "both came in, one after the other, by second 2"
