"""The same worker under torchrun, on one host or many: `connect` gives each process its `Comm`.

import counterpoint as cp

def worker(comm): ...

if __name__ == "__main__":
    worker(cp.connect())

$ torchrun --nnodes 4 --node-rank K --master-addr HOST --master-port PORT worker.py
"""

import atexit
import os
import pickle
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from counterpoint.ranks.clock import PortClock
from counterpoint.ranks.comm import Comm
from counterpoint.ranks.errors import CommError
from counterpoint.ranks.lanes import check_backend, lanes_for
from counterpoint.ranks.lifeline import give_up_after
from counterpoint.ranks.plan import close_rows, what_ended_it
from counterpoint.ranks.process_port import ProcessPort
from counterpoint.ranks.station import Station
from counterpoint.ranks.streams import Streams
from counterpoint.ranks.watch import SILENCE, Watch
from counterpoint.trace import Recorder, Trace

PINGS = 10
"""Round trips by which a rank learns rank 0's clock; the fastest counts."""


def connect(*, backend: str = "gloo", eager_limit: int = 8192, trace: bool = False) -> Comm:
    """This process's `Comm` of all the processes that torchrun started; they talk over gloo.

    Every process calls it. If torch.distributed is initialised already, its ranks and its store are used;
    its process groups are left alone. backend: "nccl" if
    tensors on GPUs travel too; then each process has the GPU of its number on its host, `comm.device`, and a stream of
    its own as the current one. eager_limit: as in `launch`. trace: record, for `disconnect` to gather.
    GLOO_SOCKET_IFNAME names the network interface where there are several. When the program ends without
    `disconnect`, that is done for it; when it ends with an exception, the other ranks get RankFailed.

    A process that has ended is an error on every rank that waits for it within about a second, one that hangs
    or cannot be reached within 11 s (`watch.SILENCE`; where rank 0's host is the one cut off, the others see that on
    Linux only, see lifeline.py). Raises ValueError outside torchrun.
    """
    check_backend("connect", backend)
    store, rank, size, host = _world()
    number = store.add(f"counterpoint/connections of {rank}", 1)
    store = PrefixStore(f"counterpoint/{number}", store)
    station = Station(store, rank, size, eager_limit, host)
    station.lanes = lanes = lanes_for(backend, station, store, host, int(os.environ.get("LOCAL_RANK", rank)))
    port = ProcessPort(station, None, time.perf_counter())
    if lanes is not None and lanes.device.type == "cuda":
        port.device, port.streams = lanes.device, Streams(lanes.device)
        port.streams.__enter__()  # until the process ends
    comm = Comm(port, tuple(range(size)), ())
    watch = Watch(port)
    comm.barrier()  # every rank has put up a first notice
    watch.start()
    _align(comm, port)
    port.clock, port.sent = PortClock(None), 0
    port.recorder = Recorder(size) if trace else None
    atexit.register(_at_exit, comm, watch)
    comm._watch = watch
    return comm


def disconnect(comm: Comm) -> Trace | None:
    """Part from the others, in an orderly way: every process calls it, and none returns before all have.

    Returns, on rank 0 of a connection with trace=True, the events of all ranks on rank 0's clock; else None.
    On one host the clocks are the same; between hosts they agree to half the time of a fast round trip.
    """
    port, watch = comm._port, comm._watch
    if not isinstance(port, ProcessPort) or watch is None:
        raise ValueError(f"disconnect({comm!r}): give the Comm that connect() returned")
    if port.returned:
        raise ValueError(f"rank {comm.rank}: disconnect was called before")
    port.returned = True
    recorder, port.recorder = port.recorder, None
    atexit.unregister(_at_exit)
    try:
        watch.tell()
        trace = _gathered(comm, port, recorder) if recorder is not None else None
        comm.barrier()
    finally:
        watch.stop()
        port.station.close()
    return trace


def _world() -> tuple[Store, int, int, str | None]:
    """(store, rank, size, this host's address if it is the only one)."""
    if dist.is_initialized():
        store = dist.distributed_c10d._get_default_store()
        rank, size = dist.get_rank(), dist.get_world_size()
    else:
        missing = [
            name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ
        ]
        if missing:
            raise ValueError(
                f"connect: {', '.join(missing)} not set; start the program with torchrun, for example "
                f"`torchrun --nproc-per-node 4 worker.py`, or call launch(worker, 4, world='processes')"
            )
        store, rank, size = next(rendezvous("env://"))
    below = store
    while isinstance(below, PrefixStore):
        below = below.underlying_store
    give_up_after(below, SILENCE)
    alone = os.environ.get("LOCAL_WORLD_SIZE") == str(size)
    return store, rank, size, "127.0.0.1" if alone else None


def _align(comm: Comm, port: ProcessPort) -> None:
    """Set this rank's second 0 to rank 0's."""
    boot, began = comm._exchange((_boot(), port.began), "connect")[0]
    if boot == _boot():
        port.began = began  # one host, one clock
    word = torch.zeros(1, dtype=torch.float64)
    for rank in range(1, comm.size):
        if comm.rank == 0:
            for _ in range(PINGS):
                comm.recv(word, rank)
                word[0] = port.seconds()
                comm.send(word, rank)
        elif comm.rank == rank:
            best = float("inf")
            for _ in range(PINGS):
                asked = time.perf_counter()
                comm.send(word, 0)
                comm.recv(word, 0)
                took = time.perf_counter() - asked
                if took < best:
                    best, theirs = took, asked + took / 2 - word.item()
            if boot != _boot():
                port.began = theirs


def _boot() -> str:
    """A name for the running system, whose processes share one clock; unlike any other's."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return f"{os.uname().nodename}"


def _gathered(comm: Comm, port: ProcessPort, recorder: Recorder) -> Trace | None:
    """All ranks' events, at rank 0."""
    close_rows(port, recorder, "wall", 0.0)
    size = torch.zeros(1, dtype=torch.int64)
    if comm.rank != 0:
        home = pickle.dumps((*recorder.portable(comm.rank), port.send_waits))
        comm.send(torch.tensor([len(home)]), 0)
        comm.send(torch.frombuffer(bytearray(home), dtype=torch.uint8), 0)
        return None
    waits = [(0, *wait) for wait in port.send_waits]
    for rank in range(1, comm.size):
        comm.recv(size, rank)
        packed = comm.recv(torch.empty(int(size), dtype=torch.uint8), rank)
        rows, sources, sends = pickle.loads(packed.numpy().tobytes())
        recorder.join(rank, rows, sources)
        waits += [(rank, *wait) for wait in sends]
    recorder.match_sends(waits)
    return recorder.finish("wall")


def _at_exit(comm: Comm, watch: Watch) -> None:
    """The program ends: well, or by an exception, of which the others must hear."""
    port = comm._port
    assert isinstance(port, ProcessPort)
    error = getattr(sys, "last_value", None)
    if error is not None and not isinstance(error, CommError):
        port.station.fail(what_ended_it(comm.rank, error, port.station.failure))
    if port.station.failure is None:
        try:
            disconnect(comm)
        except CommError as failure:
            print(f"rank {comm.rank}: {failure}", file=sys.stderr)
    watch.stop()
    port.station.close()
