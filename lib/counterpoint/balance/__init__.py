"""Sharing a loop among workers, on threads and on a virtual clock; and workers that coordinate themselves."""

from counterpoint.balance.barrier import Barrier
from counterpoint.balance.bounds import lower_bound, lpt
from counterpoint.balance.cancellation import Cancellation
from counterpoint.balance.crew import Crew
from counterpoint.balance.failures import (
    BrokenBarrier,
    Cancelled,
    QueueClosed,
    StandstillError,
    WorkerFailed,
)
from counterpoint.balance.fan_out import FanOut, ItemFailed, fan_out
from counterpoint.balance.loop_run import LoopRun
from counterpoint.balance.parallel_for import parallel_for
from counterpoint.balance.queues import FifoQueue, LifoQueue, PriorityQueue
from counterpoint.balance.schedules import (
    SCHEDULES,
    Dynamic,
    Guided,
    Schedule,
    Static,
    WorkStealing,
    as_schedule,
)
from counterpoint.balance.simulate import simulate
from counterpoint.balance.task_failed import TaskFailed
from counterpoint.balance.tile_server import TileServer, TileUnavailable, fetch, is_whole, tile

__all__ = [
    "SCHEDULES",
    "Barrier",
    "BrokenBarrier",
    "Cancellation",
    "Cancelled",
    "Crew",
    "Dynamic",
    "FanOut",
    "FifoQueue",
    "Guided",
    "ItemFailed",
    "LifoQueue",
    "LoopRun",
    "PriorityQueue",
    "QueueClosed",
    "Schedule",
    "StandstillError",
    "Static",
    "TaskFailed",
    "TileServer",
    "TileUnavailable",
    "WorkStealing",
    "WorkerFailed",
    "as_schedule",
    "fan_out",
    "fetch",
    "is_whole",
    "lower_bound",
    "lpt",
    "parallel_for",
    "simulate",
    "tile",
]
