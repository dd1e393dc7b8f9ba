"""Memory that rank processes of one host share: a file without a name, mapped by all of them."""

import mmap
import os
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from counterpoint.ranks.process_port import ProcessPort

ALIGNMENT = 4096
"""Bytes: parts begin on pages of their own, so no two ranks write to one page."""


class Segments:
    """What one rank process has mapped."""

    def __init__(self, port: "ProcessPort") -> None:
        self.port = port
        self.mapped: list[tuple[int, int, weakref.ref[mmap.mmap], int, int]] = []
        """(address, end, mapping, bytes from one part to the next, parts) of this rank's own parts. A mapping goes
        when the last tensor in it goes."""

    def open(
        self,
        comm: tuple,
        members: tuple[int, ...],
        number: int,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        call: str,
    ) -> list[torch.Tensor]:
        """A new segment with a part, of zeros, for each member. Raises ValueError if they are not all on one host."""
        port, size = self.port, len(members)
        count = 1
        for extent in shape:
            count *= extent
        nbytes = max(1, count * dtype.itemsize)
        stride = -(-nbytes // ALIGNMENT) * ALIGNMENT
        path, refusal = _create(stride * size) if members[0] == port.rank else ("", "")
        try:
            said = port.exchange((*comm, "segment"), members, 2 * number, (_host(), path, refusal), call)
            hosts = [host for host, _, _ in said]
            path, refusal = said[0][1:]
            if len(set(hosts)) > 1:
                raise ValueError(_apart(call, members, hosts))
            if refusal:
                raise ValueError(
                    f"{call}: {stride * size:,} bytes of shared memory are not to be had: {refusal}"
                )
            with open(path, "r+b") as file:
                mapping = mmap.mmap(file.fileno(), stride * size)
            port.exchange((*comm, "segment"), members, 2 * number + 1, None, call)
        finally:
            if members[0] == port.rank and path:
                os.unlink(path)  # all have mapped it, or the run is over: it lasts as long as the mappings
        parts = _parts(mapping, stride, nbytes, size)
        address = parts[members.index(port.rank)].data_ptr()
        self.mapped = [known for known in self.mapped if known[2]() is not None]
        self.mapped.append((address, address + nbytes, weakref.ref(mapping), stride, size))
        return [_shaped(part, shape, dtype, count) for part in parts]

    def find(self, tensor: torch.Tensor) -> tuple[int, list[torch.Tensor]] | None:
        """(offset in bytes, all parts) if a contiguous tensor lies in this rank's part of a segment."""
        address = tensor.data_ptr()
        end = address + tensor.numel() * tensor.element_size()
        for low, high, mapped, stride, size in self.mapped:
            if low <= address and end <= high and (mapping := mapped()) is not None:
                return address - low, _parts(mapping, stride, high - low, size)
        return None

    def alias(
        self, comm: tuple, members: tuple[int, ...], number: int, mine: torch.Tensor, call: str
    ) -> list[torch.Tensor]:
        """Every member's tensor, which lies in its part of one segment, where mine lies in mine."""
        found = self.find(mine)
        offset, own = (-1, []) if found is None else found
        offsets = self.port.exchange((*comm, "segment"), members, 2 * number, offset, call)
        if offset < 0 or any(other != offset for other in offsets):
            raise ValueError(
                f"rank {self.port.rank}: {call} of a tensor of this process's own memory, which others cannot reach; "
                f"open a window with comm.window(shape, dtype) and keep the data in its `local`"
            )
        nbytes = mine.numel() * mine.element_size()
        parts = [part[offset : offset + nbytes] for part in own]
        if len(parts) != len(members):
            raise ValueError(f"rank {self.port.rank}: {call} of memory that another group of ranks shares")
        return [_shaped(part, tuple(mine.shape), mine.dtype, mine.numel()) for part in parts]


def _parts(mapping: mmap.mmap, stride: int, nbytes: int, size: int) -> list[torch.Tensor]:
    """Every member's part of a segment, as bytes; each keeps it mapped."""
    whole = torch.frombuffer(mapping, dtype=torch.uint8)
    return [whole[i * stride : i * stride + nbytes] for i in range(size)]


def _shaped(part: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, count: int) -> torch.Tensor:
    return (
        part[: count * dtype.itemsize].view(dtype).view(shape) if count else torch.empty(shape, dtype=dtype)
    )


def _create(nbytes: int) -> tuple[str, str]:
    """A file of `nbytes` of shared memory, all of which is there: (its path, or why there is none)."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
    try:
        descriptor, path = tempfile.mkstemp(prefix="counterpoint-", dir=folder)
    except OSError as error:
        return "", str(error)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, nbytes)
        else:
            os.truncate(descriptor, nbytes)
    except OSError as error:
        os.unlink(path)
        return "", f"{error.strerror} in {folder}"
    finally:
        os.close(descriptor)
    return path, ""


def _host() -> tuple[str, Any]:
    """What only processes that share memory have in common: the running system, and its folder for that."""
    status = os.stat("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir())
    return os.uname().nodename, (status.st_dev, status.st_ino)


def _apart(call: str, members: tuple[int, ...], hosts: list[Any]) -> str:
    groups: dict[Any, list[int]] = {}
    for member, host in zip(members, hosts, strict=True):
        groups.setdefault(host, []).append(member)
    places = "; ".join(f"ranks {ranks} on {name}" for (name, _), ranks in groups.items())
    return (
        f"{call}: {places}: processes of several hosts share no memory; use messages between hosts, or a window for "
        f"each host's ranks (comm.split)"
    )
