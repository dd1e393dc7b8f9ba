"""Messages between the two processes: a length of eight bytes, then a pickle."""

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct("!Q")


def write(pipe: IO[bytes], message: Any) -> None:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """The next message. Raises EOFError when the other end is closed."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    body = pipe.read(count)
    if len(body) < count:
        raise EOFError
    return body
