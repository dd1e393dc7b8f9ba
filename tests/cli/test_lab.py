"""`counterpoint lab` serves the workbook, and leaves nothing behind when it is told to stop."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest


@pytest.fixture
def port():
    """A port that was free a moment ago; the server is told to fail rather than to take another."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def served(tmp_path, port):
    """A process that ran `counterpoint lab`, up and listening."""
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(tmp_path / name) for name in folders}}
    command = [sys.executable, "-c", "from counterpoint.cli import main; main()"]
    command += ["lab", str(tmp_path / "mine"), "--no-browser", "--port", str(port)]
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        wait_for(server, b"is running at")
        yield server
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()


def wait_for(server, words, seconds=60):
    """Read the server's log until it says `words`."""
    log, deadline = b"", time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        while words not in log:
            ready = selector.select(deadline - time.monotonic())
            piece = os.read(server.stdout.fileno(), 65536) if ready else b""
            assert piece, f"no {words!r} in:\n{log.decode(errors='replace')}"
            log += piece


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_lab_serves_the_workbook_and_stops_when_told(served, port, tmp_path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=20) as answer:
        assert "version" in json.load(answer)
    assert (tmp_path / "mine" / ".counterpoint").is_dir()
    served.send_signal(signal.SIGTERM)
    served.wait(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.killpg(served.pid, 0)  # nobody of its session is left
