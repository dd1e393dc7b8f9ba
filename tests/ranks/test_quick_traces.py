"""The simulator's quick way leaves the trace that the general way leaves, event for event, however they are mixed."""

import pytest
import torch

from counterpoint.collectives import ALGORITHMS
from counterpoint.models import Cluster, Link, LogGP
from counterpoint.ranks import DeadlockError, RankFailed, launch
from counterpoint.ranks.fast import SimulatedComm
from counterpoint.trace.packed import PackedRecorder

QUICK = 1 << 40
"""An eager limit above every message: all of them may take the quick way."""
NETWORKS = {
    "a link each": lambda p: Link(alpha=1.0, beta=0.25, gamma=0.125),  # times that no order of adding rounds
    "LogGP": lambda p: LogGP(p, L=6, o=2, g=4, G=0.25),
    "nodes": lambda p: Cluster(
        *((p // 2, 2) if p % 2 == 0 else (1, p)), inside=Link(beta=0.25), between=Link(1.0, 0.5)
    ),
}


def phantom(count):
    return torch.empty(count, device="meta")


def neighbours(comm, x, y):
    """Every call of the quick way; with waits, phases, tags and two on one line."""
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p
    comm.compute(float(rank))
    with comm.phase("exchanges"):
        for op in ("sum", "max"):
            comm.sendrecv_reduce(x, right, y, left, op, tag=3)
        comm.sendrecv(y, left, x, right)
    comm.send(x, right), comm.send(x, right, tag=7)
    comm.recv(y, left, tag=7), comm.recv_reduce(y, left)


def mixed(comm, x, y):
    """Quick and general messages of the same channels, and events that are no messages, in between."""
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p
    for turn in range(3):
        comm.phase(f"turn {turn}")
        comm.sendrecv_reduce(x, right, y, left)
        request = comm.isend(x, right)
        comm.send(y, right)
        comm.compute(0.5 * rank)
        comm.recv(y, left)
        comm.reduce_local(x, y, out=y)
        comm.irecv(y, left).wait()
        request.wait()
    half = comm.split(rank % 2)
    with half.phase("half"):
        half.compute(0.25)
        half.sendrecv(x, (half.rank + 1) % half.size, y, (half.rank - 1) % half.size, tag=2)
    comm.barrier()
    comm.sendrecv(x, right, y, left)
    if rank == 0:
        comm.send(x, right, tag=9)  # nobody receives it


def in_halves_only(comm, x, y):
    half = comm.split(comm.rank % 2)
    half.sendrecv(x, half.rank ^ 1, y, half.rank ^ 1)


def halves(comm, x, y):
    """Tensors made on the way: those of no argument, and of another shape than the sender's."""
    other = comm.rank ^ 1
    if other < comm.size:
        for _ in range(2):
            comm.sendrecv(x.reshape(2, -1), other, torch.empty_like(x), other)


def run_of(program, p, network, quick, monkeypatch):
    with monkeypatch.context() as patch:
        if not quick:
            patch.setattr(SimulatedComm, "_open", lambda *_: False)
        x = phantom(8)
        return launch(
            program, p, (x, x.clone()), world="simulated", network=network(p), eager_limit=QUICK
        ).trace


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("program", [neighbours, mixed, halves])
@pytest.mark.parametrize("p", [2, 3, 4, 7])
def test_the_two_ways_leave_the_same_trace(program, p, network, monkeypatch):
    quick = run_of(program, p, NETWORKS[network], True, monkeypatch)
    general = run_of(program, p, NETWORKS[network], False, monkeypatch)
    one, other = ([event for event in trace if event.kind != "wait"] for trace in (quick, general))
    assert one == other
    # The two ways put a wait on different sides of its receipt, and call what was waited in differently.
    one, other = (
        sorted(wait._replace(op="") for wait in trace.where(kind="wait")) for trace in (quick, general)
    )
    assert one == other and quick.waiting().tolist() == general.waiting().tolist()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_all_reduce_leaves_the_same_trace(name, monkeypatch):
    def program(comm, x, y):
        ALGORITHMS[name][0](comm, x)

    for p in (1, 2, 5, 8):
        quick = run_of(program, p, NETWORKS["a link each"], True, monkeypatch)
        general = run_of(program, p, NETWORKS["a link each"], False, monkeypatch)
        one, other = ([event for event in trace if event.kind != "wait"] for trace in (quick, general))
        assert one == other


def test_the_quick_way_was_taken(monkeypatch):
    packed = []
    finish = PackedRecorder.finish
    monkeypatch.setattr(
        PackedRecorder, "finish", lambda self, clock: packed.append(len(self.packed)) or finish(self, clock)
    )
    for quick in (True, False):
        run_of(neighbours, 4, NETWORKS["a link each"], quick, monkeypatch)
        run_of(in_halves_only, 4, NETWORKS["a link each"], quick, monkeypatch)
    assert packed[0] > 0 and packed[1] > 0 and packed[2:] == [0, 0]


def test_a_wait_lies_before_what_ended_it():
    def worker(comm, x):
        if comm.rank == 0:
            comm.compute(3.0)
            comm.send(x, 1)
        else:
            comm.recv(x, 0)

    trace = launch(
        worker, 2, (phantom(4),), world="simulated", network=Link(alpha=1.0), eager_limit=QUICK
    ).trace
    wait, receipt = trace.where(rank=1)
    assert (wait.kind, wait.op, wait.start, wait.end, wait.message) == ("wait", "recv", 0.0, 3.0, -1)
    assert (receipt.kind, receipt.start, receipt.end) == ("recv", 3.0, 4.0)


@pytest.mark.parametrize("network", NETWORKS)
def test_two_runs_of_both_ways_are_equal_byte_for_byte(network, monkeypatch):
    one, two = (run_of(mixed, 5, NETWORKS[network], True, monkeypatch) for _ in range(2))
    assert one.words == two.words
    assert all(one.columns[name].tobytes() == two.columns[name].tobytes() for name in one.columns)


def test_events_are_selected_by_line_whichever_way_they_went(monkeypatch):
    def worker(comm, x, y):
        for part in (x, torch.zeros(8)):
            comm.sendrecv(part, 1 - comm.rank, torch.empty_like(part), 1 - comm.rank)

    trace = run_of(worker, 2, NETWORKS["a link each"], True, monkeypatch)
    (line,) = set(trace.sends.text("line"))
    assert len(trace.where(line=line).sends) == len(trace.sends) == 4


def test_what_was_sent_before_a_failure_is_in_the_trace():
    def worker(comm, x):
        comm.send(x, 1 - comm.rank)
        comm.sendrecv_reduce(x, 1 - comm.rank, x.clone(), 1 - comm.rank)
        if comm.rank == 0:
            comm.recv(x, 1)
            raise ZeroDivisionError

    with pytest.raises(RankFailed) as caught:
        launch(worker, 2, (phantom(4),), world="simulated", eager_limit=QUICK)
    assert len(caught.value.run.trace.sends) == 4


def test_who_waits_in_a_quick_receive_is_told_with_the_line_and_is_in_the_trace():
    def worker(comm, x):
        if comm.rank == 0:
            comm.compute(2.0)
            comm.recv(x, 1)
        else:
            comm.sendrecv(x, 0, x.clone(), 0)  # 0 takes it, and answers nothing

    with pytest.raises(DeadlockError) as caught:
        launch(worker, 2, (phantom(4),), world="simulated", network=Link(alpha=1.0), eager_limit=QUICK)
    (wait,) = caught.value.waits
    assert (wait.rank, wait.call, wait.peers) == (1, "recv", [0])
    assert wait.code.startswith("comm.sendrecv(x, 0, x.clone(), 0)")
    left = caught.value.run.trace.where(rank=1, kind="wait")
    assert [(w.peer, w.op, w.start, w.end) for w in left] == [(0, "recv", 0.0, 2.0)]
    assert left[0].line.endswith(f":{wait.line}")
