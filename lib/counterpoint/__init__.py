"""Counterpoint: parallel computing to read, run, watch and import.

import counterpoint as cp

run = cp.launch(my_all_reduce, per_rank=gradients)    # eight ranks, as threads, here and now
cp.play(run)                                          # watch what they did
cp.check("ring-all-reduce", my_all_reduce)            # graded, with the reason

These names are all there is at the top, and each is fetched when it is first used: importing this
package imports nothing else. The library itself is imported from its folders, for example
`from counterpoint.collectives import all_reduce`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Each name of the face, and the module that hands it on.
_FACE = {
    "launch": "counterpoint.ranks",
    "connect": "counterpoint.ranks",
    "disconnect": "counterpoint.ranks",
    "explain": "counterpoint.collectives",
    "Link": "counterpoint.models",
    "play": "counterpoint.face",
    "explore_costs": "counterpoint.face",
    "explore_balance": "counterpoint.balance_lab",
    "check": "counterpoint.grading",
    "hint": "counterpoint.grading",
    "solution": "counterpoint.grading",
    "predict": "counterpoint.grading",
    "progress": "counterpoint.grading",
    "show_source": "counterpoint.viz",
}

__all__ = [*_FACE, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module 'counterpoint' has no {name!r}; it has {', '.join(_FACE)}")
    value = getattr(import_module(_FACE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
