"""CUDA under rank threads: a stream for each rank, and events that order the hand-off of a message.

A rank's kernels run later than its Python does. So a message may be copied only after what both ranks had
queued before they posted their ends of it: the mover's stream waits for an event of each. And neither rank's
next kernel may touch the tensor before the copy: each rank's stream waits for the copy's event when the rank
sees the message complete. Nothing waits on the host but a window's fence.
"""

from contextlib import ExitStack
from typing import Any

import torch

from counterpoint.ranks.request import Request


def check_device(device: Any) -> torch.device:
    """The device that a launch names. Raises ValueError if it is none that rank threads can use here."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"launch: device = {device!r}; give 'cpu' or 'cuda'") from None
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f"launch: device = {device!r}; rank threads live on 'cpu' or 'cuda'")
    if found.type == "cuda":
        count = torch.cuda.device_count()
        if count == 0:
            raise ValueError(f"launch: device = {device!r}, but torch finds no GPU here; leave device= out")
        if str(found) != "cuda" and found.index >= count:
            raise ValueError(f"launch: device = {device!r}, but there are {count} GPUs, counted from 0")
    return found


def device_of(rank: int, device: torch.device) -> torch.device:
    """Ranks take the GPUs in turn, unless the launch names one."""
    if str(device) == "cuda":
        return torch.device("cuda", rank % torch.cuda.device_count())
    return device


class Streams:
    """One rank's stream. `cuda` is torch.cuda (a test may give a stand-in that notes the order)."""

    def __init__(self, device: torch.device, cuda: Any = torch.cuda) -> None:
        self.device, self.cuda = device, cuda
        self.stack = ExitStack()

    def __enter__(self) -> None:
        self.stack.enter_context(self.cuda.device(self.device))
        stream = self.cuda.Stream(self.device)
        stream.wait_stream(self.cuda.current_stream(self.device))  # the launcher's work on the arguments
        self.stack.enter_context(self.cuda.stream(stream))

    def __exit__(self, *error: Any) -> None:
        self.cuda.current_stream(self.device).synchronize()  # what the launcher reads is there
        self.stack.close()

    def settle(self) -> None:
        """A fence waits on the host: after it, others use what this rank's kernels wrote."""
        self.cuda.current_stream(self.device).synchronize()

    def posted(self, request: Request) -> None:
        """From here on the tensor may be read (a send) or overwritten (a receive)."""
        if request.tensor.is_cuda:
            request.event = self._event()

    def before_move(self, send: Request, receive: Request) -> None:
        """The mover's next kernel comes after both ends' work."""
        stream = self.cuda.current_stream(self.device)
        for request in (send, receive):
            if request.event is not None:
                stream.wait_event(request.event)

    def after_move(self, send: Request, receive: Request) -> None:
        """Both ends learn of the copy; memory that the mover did not allocate stays until it has run."""
        if not (send.tensor.is_cuda or receive.tensor.is_cuda):
            return
        stream, event = self.cuda.current_stream(self.device), self._event()
        for request in (send, receive):
            request.event = event
            if request.tensor.is_cuda:
                request.tensor.record_stream(stream)

    def observed(self, request: Request) -> None:
        """The rank's next kernel comes after the copy."""
        if request.event is not None:
            self.cuda.current_stream(self.device).wait_event(request.event)

    def _event(self) -> Any:
        return self.cuda.current_stream(self.device).record_event()
