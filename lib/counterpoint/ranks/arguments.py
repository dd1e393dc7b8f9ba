"""Arguments for the ranks: copied, so that no rank sees another's tensors by accident."""

import copy
from collections.abc import Iterator
from typing import Any

import torch


def copied(arguments: Any, memo: dict) -> Any:
    """A deep copy: views of one storage stay views of one (new) storage; graphs are left behind.

    `memo` is one dict for everything that must keep its sharing. A tensor that is not a leaf comes back
    as a leaf that requires grad.
    """
    if isinstance(arguments, torch.Tensor):
        if arguments.is_leaf:
            return copy.deepcopy(arguments, memo)
        return copy.deepcopy(arguments.detach(), memo).requires_grad_()
    if type(arguments) in (list, tuple):
        return type(arguments)(copied(item, memo) for item in arguments)
    if type(arguments) is dict:
        return {key: copied(value, memo) for key, value in arguments.items()}
    return copy.deepcopy(arguments, memo)


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
    spans: dict[int, tuple[int, int]] = {}
    for tensor in tensors_in(arguments):
        if not tensor.numel():
            continue
        storage = tensor.untyped_storage().data_ptr()
        low = tensor.data_ptr()
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        high = low + (last + 1) * tensor.element_size()
        if storage in spans:
            low, high = min(low, spans[storage][0]), max(high, spans[storage][1])
        spans[storage] = (low, high)
    return list(spans.values())
