"""What a call was given, checked where that is cheap, and named where a failure would be obscure."""

import operator
from typing import Any

import torch


def check_tensor(call: str, *given: Any) -> None:
    """Raise TypeError, in the words of the call's user, unless all that is `given` is a tensor."""
    for value in given:
        if not isinstance(value, torch.Tensor):
            kind = type(value)
            name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
            remedy = "comm comes first, then the tensor" if kind.__name__ == "Comm" else _REMEDIES.get(name)
            raise TypeError(f"{call}: {name} given where a tensor is wanted; {remedy or _OTHERWISE}")


_REMEDIES = {
    "numpy.ndarray": "torch.from_numpy(array) makes one that shares the array's memory",
    "NoneType": "give the tensor to fill, such as torch.empty_like(mine)",
    "list": "torch.tensor(numbers) makes one of numbers; a list of tensors goes one by one, or as torch.cat(pieces)",
}
_OTHERWISE = "torch.tensor(value) makes one"


def index(value: Any, who: str) -> int:
    """`value` as an int, be it NumPy's or a tensor's. Raises TypeError, that starts with `who`, for others."""
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        division = " (// divides without a fraction, / gives a float)" if isinstance(value, float) else ""
        shown = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
        raise TypeError(f"{who} {shown}, which is not an integer{division}") from None
