"""play shows a run with its provenance, and the error that ended one with who waited for whom."""

import pytest
import torch

import counterpoint as cp
from counterpoint.collectives import ring_all_reduce
from counterpoint.collectives.ring import cost
from counterpoint.ranks import DeadlockError, launch


def test_a_runs_player_ends_with_everyone_in_every_chunk():
    player = cp.play(launch(ring_all_reduce, 4, (torch.ones(9),)), cost=cost(4, 9, 4))
    assert player.film["known"] and not player.film["note"]
    assert all(row["holds"] == dict.fromkeys(range(4), 1) for row in player.table(t=99))
    assert player.film["title"] == "ring all reduce, 4 ranks"
    assert player.film["predicted"] == player.film["totals"]


def test_what_the_function_prints_is_not_printed_again(capsys):
    def chatty(comm, x):
        print("hello")
        ring_all_reduce(comm, x)

    run = launch(chatty, 3, (torch.ones(3),))
    capsys.readouterr()
    cp.play(run)
    assert capsys.readouterr().out == ""


def test_a_function_that_does_more_than_add_has_no_contributions_to_show():
    def squares(comm, x):
        ring_all_reduce(comm, x.mul_(0.3).add_(0.01).sin_())

    player = cp.play(launch(squares, 3, (torch.ones(3),)))
    assert not player.film["known"]


def test_a_function_without_tensor_arguments_is_shown_all_the_same():
    player = cp.play(launch(lambda comm: ring_all_reduce(comm, torch.ones(4)), 2))
    assert len(player.film["messages"]["id"]) == 4


def test_a_deadlock_is_shown_with_its_cycle():
    def stuck(comm, x):
        comm.recv(x, (comm.rank + 1) % comm.size)

    with pytest.raises(DeadlockError) as caught:
        launch(stuck, 3, (torch.ones(3),))
    film = cp.play(caught.value).film
    assert film["cycle"] == [0, 1, 2]
    assert [wait["rank"] for wait in film["waits"]] == [0, 1, 2]


def test_what_cannot_be_played_is_refused():
    with pytest.raises(ValueError, match="no trace"):
        cp.play(launch(ring_all_reduce, 2, (torch.ones(3),), trace=False))
    with pytest.raises(TypeError, match="is no run"):
        cp.play(3)
