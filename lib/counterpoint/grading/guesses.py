"""`predict`: a small box for a guess, kept with the progress and shown again beside the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from counterpoint.grading.child.process import CHILD
from counterpoint.grading.record import Progress

UNITS = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
    "bytes": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip
"""Units that are converted, and what they are in seconds or bytes."""

_NUMBER = re.compile(r"^\s*([-+]?[\d_,]*\.?\d+(?:[eE][-+]?\d+)?(?:\s*/\s*\d+)?)\s*([^\d\s]\S*)?\s*$")


@dataclass
class Guess:
    """What the learner wrote, if anybody did."""

    key: str
    unit: str
    progress: Progress
    _own: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """As it was written; "" if nobody was there to write."""
        kept = self._own or self.progress.guess(self.key) or {}
        return str(kept.get("text", ""))

    @property
    def value(self) -> float | None:
        """The guess as a number, in SI base units if its unit is one of seconds or bytes."""
        return parse(self.text, self.unit)

    def keep(self, text: str) -> None:
        """Keep the guess; the box calls this."""
        self._own = {"text": text}
        self.progress.keep_guess(self.key, text, self.unit)

    def compare(self, actual: float, name: str = "it is") -> None:
        """Print the guess beside the answer, which is given in seconds, bytes, or as a plain number."""
        right = f"{name} {_amount(actual, self.unit)}"
        if not self.text:
            print(f"{self.key}: no guess; {right}.")
            return
        guess = self.value
        if guess is None:
            print(f"{self.key}: you wrote “{self.text}”; {right}.")
            return
        print(f"{self.key}: you guessed {_amount(guess, self.unit)}; {right}{_apart(guess, actual)}.")

    def __repr__(self) -> str:
        return f"Guess({self.key!r}: {self.text or 'no guess'})"


def predict(key: str, *, unit: str = "", question: str = "") -> Guess:
    """Show a box for a guess about `key`, in `unit`; returns the `Guess`, which the next cells read.

    What was kept before is shown again. Where nobody is there to answer, the guess is "no guess".
    """
    guess = Guess(key, unit, Progress.here())
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        CHILD.start()  # it imports torch while the learner thinks
        _show(guess, question)
    return guess


def _show(guess: Guess, question: str) -> None:
    import ipywidgets
    from IPython.display import display

    box = ipywidgets.Text(
        value=guess.text, placeholder=f"your guess{' in ' + guess.unit if guess.unit else ''}",
        continuous_update=False, layout=ipywidgets.Layout(width="14em"),
    )  # fmt: skip
    said = ipywidgets.HTML("kept" if guess.text else "")
    said.add_class("cp-guess-said")

    def changed(change: dict[str, Any]) -> None:
        guess.keep(change["new"])
        known = parse(change["new"], guess.unit) is not None
        said.value = "kept" if known else "kept, as words: a number is easier to compare"

    box.observe(changed, names="value")
    box.add_class("cp-guess")
    label = ipywidgets.Label(question or guess.key)
    unit = ipywidgets.Label(guess.unit)
    display(ipywidgets.HBox([label, box, unit, said]))


def parse(text: str, unit: str) -> float | None:
    """The number in a guess: "14", "14 ms", "7/8", "1,000", "56 MiB"; None if there is none.

    Without a unit of its own it is in `unit`. Units in `UNITS` are converted to seconds and bytes.
    """
    found = _NUMBER.match(text)
    if found is None:
        return None
    number, own = found.groups()
    over, _, under = number.replace(",", "").replace("_", "").partition("/")
    if under and not int(under):
        return None
    value = float(over) / float(Fraction(under.strip())) if under else float(over)
    return value * UNITS.get(own or unit, 1.0)


def _amount(value: float, unit: str) -> str:
    number = value / UNITS.get(unit, 1.0)
    words = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return f"{words} {unit}".rstrip()


def _apart(guess: float, actual: float) -> str:
    """ ", exactly right", ", 2.5 times as much"; nothing where a ratio says nothing."""
    if guess == actual:
        return ", just as you said"
    if guess > 0 and actual > 0:
        ratio = max(guess, actual) / min(guess, actual)
        if ratio < 1.02:
            return ", within 2 % of your guess"
        return f", your guess is {ratio:.3g} times too {'high' if guess > actual else 'low'}"
    return ""
