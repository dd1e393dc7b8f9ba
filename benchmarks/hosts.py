"""Measured against simulated: all-reduce on four hosts whose links were fitted from a ping-pong only.

    python benchmarks/hosts.py [--quick] [--save] [--rate 100mbit]

The hosts are network namespaces of this machine (namespaces.py): Linux and root. One launch under torchrun;
in every round each ping-pong size and each algorithm and size has one turn; medians over the rounds. Then
the simulator runs the same calls on the fitted link. README.md beside this file says how to read the table.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from interleaved import record
from interleaved.table import size
from namespaces import Hosts, lacking

from counterpoint.collectives.all_reduce import BY_MESSAGES
from counterpoint.models import Link, fit_link
from counterpoint.ranks import Comm, connect, disconnect, launch

HOSTS = 4
ALGORITHMS = ("star", "tree", "ring")
SIZES = {4 << 10: 20, 256 << 10: 4, 4 << 20: 1}
"""Bytes, and calls in a turn."""
PING_PONG = {4: 20, 1 << 10: 20, 4 << 10: 20, 16 << 10: 10, 64 << 10: 6, 256 << 10: 4, 1 << 20: 2, 4 << 20: 1}
"""Bytes, and round trips in a turn."""
LIB = str(Path(__file__).parents[1] / "lib")


def calls(comm: Comm, x: torch.Tensor, algorithm: str, count: int) -> None:
    """`count` all-reduces, one right after another, without the agreement that comes before a public call."""
    for _ in range(count):
        BY_MESSAGES[algorithm][0](comm, x, "sum")


def ping_pong(comm: Comm, x: torch.Tensor, count: int) -> None:
    """`count` round trips between ranks 0 and 1."""
    for _ in range(count):
        if comm.rank == 0:
            comm.send(x, 1)
            comm.recv(x, 1)
        elif comm.rank == 1:
            comm.recv(x, 0)
            comm.send(x, 0)


def worked() -> tuple[float, float]:
    """(what the machine's cores have done, what they could have done) since it started, in ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # the fourth and fifth: idle, waiting for a disk


Turns = dict[str, list[tuple[float, float, float]]]
"""Of each turn: seconds of a call or of one way of a ping-pong, as the slowest rank saw them; `worked` meanwhile."""


def measured(comm: Comm, rounds: int) -> Turns:
    turns: Turns = {}

    def timed(name: str, share: int, run: Any, *given: Any) -> None:
        comm.barrier()
        before, start = worked(), time.perf_counter()
        run(comm, *given)
        mine = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
        BY_MESSAGES["star"][0](comm, mine, "max")
        busy, could = (now - then for now, then in zip(worked(), before, strict=True))
        turns.setdefault(name, []).append((mine.item() / share, busy, could))

    for _ in range(rounds + 1):
        for nbytes, count in PING_PONG.items():
            timed(f"ping {nbytes}", 2 * count, ping_pong, torch.zeros(nbytes, dtype=torch.uint8), count)
        for nbytes, count in SIZES.items():
            for algorithm in ALGORITHMS:
                timed(f"{algorithm} {nbytes}", count, calls, torch.zeros(nbytes // 4), algorithm, count)
    return {name: taken[1:] for name, taken in turns.items()}  # the first warms up


def predicted(link: Link, algorithm: str, nbytes: int, count: int) -> float:
    """Seconds of a call on the simulator."""
    given = torch.zeros(nbytes // 4), algorithm, count
    return launch(calls, HOSTS, given, world="simulated", network=link).seconds / count


def compare(turns: Turns) -> tuple[Link, list[dict[str, Any]], list[dict[str, Any]]]:
    """(the fitted link, the ping-pong's rows, the all-reduces' rows)."""
    pings = [statistics.median(each[0] for each in turns[f"ping {nbytes}"]) for nbytes in PING_PONG]
    link = fit_link(list(PING_PONG), pings)
    fitted = [row("ping-pong", n, turns[f"ping {n}"], link.seconds(n)) for n in PING_PONG]
    rows = [
        row(algorithm, nbytes, turns[f"{algorithm} {nbytes}"], predicted(link, algorithm, nbytes, count))
        for nbytes, count in SIZES.items()
        for algorithm in ALGORITHMS
    ]
    return link, fitted, rows


def row(what: str, nbytes: int, turns: list[tuple[float, float, float]], model: float) -> dict[str, Any]:
    seconds, busy, could = (
        statistics.median(each[0] for each in turns),
        *(sum(each[k] for each in turns) for k in (1, 2)),
    )
    return {
        "what": what,
        "nbytes": nbytes,
        "measured_ms": round(seconds * 1e3, 4),
        "predicted_ms": round(model * 1e3, 4),
        "ratio": round(seconds / model, 3),
        "cores_busy": round(busy / max(1, could), 3),
    }


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['what']:10} {size(row['nbytes']):>8} {row['measured_ms']:>10.3f} {row['predicted_ms']:>10.3f}"
        f" {row['ratio']:>7.2f} {100 * (row['ratio'] - 1):>+6.0f} %"
        f" {100 * row['cores_busy']:>6.0f} %"
    )


def as_rank(rounds: int) -> None:
    """One of torchrun's processes."""
    comm = connect()
    turns = measured(comm, rounds)
    if comm.rank == 0:
        print("turns " + json.dumps(turns), flush=True)
    disconnect(comm)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, within 60 s")
    parser.add_argument("--save", action="store_true", help="write results/hosts-<machine>-<date>.json")
    parser.add_argument("--rate", default="100mbit", help="of each host's link (default: %(default)s)")
    parser.add_argument("--rounds", type=int, help="(default: 9; quick: 3)")
    parser.add_argument("--folder", type=Path, default=record.RESULTS, help="where --save writes")
    parser.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    rounds = given.rounds or (3 if given.quick else 9)
    if given.as_rank:
        return as_rank(rounds)
    if lack := lacking():
        print(f"# not run: {lack}")
        return None
    about = {"machine": record.machine(2), "date": record.now(), "load": record.load()}
    print(f"# {about['machine']['cpu']}, load {about['load']}; {about['date']}; {HOSTS} hosts, {given.rate}")
    with Hosts(HOSTS, given.rate) as hosts:
        running = hosts.torchrun(__file__, "--as-rank", "--rounds", str(rounds), env={"PYTHONPATH": LIB})
        ended = running.finish(600)
    text = [line for line in ended[0].output.splitlines() if line.startswith("turns ")]
    if not text:
        sys.exit("\n".join(each.output for each in ended))
    turns = json.loads(text[0].removeprefix("turns "))
    link, fitted, rows = compare(turns)
    print(
        f"# fitted: alpha {link.alpha * 1e6:.1f} us, beta {link.beta * 1e9:.3f} ns/byte ({8e-6 / link.beta:.0f} Mbit/s)"
    )
    print(
        f"{'what':10} {'size':>8} {'measured':>10} {'predicted':>10} {'ratio':>7} {'error':>8} {'cores':>8}"
    )
    print(f"{'':19} {'(ms)':>10} {'(ms)':>10} {'':16} {'busy':>8}")
    print("\n".join(line(each) for each in (*fitted, *rows)))
    worst = max(rows, key=lambda each: abs(each["ratio"] - 1))
    print(f"# worst: {worst['what']} at {size(worst['nbytes'])}, {100 * (worst['ratio'] - 1):+.0f} %")
    if given.save:
        kept = {"benchmark": "hosts", **about, "rate": given.rate, "rounds": rounds,
                "versions": record.versions("counterpoint", "torch"), "link": vars(link),
                "ping_pong": fitted, "rows": rows, "turns": turns}  # fmt: skip
        print(f"# saved {record.save('hosts', kept, given.folder).name}", file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
