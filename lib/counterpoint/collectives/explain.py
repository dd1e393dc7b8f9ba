"""Whose contributions does each chunk hold, and how often? Ask the program itself.

A reduction is run once for each contributor, with that rank's input all ones and all others zero: what a
rank then holds is how often that contributor is in it. A data mover is run once with values that are
unique by position: what a rank then holds says where it came from. Both are sampled by the ranks
themselves at every `Comm` call. Nothing is known of the program but what it does.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from counterpoint.collectives.cells import Cells
from counterpoint.models import Link
from counterpoint.ranks import CommError, Run, launch
from counterpoint.ranks.arguments import copied, memory_of, tensors_in
from counterpoint.ranks.checks import check_ranks
from counterpoint.trace import UNKNOWN, Provenance

BASE, DIGITS = 16, 13
"""Above 16 ranks 13 contributors share a run, each a hexadecimal digit: 52 bits, exact in float64 while
nobody is counted more than 15 times."""

LARGEST = 1 << 20
"""Elements in one tensor up to which a run is repeated at its own size."""


def explain(
    function: Callable,
    ranks: int | None = None,
    args: tuple | None = None,
    *,
    per_rank: Sequence[Any] | None = None,
    like: Run | None = None,
    eager_limit: int = 8192,
    timeout: float = 20.0,
) -> Provenance:
    """Run `function(comm, *args)` again and again on chosen inputs, and say what every cell holds when.

    args (default: one float32 vector of 4 * ranks elements), or per_rank, give the shapes and dtypes of the
    tensors; their values are replaced. like: take ranks, shapes and settings from that run. Functions whose
    inputs are not tensors among the arguments cannot be explained. Cost: p + 2 launches (above 16 ranks, 13
    contributors share one, told apart by digits of base 16 in float64). The returned `Provenance` has the
    trace of the small run; its `.error` is what ended it, if it deadlocked or failed, and `.exact` says whether
    what was seen can be counts at all. Raises ValueError if
    there is no tensor to fill.
    """
    if like is not None:
        ranks, per_rank = like.ranks, [_shrunk(own, like.ranks) for own in like.args]
        eager_limit = like.settings["eager_limit"]
    elif per_rank is not None:
        per_rank = [entry if isinstance(entry, tuple) else (entry,) for entry in per_rank]
        ranks = len(per_rank)
    elif ranks is None:
        raise ValueError("explain: give ranks (how many), per_rank, or like (a run)")
    else:
        ranks = check_ranks("explain", ranks)
        per_rank = [args if args is not None else (torch.zeros(4 * ranks),)] * ranks
    if not any(True for _ in tensors_in(per_rank)):
        raise ValueError("explain: no tensor among the arguments, so nothing can be marked")
    wide = ranks > 16
    codes = _codes(ranks, wide)

    def rerun(values: Callable, sampler: Any = None) -> tuple[Run | None, CommError | None]:
        inputs = [values(rank, _widened(own, wide)) for rank, own in enumerate(per_rank)]
        if sampler is not None:
            sampler.watch(inputs)
        try:
            run = launch(
                function, per_rank=inputs, share=True, network=Link(alpha=1.0), timeout=timeout,
                eager_limit=eager_limit, sampler=sampler, output=io.StringIO(),
            )  # fmt: skip
            return run, None
        except CommError as error:
            return error.run, error

    run, error = rerun(lambda rank, own: _filled(own, 0.0))
    assert run is not None and run.trace is not None
    cells = Cells(run.trace, run.args)
    runs = []
    for code in codes:
        sampler = cells.sampler()
        rerun(lambda rank, own, code=code: _filled(own, code[rank]), sampler)
        runs.append(sampler)
    unique = cells.sampler()
    rerun(lambda rank, own: _numbered(own, rank, ranks), unique)
    return _table(run, cells, runs, unique, codes, error)


def _codes(ranks: int, wide: bool) -> list[list[float]]:
    """For each run, every rank's input. Narrow: one contributor's is 1. Wide: a digit each."""
    share = DIGITS if wide else 1
    return [
        [BASE ** (r - first) if first <= r < first + share else 0 for r in range(ranks)]
        for first in range(0, ranks, share)
    ]


def _counts(values: np.ndarray, codes: list[list[float]], ranks: int) -> np.ndarray:
    """Counts of each contributor in each place: (runs, places) values to int (places, ranks)."""
    if len(codes) == ranks:
        whole = np.rint(values)
        mean = np.rint(values * ranks)  # an average of p: a p-th of each counts as held once
        return np.where(np.abs(values - whole) < 1e-6, whole, mean).astype(int).T
    left = np.rint(values).astype(np.int64)
    powers = BASE ** np.arange(DIGITS)[None, :, None]
    digits = left[:, None, :] // powers % BASE
    return digits.reshape(-1, values.shape[1])[:ranks].T


def _whole(values: np.ndarray, ranks: int) -> bool:
    """Whether these can be counts, or p-ths of counts: not so once a program has done more than add."""
    off = np.abs(values - np.rint(values))
    off = np.minimum(off, np.abs(values * ranks - np.rint(values * ranks)))
    return bool((off < 1e-4).all() and (values >= 0).all())


def _table(
    run: Run, cells: Cells, runs: list, unique: Any, codes: list, error: CommError | None
) -> Provenance:
    """Put what the runs sampled together: initial holdings, changes, and what each message carried."""
    ranks, trace = run.ranks, run.trace
    assert trace is not None
    first_row = np.searchsorted(trace.rank, np.arange(ranks))

    def decode(values: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each cell's counts (of its probes, the poorest) and origin: one that a copy has."""
        probes = _counts(values, codes, ranks)
        poorest = probes.sum(1)[cells.trios].argmin(1)
        counts = probes[cells.trios[np.arange(len(cells)), poorest]]
        origins = cells.origins(where, ranks)
        origins[counts.sum(1) != 1] = UNKNOWN
        return counts, origins

    result = Provenance(trace, cells.table, [])
    result.error = error
    result.exact = all(
        _whole(seen, ranks) for r in runs for own in r.samples for _, _, _, *both in own for seen in both
    )
    for rank in range(ranks):
        raw = np.stack([r.first[rank] for r in [*runs, unique]])
        before, origins = decode(raw[:-1], raw[-1])
        result.initial.append(before)
        for k in range(min(len(r.samples[rank]) for r in [*runs, unique])):
            row, kind, chunk, _, _ = runs[0].samples[rank][k]
            event = int(first_row[rank] + row)
            seen = np.stack([r.samples[rank][k][3] for r in [*runs, unique]])
            if not np.array_equal(seen, raw):
                raw = seen
                now, now_origins = decode(raw[:-1], raw[-1])
                changed = (now != before).any(1) | (now_origins != origins).any(1)
                for cell in np.flatnonzero(changed).tolist():
                    result.changes.append((event, cell, now[cell]))
                    result.origins[event, cell] = tuple(now_origins[cell].tolist())
                before, origins = now, now_origins
            if kind == "send":
                inside = cells.inside(chunk)
                result.carried[event] = [(c, before[c]) for c in inside] or [
                    (UNKNOWN, counts)
                    for counts in _counts(np.stack([r.samples[rank][k][4] for r in runs]), codes, ranks)
                ]
        last = np.stack([r.look(rank) for r in [*runs, unique]])
        counts, origins = decode(last[:-1], last[-1])
        result.final.append(counts)
        result.final_origins.append(origins)
    result.changes.sort(key=lambda change: change[0])
    return result


def _filled(own: tuple, value: float) -> tuple:
    own = copied(own)
    for tensor in tensors_in(own):
        tensor.detach().fill_(value)
    return own


def _numbered(own: tuple, rank: int, ranks: int) -> tuple:
    """Element e of rank r's memory holds 1 + r + e * ranks: no two places hold the same."""
    own = copied(own)
    start = 0
    for flat in memory_of(own):
        count = flat.numel()
        flat.copy_(1 + rank + (start + torch.arange(count)) * ranks)
        start += count
    return own


def _widened(own: Any, wide: bool) -> Any:
    if not wide:
        return own
    if isinstance(own, torch.Tensor):
        return own.double() if own.is_floating_point() else own
    if type(own) in (list, tuple):
        return type(own)(_widened(item, wide) for item in own)
    return own


def _shrunk(own: tuple, ranks: int) -> tuple:
    """A large lone vector becomes a short one that p chunks cut in the same pattern."""
    return tuple(
        torch.zeros(4 * ranks + item.numel() % ranks, dtype=item.dtype)
        if isinstance(item, torch.Tensor) and item.dim() == 1 and item.numel() > LARGEST
        else item
        for item in own
    )
