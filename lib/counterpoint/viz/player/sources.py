"""Source lines as a reader knows them: "your cell, line 5", and the text around them."""

from pathlib import PurePath

from counterpoint.trace import Trace, is_cell, place_of

_AROUND = 6
_LONGEST = 400


def label(line: str) -> str:
    """`file:number` for people: a notebook's temporary file is "your cell"."""
    if not line:
        return ""
    file, _, number = line.rpartition(":")
    return place_of(file if is_cell(file) else PurePath(file).name, int(number))


def excerpts(trace: Trace) -> tuple[list[dict], list[dict]]:
    """The trace's lines and its files, as the film keeps them.

    Returns `lines`, one `{label, file, number}` for each of the trace's distinct lines, and `files`,
    one `{name, first, text}` for each file: the text from a little above the first of its lines to a
    little below the last. `file` is -1 and the text absent where it is not known.
    """
    lines: list[dict] = []
    files: list[dict] = []
    numbers: dict[str, int] = {}
    used: dict[str, list[int]] = {}
    for word in trace.words["line"]:
        file, _, number = word.rpartition(":")
        if word and trace.sources.get(file):
            used.setdefault(file, []).append(int(number))
    for file, at in used.items():
        first = max(1, min(at) - _AROUND)
        last = min(max(at) + _AROUND, first + _LONGEST)
        name = "your cell" if is_cell(file) else PurePath(file).name
        numbers[file] = len(files)
        files.append({"name": name, "first": first, "text": trace.sources[file][first - 1 : last]})
    for word in trace.words["line"]:
        file, _, number = word.rpartition(":")
        entry = {"label": label(word), "file": numbers.get(file, -1), "number": int(number or 0)}
        lines.append(entry)
    return lines, files
