"""All-reduce of float32, sum, in place: ours in threads beside gloo's and OpenMPI's in processes.

    python benchmarks/all_reduce.py [--quick] [--save] [--ranks 2,4,8] [--sizes 4KiB:64MiB]

One run, one host. For each number of ranks and size, rounds of [star, tree, ring, two-shot, direct, auto, gloo,
OpenMPI, copy], each once a round while the others sleep; the median of the rounds counts. Every result is
checked before it is timed. README.md beside this file says how to read the table.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from interleaved import record
from interleaved.rounds import Timing, interleave
from interleaved.seat import Seat
from interleaved.table import figures, heading, size
from interleaved.teams import Team, TeamFailed, ThreadTeam, cores, gloo_team, openmpi_team

from counterpoint.bench import parse_sizes
from counterpoint.collectives import all_reduce, cheapest, kernels
from counterpoint.ranks import Comm

OURS = ("star", "tree", "ring", "two-shot", "direct", "auto")
PEERS: dict[str, Callable[[int], Team]] = {"gloo": gloo_team, "openmpi": openmpi_team}
COMPARED = ("direct", "auto", "ring")
NAMES = {"gloo": "gloo", "openmpi": "OpenMPI"}
ITEM = torch.float32.itemsize
CACHED = 16 << 20
"""From this size on nobody gets a call to warm up: the vectors do not stay in a cache anyway."""
QUICK_SECONDS = 25.0
"""After so long --quick takes a single turn of what is left."""


def ours(comm: Comm) -> Seat:
    """A rank thread, as anyone writes it."""
    return Seat(
        comm.rank,
        comm.size,
        new=lambda count: torch.empty(count, dtype=torch.float32),
        call=lambda vector, algorithm: all_reduce(comm, vector, algorithm=algorithm),
        barrier=comm.barrier,
        values=lambda vector: vector.numpy(),
    )


def copier(ranks: int, comm: Comm) -> Seat:
    """A thread that copies its share of all ranks' bytes one way and back: the memory floor."""

    def copy(vector: torch.Tensor, _: str) -> None:
        half = len(vector) // 2
        here, there = vector[:half], vector[half : 2 * half]
        there.copy_(here)
        here.copy_(there)

    return Seat(
        comm.rank,
        comm.size,
        new=lambda count: torch.empty(count * ranks // comm.size, dtype=torch.float32),
        call=copy,
        barrier=comm.barrier,
        values=lambda vector: vector.numpy(),
        reduces=False,
    )


def measure(
    ranks: int, sizes: list[int], timed: Callable[..., dict[str, Timing]], missing: dict[str, str]
) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Yield (row, versions of the peers) for each size; peers that cannot start are noted in `missing`."""
    teams: dict[str, Team] = {}
    try:
        for name, start in PEERS.items():
            if name not in missing:
                try:
                    teams[name] = start(ranks)
                except TeamFailed as error:
                    missing[name] = str(error)
        our = teams["ours"] = ThreadTeam(ranks, ours)
        teams["copy"] = ThreadTeam(min(cores(), ranks), partial(copier, ranks))
        peers = {name: team for name, team in teams.items() if name in PEERS}
        about = {key: value for team in peers.values() for key, value in team.about.items()}
        for nbytes in sizes:
            playing = {name: teams.get(name, our) for name in (*OURS, *peers, "copy")}
            for name, team in playing.items():
                if wrong := team.prepare(nbytes // ITEM, name):
                    raise SystemExit(f"{name}, {ranks} ranks, {nbytes} bytes: {wrong} elements are wrong")
            warm = nbytes < CACHED
            turns = {name: partial(team.seconds, algorithm=name, warm=warm) for name, team in playing.items()}
            yield row(ranks, nbytes, timed(turns)), about
    finally:
        for team in teams.values():
            team.stop()


def row(ranks: int, nbytes: int, times: dict[str, Timing]) -> dict[str, Any]:
    """What is kept of one number of ranks and size. Ratios are our time over theirs: below 1 is faster."""
    us = {name: timing.median * 1e6 for name, timing in times.items()}
    floor = us.pop("copy")
    best = min(OURS, key=us.__getitem__)
    return {
        "ranks": ranks,
        "nbytes": nbytes,
        "us": {name: round(value, 2) for name, value in us.items()},
        "least_us": {name: round(timing.least * 1e6, 2) for name, timing in times.items()},
        "most_us": {name: round(timing.most * 1e6, 2) for name, timing in times.items()},
        "calls_a_turn": {name: timing.iters for name, timing in times.items()},
        "rounds": min(timing.turns for timing in times.values()),
        "auto": cheapest(ranks, nbytes // ITEM, ITEM),
        "best": best,
        "over": {
            peer: {ours: round(us[ours] / us[peer], 3) for ours in OURS}
            | {"best": round(us[best] / us[peer], 3)}
            for peer in PEERS
            if peer in us
        },
        "floor_us": round(floor, 2),
        "copy_gb_per_s": round(2 * ranks * nbytes / floor / 1e3, 2),
        "over_floor": {name: round(us[name] / floor, 2) for name in ("direct", "ring")},
    }


HEADING = heading(
    ("ranks     size", (), 0),
    ("ours, in threads, us", [f"{name} " for name in OURS], 9),
    ("in processes, us", list(NAMES.values()), 8),
    *((f"ours / {NAMES[peer]}", COMPARED, 6) for peer in PEERS),
    ("memory's floor, us, and over it", ("", "direct", "ring"), 8),
)


def line(row: dict[str, Any]) -> str:
    """A row of the table; the letter after auto's time says which it chose."""
    us, over = row["us"], row["over"]
    parts = [
        f"{row['ranks']:>5} {size(row['nbytes']):>8}",
        "  ".join(figures([us[name]], 8, 1) for name in OURS) + row["auto"][0],
        figures([us.get(peer) for peer in PEERS], 8, 1),
        *(figures([over.get(peer, {}).get(name) for name in COMPARED], 6, 2) for peer in PEERS),
        f"{figures([row['floor_us']], 8, 1)} "
        + " ".join(f"{row['over_floor'][name]:>7.1f}x" for name in ("direct", "ring")),
    ]
    return " | ".join(parts)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """For each number of ranks, what a claim has to hold to: direct and ring at the largest size, and the worst."""
    lines = []
    for ranks in sorted({row["ranks"] for row in rows}):
        mine = [row for row in rows if row["ranks"] == ranks]
        largest = max(mine, key=lambda row: row["nbytes"])
        parts = [
            f"{ours} / {NAMES[peer]} {ratio[ours]:.2f} at {size(largest['nbytes'])}"
            for peer, ratio in largest["over"].items()
            for ours in ("direct", "ring")
        ]
        for peer in largest["over"]:
            for ours in ("direct", "auto", "best"):
                worst = max(mine, key=lambda row: row["over"][peer][ours])
                ratio = worst["over"][peer][ours]
                parts.append(f"{ours} / {NAMES[peer]} at most {ratio:.2f}, at {size(worst['nbytes'])}")
        lines.append(f"{ranks} ranks: " + "; ".join(parts))
    return lines


def thinned(sizes: list[int]) -> list[int]:
    """At most five of them, spread evenly, first and last included."""
    last = len(sizes) - 1
    return [sizes[i] for i in sorted({round(i * last / 4) for i in range(5)})]


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five sizes, few rounds, within 60 s")
    parser.add_argument("--save", action="store_true", help="write results/all_reduce-<machine>-<date>.json")
    parser.add_argument("--ranks", default="2,4,8", help="numbers of ranks (default: %(default)s)")
    parser.add_argument(
        "--sizes", default="4KiB:64MiB", help="FROM:TO, doubling; or one (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, help="at most (default: 9; quick: 5)")
    parser.add_argument("--folder", type=Path, default=record.RESULTS, help="where --save writes")
    given = parser.parse_args(argv)
    try:
        given.ranks = [int(part) for part in given.ranks.split(",")]
        given.sizes = parse_sizes(given.sizes)
    except ValueError as error:
        parser.error(str(error))
    if min(given.ranks) < 1 or given.sizes[0] < ITEM or any(size % ITEM for size in given.sizes):
        parser.error(f"give at least 1 rank, and sizes that are multiples of {ITEM} bytes")
    if given.quick:
        given.sizes = thinned(given.sizes)
    return given


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and save if asked."""
    given = arguments(argv)
    until = time.monotonic() + QUICK_SECONDS
    timed = partial(
        interleave,
        rounds=given.rounds or (5 if given.quick else 9),
        segment=0.02 if given.quick else 0.05,
        enough=lambda done: given.quick and time.monotonic() > until,
    )
    missing: dict[str, str] = {}
    compiled = kernels.compile_for(torch.float32)
    kept: dict[str, Any] = {
        "benchmark": "all_reduce",
        "date": record.now(),
        "machine": record.machine(cores()),
        "load_at_start": record.load(),
        "versions": record.versions("counterpoint", "torch", "numpy", "numba"),
        "ours": "ranks as threads of one process, plain Python over torch; direct compiled by Numba if there is "
        f"Numba ({'there is' if compiled else 'there is none'}); tracing off",
        "dtype": "float32",
        "op": "sum",
        "sizes": given.sizes,
        "rows": [],
    }
    print(f"# {kept['machine']['cpu']}, {cores()} cores, load {kept['load_at_start']}; {kept['date']}")
    print(HEADING)
    for ranks in given.ranks:
        for found, versions in measure(ranks, given.sizes, timed, missing):
            kept["rows"].append(found)
            kept["versions"] |= versions
            print(line(found), flush=True)
    kept["missing"] = missing
    for peer, why in missing.items():
        print(f"# no {peer}: {why}")
    print("# " + ", ".join(f"{name} {version}" for name, version in kept["versions"].items()))
    print("\n".join(f"# {text}" for text in summary(kept["rows"])))
    if given.save:
        path = record.save("all_reduce", kept, given.folder)
        print(f"# saved {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
