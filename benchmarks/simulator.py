"""How many messages a second the simulator takes, and how much memory: `python benchmarks/simulator.py`.

No peer: the figures are this machine's. Phantom messages, buffered; the ring's chunks are views built
beforehand and shared by all ranks. Each rate is the median of three runs in processes of their own, the launch
included and, with a trace, putting the trace together too; once by wall time and once by CPU time, of the process
and of the kernel on its behalf: where other work runs beside it, believe the second.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

from interleaved import record

QUICK = 1 << 40


def ring(ranks: int, trace: bool) -> dict:
    """A ring all-reduce: 2 p (p - 1) messages; its virtual time must be the closed form's."""
    import torch

    from counterpoint.collectives import ring as algorithm
    from counterpoint.models import Link
    from counterpoint.ranks import launch

    link = Link(alpha=1e-6, beta=1e-10, gamma=1e-11)
    chunks = list(torch.empty(ranks * 256, device="meta").tensor_split(ranks))

    def worker(comm, chunks):
        algorithm.ring_reduce_scatter(comm, chunks)
        algorithm.ring_all_gather(comm, chunks)

    run, figures = timed(
        lambda: launch(
            worker, ranks, (chunks,), share=True, world="simulated", network=link, trace=trace,
            eager_limit=QUICK, timeout=None,
        )
    )  # fmt: skip
    expected = algorithm.cost(ranks, ranks * 256, 4).seconds(link)
    return figures | {"messages": 2 * ranks * (ranks - 1), "off": abs(run.seconds / expected - 1)}


def doubling(ranks: int, trace: bool) -> dict:
    """A recursive doubling all-reduce of 4 MiB, the library's as it is: p lg p messages for a power of two."""
    import torch

    from counterpoint.collectives import recursive_doubling as algorithm
    from counterpoint.models import Link
    from counterpoint.ranks import launch

    link, x = Link(alpha=1e-6, beta=1e-10, gamma=1e-11), torch.empty(1 << 20, device="meta")
    run, figures = timed(
        lambda: launch(
            algorithm.recursive_doubling_all_reduce, ranks, (x,), share=True, world="simulated", network=link,
            trace=trace, eager_limit=QUICK, timeout=None,
        )
    )  # fmt: skip
    cost = algorithm.cost(ranks, 1 << 20, 4)
    return figures | {"messages": cost.messages, "off": abs(run.seconds / cost.seconds(link) - 1)}


def token(ranks: int, trace: bool) -> dict:
    """A token that goes round 500 times: every receive blocks, so every message is two switches."""
    import torch

    from counterpoint.models import Link
    from counterpoint.ranks import launch

    rounds = 500

    def worker(comm, x):
        for _ in range(rounds):
            if comm.rank:
                comm.recv(x, comm.rank - 1)
            comm.send(x, (comm.rank + 1) % comm.size)
            if not comm.rank:
                comm.recv(x, comm.size - 1)

    x, link = torch.empty(1, device="meta"), Link(alpha=1e-6)
    run, figures = timed(
        lambda: launch(worker, ranks, (x,), share=True, world="simulated", network=link, trace=trace)
    )
    expected = rounds * ranks * 1e-6
    return figures | {"messages": rounds * ranks, "off": abs(run.seconds / expected - 1)}


def timed(run):
    """(what it returns, its wall and CPU seconds)."""
    began, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


WORK = {"ring": ring, "token": token, "doubling": doubling}
CASES = [
    ("ring", 1024, False), ("ring", 1024, True), ("token", 1024, False), ("token", 1024, True),
    ("doubling", 4096, False), ("doubling", 4096, True), ("ring", 4096, False),
]  # fmt: skip
QUICK_CASES = [
    ("ring", 256, False), ("ring", 256, True), ("token", 256, False), ("doubling", 1024, True),
]  # fmt: skip


def once(work: str, ranks: int, trace: bool) -> dict:
    """One run in a fresh process: its figures, and the most memory it ever had."""
    code = [sys.executable, __file__, "--one", work, str(ranks), str(int(trace))]
    return json.loads(subprocess.run(code, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute")
    parser.add_argument("--save", action="store_true", help="write results/simulator-<machine>-<date>.json")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        work, ranks, trace = options.one
        figures = WORK[work](int(ranks), trace == "1")
        figures["mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(figures))
        return
    rows = []
    print(
        f"{'what':10}{'ranks':>6}{'trace':>7}{'messages':>12}{'seconds':>9}{'M/s':>7}{'CPU s':>8}{'M/s':>7}"
        f"{'MiB':>7}  off closed form"
    )
    for work, ranks, trace in QUICK_CASES if options.quick else CASES:
        runs = [once(work, ranks, trace) for _ in range(3)]
        messages, memory, off = runs[0]["messages"], max(r["mib"] for r in runs), max(r["off"] for r in runs)
        wall, cpu = (statistics.median(r[name] for r in runs) for name in ("seconds", "cpu"))
        row = {"work": work, "ranks": ranks, "trace": trace, "runs": runs}
        rows.append(row | {"per_second": messages / wall, "per_cpu_second": messages / cpu})
        print(
            f"{work:10}{ranks:>6}{trace!s:>7}{messages:>12,}{wall:>9.2f}{messages / wall / 1e6:>7.2f}"
            f"{cpu:>8.2f}{messages / cpu / 1e6:>7.2f}{memory:>7.0f}  {off:.1e}"
        )
    if options.save:
        about = {"machine": record.machine(2), "date": record.now(), "load": record.load()}
        print(
            "saved",
            record.save(
                "simulator", about | {"versions": record.versions("torch", "greenlet"), "rows": rows}
            ).name,
        )


if __name__ == "__main__":
    main()
