"""The reductions: which exist, on which dtypes, and how one is applied in place."""

from collections.abc import Callable

import torch

_APPLY: dict[str, Callable[..., torch.Tensor]] = {
    "sum": torch.add,
    "avg": torch.add,
    "product": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
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
    _APPLY[op](accumulator, incoming, out=accumulator)


def reduce_pair(first: torch.Tensor, second: torch.Tensor, op: str, out: torch.Tensor) -> None:
    """out = first op second, where `out` is one of the two. Same shape and dtype; phantoms are left alone.

    The order shows in the bits: of -0.0 and 0.0, and of two NaNs, it decides which one comes out.
    """
    if not out.is_meta:
        with torch.inference_mode(out.is_inference() or torch.is_inference_mode_enabled()):
            _APPLY[op](first, second, out=out)


def finish(tensor: torch.Tensor, op: str, size: int) -> torch.Tensor:
    """Turn the finished sum into the mean if `op` is "avg"; in place, and returned."""
    return tensor.div_(size) if op == "avg" else tensor
