"""Teams of ranks that stay alive through a benchmark and sleep until they are asked.

`ThreadTeam` is one `counterpoint.ranks.launch`, `ProcessTeam` other libraries' processes. Both take the
commands of `seat.py`, so that every contestant is prepared, checked and timed in the same way.
"""

import contextlib
import importlib.util
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from counterpoint.ranks import Comm, launch
from interleaved.seat import Command, Seat

BENCHMARKS = str(Path(__file__).parents[1])
PEER = [sys.executable, "-m", "interleaved.peer_rank"]
STARTS = 60.0
"""Seconds that a team of processes may take to start."""


class TeamFailed(Exception):
    """A team could not start, or broke; the message says why."""


class Team:
    """Ranks that are asked all at once. `ask` returns every rank's answer."""

    about: Mapping[str, str] = {}

    def ask(self, command: Command) -> list[Any]:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def prepare(self, count: int, algorithm: str = "") -> int:
        """New buffers of `count` elements, and one call: the wrong elements, over all ranks."""
        return sum(self.ask({"do": "prepare", "count": count, "algorithm": algorithm}))

    def seconds(self, iters: int, algorithm: str = "", warm: bool = True) -> float:
        """One call's time, of the slowest rank; `warm` asks for one call more, before the clock starts."""
        return max(self.ask({"do": "time", "iters": iters, "algorithm": algorithm, "warm": warm}))


class ThreadTeam(Team):
    """`ranks` ranks of one launch; `sit` gives each its seat. Tracing is off."""

    def __init__(self, ranks: int, sit: Callable[[Comm], Seat]) -> None:
        self.commands: list[queue.SimpleQueue] = [queue.SimpleQueue() for _ in range(ranks)]
        self.answers: queue.SimpleQueue = queue.SimpleQueue()

        def worker(comm: Comm) -> None:
            seat = sit(comm)
            while (command := self.commands[comm.rank].get())["do"] != "stop":
                self.answers.put(seat.answer(command))

        def run() -> None:
            try:
                launch(worker, ranks, trace=False, timeout=None)
            except BaseException as error:  # raised again where somebody waits for an answer
                self.answers.put(error)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def ask(self, command: Command) -> list[Any]:
        for each in self.commands:
            each.put(command)
        got = []
        for _ in self.commands:
            got.append(self.answers.get())
            if isinstance(got[-1], BaseException):
                raise got[-1]
        return got

    def stop(self) -> None:
        for each in self.commands:
            each.put({"do": "stop"})
        self.thread.join()


class ProcessTeam(Team):
    """`ranks` processes of another library, which `command` starts: `peer_rank`'s, one way or another."""

    def __init__(self, ranks: int, command: Sequence[str], folder: tempfile.TemporaryDirectory) -> None:
        self.folder = folder
        self.log = open(Path(folder.name, "log"), "w+")  # noqa: SIM115 - closed by stop
        self.ends: list[TextIO | None] = [None] * ranks
        with socket.create_server(("127.0.0.1", 0), backlog=ranks) as door:
            token = secrets.token_hex(16)
            ours = {"BENCHMARK_PORT": str(door.getsockname()[1]), "BENCHMARK_TOKEN": token}
            self.process = subprocess.Popen(
                command,
                env={**os.environ, "OMP_NUM_THREADS": "1", **_loopback(), **_path(), **ours},
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )
            self._welcome(door, token)

    def _welcome(self, door: socket.socket, token: str) -> None:
        """Wait for every rank's first line."""
        until = time.monotonic() + STARTS
        door.settimeout(0.2)
        while None in self.ends:
            try:
                connection, _ = door.accept()
            except TimeoutError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise self._failed("it did not start") from None
                continue
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end = connection.makefile("rw")
            connection.close()  # the file keeps it open
            hello = json.loads(end.readline() or "{}")
            if hello.get("token") == token:
                self.ends[hello["rank"]] = end
                self.about = hello["about"]

    def ask(self, command: Command) -> list[Any]:
        ends = [end for end in self.ends if end is not None]
        try:
            for end in ends:
                end.write(json.dumps(command) + "\n")
                end.flush()
            return [json.loads(end.readline()) for end in ends]
        except (OSError, ValueError):
            raise self._failed(f"it broke at {command}") from None

    def stop(self) -> None:
        for end in self.ends:
            if end is not None:
                with contextlib.suppress(OSError):
                    end.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self._kill()
        self.log.close()
        self.folder.cleanup()

    def _kill(self) -> None:
        """End the process and those that it started; all of them are in its own session."""
        if hasattr(os, "killpg"):
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def _failed(self, what: str) -> TeamFailed:
        """The error, with the last line that the processes wrote; they are ended."""
        try:
            self.process.wait(2)  # it may be writing why
        except subprocess.TimeoutExpired:
            self._kill()
        self.log.seek(0)
        said = [line.strip() for line in self.log if line.strip(" -\n")]
        self.stop()
        return TeamFailed(f"{what}: {said[-1]}" if said else what)


def gloo_team(ranks: int) -> ProcessTeam:
    """torch.distributed's gloo backend: a process and one torch thread a rank."""
    folder = tempfile.TemporaryDirectory(prefix="benchmark-")
    return ProcessTeam(ranks, [*PEER, "gloo", str(ranks), f"{folder.name}/store"], folder)


def openmpi_team(ranks: int) -> ProcessTeam:
    """OpenMPI through mpi4py, at its defaults; ranks that outnumber the cores yield while they wait."""
    if shutil.which("mpirun") is None:
        raise TeamFailed("mpirun is not installed")
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in said:
        raise TeamFailed(f"mpirun is not OpenMPI's; it says: {(said.splitlines() or ['nothing'])[0]}")
    if importlib.util.find_spec("mpi4py") is None:
        raise TeamFailed("mpi4py is not installed for this Python")
    options = ["--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    if ranks > cores():
        options += ["--mca", "mpi_yield_when_idle", "1"]
    folder = tempfile.TemporaryDirectory(prefix="benchmark-")
    return ProcessTeam(ranks, ["mpirun", *options, *PEER, "mpi"], folder)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _path() -> dict[str, str]:
    """Where the processes find this folder."""
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([BENCHMARKS, before] if before else [BENCHMARKS])}


def _loopback() -> dict[str, str]:
    """gloo asks the network which of its interfaces is this host; all ranks are here, so tell it."""
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    found = [name for name in ("lo", "lo0") if name in names]
    return {"GLOO_SOCKET_IFNAME": found[0]} if found else {}
