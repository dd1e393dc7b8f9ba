"""docs/HOSTS.md, done as it says, on four hosts."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from namespaces import Hosts

pytestmark = [pytest.mark.hosts, pytest.mark.slow, pytest.mark.xdist_group("hosts")]

PAGE = (Path(__file__).parents[2] / "docs" / "HOSTS.md").read_text()
PROGRAM = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
RUN, BENCH = (
    shlex.split(block.replace("\\\n", ""))
    for block in re.findall(r"```sh\n(torchrun .*?)```", PAGE, re.DOTALL)
)
STARTS = 120
"""Seconds that torchrun may take on a machine that does other things too."""


def commands(line: list[str], port: int) -> list[list[str]]:
    """A command of the page as each host runs it, with this environment's programs."""
    ours = {"HOST0": "host0", "29500": str(port), "16MiB": "16KiB", "4KiB:16MiB": "4KiB:16KiB"}
    ours["counterpoint"] = str(Path(sys.executable).with_name("counterpoint"))
    words = [sys.executable, "-m", "torch.distributed.run", *(ours.get(word, word) for word in line[1:])]
    return [[str(host) if word == "K" else word for word in words] for host in range(4)]


def test_the_pages_commands_do_what_it_says(tmp_path):
    (tmp_path / "worker.py").write_text(PROGRAM)
    with Hosts(4) as hosts:
        run = [[str(tmp_path / w) if w == "worker.py" else w for w in line] for line in commands(RUN, 29500)]
        ended = hosts.start(run).finish(STARTS)
        for host, (status, output) in enumerate(ended):
            assert status == 0, output
            assert f"rank {host} of 4: 1.5" in output
        ended = hosts.start(commands(BENCH, 29501)).finish(STARTS)
    assert [status for status, _ in ended] == [0] * 4, ended[0].output
    table = [line.split() for line in ended[0].output.splitlines() if re.match(r" +\d", line)]
    assert [(row[0], row[-1]) for row in table] == [("4096", "0"), ("8192", "0"), ("16384", "0")]
    assert "4 processes of torchrun" in ended[0].output and "values : 0 OK" in ended[0].output
    assert not any("#wrong" in output for _, output in ended[1:])
