"""A wrong use is named in the caller's words, before a message leaves: no failure from deep inside."""

import threading

import numpy as np
import pytest
import torch

from counterpoint import collectives
from counterpoint.ranks import MismatchError, RankFailed, launch

X = torch.ones(4)

TYPES = {
    "send an array": (lambda comm: comm.send(np.ones(4), 0), "send: numpy.ndarray given .* torch.from_numpy"),
    "send a number": (lambda comm: comm.send(1.0, 0), "send: float given where a tensor is wanted"),
    "isend a list": (lambda comm: comm.isend([1.0], 0), "isend: list given"),
    "receive into nothing": (lambda comm: comm.recv(None, 0), "recv: NoneType given .* torch.empty_like"),
    "reduce into an array": (lambda comm: comm.recv_reduce(np.ones(4), 0), "recv_reduce: numpy.ndarray given"),
    "exchange an array": (lambda comm: comm.sendrecv(X, 0, np.ones(4), 0), "sendrecv: numpy.ndarray given"),
    "add to an array": (
        lambda comm: comm.sendrecv_reduce(X, 0, np.ones(4), 0), "sendrecv_reduce: numpy.ndarray given"
    ),
    "a fraction's rank": (lambda comm: comm.send(X, 1 / 2), "rank 0: send names rank 0.5, .* //"),
    "a whole float's rank": (lambda comm: comm.recv(X, 0 / 1), "rank 0: recv names rank 0.0, .* //"),
    "a rank in words": (lambda comm: comm.send(X, "0"), "send names rank '0', which is not an integer"),
    "swapped": (lambda comm: comm.send(0, X), r"send names rank a tensor of shape \(4,\)"),
    "a tag in words": (lambda comm: comm.send(X, 0, "a"), "send has tag 'a', which is not an integer"),
    "a fraction's tag": (lambda comm: comm.recv(X, 0, 1.5), "recv has tag 1.5"),
    "a group of one": (lambda comm: comm.group(0), r"wants a list of ranks, such as \[0\]"),
    "a phase that is no name": (lambda comm: comm.phase(["a"]), r"phase\(\['a'\]\) wants a name"),
    "a colour in words": (lambda comm: comm.split("red"), "rank 0: split has color 'red', which is not an integer"),
    "a key in words": (lambda comm: comm.split(0, "first"), "split has key 'first', which is not an integer"),
    "a group of floats": (lambda comm: comm.group([0.0]), "group names rank 0.0"),
    "all_reduce an array": (lambda comm: collectives.all_reduce(comm, np.ones(4)), "all_reduce: numpy.ndarray"),
    "all_reduce swapped": (lambda comm: collectives.all_reduce(X, comm), "comm comes first"),
    "reduce a list": (lambda comm: collectives.reduce(comm, [1.0]), "reduce: list given"),
    "broadcast a number": (lambda comm: collectives.broadcast(comm, 1), "broadcast: int given"),
    "gather into a list": (lambda comm: collectives.all_gather(comm, [X], X), "all_gather: list given"),
    "scatter a list": (lambda comm: collectives.reduce_scatter(comm, X, [X]), "reduce_scatter: list given"),
    "scan an array": (lambda comm: collectives.scan(comm, np.ones(4)), "scan: numpy.ndarray"),
    "exscan swapped": (lambda comm: collectives.exscan(X, comm), "comm comes first"),
    "gather swapped": (lambda comm: collectives.gather(X, [X], comm), "comm comes first"),
    "scatter swapped": (lambda comm: collectives.scatter(X, comm, [X]), "comm comes first"),
    "all_to_all swapped": (lambda comm: collectives.all_to_all(X, X, comm), "comm comes first"),
    "a float's root": (lambda comm: collectives.broadcast(comm, X, root=0.0), "root is 0.0"),
}  # fmt: skip

VALUES = {
    "negative tag": (lambda comm: comm.send(X, 0, -1), "send has tag -1; tags are at least 0"),
    "rank beyond": (lambda comm: comm.send(X, 1), "send names rank 1; this communicator has ranks 0 to 0"),
    "one tensor for both": (lambda comm: comm.sendrecv(X, 0, X, 0), "sends and fills the same tensor"),
    "a list of ops": (lambda comm: collectives.all_reduce(comm, X, op=["sum"]), "no reduction"),
    "a list of algorithms": (
        lambda comm: collectives.all_reduce(comm, X, algorithm=["ring"]),
        "no algorithm",
    ),
    "seconds in words": (lambda comm: comm.compute("1"), "give seconds, at least 0"),
}


@pytest.mark.parametrize(("use", "says"), TYPES.values(), ids=TYPES)
def test_a_wrong_type_is_named_with_its_remedy(use, says):
    with pytest.raises(RankFailed, match=says) as caught:
        launch(use, 1)
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize(("use", "says"), VALUES.values(), ids=VALUES)
def test_a_wrong_value_is_named_with_its_remedy(use, says):
    with pytest.raises(RankFailed, match=says) as caught:
        launch(use, 1)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("number", [np.int64, torch.tensor, int], ids=["numpy", "tensor", "int"])
def test_ranks_and_tags_may_be_any_kind_of_integer(number):
    """Two tensors that hold the same tag are one tag, though they are not one key of a dict."""

    def pair(comm):
        half = comm.group([number(0), number(1)])
        if comm.rank == 0:
            half.send(X, number(1), tag=number(3))
            return X.tolist()
        return half.recv(torch.zeros(4), number(0), tag=number(3)).tolist()

    assert launch(pair, 2).results[1] == X.tolist()


@pytest.mark.parametrize("argument", [(i for i in range(3)), threading.Lock()], ids=["generator", "lock"])
def test_what_cannot_be_copied_for_each_rank_is_named(argument):
    with pytest.raises(TypeError, match=r"among the arguments cannot be copied for each rank .* share=True"):
        launch(lambda comm, x: None, 2, (argument,))


def test_data_and_phantoms_do_not_meet():
    def worker(comm):
        device = "meta" if comm.rank else "cpu"
        if comm.rank:
            comm.recv(torch.empty(3, device=device), 0)
        else:
            comm.send(torch.ones(3, device=device), 1)

    for world in ("threads", "simulated"):
        with pytest.raises(MismatchError, match="rank 0 sends data to rank 1, which receives a phantom"):
            launch(worker, 2, world=world)


def test_a_phantom_is_not_sent_and_filled_at_once_either():
    def worker(comm, x):
        comm.sendrecv(x, (comm.rank + 1) % comm.size, x, (comm.rank - 1) % comm.size)

    with pytest.raises(RankFailed, match="sendrecv sends and fills the same tensor"):
        launch(worker, 3, (torch.empty(4, device="meta"),), world="simulated")
