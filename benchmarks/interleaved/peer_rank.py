"""The ranks of another library's team, started by `teams.ProcessTeam`.

    python -m interleaved.peer_rank gloo SIZE STORE     SIZE ranks of torch.distributed; they meet in the file STORE
    mpirun -n SIZE python -m interleaved.peer_rank mpi  one rank of mpi4py, over whatever MPI mpirun belongs to

Commands come by a TCP connection to the parent, one JSON value a line. A rank that waits for its next
command sleeps in a read of its own socket: MPI's and gloo's own waits may spin, and would disturb others.
When the connection ends, so does the rank.
"""

import json
import multiprocessing
import os
import socket
import sys
import traceback
from typing import Any

import numpy as np

from interleaved.seat import Seat


def gloo(size: int, store: str) -> None:
    """All ranks of torch.distributed's gloo backend: forked where that is possible, to import torch once."""
    import torch

    torch.set_num_threads(1)
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if can_fork else "spawn")
    ranks = [context.Process(target=gloo_rank, args=(rank, size, store)) for rank in range(size)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()


def gloo_rank(rank: int, size: int, store: str) -> None:
    """One of them. It leaves without torch's clean-up, which waits for the others."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    seat = Seat(
        rank,
        size,
        new=lambda count: torch.empty(count, dtype=torch.float32),
        call=lambda vector, _: dist.all_reduce(vector),
        barrier=dist.barrier,
        values=lambda vector: vector.numpy(),
    )
    serve(seat, {})
    os._exit(0)


def mpi() -> None:
    """One rank of MPI's world; if it fails it ends them all."""
    import mpi4py
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    seat = Seat(
        world.rank,
        world.size,
        new=lambda count: np.empty(count, np.float32),
        call=lambda vector, _: world.Allreduce(MPI.IN_PLACE, vector),
        barrier=world.Barrier,
    )
    library = MPI.Get_library_version().split(",")[0].strip()
    try:
        serve(seat, {"mpi": library, "mpi4py": mpi4py.__version__})
    except BaseException:
        traceback.print_exc()
        world.Abort(1)


def serve(seat: Seat, about: dict[str, str]) -> None:
    """Say who this is, then answer commands until told to stop."""
    address = ("127.0.0.1", int(os.environ["BENCHMARK_PORT"]))
    with socket.create_connection(address) as connection, connection.makefile("rw") as line:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def say(value: Any) -> None:
            line.write(json.dumps(value) + "\n")
            line.flush()

        say({"token": os.environ["BENCHMARK_TOKEN"], "rank": seat.rank, "about": about})
        while (text := line.readline()) and (command := json.loads(text))["do"] != "stop":
            say(seat.answer(command))


if __name__ == "__main__":
    if sys.argv[1] == "gloo":
        gloo(int(sys.argv[2]), sys.argv[3])
    else:
        mpi()
