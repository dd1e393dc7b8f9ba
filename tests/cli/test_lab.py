"""`counterpoint lab` serves the workbook, and leaves nothing behind when it is told to stop."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import urllib.error
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
    """A process that became `counterpoint lab`."""
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(tmp_path / name) for name in folders}}
    command = [sys.executable, "-c", "from counterpoint.cli import main; main()"]
    command += ["lab", str(tmp_path / "mine"), "--no-browser", "--port", str(port)]
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield server
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()


def version(server, port, seconds=60):
    """What the server says of itself, as soon as it answers; its log is read meanwhile."""
    log, deadline = b"", time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline and server.poll() is None:
            if selector.select(timeout=0.1):
                log += os.read(server.stdout.fileno(), 65536)
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=20) as answer:
                    return json.load(answer)["version"]
            except urllib.error.URLError:  # not listening yet
                continue
    pytest.fail(f"no answer from the server; it said:\n{log.decode(errors='replace')}")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_lab_serves_the_workbook_and_stops_when_told(served, port, tmp_path):
    assert version(served, port)
    assert (tmp_path / "mine" / ".counterpoint").is_dir()
    served.send_signal(signal.SIGTERM)
    served.wait(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.killpg(served.pid, 0)  # nobody of its session is left
