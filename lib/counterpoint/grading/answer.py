"""The learner's answer before it runs: is it of the right kind, and can it travel to the child?"""

import contextlib
import dis
import inspect
import linecache
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle

import counterpoint
from counterpoint.grading.exercise import Exercise
from counterpoint.pipes import pickles


class Unfit(Exception):
    """The answer cannot be run; the text is a sentence for the learner."""


def inspect_answer(exercise: Exercise, answer: Any) -> None:
    """Raise Unfit unless `answer` can be called as the exercise calls it."""
    name, wanted = exercise.function, ", ".join(exercise.parameters)
    if answer is None:
        raise Unfit(
            f"the answer is `None`. Hand over the function itself, `{name}`, not what it returns: "
            f'`cp.check("{exercise.name}", {name})`.'
        )
    if inspect.isclass(answer) or not callable(answer):
        kind = "a class" if inspect.isclass(answer) else f"`{_short(answer)}`"
        raise Unfit(
            f"the answer is {kind}, and a function is wanted: `{name}({wanted})`. "
            f"Write its name without parentheses."
        )
    if inspect.iscoroutinefunction(answer) or inspect.isgeneratorfunction(answer):
        word = "yields" if inspect.isgeneratorfunction(answer) else "is `async`"
        raise Unfit(f"`{name}` {word}, so calling it does not run it. Write a plain function.")
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*exercise.parameters)
    except TypeError:
        raise Unfit(
            f"your function takes `({', '.join(signature.parameters)})`, and it is called with "
            f"`({wanted})`. Keep the first line of the stub as it was."
        ) from None


def is_stub(answer: Any) -> bool:
    """Whether the function is still the stub: all it can do is raise NotImplementedError."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    names = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
    raises = any(i.opname == "RAISE_VARARGS" for i in dis.get_instructions(code))
    return raises and names == ["NotImplementedError"]


def pack(exercise: Exercise, answer: Any) -> dict[str, Any]:
    """What the child needs to run the answer: the pickle, its source text, where imports are found."""
    with _by_value(answer):
        try:
            job = pickles.dumps((exercise, answer))
        except Exception as error:
            raise Unfit(
                f"your function uses something that can't be copied into the process that checks it "
                f"({type(error).__name__}: {error}). Use only its arguments, other functions and plain values."
            ) from None
    return {"job": job, "sources": sources(answer), "path": list(sys.path)}


def sources(answer: Any) -> dict[str, list[str]]:
    """The text of each file or cell whose code the answer runs, the library's own left out."""
    found: dict[str, list[str]] = {}
    for code in _codes(answer, set()):
        name = code.co_filename
        if name not in found and not _installed(name):
            found[name] = linecache.getlines(name)
    return found


def _codes(value: Any, seen: set[int]) -> Iterator[types.CodeType]:
    """The code of a function and of every function it names, followed through globals and closures."""
    value = inspect.unwrap(value) if callable(value) else value
    function = getattr(value, "__func__", value)
    if hasattr(function, "func"):  # functools.partial
        function = function.func
    if not isinstance(function, types.FunctionType):
        if isinstance(getattr(value, "__call__", None), types.MethodType):  # noqa: B004
            yield from _codes(value.__call__.__func__, seen)
        return
    if id(function) in seen or _installed(function.__code__.co_filename):
        return
    seen.add(id(function))
    yield function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    named = [function.__globals__.get(name) for name in _names(function.__code__)]
    for other in cells + named:
        if callable(other):
            yield from _codes(other, seen)


def _names(code: types.CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*(_names(other) for other in inner))


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


_ROOTS = [
    Path(root).resolve()
    for root in {*sysconfig.get_paths().values(), str(Path(counterpoint.__file__).parent)}
    if root != sysconfig.get_paths()["data"] and root != sysconfig.get_paths()["scripts"]
]


def _installed(name: str) -> bool:
    """Whether a file belongs to Python, to what is installed, or to Counterpoint."""
    if name.startswith("<frozen"):
        return True
    path = Path(name)
    return path.is_absolute() and any(path.is_relative_to(root) for root in _ROOTS)


@contextlib.contextmanager
def _by_value(answer: Any) -> Iterator[None]:
    """Send a function of the learner's own module as it is now, not as the child would import it."""
    module = sys.modules.get(getattr(answer, "__module__", None) or "")
    name = getattr(module, "__file__", None)
    mine = module is not None and module.__name__ != "__main__" and name and not _installed(name)
    if mine:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        if mine:
            cloudpickle.unregister_pickle_by_value(module)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
