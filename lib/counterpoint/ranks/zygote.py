"""The nursery's process: imports torch, then forks a rank whenever the kernel asks for one.

It has one thread and never computes, so that a fork of it is sound. `python -m counterpoint.ranks.zygote FD`.
"""

import array
import gc
import os
import signal
import socket
import sys
import warnings
from typing import Any

from counterpoint.pipes import frames


def main(descriptor: int) -> None:
    warnings.simplefilter("ignore")
    from counterpoint.ranks import rank_process  # imports torch

    kernel = socket.socket(fileno=descriptor)
    answers = kernel.makefile("wb")
    questions: Any = kernel.makefile("rb", buffering=0)
    gc.collect()
    gc.freeze()  # what is here already stays shared with every rank
    frames.write(answers, "ready")
    ended: dict[int, int] = {}
    while True:
        word, ancillary, *_ = kernel.recvmsg(1, socket.CMSG_LEN(4))
        if not word:
            return
        if word == b"f":
            given = array.array("i")
            given.frombytes(ancillary[0][2])
            pid = os.fork()
            if pid == 0:
                kernel.close()
                rank_process.main(given[0])
                os._exit(0)
            os.close(given[0])
            frames.write(answers, pid)
            _reap(ended, wait=0)
        else:
            pid = frames.read(questions)
            _reap(ended, wait=pid)
            frames.write(answers, ended.pop(pid, None))


def _reap(ended: dict[int, int], wait: int) -> None:
    """Note how ranks have ended; if `wait` is a rank, wait for that one (the kernel saw its socket close)."""
    try:
        if wait and wait not in ended:
            pid, status = os.waitpid(wait, 0)
            ended[pid] = os.waitstatus_to_exitcode(status)
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = os.waitstatus_to_exitcode(found[1])
    except ChildProcessError:
        pass


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(int(sys.argv[1]))
