"""Four hosts and torchrun: what only several hosts can get wrong.

Two launches in all, at one time, because starting torch on every host is what takes long.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from namespaces import SECONDS_APART, Hosts
from tests.worlds.everything import every_collective

from counterpoint.collectives.all_reduce import BY_MESSAGES
from counterpoint.ranks import launch

pytestmark = [pytest.mark.hosts, pytest.mark.slow, pytest.mark.xdist_group("hosts")]

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(__file__).with_name("conversation.py"))
STARTS = 120
"""Seconds that torchrun may take on a machine that does other things too."""

CLOCKS = 0.02
"""Seconds that clocks may differ: half of a round trip, of which the fastest of ten counts, takes far less."""


def errors(lines):
    """{where: {rank: sentence}} of what a program printed."""
    found = {}
    for _, rank, where, sentence in (line.split("\t") for line in lines if line.startswith("error\t")):
        found.setdefault(where, {})[int(rank)] = sentence
    return found


def lose(hosts, running, how, host, heard_by):
    """Do it to a host; returns each of the others' errors, and after how many seconds it was known to all."""
    running.wait_for("working", STARTS)
    began = time.monotonic()
    how(host)
    for other in heard_by:
        running.wait_for("\tlost\t", 120, other)
    taken = time.monotonic() - began
    running.stop()
    return errors(line for lines in running.lines for line in lines)["lost"], taken


@pytest.fixture(scope="module")
def ran():
    """Everything on four hosts, of which host 3 is killed; on another four, host 0 is cut off."""
    env = {"PYTHONPATH": str(ROOT / "lib")}
    with Hosts(4) as killed, Hosts(4) as parted:
        talk = killed.torchrun(PROGRAM, "all", env=env)
        silence = parted.torchrun(PROGRAM, env=env)
        yield {
            "killed": lose(killed, talk, killed.kill, 3, range(3)),
            "cut": lose(parted, silence, parted.cut, 0, range(4)),
            "lines": [line.rstrip("\n") for lines in talk.lines for line in lines],
        }


def test_every_collective_leaves_the_same_bits_as_on_threads(ran):
    on_threads = launch(every_collective, 4, (BY_MESSAGES,)).results
    found = [{}, {}, {}, {}]
    for _, rank, name, bits in (line.split("\t") for line in ran["lines"] if line.startswith("bits\t")):
        found[int(rank)][name] = bits
    assert len(on_threads[0]) >= 20
    assert found == on_threads


def test_the_trace_has_every_message_and_no_receive_ends_before_its_send_began(ran):
    (ranks, sends, receives), (earliest,) = (
        [float(word) for line in ran["lines"] if line.startswith(what) for word in line.split("\t")[1:]]
        for what in ("trace\t", "earliest\t")
    )
    assert ranks == 4 and sends == receives > 100
    assert earliest > -CLOCKS


def test_the_ranks_second_zero_is_one_moment_though_their_clocks_are_far_apart(ran):
    (line,) = [line for line in ran["lines"] if line.startswith("began\t")]
    moments = [float(word) - SECONDS_APART * rank for rank, word in enumerate(line.split("\t")[1:])]
    assert max(moments) - min(moments) < 2 * CLOCKS


def test_a_window_between_hosts_is_refused_and_names_them(ran):
    said = errors(ran["lines"])["window"]
    assert sorted(said) == [0, 1, 2, 3]
    for sentence in said.values():
        assert re.search(
            r"ValueError: window: ranks \[0\] on host0; .* several hosts share no memory", sentence
        )


def test_a_mismatched_collective_is_named_on_every_host(ran):
    said = errors(ran["lines"])["mismatch"]
    assert sorted(said) == [0, 1, 2, 3]
    assert all("MismatchError: rank 2 is in another collective than the rest" in s for s in said.values())


def test_a_killed_host_is_an_error_on_every_other_that_names_its_rank(ran):
    said, taken = ran["killed"]
    assert sorted(said) == [0, 1, 2]
    assert all("RankFailed: rank 3's process is gone" in sentence for sentence in said.values()), said
    assert taken < 5  # stated: about a second


def test_a_host_that_is_cut_off_is_an_error_on_every_host_within_the_stated_time(ran):
    """Host 0 keeps the store too, so the others learn of it in another way than host 0 of them."""
    said, taken = ran["cut"]
    assert sorted(said) == [0, 1, 2, 3]
    assert re.search(r"RankFailed: rank [123] has given no sign of life for 10 s", said.pop(0))
    assert all(
        "store, which rank 0's host keeps under torchrun, cannot be reached" in s for s in said.values()
    ), said
    assert taken < 10 + 10  # stated: 11 s


def test_hosts_leave_nothing_behind():
    with Hosts(2) as hosts:
        running = hosts.start([["sleep", "1000"], ["sh", "-c", "echo here; exec sleep 1000"]])
        running.wait_for("here", 30, host=1)
    left = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert hosts.run not in left
    assert not list(Path("/etc/netns").glob(f"{hosts.run}*"))
    assert [ended.status for ended in running.finish(10)] == [-9, -9]


def test_what_a_host_sends_takes_the_time_of_its_links_rate():
    """256 KiB at 1 Mbit/s need 2.1 s, of which the bucket lets 16 kbit through at once."""
    program = (
        "import socket, sys, time\n"
        "if sys.argv[1] == '0':\n"
        "    door = socket.create_server(('', 7000)); print('open', flush=True)\n"
        "    end, _ = door.accept(); began = time.monotonic()\n"
        "    while end.recv(65536): pass\n"
        "    print(time.monotonic() - began)\n"
        "else:\n"
        "    end = socket.create_connection((sys.argv[2], 7000)); end.sendall(bytes(262144)); end.close()\n"
    )
    with Hosts(2, rate="1mbit") as hosts:
        server = hosts.start([[sys.executable, "-c", program, "0"], ["true"]])
        server.wait_for("open", 30)
        client = hosts.start([["true"], [sys.executable, "-c", program, "1", hosts.address(0)]])
        assert client.processes[1].wait(60) == 0
        server.processes[0].wait(60)
        seconds = float(server.output(0).split()[-1])
        server.stop()
        client.stop()
    assert seconds > 1.5
