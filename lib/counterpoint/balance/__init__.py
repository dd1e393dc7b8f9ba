"""Sharing a loop among workers: OpenMP's schedules and work stealing, on threads and on a virtual clock."""

from counterpoint.balance.bounds import lower_bound, lpt
from counterpoint.balance.loop_run import LoopRun
from counterpoint.balance.parallel_for import parallel_for
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

__all__ = [
    "SCHEDULES",
    "Dynamic",
    "Guided",
    "LoopRun",
    "Schedule",
    "Static",
    "TaskFailed",
    "WorkStealing",
    "as_schedule",
    "lower_bound",
    "lpt",
    "parallel_for",
    "simulate",
]
