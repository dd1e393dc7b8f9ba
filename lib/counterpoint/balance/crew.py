"""A crew: named threads that start, work and end together, and are traced.

One lock guards what they share: their queues, their barriers, and who of them sleeps. So a standstill is a fact that
can be read off, never a guess by time-out: nobody who lives is awake, and only who is awake could wake another.
"""

import contextvars
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from counterpoint.balance.conditions import LOOK, Condition, Ticket
from counterpoint.balance.failures import StandstillError, Waiting, WorkerStopped
from counterpoint.balance.lifetime import run, stop
from counterpoint.balance.worker import Doing, Worker, caller_line
from counterpoint.trace import UNKNOWN, Line, Recorder, Trace, message_number


class Crew:
    """Use it as a context: its body starts the workers, its end waits for theirs.

    >>> with Crew() as crew:
    ...     jobs = FifoQueue(capacity=4, name="jobs", crew=crew)
    ...     makers = crew.start("producer", produce, jobs, count=2)
    ...     crew.start("consumer", consume, jobs, count=3)
    ...     crew.join(makers)
    ...     jobs.close()

    The body takes part: it may put, get and wait as any worker. The context raises WorkerFailed if a worker raised;
    StandstillError if everyone waited for someone else (each worker gets one too); the body's own exception,
    KeyboardInterrupt too. In each case all workers are stopped first: at once where they wait for each other or are in
    Python, after their call where they are in one that cannot be interrupted (it is given 5 s). A queue of your own
    writing is watched and traced too if it takes `crew.lock` and waits on a `crew.condition(...)`.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.workers: list[Worker] = []
        self.failure: BaseException | None = None
        """What ended the crew before its work was done."""
        self._recorder = Recorder(0)
        self.maker = Worker("the crew's maker", UNKNOWN, self._recorder)
        """Stands for the thread that made the crew and runs the body."""
        self.asleep: dict[Worker, tuple[Condition, Line | None]] = {}
        self._living: set[Worker] = set()
        self._members = {threading.get_ident(): self.maker}
        self._names: dict[str, int] = {}
        self._began, self._open = time.perf_counter(), False

    def start(self, name: str, function: Callable[..., Any], *args: Any, count: int = 1) -> list[Worker]:
        """Start `count` workers that call function(*args); they are called `name`, or `name 0`, `name 1`, ….

        Returns them. Cost: some 50 us a worker. Raises ValueError for a name that is taken, and outside the context.
        """
        if not self._open:
            raise ValueError(
                f"crew: {name} cannot start outside the crew's context; write `with crew:` around it"
            )
        if type(count) is not int or count < 1:
            raise ValueError(f"crew: cannot start {count!r} times {name}; count is at least 1")
        self.check(self.me())
        names = [name] if count == 1 else [f"{name} {i}" for i in range(count)]
        if taken := set(names) & set(self.names):
            raise ValueError(
                f"crew: there is a worker {min(taken)} already; give each its own name, or a count"
            )
        return [self._start(name, function, args) for name in names]

    def join(self, workers: Iterable[Worker]) -> None:
        """Wait until these workers have ended; from the body or from another worker."""
        with self.lock:
            for worker in workers:
                while not worker.ended:
                    assert worker.end is not None
                    worker.end.wait()

    @property
    def names(self) -> list[str]:
        """The workers' names: the item for each `rank` of the trace."""
        return [worker.name for worker in self.workers]

    @property
    def results(self) -> list[Any]:
        """What each worker's function returned; None for those that have not ended."""
        return [worker.result for worker in self.workers]

    @property
    def trace(self) -> Trace:
        """What the workers did until now, in wall seconds from the crew's start; `rank` is the worker.

        put, get: an item went into or out of the queue `op`; `tag` is its number there; `message` is shared by the
        two, and a get's `peer` is who put it. wait: it slept at `op`. fence: it passed the barrier `op` at the end of
        phase `tag`. compute: all that lies between, with the label `op`, on item `tag`.
        """
        trace = self._recorder.finish()
        trace.actor = "worker"
        return trace

    def compute(self, label: str, tag: int = UNKNOWN) -> Doing:
        """What the calling worker does inside is called `label` in the trace; tag: the task's number, if it has one."""
        return Doing(self.me(), self._now, "compute", label, tag)

    def waiting(self, label: str, tag: int = UNKNOWN) -> Doing:
        """As `compute`, for what is a wait for something outside the crew: a network, a disk, a pause."""
        return Doing(self.me(), self._now, "wait", label, tag)

    # -- for queues, barriers, and whatever else workers meet at -------------------------------------

    def condition(self, name: str, why: Callable[[], str], remedy: str = "") -> Condition:
        """A condition on the crew's lock. At a standstill, why() says what those wait for who wait at `name`."""
        return Condition(self, name, why, remedy)

    def name_for(self, what: str) -> str:
        """A name of its own for a queue or barrier that was given none: queue 0, queue 1, …."""
        number = self._names[what] = self._names.get(what, -1) + 1
        return f"{what} {number}"

    def me(self) -> Worker:
        """The calling thread. Raises RuntimeError if it is neither a worker nor the crew's maker."""
        me = self._members.get(threading.get_ident())
        if me is None:
            name = threading.current_thread().name
            raise RuntimeError(f"thread {name} is no worker of this crew; start it by crew.start")
        return me

    def check(self, me: Worker) -> None:
        """Raise in a worker, or in the body, what ended the crew."""
        if self.failure is not None:
            if me is self.maker:
                raise self.failure
            raise self.failure.again() if isinstance(self.failure, StandstillError) else WorkerStopped

    def has_put(self, queue: str, number: int) -> Ticket:
        """The calling worker puts an item."""
        me = self.me()
        self.check(me)
        if me is self.maker:
            return Ticket(number)
        now = self._now()
        ticket = Ticket(number, me.number, message_number(me.number, me.next_message()))
        me.add("put", queue, number, now, now, UNKNOWN, ticket.message)
        return ticket

    def has_got(self, queue: str, ticket: Ticket, item: object) -> None:
        """The calling worker takes an item, and has it in hand from now on."""
        me = self.me()
        self.check(me)
        now = self._now()
        me.add("get", queue, ticket.number, now, now, ticket.worker, ticket.message)
        me.hold(item, ticket.number, queue)

    def has_passed(self, barrier: str, phase: int) -> None:
        """The calling worker goes on after a barrier."""
        now = self._now()
        self.me().add("fence", barrier, phase, now, now)

    def falls_asleep(self, me: Worker, condition: Condition) -> float:
        """A worker is about to wait; returns when. Needs the lock, as the next two."""
        self.asleep[me] = condition, caller_line()
        if self.failure is None:
            self._look_for_standstill()
        try:
            self.check(me)
        except BaseException:
            condition.forget(me)
            raise
        return self._now()

    def woke_up(self, me: Worker, condition: Condition, began: float) -> None:
        """A worker goes on after a wait, or ends if the crew is over."""
        me.add("wait", condition.name, UNKNOWN, began, self._now())
        self.check(me)

    def fail(self, error: BaseException) -> None:
        """The crew is over: the first error counts; everyone who waits is woken."""
        if self.failure is None:
            self.failure = error
            for worker, (condition, _) in list(self.asleep.items()):
                condition.forget(worker)

    # -- its life -------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._open or self.workers:
            raise RuntimeError("crew: a crew works once; make a new one")
        self._open, self._began = True, time.perf_counter()
        self._living.add(self.maker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            with self.lock:
                self._living.discard(self.maker)
                if error is not None:
                    self.fail(error)
                self._look_for_standstill()
            while self.failure is None and (alive := [w for w in self.workers if w.is_alive()]):
                assert alive[0].thread is not None
                alive[0].thread.join(LOOK)
        except BaseException as interrupt:
            with self.lock:
                self.fail(interrupt)
            raise
        finally:
            self._open = False
            stop(self)
        if self.failure is not None and self.failure is not error:
            raise self.failure

    def begins(self, worker: Worker) -> None:
        """The calling thread is this worker from now on."""
        self._members[threading.get_ident()] = worker
        worker.begin(self._now())

    def ends(self, worker: Worker) -> None:
        """The calling thread is done: whoever waits for what only this one could do waits in vain. Needs the lock."""
        self._members.pop(threading.get_ident(), None)
        self._living.discard(worker)
        worker.worked(self._now())
        assert worker.end is not None
        worker.end.notify_all()
        self._look_for_standstill()

    def _start(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Worker:
        with self.lock:
            worker = Worker(name, len(self.workers), self._recorder)
            self.workers.append(worker)
            self._recorder.rows.append([])
            self._living.add(worker)
        worker.end = self.condition(f"the end of {name}", lambda: f"{name} has not ended")
        mine = contextvars.copy_context()  # NumPy's error state, a notebook's output cell
        worker.thread = threading.Thread(
            target=mine.run, args=(run, self, worker, function, args), name=name, daemon=True
        )
        try:
            worker.thread.start()
        except RuntimeError:  # no more threads to be had
            worker.ended = True
            self._living.discard(worker)
            raise
        return worker

    def _look_for_standstill(self) -> None:
        """End the crew if nobody is awake who could wake the others. Needs the lock."""
        if self.failure is not None or not self.asleep or not self._living <= self.asleep.keys():
            return
        waits = [Waiting(w.name, at.name, at.why(), line) for w, (at, line) in self.asleep.items()]
        remedies = dict.fromkeys(at.remedy for at, _ in self.asleep.values() if at.remedy)
        head = f"all {len(waits)} that have not ended wait for each other"
        if len(waits) == 1:
            head = f"{waits[0].worker} waits, and all others have ended"
        lines = [f"standstill: {head}:", *(f"  {wait}" for wait in waits), *remedies]
        self.fail(StandstillError("\n".join(lines), waits))

    def _now(self) -> float:
        return time.perf_counter() - self._began
