"""What a check says: the points with their reasons, the sentence, and the picture of the run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

MIME = "application/vnd.counterpoint.verdict+json"
"""The batch grader finds a verdict's parts and sentence under this name in a cell's output."""
PICTURES_VARIABLE = "COUNTERPOINT_PICTURES"
"""Set to "off" it leaves out the player, where nobody is there to look."""


@dataclass(frozen=True)
class Score:
    """One part of the points: how many of how many, and why."""

    name: str
    points: int
    max_points: int
    reason: str


@dataclass
class Verdict:
    """The result of one check. Shows itself; `str(verdict)` is the same in plain text.

    Sentences are plain text in which `code` and **emphasis** are marked as in Markdown.
    """

    name: str
    title: str
    parts: list[Score]
    message: str
    hint: str = ""
    """The next hint, if there is one and it is needed; `hint_label` says which it is."""
    hint_label: str = ""
    comparison: list[tuple[str, str, str]] = field(default_factory=list)
    """Rows (what, yours, expected) for a difference that no sentence explains."""
    remarks: list[str] = field(default_factory=list)
    printed: str = ""
    picture: Callable[[], Any] | None = None
    """Makes the player of the learner's run, stopped where it went wrong."""
    caption: str = ""
    shown_in: int = -1
    """The execution count of the cell in which `check` has shown it already."""

    @property
    def points(self) -> int:
        return sum(part.points for part in self.parts)

    @property
    def max_points(self) -> int:
        return sum(part.max_points for part in self.parts)

    @property
    def passed(self) -> bool:
        return self.points == self.max_points

    @property
    def player(self) -> Any:
        """The player of the run, or None where there is no run or no picture of it."""
        if self.picture is None:
            return None
        try:
            return self.picture()
        except Exception:  # a picture must never cost a verdict
            return None

    @property
    def headline(self) -> str:
        if self.passed:
            return f"{self.points} of {self.max_points}."
        start = "Not yet: " if self.points == 0 else ""
        return f"{start}{self.points} of {self.max_points}."

    def __str__(self) -> str:
        lines = [f"{self.title}. {self.headline} {_plain(self.message)}"]
        for part in self.parts:
            lines.append(f"  {part.points}/{part.max_points} {part.name}: {_plain(part.reason)}")
        for what, yours, expected in self.comparison:
            lines.append(f"  {what}: yours {yours}, expected {expected}")
        lines += [f"  {_plain(remark)}" for remark in self.remarks]
        if self.printed:
            first = self.printed.rstrip().split("\n")[:5]
            lines.append("  Printed: " + "\n    ".join(first))
        if self.hint:
            lines.append(f'  cp.hint("{self.name}") shows {self.hint_label[0].lower()}{self.hint_label[1:]}.')
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "points": self.points,
            "max_points": self.max_points,
            "message": self.message,
            "parts": [vars(part) for part in self.parts],
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_mark(part)}</td><td>{escape(part.name)}</td>"
            f"<td>{part.points} of {part.max_points}</td><td>{to_html(part.reason)}</td></tr>"
            for part in self.parts
        )
        state = "passed" if self.passed else "partly" if self.points else "not-yet"
        body = [
            f'<div class="cp-check cp-{state}" data-testid="check" data-points="{self.points}" '
            f'role="status">{STYLE}'
            f"<p><b>{escape(self.title)}</b> · <b>{self.headline}</b> {to_html(self.message)}</p>"
            f"<table>{rows}</table>"
        ]
        if self.comparison:
            body.append("<table><tr><th></th><th>yours</th><th>expected</th></tr>")
            for row in self.comparison:
                body.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
            body.append("</table>")
        body += [f"<p>{to_html(remark)}</p>" for remark in self.remarks]
        if self.printed:
            body.append(
                f"<details><summary>What your code printed in this run</summary>"
                f"<pre>{escape(self.printed)}</pre></details>"
            )
        if self.hint:
            body.append(
                f"<details><summary>{escape(self.hint_label)}</summary><p>{to_html(self.hint)}</p></details>"
            )
        return "".join(body) + "</div>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if self.shown_in >= 0 and self.shown_in == _cell():
            return {"text/plain": self.headline}
        return {"text/plain": str(self), "text/html": self._repr_html_(), MIME: self.to_json()}


def show(verdict: Verdict) -> None:
    """Display the verdict, and under it the player, in a notebook; elsewhere do nothing.

    A check is followed by `.points`, so it must show itself while it still can.
    """
    cell = _cell()
    if cell < 0:
        return
    from IPython.display import display

    display(verdict)
    verdict.shown_in = cell
    if os.environ.get(PICTURES_VARIABLE) == "off":
        return
    player = verdict.player
    if player is not None:
        if verdict.caption:
            display(_Text(verdict.caption))
        display(player)


def _cell() -> int:
    """The execution count of the notebook's cell that runs now; -1 outside of a notebook."""
    from IPython import get_ipython

    shell = get_ipython()
    return shell.execution_count if shell is not None and hasattr(shell, "kernel") else -1


@dataclass(frozen=True)
class _Text:
    text: str

    def __repr__(self) -> str:
        return _plain(self.text)

    def _repr_html_(self) -> str:
        return f"<p>{to_html(self.text)}</p>"


def to_html(text: str) -> str:
    """Escape, then `code` and **emphasis**; blank lines part paragraphs."""
    html = escape(text, quote=False)
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", html)
    html = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", html)
    return html.replace("\n\n", "<br><br>").replace("\n", "<br>")


def _plain(text: str) -> str:
    return text.replace("**", "")


def _mark(part: Score) -> str:
    """A picture of the points that needs no colour."""
    word = "full" if part.points == part.max_points else "none" if part.points == 0 else "part"
    glyph = {"full": "●", "part": "◐", "none": "○"}[word]
    return f'<span class="cp-{word}" role="img" aria-label="{word}">{glyph}</span>'


STYLE = """<style>
.cp-check { border-left: 4px solid var(--jp-border-color1, #999); padding: .3em .9em; margin: .4em 0;
  max-width: 52em; line-height: 1.45; }
.cp-check p { margin: .35em 0; }
.cp-passed { border-color: #0072b2; } .cp-partly { border-color: #e69f00; } .cp-not-yet { border-color: #d55e00; }
.cp-check table { margin: .3em 0; border-collapse: collapse; }
.cp-check td, .cp-check th { text-align: left !important; padding: .1em .8em .1em 0; vertical-align: top;
  white-space: normal; background: none; }
.cp-check details { margin: .3em 0; } .cp-check summary { cursor: pointer; }
.cp-check pre { max-height: 14em; overflow: auto; }
</style>"""
