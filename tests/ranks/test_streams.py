"""The order of kernels on CUDA streams, checked on a stand-in for torch.cuda that needs no GPU."""

from types import SimpleNamespace

import pytest
import torch

from counterpoint.ranks import launch
from counterpoint.ranks.streams import Streams, device_of


class Stream:
    """A queue of work; `before` says what must have run before each piece of it."""

    def __init__(self, name):
        self.name, self.last = name, None
        self.awaited = []
        self.before = {}

    def run(self, kernel):
        """A kernel comes after the stream's last and after every event waited for since."""
        self.before[kernel] = [*([self.last] if self.last else []), *self.awaited]
        self.last, self.awaited = kernel, []

    def record_event(self):
        return [*([self.last] if self.last else []), *self.awaited]

    def wait_event(self, event):
        self.awaited += event

    def synchronize(self):
        self.finished = self.last


class Cuda:
    """torch.cuda as `Streams` uses it, for one rank."""

    def __init__(self, stream):
        self.stream = stream

    def current_stream(self, device):
        return self.stream


def memory():
    return SimpleNamespace(is_cuda=True, users=[], record_stream=lambda stream: None)


def hand_off(mover, skip=""):
    """One message between two streams: (work queued before, the copy, work queued after), as it must be ordered."""
    streams = [Stream("a"), Stream("b")]
    sides = [Streams(torch.device("cpu"), Cuda(s)) for s in streams]
    send, receive = (SimpleNamespace(tensor=memory(), event=None) for _ in range(2))
    for stream, side, request in zip(streams, sides, (send, receive), strict=True):
        stream.run(f"{stream.name} before")
        if skip != "posted":
            side.posted(request)
    if skip != "before_move":
        sides[mover].before_move(send, receive)
    streams[mover].run("copy")
    if skip != "after_move":
        sides[mover].after_move(send, receive)
    for stream, side, request in zip(streams, sides, (send, receive), strict=True):
        if skip != "observed":
            side.observed(request)
        stream.run(f"{stream.name} after")
    order = {kernel: earlier for stream in streams for kernel, earlier in stream.before.items()}

    def earlier(first, then):
        return first == then or any(earlier(first, k) for k in order[then])

    return all(earlier(f"{name} before", "copy") and earlier("copy", f"{name} after") for name in "ab")


def test_a_fence_waits_for_what_the_rank_has_queued():
    stream = Stream("a")
    stream.run("put")
    Streams(torch.device("cpu"), Cuda(stream)).settle()
    assert stream.finished == "put"


@pytest.mark.parametrize("mover", [0, 1])
def test_a_copy_runs_after_both_ranks_earlier_work_and_before_their_later(mover):
    assert hand_off(mover)


@pytest.mark.parametrize("mover", [0, 1])
@pytest.mark.parametrize("skip", ["posted", "before_move", "after_move", "observed"])
def test_each_part_of_the_hand_off_is_needed(mover, skip):
    assert not hand_off(mover, skip)


def test_ranks_take_the_gpus_in_turn_unless_one_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_of(r, torch.device("cuda")).index for r in range(5)] == [0, 1, 0, 1, 0]
    assert [device_of(r, torch.device("cuda:1")).index for r in range(3)] == [1, 1, 1]
    assert device_of(3, torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize(
    ("device", "sentence"),
    [("mps", "live on 'cpu' or 'cuda'"), ("nowhere", "give 'cpu' or 'cuda'"), (3.5, "give 'cpu' or 'cuda'")],
)
def test_a_device_that_threads_cannot_use_is_refused(device, sentence):
    with pytest.raises(ValueError, match=sentence):
        launch(lambda comm: None, 2, device=device)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match="torch finds no GPU here"):
        launch(lambda comm: None, 2, device="cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="there are 2 GPUs"):
        launch(lambda comm: None, 2, device="cuda:2")


def test_the_cpu_may_be_named():
    assert launch(lambda comm: str(comm.device), 2, device="cpu").results == ["cpu", "cpu"]


@pytest.mark.gpu
def test_ranks_on_one_gpu_hand_over_what_their_kernels_have_finished():
    """Long kernels before each send: a copy that does not wait for them takes old numbers."""

    def worker(comm):
        x = torch.zeros(1 << 20, device=comm.device)
        y = torch.empty_like(x)
        for turn in range(20):
            torch.cuda._sleep(2_000_000)
            x.fill_(turn * comm.size + comm.rank)
            comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
            assert torch.equal(y, torch.full_like(y, turn * comm.size + (comm.rank - 1) % comm.size))
        return x.device.type

    assert launch(worker, 4, device="cuda").results == ["cuda"] * 4
    assert launch(worker, 4, device="cuda", eager_limit=1 << 30).results == ["cuda"] * 4
