"""Ranks: where an algorithm runs. `launch` starts them; a `Comm` is all that each of them sees."""

from counterpoint.ranks.checks import check_tensor, index
from counterpoint.ranks.comm import Comm
from counterpoint.ranks.connect import connect, disconnect
from counterpoint.ranks.errors import (
    CommError,
    DeadlockError,
    LaunchTimeout,
    MismatchError,
    RankFailed,
    RankStopped,
    Waiting,
)
from counterpoint.ranks.launch import launch
from counterpoint.ranks.ops import OPS, check_op, finish
from counterpoint.ranks.request import Request
from counterpoint.ranks.run import Run
from counterpoint.ranks.window import Window

__all__ = [
    "OPS", "Comm", "CommError", "DeadlockError", "LaunchTimeout", "MismatchError", "RankFailed",
    "RankStopped", "Request", "Run", "Waiting", "Window", "check_op", "check_tensor", "connect",
    "disconnect", "finish", "index", "launch",
]  # fmt: skip
