"""`launch`: run one function on many ranks, wherever they live."""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, TextIO

from counterpoint.models import Link, Network
from counterpoint.ranks.arguments import copied
from counterpoint.ranks.checks import check_function, check_output, check_ranks, check_timeout, whole
from counterpoint.ranks.errors import CommError
from counterpoint.ranks.plan import Plan
from counterpoint.ranks.port import Sampler
from counterpoint.ranks.run import Run

WORLDS = {
    "threads": "counterpoint.ranks.crew",
    "simulated": "counterpoint.ranks.simulated",
    "processes": "counterpoint.ranks.processes",
}
"""Where ranks can live, and the module whose `run` starts them there."""


def launch(
    fn: Callable,
    ranks: int | None = None,
    args: tuple = (),
    *,
    per_rank: Sequence[Any] | None = None,
    share: bool = False,
    network: Network | Link | Sequence[Link] | str | None = None,
    eager_limit: int = 8192,
    timeout: float | None = 300.0,
    trace: bool = True,
    output: TextIO | None = None,
    sampler: Sampler | None = None,
    world: str = "threads",
    **options: Any,
) -> Run:
    """Run `fn(comm, *args)` on `ranks` ranks and return what they returned, as a `Run`.

    args: given to every rank, which gets its own copy of the tensors in it. per_rank: instead, one entry
    a rank, each a tuple of arguments or a single one (copied too). share=True: nothing is copied, on
    purpose. network: a `Link`, or one for each rank: then messages carry virtual clocks, without
    contention, and `run.seconds` is virtual. eager_limit: a send of fewer bytes is buffered; 0 makes
    every send wait for its receive. timeout: seconds for the whole run, None for no bound. trace=False
    records nothing. output: where to write what ranks print, instead of sys.stdout. sampler: called by each
    rank when it has sent or received (`explain` watches with it). world: where the ranks live: "threads" of
    this process; "processes" of this machine, over gloo (arguments and results are pickled; for several
    machines see `connect`); or "simulated" (`simulated.run` names its options; `network` may then be any
    `models.Network` or a preset's name).

    Grad, inference and autocast mode are inherited. torch's threads are divided among the ranks. Cost:
    about 0.1 ms a rank to start, and some 10 us of Python a message.

    Raises DeadlockError, MismatchError, LaunchTimeout or RankFailed, each with the partial run as
    `.run`; ValueError or TypeError if the arguments do not fit together.
    """
    ranks, arguments = _arguments(fn, ranks, args, per_rank, share)
    if world not in WORLDS:
        raise ValueError(f"launch: no world {world!r}; there are {', '.join(WORLDS)}")
    if share and world == "processes":
        raise ValueError("launch: share=True, but processes share no memory; give copies, or use comm.window")
    check_timeout(timeout)
    limit = whole(eager_limit)
    if limit is None or limit < 0:
        raise ValueError(f"launch: eager_limit = {eager_limit!r}; give bytes, at least 0")
    if output is not None:
        check_output(output)
    plan = Plan(fn, ranks, arguments, network, limit, timeout, trace, output or sys.stdout, sampler, options)
    done = import_module(WORLDS[world]).run(plan)
    settings = {"world": world, "network": network, "eager_limit": limit, "timeout": timeout}
    run = Run(
        fn, ranks, done.results, done.arguments, done.trace, done.seconds, done.clock, settings | options
    )
    if done.error is not None:
        error, done = done.error, None
        if isinstance(error, CommError):
            error.run = run
        try:
            raise error
        finally:
            del error  # no cycle from this frame to its own traceback
    return run


def _arguments(
    fn: Callable, ranks: int | None, args: tuple, per_rank: Sequence[Any] | None, share: bool
) -> tuple[int, list[tuple]]:
    check_function(fn)
    if per_rank is not None:
        if not isinstance(per_rank, Iterable):
            raise TypeError(f"launch: per_rank = {per_rank!r}; give a list with an entry for each rank")
        per_rank = list(per_rank)
        if args:
            raise ValueError("launch: give args or per_rank, not both")
        if ranks is not None and ranks != len(per_rank):
            raise ValueError(f"launch: ranks = {ranks}, but per_rank has {len(per_rank)} entries")
        given = [entry if isinstance(entry, tuple) else (entry,) for entry in per_rank]
    else:
        if not isinstance(args, tuple):
            raise TypeError(f"launch: args is a {type(args).__name__}; give a tuple, as in (data,)")
        given = [args] * check_ranks("launch", ranks)
    ranks = check_ranks("launch", len(given) if per_rank is not None else ranks)
    return ranks, given if share else [copied(entry) for entry in given]
