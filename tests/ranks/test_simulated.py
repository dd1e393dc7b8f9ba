"""What only simulated ranks have: exact time, shared links, thousands of ranks, the same run every time."""

import pytest
import torch

from counterpoint.collectives import ALGORITHMS, all_reduce, ring
from counterpoint.models import Cluster, Link, LogGP, Ring
from counterpoint.ranks import RankFailed, launch

LINK = Link(alpha=1e-3, beta=1e-6, gamma=3e-7)
EXACT = Link(alpha=1.0, beta=0.25, gamma=0.125)
"""Times that no order of adding rounds."""
QUICK = 1 << 40
"""An eager limit above every message: all of them may take the quick way."""


def simulate(function, ranks=None, args=(), **settings):
    return launch(function, ranks, args, world="simulated", **settings)


def phantom(count):
    return torch.empty(count, device="meta")


def both_phases(comm, chunks):
    ring.ring_reduce_scatter(comm, chunks)
    ring.ring_all_gather(comm, chunks)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("eager_limit", [0, 8192, QUICK])
def test_phantoms_cost_what_real_tensors_cost_and_what_the_formula_says(name, eager_limit):
    algorithm, cost = ALGORITHMS[name]
    for p in (1, 2, 3, 5, 8):
        for count in (0, 1, p - 1, 2 * p + 1, 5000):
            expected = cost(p, count, 4)
            for x in (phantom(count), torch.ones(count)):
                run = simulate(algorithm, p, (x,), network=LINK, eager_limit=eager_limit)
                totals = run.trace.totals()
                assert (totals.messages, totals.bytes_total, totals.bytes_busiest, totals.steps) == (
                    expected.messages, expected.bytes_total, expected.bytes_busiest, expected.steps,
                )  # fmt: skip
                assert run.seconds == pytest.approx(expected.seconds(LINK), rel=1e-12)


def test_threads_with_a_virtual_clock_and_the_simulator_agree_event_for_event():
    x = torch.arange(50.0)
    a = launch(ring.ring_all_reduce, 5, (x,), network=LINK).trace
    b = simulate(ring.ring_all_reduce, 5, (x,), network=LINK).trace
    assert a.text("kind") == b.text("kind")
    for name in ("message", "rank", "peer", "nbytes", "step", "buffer", "offset", "length"):
        assert (a.columns[name] == b.columns[name]).all(), name
    assert a.start == pytest.approx(b.start) and a.end == pytest.approx(b.end)


def test_the_quick_way_and_the_general_way_leave_the_same_trace():
    quick = simulate(ring.ring_all_reduce, 6, (phantom(50),), network=EXACT, eager_limit=QUICK).trace
    general = simulate(ring.ring_all_reduce, 6, (torch.zeros(50),), network=EXACT, eager_limit=QUICK).trace
    sent, same = quick.where(kind=("send", "reduce", "recv")), general.where(kind=("send", "reduce", "recv"))
    for name in ("message", "rank", "peer", "kind", "nbytes", "step", "start", "end"):
        assert (sent.columns[name] == same.columns[name]).all(), name
    assert [t.rsplit(":")[-1] for t in sent.text("line")] == [t.rsplit(":")[-1] for t in same.text("line")]


def test_the_two_ways_may_be_mixed_on_one_channel():
    def worker(comm, x):
        other = 1 - comm.rank
        comm.send(x, other)
        request = comm.isend(x, other)
        comm.send(x, other)
        comm.recv(x, other)
        first = comm.irecv(x, other)
        first.wait()
        comm.recv(x, other)
        request.wait()

    totals = simulate(worker, 2, (phantom(8),), network=LINK).trace
    assert totals.totals().messages == 6 and len(totals.unreceived) == 0


def test_two_runs_are_equal_byte_for_byte_with_stragglers_and_a_seed():
    def worker(comm, x):
        for _ in range(3):
            comm.compute(1e-3)
            all_reduce(comm, x, algorithm="ring")

    def columns(seed):
        run = simulate(worker, 8, (phantom(64),), network=LINK, jitter=0.5, slowness={3: 2.0}, seed=seed)
        return {name: values.tobytes() for name, values in run.trace.columns.items()}

    assert columns(1) == columns(1)
    assert columns(1) != columns(2)


def test_a_slow_rank_makes_everyone_late():
    def worker(comm, x):
        comm.compute(1.0)
        all_reduce(comm, x, algorithm="tree")

    even = simulate(worker, 4, (phantom(1),), network=LINK).seconds
    late = simulate(worker, 4, (phantom(1),), network=LINK, slowness={2: 3.0}).seconds
    assert late - even == pytest.approx(2.0, abs=2e-3)


def test_messages_that_share_a_link_wait_for_each_other():
    """Two pairs across one wire between two nodes: the second message starts when the first is through."""

    def worker(comm, x):
        if comm.rank < 2:
            comm.send(x, comm.rank + 2)
        else:
            comm.recv(x, comm.rank - 2)

    wire = Link(beta=1.0)
    shared = Cluster(2, 2, inside=Link(beta=1e-9), between=wire, rails=1)
    own = Cluster(2, 2, inside=Link(beta=1e-9), between=wire, rails=2)
    x = phantom(2)
    assert simulate(worker, 4, (x,), network=shared).seconds == pytest.approx(16.0)
    assert simulate(worker, 4, (x,), network=own).seconds == pytest.approx(8.0)


def test_a_ring_all_reduce_on_a_ring_of_wires_has_no_contention():
    link = Link(beta=1e-6)
    run = simulate(ring.ring_all_reduce, 8, (phantom(800),), network=Ring(8, link), eager_limit=QUICK)
    assert run.seconds == pytest.approx(ring.cost(8, 800, 4).seconds(link))


def test_busbw_of_the_ring_tends_to_the_links_bandwidth_as_latency_vanishes():
    for p in (2, 3, 8, 64):
        count = 1000 * p
        run = simulate(ring.ring_all_reduce, p, (phantom(count),), network=Link(beta=1e-9), eager_limit=QUICK)
        assert 2 * (p - 1) / p * 4 * count / run.seconds == pytest.approx(1e9)


def test_logp_charges_overhead_gap_and_latency():
    def two_sends(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)
            comm.send(x, 2)
        else:
            comm.recv(x, 0)

    run = simulate(
        two_sends, 3, (torch.empty(1, dtype=torch.uint8, device="meta"),), network=LogGP(3, L=6, o=2, g=4)
    )
    ends = run.trace.where(kind="recv").end.tolist()
    assert ends == [10.0, 14.0]


def test_a_thousand_ranks_take_just_the_closed_forms_time():
    p = 1024
    chunks = list(phantom(4 * p).tensor_split(p))
    run = simulate(both_phases, p, (chunks,), share=True, network=LINK, trace=False, eager_limit=QUICK)
    assert run.seconds == pytest.approx(ring.cost(p, 4 * p, 4).seconds(LINK), rel=1e-9)


def test_a_comm_call_in_backward_says_to_use_threads():
    class Exchange(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, comm):
            ctx.comm = comm
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return all_reduce(ctx.comm, grad.clone()), None

    def worker(comm, w):
        Exchange.apply(w, comm).sum().backward()

    with pytest.raises(RankFailed, match="use world='threads'"):
        simulate(worker, 2, (torch.ones(2, requires_grad=True),))


def test_each_rank_keeps_its_own_grad_mode_across_switches():
    def worker(comm):
        with torch.inference_mode(comm.rank == 3), torch.set_grad_enabled(comm.rank % 2 == 0):
            for _ in range(3):
                comm.barrier()
                seen = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        return seen

    run = simulate(worker, 4)
    assert run.results == [(True, False), (False, False), (True, False), (False, True)]
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_what_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="no option 'sped'"):
        simulate(lambda comm: None, 2, sped=3)
    with pytest.raises(ValueError, match="no world 'moon'; there are threads, simulated"):
        launch(lambda comm: None, 2, world="moon")
    with pytest.raises(ValueError, match="has 3 ranks, the run 2"):
        simulate(lambda comm: None, 2, network=Ring(3, LINK))
    with pytest.raises(TypeError, match="the threads world has no option 'slowness'"):
        launch(lambda comm: None, 2, slowness={0: 2.0})
    with pytest.raises(ValueError, match="rank threads take a Link"):
        launch(lambda comm: None, 2, network=Ring(2, LINK))
    with pytest.raises(ValueError, match="timeout = -1"):
        launch(lambda comm: None, 2, timeout=-1)
