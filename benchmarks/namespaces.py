"""Several hosts on one machine: Linux network namespaces behind one switch, with links of a stated rate.

    with Hosts(4, rate="400mbit") as hosts:
        running = hosts.torchrun("worker.py")
        print(running.finish(60))

Each host is a namespace: its own interface e0, addresses, ports, and nothing of the machine's network. The
switch is a bridge in a namespace of its own, so the machine's network is left as it was. Every packet that leaves a
host passes a token bucket (`tc ... tbf`) of that rate; links are full duplex, and the switch is never full.
A host has a name, shared memory and a clock of its own too. Files and processors are shared.
Needs Linux, root, iproute2 and util-linux.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FIRST_PORT = 29500
"""torchrun's usual one; each launch takes the next. The hosts have ports of their own, so no one else has it."""


def lacking() -> str | None:
    """Why this machine can make no hosts; None if it can."""
    if sys.platform != "linux":
        return "network namespaces need Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not (shutil.which("ip") and shutil.which("tc") and shutil.which("unshare")):
        return "network namespaces need iproute2 and util-linux (the commands ip, tc and unshare)"
    try:
        with Hosts(1) as hosts:
            status, output = hosts.start([["true"]]).finish(10)[0]
            return f"no host can be made here: {output}" if status else None
    except HostsFailed as error:
        return f"no network namespaces here: {error}"


SECONDS_APART = 1000
"""How far the clock of each host is ahead of the one before."""

OF_ITS_OWN = """
hostname "$1"
mount -t tmpfs shm /dev/shm
echo "$2" >/dev/shm/boot_id
mount --bind /dev/shm/boot_id /proc/sys/kernel/random/boot_id
rm /dev/shm/boot_id
shift 2
exec "$@"
"""
"""What a process on a host does first: a name, shared memory, and a name for the running system."""


class HostsFailed(Exception):
    """A command that makes hosts failed; the message is its own."""


class Ended(NamedTuple):
    """What became of one host's program."""

    status: int | None
    """Exit status; negative, a signal; None if it had to be ended."""
    output: str


class Hosts:
    """`count` hosts, called host0, host1, …; gone, with every process in them, when the `with` block ends."""

    def __init__(self, count: int, rate: str = "400mbit") -> None:
        self.count, self.rate = count, rate
        self.run = f"cp{secrets.token_hex(4)}"
        self.switch = f"{self.run}s"
        self.names = [f"{self.run}h{host}" for host in range(count)]
        self.launches = 0
        self.started: list[Running] = []

    def __enter__(self) -> "Hosts":
        try:
            _do("ip netns add", self.switch)
            _do("ip -n", self.switch, "link add br0 type bridge")
            _do("ip -n", self.switch, "link set br0 up")
            for host, name in enumerate(self.names):
                self._add(host, name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for running in self.started:
            running.stop()
        for host, name in enumerate(self.names):
            self.kill(host)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
            shutil.rmtree(_files(name), ignore_errors=True)
        subprocess.run(["ip", "netns", "del", self.switch], capture_output=True, check=False)

    def address(self, host: int) -> str:
        return f"10.0.0.{host + 1}"

    def start(self, commands: Sequence[Sequence[str]], env: Mapping[str, str] | None = None) -> "Running":
        """Start one command on each host, the first on host 0."""
        running = Running([
            subprocess.Popen(
                [*self._inside(host), *command],
                env=os.environ | {"GLOO_SOCKET_IFNAME": "e0", "OMP_NUM_THREADS": "1"} | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            for host, command in zip(range(self.count), commands, strict=True)
        ], self)  # fmt: skip
        self.started.append(running)
        return running

    def torchrun(self, *program: str, per_host: int = 1, env: Mapping[str, str] | None = None) -> "Running":
        """Start a program under torchrun on every host; its first process on host 0 is rank 0."""
        port = FIRST_PORT + self.launches
        self.launches += 1
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", str(self.count)]
        torchrun += ["--nproc-per-node", str(per_host), "--master-addr", "host0", "--master-port", str(port)]
        return self.start(
            [[*torchrun, "--node-rank", str(host), *program] for host in range(self.count)], env
        )

    def cut(self, host: int) -> None:
        """Take a host off the network. Nobody is told: no connection closes."""
        _do("ip -n", self.switch, f"link set p{host} down")

    def mend(self, host: int) -> None:
        """Put it back."""
        _do("ip -n", self.switch, f"link set p{host} up")

    def kill(self, host: int) -> None:
        """End every process of a host at once, as a power cut would, but for its connections: those close."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.names[host]], capture_output=True, text=True, check=False
        )
        for pid in listed.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _inside(self, host: int) -> list[str]:
        """The words before a command that runs on a host."""
        apart = ["--uts", "--time", "--fork", "--monotonic", str(SECONDS_APART * host)]
        own = ["sh", "-ec", OF_ITS_OWN, "sh", f"host{host}", self.names[host]]
        return ["ip", "netns", "exec", self.names[host], "unshare", *apart, *own]

    def _add(self, host: int, name: str) -> None:
        """A host, its link to the switch, and the names by which it knows the others."""
        _do("ip netns add", name)
        _do("ip -n", self.switch, f"link add p{host} type veth peer name e0 netns", name)
        _do("ip -n", self.switch, f"link set p{host} master br0 up")
        _do("ip -n", name, f"addr add {self.address(host)}/24 dev e0")
        _do("ip -n", name, "link set lo up")
        _do("ip -n", name, "link set e0 up")
        _do("tc -n", name, f"qdisc add dev e0 root tbf rate {self.rate} burst 16kbit latency 400ms")
        known = [f"{self.address(other)} host{other}" for other in range(self.count)]
        _files(name).mkdir(parents=True)
        (_files(name) / "hosts").write_text("\n".join(["127.0.0.1 localhost", *known, ""]))


class Running:
    """A program that runs on all hosts, and what it has printed."""

    def __init__(self, processes: list[subprocess.Popen], hosts: Hosts) -> None:
        self.processes, self.hosts = processes, hosts
        self.lines: list[list[str]] = [[] for _ in processes]
        self.said = threading.Condition()
        self.readers = [
            threading.Thread(target=self._read, args=(host,), name=f"host {host}", daemon=True)
            for host in range(len(processes))
        ]
        for reader in self.readers:
            reader.start()

    def wait_for(self, text: str, seconds: float, host: int = 0) -> None:
        """Return when the host's program has printed a line that contains `text`."""
        heard = self._until(
            lambda: any(text in line for line in self.lines[host]), seconds, self.readers[host]
        )
        if not heard:
            raise HostsFailed(f"host {host} did not say {text!r} within {seconds:g} s:\n{self.output(host)}")

    def output(self, host: int) -> str:
        """What a host's program has printed so far."""
        with self.said:
            return "".join(self.lines[host])

    def finish(self, seconds: float) -> list[Ended]:
        """Wait until the program has ended everywhere; what has not by then is ended."""
        end = time.monotonic() + seconds
        statuses: list[int | None] = []
        for process in self.processes:
            try:
                statuses.append(process.wait(max(0.0, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                statuses.append(None)
        self.stop()
        return [Ended(status, self.output(host)) for host, status in enumerate(statuses)]

    def stop(self) -> None:
        """End the program everywhere."""
        for host, process in enumerate(self.processes):
            self.hosts.kill(host)
            process.wait()
            self.readers[host].join()
            assert process.stdout is not None
            process.stdout.close()

    def _read(self, host: int) -> None:
        for line in self.processes[host].stdout or ():
            with self.said:
                self.lines[host].append(line)
                self.said.notify_all()
        with self.said:
            self.said.notify_all()

    def _until(self, come: Callable[[], bool], seconds: float, reader: threading.Thread) -> bool:
        end = time.monotonic() + seconds
        with self.said:
            while not come() and reader.is_alive() and (left := end - time.monotonic()) > 0:
                self.said.wait(min(left, 0.5))  # the reader may end between the look and the wait
            return come()


def _do(*words: str) -> None:
    """Run a command of iproute2."""
    done = subprocess.run(" ".join(words).split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostsFailed(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def _files(name: str) -> Path:
    """Files here replace those of /etc for programs started by `ip netns exec`."""
    return Path("/etc/netns") / name
