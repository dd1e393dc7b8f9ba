"""The contract of messages, for every world: order, tags, requests, eager and synchronous, shapes."""

import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.ranks import DeadlockError, MismatchError, RankFailed, launch

DTYPES = [
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.bool,
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
]  # fmt: skip
EAGER = [0, 8192]


def ring_pass(comm, x):
    """Everyone's x, one place further round the ring."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return comm.sendrecv(x, right, torch.empty_like(x), left)


@pytest.mark.parametrize("eager_limit", EAGER)
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 7, 8, 16])
def test_sendrecv_round_a_ring_moves_everything_one_place(world, p, eager_limit):
    data = [torch.arange(6.0) + 10 * rank for rank in range(p)]
    run = world(ring_pass, per_rank=data, eager_limit=eager_limit)
    for rank in range(p):
        assert torch.equal(run.results[rank], data[(rank - 1) % p])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_arrives_bit_for_bit(world, dtype):
    data = [(torch.arange(9) * (rank + 1)).to(dtype) for rank in range(3)]
    run = world(ring_pass, per_rank=data)
    assert all(torch.equal(run.results[r], data[(r - 1) % 3]) for r in range(3))


@pytest.mark.parametrize("eager_limit", EAGER)
def test_messages_of_one_tag_arrive_in_the_order_they_were_sent(world, eager_limit):
    def worker(comm):
        if comm.rank == 0:
            for value in range(20):
                comm.send(torch.tensor([value]), 1)
            return None
        return [comm.recv(torch.empty(1, dtype=torch.long), 0).item() for _ in range(20)]

    assert world(worker, 2, eager_limit=eager_limit).results[1] == list(range(20))


def test_a_receive_takes_the_message_of_its_own_tag(world):
    def worker(comm):
        if comm.rank == 0:
            comm.send(torch.tensor([1.0]), 1, tag=7)
            comm.send(torch.tensor([2.0]), 1, tag=8)
            return None
        late = comm.recv(torch.empty(1), 0, tag=8).item()
        return late, comm.recv(torch.empty(1), 0, tag=7).item()

    assert world(worker, 2).results[1] == (2.0, 1.0)


@pytest.mark.parametrize("eager_limit", EAGER)
def test_posted_receives_let_synchronous_sends_through(world, eager_limit):
    """Both post a receive and then send: correct in MPI, whatever the sends' mode."""

    def worker(comm, x):
        incoming = torch.empty_like(x)
        request = comm.irecv(incoming, 1 - comm.rank)
        comm.send(x, 1 - comm.rank)
        request.wait()
        return incoming

    data = [torch.full((5,), float(r)) for r in range(2)]
    run = world(worker, per_rank=data, eager_limit=eager_limit)
    assert [r[0].item() for r in run.results] == [1.0, 0.0]


def test_a_buffered_send_may_be_followed_by_a_change_of_its_tensor(world):
    def worker(comm):
        if comm.rank == 0:
            x = torch.ones(3)
            comm.send(x, 1)
            x.fill_(9.0)
            comm.barrier()
            return None
        comm.barrier()
        return comm.recv(torch.empty(3), 0).tolist()

    assert world(worker, 2).results[1] == [1.0] * 3


def test_a_synchronous_send_returns_only_when_its_receive_has_read_it(world):
    def worker(comm):
        if comm.rank == 0:
            comm.send(torch.ones(3), 1)
            return time.perf_counter()
        before = time.perf_counter()
        comm.recv(torch.empty(3), 0)
        return before

    sent, receiving = world(worker, 2, eager_limit=0).results
    assert receiving <= sent


def test_test_is_false_until_the_message_is_there_and_true_ever_after(world):
    def worker(comm):
        if comm.rank == 0:
            comm.barrier()
            comm.send(torch.ones(1), 1)
            comm.barrier()
            return None
        x = torch.zeros(1)
        request = comm.irecv(x, 0)
        first = request.test()
        comm.barrier()
        comm.barrier()
        return first, request.test(), request.test(), x.item()

    assert world(worker, 2).results[1] == (False, True, True, 1.0)


def test_waiting_twice_is_waiting_once(world):
    def worker(comm):
        other = 1 - comm.rank
        x = torch.zeros(2)
        send, receive = comm.isend(torch.ones(2), other), comm.irecv(x, other)
        for request in (receive, send, receive, send):
            request.wait()
        return x.tolist()

    run = world(worker, 2, eager_limit=0)
    assert run.results == [[1.0, 1.0]] * 2
    assert run.trace.totals().messages == 2


@pytest.mark.parametrize("op, expected", [("sum", 5.0), ("product", 6.0), ("min", 2.0), ("max", 3.0)])
def test_recv_reduce_receives_into_an_accumulator(world, op, expected):
    def worker(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)
            return x
        return comm.recv_reduce(x, 0, op)

    run = world(worker, per_rank=[torch.full((4,), 2.0), torch.full((4,), 3.0)])
    assert run.results[1].tolist() == [expected] * 4
    assert run.results[0].tolist() == [2.0] * 4
    (event,) = run.trace.where(kind="reduce")
    assert (event.rank, event.peer, event.op, event.nbytes) == (1, 0, op, 16)


def test_an_op_that_the_dtype_has_not_is_refused_before_any_message(world):
    def worker(comm, x):
        comm.recv_reduce(x, 1 - comm.rank, "xor")

    with pytest.raises(RankFailed, match=r"integers and bool, not on torch\.float32") as failed:
        world(worker, 2, (torch.ones(2),))
    assert failed.value.run.trace.totals().messages == 0


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(0, 4), max_size=3),
    strides=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    eager_limit=st.sampled_from(EAGER),
)
def test_views_of_any_shape_and_stride_are_read_and_written_through(shape, strides, eager_limit):
    def strided(fill):
        base = torch.full([n * s for n, s in zip(shape, strides, strict=False)], fill)
        return base, base[tuple(slice(None, None, s) for s, _ in zip(strides, shape, strict=False))]

    count = 1
    for n in shape:
        count *= n
    values = torch.arange(float(count)).reshape(shape)

    def worker(comm):
        base, view = strided(-1.0)
        if comm.rank == 0:
            view.copy_(values)
            comm.send(view, 1)
        else:
            comm.recv(view, 0)
        return base, view

    base, view = launch(worker, 2, eager_limit=eager_limit).results[1]
    assert torch.equal(view, values)
    assert base.sum() == values.sum() - (base.numel() - count)


def test_ends_that_do_not_fit_are_an_error_on_both_that_names_them(world):
    def worker(comm):
        if comm.rank == 0:
            comm.send(torch.ones(3), 1)
        else:
            comm.recv(torch.ones(4), 0)

    with pytest.raises(MismatchError, match=r"rank 0 sends 3 x torch.float32 to rank 1, which receives 4"):
        world(worker, 2)

    def dtypes(comm):
        if comm.rank == 0:
            comm.send(torch.ones(3), 1)
        else:
            comm.recv(torch.ones(3, dtype=torch.float64), 0)

    with pytest.raises(MismatchError, match=r"receives 3 x torch.float64"):
        world(dtypes, 2, eager_limit=0)


def test_a_peer_that_is_no_rank_is_refused_with_the_ranks_there_are(world):
    def worker(comm):
        comm.send(torch.ones(1), comm.rank + 1)

    with pytest.raises(RankFailed, match=r"names rank 1; this communicator has ranks 0 to 0"):
        world(worker, 1)


def test_a_message_to_oneself_is_received_and_a_synchronous_one_is_a_deadlock(world):
    def both(comm):
        return comm.sendrecv(torch.ones(2), 0, torch.zeros(2), 0).tolist()

    assert world(both, 1, eager_limit=0).results == [[1.0, 1.0]]
    with pytest.raises(DeadlockError, match="cycle: 0 → 0"):
        world(lambda comm: comm.send(torch.ones(2), 0), 1, eager_limit=0)
