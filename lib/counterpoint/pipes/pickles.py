"""cloudpickle, but code keeps the name of the file or cell it came from, so that lines can be told."""

import io
import types
from collections import ChainMap
from collections.abc import Callable
from typing import Any, ClassVar

import cloudpickle


def dumps(value: Any) -> bytes:
    """The pickle of a value, with the functions in it that no module can give to the reader."""
    out = io.BytesIO()
    _Pickler(out).dump(value)
    return out.getvalue()


def loads(body: bytes) -> Any:
    return cloudpickle.loads(body)


def _reduce_code(code: types.CodeType) -> tuple:
    make, arguments = cloudpickle.Pickler.dispatch_table[types.CodeType](code)
    return _named, (make, arguments, code.co_filename)


def _named(make: Callable, arguments: tuple, file: str) -> types.CodeType:
    return make(*arguments).replace(co_filename=file)


class _Pickler(cloudpickle.Pickler):
    dispatch_table: ClassVar = ChainMap({types.CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table)
