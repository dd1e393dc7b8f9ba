"""Smaller communicators, barriers, and agreement about collectives, for every world."""

import io
import time

import pytest
import torch

from counterpoint.ranks import MismatchError, RankFailed


def test_nobody_leaves_a_barrier_before_everybody_came(world):
    def worker(comm):
        came = time.perf_counter()
        comm.barrier()
        return came, time.perf_counter()

    came, left = zip(*world(worker, 8).results, strict=True)
    assert max(came) <= min(left)


def test_split_groups_by_color_and_orders_by_key(world):
    def worker(comm):
        half = comm.split(comm.rank % 2, key=-comm.rank)
        got = half.sendrecv(
            torch.tensor([comm.rank]),
            (half.rank + 1) % half.size,
            torch.empty(1, dtype=torch.long),
            (half.rank - 1) % half.size,
        )
        return half.rank, half.size, got.item()

    assert world(worker, 6).results == [
        (2, 3, 2), (2, 3, 3), (1, 3, 4), (1, 3, 5), (0, 3, 0), (0, 3, 1)
    ]  # fmt: skip


def test_split_without_a_color_gives_nothing(world):
    def worker(comm):
        part = comm.split(0 if comm.rank else None)
        return None if part is None else part.size

    assert world(worker, 3).results == [None, 2, 2]


def test_a_group_keeps_the_order_given_and_need_not_hold_rank_0(world):
    def worker(comm):
        group = comm.group([3, 1])
        if group is None:
            return None
        other = 1 - group.rank
        got = group.sendrecv(torch.tensor([comm.rank]), other, torch.tensor([-1]), other)
        return group.rank, got.item()

    run = world(worker, 4)
    assert run.results == [None, (1, 3), None, (0, 1)]
    assert set(run.trace.sends.comm) == {1}
    assert sorted(run.trace.sends.rank) == [1, 3], "a trace numbers ranks in the world"


def test_groups_do_not_take_each_others_messages(world):
    def worker(comm):
        pair = comm.group([0, 1])
        if comm.rank == 0:
            comm.send(torch.tensor([1.0]), 1)
            pair.send(torch.tensor([2.0]), 1)
            return None
        return pair.recv(torch.empty(1), 0).item(), comm.recv(torch.empty(1), 0).item()

    assert world(worker, 2).results[1] == (2.0, 1.0)


@pytest.mark.parametrize("ranks, sentence", [([0, 2], "names rank 2"), ([0, 0], "names a rank twice")])
def test_a_group_of_ranks_that_are_not_there_is_refused(world, ranks, sentence):
    with pytest.raises(RankFailed, match=sentence):
        world(lambda comm: comm.group(ranks), 2)


def test_collectives_that_agree_cost_no_message_and_no_wait(world):
    def worker(comm):
        for number in range(3):
            comm.agree("all_reduce", number)

    assert len(world(worker, 4).trace) == 0


@pytest.mark.parametrize("odd", [0, 1, 3])
def test_the_odd_one_out_is_named_on_every_rank(world, odd):
    said = io.StringIO()

    def worker(comm, x):
        try:
            comm.agree("broadcast" if comm.rank == odd else "all_reduce", 10)
            comm.recv(x, (comm.rank + 1) % comm.size)
        except MismatchError as error:
            print(repr(str(error)))
            raise

    with pytest.raises(MismatchError, match=f"rank {odd} is in another collective than the rest"):
        world(worker, 4, (torch.ones(1),), output=said)
    lines = said.getvalue().splitlines()
    assert sorted(line[:8] for line in lines) == [f"[rank {r}]" for r in range(4)]
    assert len({line[8:] for line in lines}) == 1
    assert "broadcast(10)" in lines[0] and "all_reduce(10)" in lines[0]


def test_two_ranks_that_differ_are_both_named(world):
    with pytest.raises(MismatchError, match="rank 0, rank 1 are in different collectives"):
        world(lambda comm: comm.agree("all_reduce", comm.rank), 2)


def test_a_mismatch_is_told_even_when_one_rank_is_stuck_in_its_own_collective(world):
    """Rank 0 waits inside its broadcast, so it never hears of the rest: who waits for it finds out."""

    def worker(comm, x):
        comm.agree("broadcast" if comm.rank == 0 else "all_reduce")
        comm.recv(x, (comm.rank + 1) % comm.size)

    with pytest.raises(MismatchError, match="rank 0 is in another collective"):
        world(worker, 3, (torch.ones(1),))
