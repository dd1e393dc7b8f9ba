"""cloudpickle, but code keeps the name of the file or cell it came from, so that lines can be told."""

import contextlib
import io
import sys
import types
from collections import ChainMap
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from typing import Any, ClassVar

import cloudpickle


def dumps(value: Any) -> bytes:
    """The pickle of a value, with the functions in it that no module can give to the reader."""
    out = io.BytesIO()
    _Pickler(out).dump(value)
    return out.getvalue()


@contextlib.contextmanager
def traveling(function: Any) -> Iterator[None]:
    """While this lasts, a function of a module that another process cannot import is pickled with its code.

    Such are the modules that a test runner or a notebook tool loads from outside sys.path.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = module.__name__ if module is not None else "__main__"
    away = name != "__main__" and PathFinder.find_spec(name.partition(".")[0], sys.path) is None
    away = away and name.partition(".")[0] not in sys.builtin_module_names
    if away:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        if away:
            cloudpickle.unregister_pickle_by_value(module)


def loads(body: bytes) -> Any:
    return cloudpickle.loads(body)


def _reduce_code(code: types.CodeType) -> tuple:
    make, arguments = cloudpickle.Pickler.dispatch_table[types.CodeType](code)
    return _named, (make, arguments, code.co_filename)


def _named(make: Callable, arguments: tuple, file: str) -> types.CodeType:
    return make(*arguments).replace(co_filename=file)


class _Pickler(cloudpickle.Pickler):
    dispatch_table: ClassVar = ChainMap({types.CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table)
