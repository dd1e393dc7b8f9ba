"""Arguments for the ranks: copied, so that no rank sees another's tensors by accident."""

import copy
from collections.abc import Iterator
from typing import Any

import torch


def copied(arguments: Any, device: torch.device | None = None) -> Any:
    """A deep copy: views of one storage stay views of one (new) storage; graphs are left behind.

    device: where the copies lie, instead of where the tensors are.

    Of a storage only the part that the tensors span is copied. A tensor that is not a leaf comes back as a
    leaf that requires grad.
    """
    memory: dict[int, tuple[int, torch.UntypedStorage]] = {}
    for storage, (low, high, tensor) in _spans(arguments).items():
        raw = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        raw.set_(tensor.untyped_storage(), low - storage, (high - low,), (1,))
        twin = raw.clone() if device is None or device == raw.device else raw.to(device)
        memory[storage] = low, twin.untyped_storage()
    return _rebuilt(arguments, memory, {})


def _rebuilt(item: Any, memory: dict[int, tuple[int, torch.UntypedStorage]], memo: dict) -> Any:
    if isinstance(item, torch.Tensor):
        if not _plain(item):
            return copy.deepcopy(item if item.is_leaf else item.detach(), memo)
        twin = torch.empty(0, dtype=item.dtype, device=item.device)
        if item.numel():
            low, storage = memory[item.untyped_storage().data_ptr()]
            twin = torch.empty(0, dtype=item.dtype, device=storage.device)
            offset = (item.data_ptr() - low) // item.element_size()
            twin.set_(storage, offset, item.shape, item.stride())
        else:
            twin = twin.reshape(item.shape)
        twin.requires_grad_(item.requires_grad)
        return torch.nn.Parameter(twin, item.requires_grad) if type(item) is not torch.Tensor else twin
    if type(item) in (list, tuple):
        return type(item)(_rebuilt(part, memory, memo) for part in item)
    if type(item) is dict:
        return {key: _rebuilt(value, memory, memo) for key, value in item.items()}
    try:
        return copy.deepcopy(item, memo)
    except TypeError as error:  # a generator, a lock, an open file
        raise TypeError(
            f"launch: a {type(item).__name__} among the arguments cannot be copied for each rank ({error}); make "
            f"it inside the function, or pass share=True for one that all ranks share"
        ) from error


def _plain(tensor: torch.Tensor) -> bool:
    """Whether it is ordinary memory: strided, real storage, no lazy conjugate."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and not (tensor.is_conj() or tensor.is_neg())
    )


def _spans(arguments: Any) -> dict[int, tuple[int, int, torch.Tensor]]:
    """For each storage, in order of appearance: the addresses that its tensors span, and one of them."""
    spans: dict[int, tuple[int, int, torch.Tensor]] = {}
    for tensor in tensors_in(arguments):
        if not (tensor.numel() and _plain(tensor)):
            continue
        storage = tensor.untyped_storage().data_ptr()
        low = tensor.data_ptr()
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        high = low + (last + 1) * tensor.element_size()
        if storage in spans:
            low, high = min(low, spans[storage][0]), max(high, spans[storage][1])
        spans[storage] = low, high, tensor
    return spans


def tensors_in(arguments: Any) -> Iterator[torch.Tensor]:
    """Every tensor in nested lists, tuples and dicts, in order."""
    if isinstance(arguments, torch.Tensor):
        yield arguments
    elif isinstance(arguments, dict):
        for value in arguments.values():
            yield from tensors_in(value)
    elif isinstance(arguments, list | tuple):
        for item in arguments:
            yield from tensors_in(item)


def buffers_of(arguments: Any) -> list[tuple[int, int]]:
    """(first address, end) of the memory that tensors cover, one a storage, in order of appearance.

    A list of chunks that are views of one vector is one buffer. An event's `buffer` is an index here.
    """
    return [(low, high) for low, high, _ in _spans(arguments).values()]


def memory_of(arguments: Any) -> list[torch.Tensor]:
    """One flat view for each of `buffers_of`, of the dtype of the last tensor that lies there."""
    flats = []
    for storage, (low, high, tensor) in _spans(arguments).items():
        size = tensor.element_size()
        flat = torch.empty(0, dtype=tensor.dtype)
        flat.set_(
            tensor.untyped_storage(),
            (low - storage) // size,
            ((high - low) // size,),
            (1,),
        )
        flats.append(flat)
    return flats
