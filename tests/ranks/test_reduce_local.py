"""reduce_local: first op second, in that order, without a message; what it takes and what it leaves."""

import pytest
import torch

from counterpoint.models import Link, LogGP
from counterpoint.ranks import RankFailed, launch

LINK = Link(alpha=1.0, gamma=0.5)


@pytest.mark.parametrize("into_second", [False, True])
def test_out_becomes_first_op_second_and_the_other_is_left_alone(world, into_second):
    def worker(comm, first, second):
        out = second if into_second else first
        assert comm.reduce_local(first, second, "max", out=out) is out
        return first, second

    (first, second), _ = world(worker, 2, (torch.tensor([1, 5, 2]), torch.tensor([3, 4, 2]))).results
    assert (second if into_second else first).tolist() == [3, 5, 2]
    assert (first if into_second else second).tolist() == ([1, 5, 2] if into_second else [3, 4, 2])


@pytest.mark.parametrize("into_second", [False, True])
def test_the_order_of_operands_is_kept_where_bits_show_it(into_second):
    def worker(comm, first, second):
        return comm.reduce_local(first, second, "max", out=second if into_second else first)

    zeros = torch.tensor([0.0, -0.0] * 8)
    (result,) = launch(worker, 1, (zeros, -zeros)).results
    assert torch.equal(result.view(torch.int32), torch.maximum(zeros, -zeros).view(torch.int32))


@pytest.mark.parametrize("where", [{"network": LINK}, {"network": LINK, "world": "simulated"},
                                   {"network": LogGP(2, L=1, o=0, g=1, gamma=0.5), "world": "simulated"}])  # fmt: skip
def test_it_takes_gamma_a_byte_and_is_a_compute_in_the_trace(where):
    run = launch(lambda comm, x: comm.reduce_local(x, x.clone(), out=x), 2, (torch.ones(3),), **where)
    assert run.seconds == 12 * 0.5
    event = run.trace.where(kind="compute", rank=1)[0]
    assert (event.op, event.nbytes, event.start, event.end) == ("sum", 12, 0.0, 6.0)
    assert (event.buffer, event.offset, event.length, event.step) == (0, 0, 3, 0)


def test_phantoms_take_the_time_and_are_left_alone():
    x = torch.empty(3, device="meta")
    run = launch(lambda comm, x: comm.reduce_local(x, x, out=x), 2, (x,), world="simulated", network=LINK)
    assert run.seconds == 6.0


def test_a_leaf_that_requires_grad_and_an_inference_tensor_are_written():
    leaf = torch.ones(2, requires_grad=True)
    assert launch(lambda comm, x: comm.reduce_local(x, x, out=x), 1, (leaf,)).results[0].tolist() == [
        2.0,
        2.0,
    ]
    with torch.inference_mode():
        x = torch.ones(2)
    launch(lambda comm, x: comm.reduce_local(x, torch.ones(2), out=x), 1, (x,), share=True)
    assert x.tolist() == [2.0, 2.0]


X = torch.ones(4)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda comm: comm.reduce_local(X, X[1:], out=X),
            r"reduce_local of \(4,\) x torch.float32 and \(3,\) x",
        ),
        (lambda comm: comm.reduce_local(X, X.double(), out=X), "x torch.float64; give two of the same shape"),
        (lambda comm: comm.reduce_local(X, X, out=X.clone()), "and one of them as out"),
        (lambda comm: comm.reduce_local(X, X, "xor", out=X), "'xor' is defined on integers"),
        (lambda comm: comm.reduce_local(X, 1.0, out=X), "reduce_local: float given where a tensor is wanted"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(RankFailed, match=message):
        launch(call, 1)
