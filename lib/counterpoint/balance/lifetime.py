"""A worker's life from its first line to its end, and how a crew that is over ends those that are still at work."""

import ctypes
import reprlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from counterpoint.balance.failures import BrokenBarrier, WorkerFailed, WorkerStopped
from counterpoint.trace import UNKNOWN

if TYPE_CHECKING:
    from counterpoint.balance.crew import Crew
    from counterpoint.balance.worker import Worker

GRACE = 5.0
"""Seconds that a stopped worker may take to come back from code that cannot be interrupted."""

ROOM = 0.05
"""Seconds for a stopped worker to end by itself, between two times that it is made to."""


def run(crew: "Crew", worker: "Worker", function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Be this worker, in this thread. Raises nothing: the crew is told."""
    error: BaseException | None = None
    try:
        crew.begins(worker)
        worker.result = function(*args)
    except BaseException as raised:
        error = raised
    while True:
        try:
            _end(crew, worker, error)
            break
        except WorkerStopped:  # on its way while the function returned; none is sent once it has ended
            continue


def _end(crew: "Crew", worker: "Worker", error: BaseException | None) -> None:
    with crew.lock:
        worker.ended = True
        if error is not None and crew.failure is None:
            others = sum(w.is_alive() for w in crew.workers)
            crew.fail(failed(worker, error, others))
        crew.ends(worker)


def failed(worker: "Worker", error: BaseException, others: int) -> WorkerFailed:
    """The error that says which worker raised what, and which item it had got last."""
    name = error.worker if isinstance(error, BrokenBarrier) else worker.name
    had = "it had got no item"
    if worker.held != UNKNOWN:
        had = f"the last item it had got was number {worker.held} of {worker.queue}: {reprlib.repr(worker.item)}"
    text = f"{name} raised {type(error).__name__}: {error}"
    if isinstance(error, BrokenBarrier):
        text = f"{type(error).__name__}: {error}"
    return WorkerFailed(
        f"{text}; {had}; {others} others were at work and are stopped",
        name,
        worker.item,
        worker.held,
        worker.queue,
        error,
    )


def stop(crew: "Crew") -> None:
    """Return when all threads have ended, or GRACE seconds after the crew has failed.

    A worker of a failed crew that does not end by itself gets a WorkerStopped wherever it is in Python.
    """
    deadline: float | None = None
    while alive := [w for w in crew.workers if w.thread is not None and w.thread.is_alive()]:
        if crew.failure is None:
            alive[0].thread.join()  # type: ignore[union-attr]
            continue
        deadline = deadline or time.monotonic() + GRACE
        for worker in alive:
            worker.thread.join(ROOM)  # type: ignore[union-attr]
            _interrupt(crew, worker)
        if time.monotonic() > deadline:
            names = ", ".join(w.name for w in alive if w.is_alive())
            crew.failure.add_note(
                f"{names} did not stop within {GRACE:.0f} s: in a call that Python cannot interrupt"
            )
            return


def _interrupt(crew: "Crew", worker: "Worker") -> None:
    """Raise WorkerStopped in a worker that is in its function: not in the crew's, which it leaves by itself."""
    if not crew.lock.acquire(timeout=ROOM):
        return
    try:
        if worker.begun and not worker.ended and worker not in crew.asleep:
            thread = worker.thread
            assert thread is not None and thread.ident is not None
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(WorkerStopped)
            )
    finally:
        crew.lock.release()
