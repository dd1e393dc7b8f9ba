"""explain says whose contributions every cell holds, because it ran the program and looked."""

import pytest
import torch

from counterpoint.collectives import (
    all_gather,
    all_to_all,
    explain,
    recursive_doubling_all_reduce,
    ring_all_reduce,
    scan,
    star_all_reduce,
    tree_all_reduce,
)
from counterpoint.collectives.ring import ring_reduce_scatter
from counterpoint.ranks import DeadlockError, launch

ALL = [star_all_reduce, tree_all_reduce, ring_all_reduce, recursive_doubling_all_reduce]


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
def test_a_right_all_reduce_ends_with_everyone_once_in_every_cell(function, p):
    seen = explain(function, p)
    assert seen.error is None and seen.ranks == p
    assert all((final == 1).all() for final in seen.final)


def test_each_rank_starts_with_itself_once():
    seen = explain(ring_all_reduce, 4)
    for rank in range(4):
        assert seen.initial[rank].tolist() == [[int(r == rank) for r in range(4)]] * 4


def test_the_ring_adds_one_rank_a_step_along_the_way_of_a_chunk():
    seen = explain(ring_all_reduce, 4)
    rows = [r for r in seen.table() if r["rank"] == 2 and r["phase"] == "reduce-scatter"]
    assert [(r["step"], r["cell"], sorted(r["holds"])) for r in rows] == [
        (1, 1, [1, 2]), (2, 0, [0, 1, 2]), (3, 3, [0, 1, 2, 3])
    ]  # fmt: skip


def test_what_a_message_carried_is_what_its_sender_held_then():
    seen = explain(ring_all_reduce, 4)
    for event, carried in seen.carried.items():
        send = seen.trace[event]
        ((cell, counts),) = carried
        assert seen.cells[cell].tolist() == [0, send.offset, send.length]
        assert counts.tolist() == seen.after(send.rank, event)[cell].tolist()


def test_a_rank_counted_twice_shows_as_two():
    def twice(comm, x):
        mine = x.clone()
        star_all_reduce(comm, x)
        if comm.rank == 2:
            x += mine

    final = explain(twice, 3).final
    assert final[1].tolist() == [[1, 1, 1]]
    assert final[2].tolist() == [[1, 1, 2]]


def test_an_average_counts_as_held_once():
    def average(comm, x):
        ring_all_reduce(comm, x)
        x /= comm.size

    assert all((final == 1).all() for final in explain(average, 4).final)


def test_cells_follow_the_cuts_of_the_programs_own_messages():
    seen = explain(ring_all_reduce, 4, (torch.zeros(10),))
    assert seen.cells.tolist() == [[0, 0, 3], [0, 3, 3], [0, 6, 2], [0, 8, 2]]
    assert explain(star_all_reduce, 4, (torch.zeros(10),)).cells.tolist() == [[0, 0, 10]]


def test_a_data_movers_cells_say_where_they_came_from():
    def gather(comm, output, x):
        all_gather(comm, output, x)

    seen = explain(gather, 3, (torch.zeros(6), torch.zeros(2)))
    for rank in range(3):
        pieces = seen.final_origins[rank][:3]
        assert pieces.tolist() == [[0, 6], [1, 6], [2, 6]], "element 0 of everyone's second buffer"


def test_exchanged_pieces_come_from_where_they_should():
    def exchange(comm, output, x):
        all_to_all(comm, output, x, "pairwise")

    seen = explain(exchange, 3, (torch.zeros(6), torch.zeros(6)))
    for rank in range(3):
        assert seen.final_origins[rank][:3].tolist() == [[source, 6 + 2 * rank] for source in range(3)]


def test_a_scan_holds_all_ranks_up_to_its_own():
    for p in (2, 5):
        seen = explain(lambda comm, x: scan(comm, x), p)
        assert [final.tolist()[0] for final in seen.final] == [
            [int(r <= rank) for r in range(p)] for rank in range(p)
        ]


def test_sums_are_not_taken_for_copies():
    seen = explain(ring_all_reduce, 4)
    assert all((o == -1).all() for o in seen.final_origins)


def test_chunks_in_a_list_stay_views_of_one_vector():
    chunks = list(torch.zeros(8).tensor_split(4))
    seen = explain(lambda comm, c: ring_reduce_scatter(comm, c), 4, (chunks,))
    assert seen.cells.tolist() == [[0, 0, 2], [0, 2, 2], [0, 4, 2], [0, 6, 2]]
    for rank in range(4):
        assert (seen.final[rank][(rank + 1) % 4] == 1).all()


def test_a_deadlock_is_explained_up_to_where_it_stuck():
    def stuck(comm, x):
        ring_reduce_scatter(comm, list(x.tensor_split(comm.size)))
        comm.recv(x, (comm.rank + 1) % comm.size)

    seen = explain(stuck, 3)
    assert isinstance(seen.error, DeadlockError)
    assert all((seen.final[r][(r + 1) % 3] == 1).all() for r in range(3))


def test_like_takes_shapes_from_a_run_and_a_large_one_is_made_small():
    run = launch(ring_all_reduce, 3, (torch.ones(3_000_001),), trace=False)
    seen = explain(ring_all_reduce, like=run)
    assert len(seen.cells) == 3 and all((f == 1).all() for f in seen.final)
    assert seen.trace.totals().bytes_total < 1000


def test_more_than_sixteen_ranks_share_runs_without_confusion():
    seen = explain(tree_all_reduce, 20)
    assert all((final == 1).all() for final in seen.final)
    assert seen.initial[19].tolist() == [[0] * 19 + [1]]


def test_nothing_to_mark_is_said():
    with pytest.raises(ValueError, match="no tensor among the arguments"):
        explain(lambda comm, n: None, 2, (3,))
    with pytest.raises(ValueError, match="give ranks"):
        explain(ring_all_reduce)


def test_a_number_of_ranks_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"explain: ranks = 2\.5"):
        explain(ring_all_reduce, 2.5)
