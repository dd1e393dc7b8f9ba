"""The words of a trace: operations, phases, communicators and source lines, each kept once and told by a code."""

import linecache
from collections.abc import Sequence
from types import CodeType
from typing import Any

import numpy as np

from counterpoint.trace.event import KINDS
from counterpoint.trace.trace import COLUMNS

Line = tuple[CodeType, int]
"""A code object and a line number in its file, or the complement of an instruction's offset in that code:
cheap to take while running."""


class Words:
    """What the codes of a trace's columns stand for, while it is put together: numbered as they come."""

    CODED = ("comm", "kind", "op", "phase", "line")

    def __init__(self, sources: dict[str, list[str]]) -> None:
        self.sources = dict(sources)
        self.known: dict[str, dict[Any, int]] = {name: {} for name in self.CODED}
        self.words: dict[str, list[Any]] = {name: [] for name in self.CODED}
        self.codes("kind", KINDS)
        self.codes("comm", [()])

    def codes(self, column: str, values: Sequence[Any]) -> list[int]:
        """The code of each value; those not seen before get the next ones."""
        known, words = self.known[column], self.words[column]
        keys: Any = values
        if column == "line":  # a code object's hash looks at all of its code; its identity does not
            keys = [v if v is None or type(v) is str else (id(v[0]), v[1]) for v in values]
        for key, value in dict(zip(keys, values, strict=True)).items():
            if key not in known:
                word = text_of(value, self.sources) if column == "line" else value
                known[key] = known.setdefault(word, len(words))  # two instructions may stand on one line
                if known[key] == len(words):
                    words.append(word)
        return [known[key] for key in keys]

    def in_order(self, column: str) -> np.ndarray:
        """For each code its place in the sorted order of the words."""
        words = self.words[column]
        places = np.empty(len(words), COLUMNS[column])
        places[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
        return places

    def of_trace(self) -> dict[str, list[str]]:
        return {name: words for name, words in self.words.items() if name != "comm"}


def line_number(line: Line) -> int:
    """The number of a line that may be given by an instruction: to look it up costs more than a message."""
    code, number = line
    if number >= 0:
        return number
    return next((n for start, end, n in code.co_lines() if start <= ~number < end), None) or 0


def text_of(line: Line | str | None, sources: dict[str, list[str]]) -> str:
    """`file:number`; the file's text is kept, since a notebook's cells do not outlive its kernel."""
    if line is None or isinstance(line, str):
        return line or ""
    code, number = line[0], line_number(line)
    name = code.co_filename
    if name not in sources:
        sources[name] = [text.rstrip("\n") for text in linecache.getlines(name)]
    return f"{name}:{number}"
