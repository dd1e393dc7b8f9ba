"""The connection to torchrun's store, made to break when the store's host cannot be reached any more.

A host that is cut off closes no connection, and torch's client waits for ever for an answer. The system can be
told to give a connection up: when what was sent has not been acknowledged for a while, or, while nothing is
sent, when probes are not answered (RFC 1122, section 4.2.3.6; RFC 5482). Whoever waits then gets an error.
"""

import os
import socket
import stat
from typing import Any


def give_up_after(store: Any, seconds: float) -> int:
    """Let this process's connections to a TCPStore break after so many seconds of silence; returns how many.

    Only Linux says which connections a process has; elsewhere the system's own patience counts.
    """
    port = getattr(store, "port", None)
    if port is None or not os.path.isdir("/proc/self/fd"):
        return 0
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode):
                continue
            copy = socket.socket(fileno=os.dup(int(name)))  # options are the connection's, not the number's
        except OSError:  # it was closed meanwhile
            continue
        with copy:
            found += _leads_to(copy, port) and _hurry(copy, seconds)
    return found


def _leads_to(connection: socket.socket, port: int) -> bool:
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    try:
        return connection.getpeername()[1] == port
    except OSError:  # it listens
        return False


def _hurry(connection: socket.socket, seconds: float) -> bool:
    """Probe after a quarter of the time, then each quarter."""
    quarter = max(1, int(seconds / 4))
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, quarter)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, quarter)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * seconds))
    except OSError:
        return False
    return True
