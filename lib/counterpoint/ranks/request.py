"""One end of a message: posted at once, complete when its data has moved."""

from typing import TYPE_CHECKING, Any

import torch

from counterpoint.trace import Line

if TYPE_CHECKING:
    from counterpoint.ranks.port import Port

UNKNOWN_CHUNK = (-1, -1, -1)


class Request:
    """What `isend` and `irecv` return. Until it is complete, leave its tensor alone."""

    __slots__ = (
        "call", "chunk", "comm", "done", "end", "event", "key", "lane", "line", "link", "match", "message", "nbytes",
        "observed", "op", "peer", "phase", "port", "ready", "row", "start", "step", "synchronous",
        "tag", "tensor",
    )  # fmt: skip

    def __init__(
        self,
        port: "Port",
        call: str,
        comm: tuple,
        peer: int,
        tag: int,
        tensor: torch.Tensor,
        line: Line | None,
        op: str = "",
    ) -> None:
        self.port, self.call, self.comm, self.peer, self.tag = port, call, comm, peer, tag
        self.tensor, self.line, self.op = tensor, line, op
        self.nbytes = tensor.numel() * tensor.element_size()
        self.match: Any = None
        """The other end: a Request, or what is known of one in another process."""
        self.done = self.observed = self.synchronous = False
        self.step = 0
        self.ready = self.start = self.end = 0.0
        self.event: Any = None  # on CUDA: what a stream must wait for before the tensor is touched
        self.key: Any = None
        self.lane = False  # between processes: whether the data travels on a lane (see lanes.py)
        self.link: Any = None  # what the world's clock needs to know of the way
        self.chunk: tuple[int, int, int] = UNKNOWN_CHUNK
        self.message: Any = None
        self.phase = ""
        self.row = -1

    def wait(self) -> None:
        """Return when the message has left (isend) or arrived (irecv)."""
        self.port.wait([self], "wait")

    def test(self) -> bool:
        """Whether it is complete, without waiting. The first True completes it, as `wait` would."""
        return self.port.test(self)
