"""torch's state of a thread: what ranks inherit from their launcher, and what must not leak back."""

import threading
from contextlib import ExitStack
from typing import Any

import torch


class ThreadState:
    """Made by the launcher; entered by each rank's thread.

    New threads ignore the launcher's grad, inference and autocast modes: they are set again. Backward runs
    in the rank's own thread (ranks that share a GPU would share one backward thread, and deadlock in a
    collective's backward). torch's own threads are divided among the ranks; that setting leaks into
    threads made later, so the launcher puts it back with `restore`.
    """

    def __init__(self, ranks: int) -> None:
        self.threads = torch.get_num_threads()
        self.share = max(1, self.threads // ranks)
        self.grad = torch.is_grad_enabled()
        self.inference = torch.is_inference_mode_enabled()
        self.autocast = [
            (device, torch.get_autocast_dtype(device))
            for device in ("cpu", "cuda")
            if torch.is_autocast_enabled(device)
        ]
        self.stacks: dict[int, ExitStack] = {}

    def __enter__(self) -> None:
        stack = self.stacks[threading.get_ident()] = ExitStack()
        torch.set_num_threads(self.share)
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(torch.inference_mode(self.inference))
        stack.enter_context(torch.set_grad_enabled(self.grad))  # after: the line above sets it too
        for device, dtype in self.autocast:
            stack.enter_context(torch.autocast(device, dtype))

    def __exit__(self, *error: Any) -> None:
        self.stacks.pop(threading.get_ident()).__exit__(*error)

    def restore(self) -> None:
        torch.set_num_threads(self.threads)
