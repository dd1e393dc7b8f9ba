"""The reductions: which exist, on which dtypes, and how one is applied in place."""

from collections.abc import Callable

import torch

_APPLY: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "sum": lambda acc, x: acc.add_(x),
    "avg": lambda acc, x: acc.add_(x),
    "product": lambda acc, x: acc.mul_(x),
    "min": lambda acc, x: torch.minimum(acc, x, out=acc),
    "max": lambda acc, x: torch.maximum(acc, x, out=acc),
    "and": lambda acc, x: acc.bitwise_and_(x),
    "or": lambda acc, x: acc.bitwise_or_(x),
    "xor": lambda acc, x: acc.bitwise_xor_(x),
}

OPS = tuple(_APPLY)
"""Names as torch.distributed's, in lower case. "avg" adds like "sum"; whoever finishes the sum divides
it by the number of ranks (`finish`)."""


def check_op(op: str, dtype: torch.dtype) -> None:
    """Raise ValueError unless `op` is a reduction that is defined on `dtype`.

    sum and product: all but bool (use "or", "and"). avg: floating point and complex. min, max: all but
    complex. and, or, xor: integers and bool. Integers wrap on overflow, as torch's do.
    """
    if not (isinstance(op, str) and op in _APPLY):
        raise ValueError(f"no reduction {op!r}; there are {', '.join(OPS)}")
    exact = not (dtype.is_floating_point or dtype.is_complex)
    if op in ("and", "or", "xor") and not exact:
        raise ValueError(f"{op!r} is defined on integers and bool, not on {dtype}")
    if op in ("sum", "product") and dtype == torch.bool:
        raise ValueError(f"{op!r} is not defined on bool; use {'or' if op == 'sum' else 'and'!r}")
    if op == "avg" and exact:
        raise ValueError(f"'avg' of {dtype} is not an integer; use 'sum' and divide as you mean it")
    if op in ("min", "max") and dtype.is_complex:
        raise ValueError(f"{op!r} needs an order, which {dtype} has not")


def reduce_into(accumulator: torch.Tensor, incoming: torch.Tensor, op: str) -> None:
    """accumulator = accumulator op incoming, in place. Same shape and dtype; NaN wins in min, max."""
    _APPLY[op](accumulator, incoming)


def finish(tensor: torch.Tensor, op: str, size: int) -> torch.Tensor:
    """Turn the finished sum into the mean if `op` is "avg"; in place, and returned."""
    return tensor.div_(size) if op == "avg" else tensor
