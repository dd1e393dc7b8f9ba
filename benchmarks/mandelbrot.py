"""Escape counts: ours beside hand-written C with OpenMP, Numba one pixel at a time, and NumPy; and the schedules.

    python benchmarks/mandelbrot.py [--quick] [--save]

One run, all cores, 2048 x 2048 pixels, 1,000 iterations, three views, float64 and float32. The C (mandelbrot.c) is
compiled on the spot by gcc with -O3 -march=native, 512-bit vectors where there are, and 16, 32 and 64 lanes: each
kernel's best counts. Contestants take turns, five rounds; the median counts. NumPy takes one turn, on one core, on a
sixteenth of the pixels. `fma` is ours with products and sums contracted, as in the C; `exact` rounds each by itself.
"""

import argparse
import ctypes
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from interleaved import record
from interleaved.teams import cores

from counterpoint.balance import simulate
from counterpoint.mandelbrot import VIEWS, View, bands, cpu, draw

Work = Callable[[], np.ndarray]
TYPES = {"float64": ("double", "int64_t"), "float32": ("float", "int32_t")}
LANES = (16, 32, 64)
KERNELS = ("scalar", "lanes", "speculative")
SCHEDULES = ("static", "static,1", "dynamic,1", "dynamic,8", "guided,1", "work_stealing,1")


def compiled(folder: Path) -> dict[tuple[str, int], ctypes.CDLL]:
    """The C for each dtype and number of lanes."""
    found = {}
    source = Path(__file__).with_suffix(".c")
    for dtype, (real, whole) in TYPES.items():
        for lanes in LANES:
            library = folder / f"{dtype}-{lanes}.so"
            options = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-shared", "-fPIC"]
            defines = [f"-DT={real}", f"-DI={whole}", f"-DLANES={lanes}"]
            subprocess.run(["gcc", *options, *defines, "-o", str(library), str(source)], check=True)
            found[dtype, lanes] = ctypes.CDLL(str(library))
    return found


def in_c(library: ctypes.CDLL, name: str, view: View, dtype: str) -> np.ndarray:
    xs, ys = view.axes(dtype)
    counts = np.zeros((view.rows, view.columns), np.int32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (xs, ys)]
    sizes = [ctypes.c_long(view.columns), ctypes.c_long(view.rows), ctypes.c_int(view.iterations)]
    getattr(library, name)(*pointers, *sizes, counts.ctypes.data_as(ctypes.c_void_p))
    return counts


def ours(view: View, dtype: str, kernel: str, exact: bool) -> np.ndarray:
    return draw(view, cores(), "dynamic", bands(view, 8), kernel=kernel, dtype=dtype, exact=exact).counts


def in_numpy(view: View, dtype: str) -> np.ndarray:
    """Whole arrays, of the points that are still inside."""
    xs, ys = view.axes(dtype)
    cx, cy = (axis.ravel() for axis in np.meshgrid(xs, ys))
    counts, where = np.full(cx.size, view.iterations, np.int32), np.arange(cx.size)
    zx, zy = np.zeros_like(cx), np.zeros_like(cy)
    for k in range(view.iterations):
        zx2, zy2 = zx * zx, zy * zy
        inside = zx2 + zy2 <= 4
        if not inside.all():
            counts[where[~inside]] = k
            where, cx, cy, zx, zy = where[inside], cx[inside], cy[inside], zx[inside], zy[inside]
            zx2, zy2 = zx2[inside], zy2[inside]
        zy = (zx + zx) * zy + cy
        zx = zx2 - zy2 + cx
    return counts.reshape(view.rows, view.columns)


def measure(work: dict[str, Work], rounds: int) -> dict[str, float]:
    """Each one's median seconds, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(rounds):
        for name in list(work)[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            work[name]()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def check(work: dict[str, Work], expected: np.ndarray, exact: set[str]) -> None:
    """Run each once: exact ones must give the same counts; contracted ones may differ at the set's edge."""
    for name, run in work.items():
        off = float((run() != expected).mean())
        if off > (0 if name in exact else 0.1):
            raise SystemExit(f"{name}: {off:.1%} of the counts are wrong")


def compare(
    view: View, dtype: str, libraries: dict[tuple[str, int], ctypes.CDLL], rounds: int
) -> dict[str, Any]:
    """One row: milliseconds, and what is over what."""
    work: dict[str, Work] = {}
    for name in KERNELS:
        for lanes in LANES if name != "scalar" else LANES[:1]:
            work[f"C {name} {lanes}"] = partial(in_c, libraries[dtype, lanes], name, view, dtype)
        for exact in (True, False):
            if exact or name != "scalar":
                work[f"ours {name} {'exact' if exact else 'fma'}"] = partial(ours, view, dtype, name, exact)
    expected = ours(view, dtype, "scalar", True)
    check(work, expected, {name for name in work if "exact" in name})
    seconds = measure(work, rounds)
    small = view.resized(view.columns // 4, view.rows // 4)
    began = time.perf_counter()
    in_numpy(small, dtype)
    seconds["numpy, a sixteenth"] = time.perf_counter() - began
    best = {name: min(s for key, s in seconds.items() if key.startswith(f"C {name}")) for name in KERNELS}
    mine = {key.removeprefix("ours "): s for key, s in seconds.items() if key.startswith("ours ")}
    fastest = min(best.values())
    return {
        "dtype": dtype, "iterations": int(expected.sum()), "seconds": seconds, "best C": best,
        "lanes over C lanes": mine["lanes fma"] / best["lanes"],
        "lanes over the best C": mine["lanes fma"] / fastest,
        "speculative over C speculative": mine["speculative fma"] / best["speculative"],
        "speculative over the best C": mine["speculative fma"] / fastest,
        "exact lanes over the best C": mine["lanes exact"] / fastest,
        "Numba scalar over the best of ours": mine["scalar exact"] / min(mine.values()),
    }  # fmt: skip


def schedules(view: View, workers: int, rounds: int) -> list[dict[str, Any]]:
    """Each schedule measured on rows, and simulated from the costs that one worker measured, row by row."""
    cut = bands(view, 8)
    costs = np.median([draw(view, 1, "dynamic", cut).run.costs for _ in range(3)], 0)
    runs: dict[str, list[Any]] = {name: [] for name in SCHEDULES}
    for _ in range(rounds):
        for name in SCHEDULES:
            runs[name].append(draw(view, workers, name, cut).run)
    rows = []
    for name, measured in runs.items():
        made = simulate(costs, workers, name, take_seconds=5e-6, steal_seconds=5e-6)
        middle = sorted(measured, key=lambda run: run.makespan)[len(measured) // 2]
        row = {"schedule": name, "workers": workers, "takes": len(middle.takes), "steals": len(middle.steals)}
        row |= {"makespan": middle.makespan, "simulated": made.makespan, "lower bound": made.lower_bound}
        rows.append(row | {"imbalance": middle.imbalance, "simulated imbalance": made.imbalance})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="512 x 512 pixels, three rounds")
    parser.add_argument("--save", action="store_true", help="write results/mandelbrot-<machine>-<date>.json")
    options = parser.parse_args()
    side, rounds = (512, 3) if options.quick else (2048, 5)
    about = {"machine": record.machine(cores()), "date": record.now(), "load before": record.load()}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        libraries = compiled(Path(folder))
        print(
            f"{'view':8}{'dtype':9}{'C lanes':>9}{'C spec':>9}{'lanes':>9}{'spec':>9}{'scalar':>9}  ms; ratios"
        )
        for name, view in VIEWS.items():
            for dtype in TYPES:
                row = {"view": name} | compare(view.resized(side), dtype, libraries, rounds)
                rows.append(row)
                print(line(row), flush=True)
    shared = schedules(VIEWS["skewed"].resized(side), cores(), rounds)
    print(
        f"\n{'schedule':18}{'measured':>10}{'simulated':>11}{'bound':>8} ms{'imbalance':>12}{'simulated':>11}"
    )
    for row in shared:
        print(
            f"{row['schedule']:18}{row['makespan'] * 1e3:>10.1f}{row['simulated'] * 1e3:>11.1f}"
            f"{row['lower bound'] * 1e3:>8.1f}   {row['imbalance']:>12.3f}{row['simulated imbalance']:>11.3f}"
        )
    if options.save:
        about |= {"pixels a side": side, "rounds": rounds, "iterations": 1000}
        kept = about | {"versions": record.versions("numba", "numpy"), "rows": rows, "schedules": shared}
        kept |= {"load after": record.load(), "lanes": cpu.LANES}
        print("saved", record.save("mandelbrot", kept).name)


def line(row: dict[str, Any]) -> str:
    ms = {name: seconds * 1e3 for name, seconds in row["seconds"].items()}
    c = {name: seconds * 1e3 for name, seconds in row["best C"].items()}
    return (
        f"{row['view']:8}{row['dtype']:9}{c['lanes']:>9.1f}{c['speculative']:>9.1f}{ms['ours lanes fma']:>9.1f}"
        f"{ms['ours speculative fma']:>9.1f}{ms['ours scalar exact']:>9.0f}  "
        f"lanes / C lanes {row['lanes over the best C']:.2f}, speculative / C speculative "
        f"{row['speculative over C speculative']:.2f}, / best C {row['speculative over the best C']:.2f}, "
        f"exact lanes / best C {row['exact lanes over the best C']:.2f}, "
        f"scalar / ours {row['Numba scalar over the best of ours']:.1f}, "
        f"numpy / ours {ms['numpy, a sixteenth'] * 16 / ms['ours lanes exact']:.0f}"
    )


if __name__ == "__main__":
    main()
