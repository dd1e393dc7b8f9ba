"""One file of algorithms, many worlds: every collective by every algorithm, and the bits each rank ends with.

`python tests/worlds/everything.py` runs it on each world there is and prints a line for each collective; under
torchrun it is the worker. Inputs are random, so a sum's bits depend on the order in which it was made.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable

import torch

from counterpoint import collectives
from counterpoint.collectives import all_gather, all_reduce, all_to_all, broadcast
from counterpoint.ranks import Comm, connect, disconnect, launch

RANKS, COUNT = 5, 1003
WORLDS = ("threads", "simulated", "processes", "torchrun", "cuda")


def inputs(comm: Comm, count: int = COUNT) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000 + comm.rank)
    return torch.randn(count, generator=generator).to(comm.device)


def every_collective(comm: Comm, algorithms: Iterable[str] = collectives.ALGORITHMS) -> dict[str, str]:
    """What this rank ends with, collective by collective, as a digest of its bits; all-reduce by these algorithms."""
    cases: dict[str, Callable[[], object]] = {}
    for algorithm in algorithms:
        for op in ("sum", "max"):
            cases[f"all_reduce {op}, {algorithm}"] = lambda a=algorithm, o=op: all_reduce(
                comm, inputs(comm), o, a
            )
    for algorithm in ("binomial", "scatter-all-gather"):
        cases[f"broadcast, {algorithm}"] = lambda a=algorithm: broadcast(comm, inputs(comm), 3, a)
    for algorithm in ("ring", "bruck"):
        cases[f"all_gather, {algorithm}"] = lambda a=algorithm: all_gather(comm, room(comm), inputs(comm), a)
    for algorithm in ("pairwise", "bruck"):
        cases[f"all_to_all, {algorithm}"] = lambda a=algorithm: all_to_all(
            comm, room(comm), inputs(comm, COUNT * comm.size), a
        )
    cases["all_to_all, unequal pieces"] = lambda: unequal(comm)
    cases["reduce"] = lambda: collectives.reduce(comm, inputs(comm), 2)
    cases["reduce_scatter"] = lambda: collectives.reduce_scatter(
        comm, inputs(comm, COUNT), inputs(comm, COUNT * comm.size)
    )
    cases["scan"] = lambda: collectives.scan(comm, inputs(comm))
    cases["exscan"] = lambda: collectives.exscan(comm, inputs(comm))
    cases["gather"] = lambda: collectives.gather(
        comm, list(room(comm).tensor_split(comm.size)) if comm.rank == 1 else None, inputs(comm), 1
    )
    cases["scatter"] = lambda: collectives.scatter(
        comm,
        inputs(comm),
        list(inputs(comm, COUNT * comm.size).tensor_split(comm.size)) if comm.rank == comm.size - 1 else None,
        comm.size - 1,
    )
    cases["split, then all_reduce"] = lambda: all_reduce(
        comm.split(comm.rank % 2), inputs(comm), algorithm="ring"
    )
    return {name: digest(run()) for name, run in cases.items()}


def room(comm: Comm) -> torch.Tensor:
    return torch.zeros(COUNT * comm.size, device=comm.device)


def unequal(comm: Comm) -> list[torch.Tensor]:
    """Rank i sends j + 1 elements of its input to rank j; rank 2 sends none at all."""
    x = inputs(comm)
    sizes = [0 if comm.rank == 2 else j + 1 for j in range(comm.size)]
    incoming = [torch.zeros(0 if i == 2 else comm.rank + 1, device=comm.device) for i in range(comm.size)]
    return all_to_all(comm, incoming, list(x[: sum(sizes)].split(sizes)))


def digest(value: object) -> str:
    """A short name for the bits of a tensor, or of a list of them."""
    tensors = [value] if isinstance(value, torch.Tensor) else (value or [])
    hashed = hashlib.sha256()
    for tensor in tensors:
        hashed.update(tensor.cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:12]


def run_on(world: str) -> list[dict[str, str]]:
    """Each rank's digests on one world."""
    if world == "torchrun":
        return under_torchrun()
    if world == "cuda":
        return launch(every_collective, RANKS, device="cuda").results
    return launch(every_collective, RANKS, world=world).results


def under_torchrun() -> list[dict[str, str]]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    done = subprocess.run(
        [*command, os.path.abspath(__file__)],
        capture_output=True, text=True, timeout=120, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    found: list[dict[str, str]] = [{} for _ in range(RANKS)]
    for rank, name, bits in lines:
        found[int(rank)][name] = bits
    return found


def main() -> None:
    if "RANK" in os.environ:
        comm = connect()
        found = every_collective(comm)
        text = "".join(f"{comm.rank}\t{name}\t{bits}\n" for name, bits in found.items())
        for rank in range(comm.size):  # one after another, so that lines stay whole
            if rank == comm.rank:
                print(text, end="", flush=True)
            comm.barrier()
        disconnect(comm)
        return
    worlds = [world for world in WORLDS if world != "cuda" or torch.cuda.is_available()]
    found = {world: run_on(world) for world in worlds}
    first = found[worlds[0]]
    print(f"{'collective':36} {'rank 0 ends with':18} {'  '.join(worlds)}")
    for name, bits in first[0].items():
        same = {w: all(found[w][r][name] == first[r][name] for r in range(RANKS)) for w in worlds}
        print(
            f"{name:36} {bits:18} {'  '.join(('same' if same[w] else 'OTHER').ljust(len(w)) for w in worlds)}"
        )


if __name__ == "__main__":
    main()
