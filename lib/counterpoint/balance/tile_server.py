"""A small server of map tiles on this machine, slow and unreliable on purpose, and the same each time.

A tile is some bytes that follow from its place (zoom, x, y) and a seed, with a checksum at their end. How long an
answer takes, and whether it fails, follows from the seed, the tile, and how often that tile was asked for before; so
a run can be repeated, whatever order threads ask in. Lessons fetch from it to see what waiting costs.
"""

import hashlib
import http.client
import random
import sys
import threading
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self

DIGEST = 4
"""Bytes of checksum at the end of a tile."""


class TileUnavailable(RuntimeError):
    """The server could not give this tile, this time: ask again. `.status` is HTTP's code."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def tile(z: int, x: int, y: int, *, seed: int = 0, nbytes: int = 4096) -> bytes:
    """The tile of column x and row y at zoom z: `nbytes` bytes, the last 4 their checksum."""
    body = hashlib.shake_256(f"{seed}/{z}/{x}/{y}".encode()).digest(nbytes - DIGEST)
    return body + zlib.crc32(body).to_bytes(DIGEST, "big")


def is_whole(tile: bytes) -> bool:
    """Whether the checksum of a tile is right."""
    return zlib.crc32(tile[:-DIGEST]) == int.from_bytes(tile[-DIGEST:], "big")


def fetch(url: str, timeout: float = 10.0) -> bytes:
    """The tile at this address, its checksum looked at.

    timeout: seconds without a sign of the server. Cost: what the server takes, and some 1 ms.
    Raises TileUnavailable if the server says so, for 503 (again, please) and 404 (no such tile); ValueError for damaged
    bytes; OSError where there is no server.
    """
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        advice = "ask again" if answer.status == 503 else "tiles of zoom z have x and y in 0 … 2^z - 1"
        raise TileUnavailable(f"{parts.path}: {answer.status} {answer.reason}; {advice}", answer.status)
    if not is_whole(body):
        raise ValueError(
            f"{parts.path}: the checksum of these {len(body)} bytes is wrong; fetch the tile again"
        )
    return body


class TileServer:
    """Serves while its context lasts, on a free port of 127.0.0.1.

    latency: mean seconds for an answer (each takes 0.5 to 1.5 of it). failures: which share of requests is
    answered by 503. at_once: how many requests are worked on at the same time, the others queue. nbytes: of a tile.
    `served` counts the tiles given, `refused` the 503s, `busiest` is how many requests were worked on at once.

    >>> with TileServer(latency=0.05) as server:
    ...     fetch(server.url(3, 5, 2))
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        latency: float = 0.02,
        failures: float = 0.0,
        at_once: int = 64,
        nbytes: int = 4096,
    ) -> None:
        if latency < 0 or not 0 <= failures <= 1:
            raise ValueError(
                f"tile server: latency {latency} is at least 0 seconds, and failures {failures} a share from 0 to 1"
            )
        if at_once < 1 or nbytes <= DIGEST:
            raise ValueError(
                f"tile server: at_once {at_once} is at least 1, and nbytes {nbytes} more than the checksum's {DIGEST}"
            )
        self.seed, self.latency, self.failures = seed, latency, failures
        self.at_once, self.nbytes = at_once, nbytes
        self.served = self.refused = self.busiest = 0
        self._asked: dict[tuple[int, int, int], int] = {}
        self._busy, self._lock = 0, threading.Lock()
        self._places = threading.Semaphore(at_once)
        self._closing = threading.Event()
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    def url(self, z: int, x: int, y: int) -> str:
        """Where the tile is. Raises RuntimeError outside the context."""
        if self._http is None:
            raise RuntimeError("tile server: it has no address yet; write `with TileServer(...) as server:`")
        return f"http://127.0.0.1:{self._http.server_port}/{z}/{x}/{y}"

    def urls(self, z: int) -> list[str]:
        """All 4^z tiles of a zoom, row by row."""
        return [self.url(z, x, y) for y in range(2**z) for x in range(2**z)]

    def answer(self, z: int, x: int, y: int, attempt: int) -> tuple[float, bool]:
        """How many seconds the attempt-th request (from 0) for this tile takes, and whether it fails."""
        chance = random.Random(f"{self.seed}/{z}/{x}/{y}/{attempt}")
        return self.latency * (0.5 + chance.random()), chance.random() < self.failures

    def give(self, z: int, x: int, y: int) -> bytes | None:
        """Work on one request: wait for a place, then take the time it takes; None if it fails."""
        with self._places:
            with self._lock:
                attempt = self._asked.get((z, x, y), 0)
                self._asked[z, x, y] = attempt + 1
                self._busy += 1
                self.busiest = max(self.busiest, self._busy)
            seconds, fails = self.answer(z, x, y, attempt)
            self._closing.wait(seconds)
            with self._lock:
                self._busy -= 1
                self.refused += fails
                self.served += not fails
        return None if fails else tile(z, x, y, seed=self.seed, nbytes=self.nbytes)

    def __enter__(self) -> Self:
        self._closing.clear()
        self._http = _Http(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), name="tile server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Answer what was asked, without delay, and close."""
        assert self._http is not None and self._thread is not None
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._http = self._thread = None


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that server_close waits for them
    request_queue_size = 128

    def __init__(self, tiles: TileServer) -> None:
        self.tiles = tiles
        super().__init__(("127.0.0.1", 0), _Request)

    def server_bind(self) -> None:
        """Without asking for this machine's name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing where somebody went away before the answer came."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    server: _Http
    timeout = 10.0

    def do_GET(self) -> None:
        place = self.path.strip("/").split("/")
        if len(place) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in place):
            self.send_error(404)
            return
        z, x, y = map(int, place)
        if z > 30 or max(x, y) >= 2**z:
            self.send_error(404)
        elif (body := self.server.tiles.give(z, x, y)) is None:
            self.send_error(503)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the console."""
