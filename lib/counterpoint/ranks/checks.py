"""What a call was given, checked where that is cheap, and named where a failure would be obscure."""

import inspect
import operator
from numbers import Real
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


def check_ranks(who: str, ranks: Any) -> int:
    """`ranks` as an int of at least 1. Raises ValueError for anything else."""
    found = whole(ranks)
    if found is None or found < 1:
        raise ValueError(f"{who}: ranks = {ranks!r}; give how many ranks there are, at least 1")
    return found


def whole(value: Any) -> int | None:
    """`value` as an int, be it NumPy's or a tensor's; None for what is none, True and False included."""
    if isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_timeout(timeout: Any) -> None:
    """Raise ValueError unless `timeout` is more than 0 seconds, or None."""
    number = isinstance(timeout, Real) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout > 0):
        raise ValueError(f"launch: timeout = {timeout!r}; give seconds, more than 0, or None for no bound")


def check_output(output: Any) -> None:
    """Raise unless text can be written to `output`: TypeError for what is no file, ValueError for a wrong one."""
    if not hasattr(output, "write"):
        raise TypeError(f"launch: output = {output!r}; give an open file, or anything with a write(text)")
    if getattr(output, "closed", False) or not getattr(output, "writable", lambda: True)():
        raise ValueError(f"launch: output = {output!r} cannot be written to; open it with mode 'w'")


def check_function(fn: Any) -> None:
    """Raise TypeError unless `fn` is a function whose call runs it."""
    if not callable(fn):
        raise TypeError(f"launch: {fn!r} is not a function; give one that takes (comm, ...)")
    runs = (fn, type(fn).__call__)  # an object's call may be lazy too
    lazy = any(inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in runs)
    if lazy or any(inspect.iscoroutinefunction(f) for f in runs):
        name = getattr(fn, "__name__", repr(fn))
        kind, word = ("generator", "yield") if lazy else ("coroutine", "async")
        raise TypeError(
            f"launch: {name} is a {kind} function, so that calling it runs nothing; take the {word} out of it: "
            f"a rank's calls wait by themselves"
        )
