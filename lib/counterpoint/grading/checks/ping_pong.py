"""ping-pong: alpha and beta of a link, from the times of round trips."""

import math
import sys
from collections.abc import Callable
from typing import Any

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want
from counterpoint.models import fit_link

COUNTS = (64, 256, 1024, 4096, 16_384, 65_536, 131_072, 262_144)
"""Elements of float32: at first latency is nearly all of the time, at last nearly none."""


def exact(case: Case) -> bool:
    """Whether the times lie on a line; in the other runs something disturbs them."""
    return case.count % 2 == 0


def link_of(case: Case) -> tuple[int, int]:
    """(alpha in ns, beta in ps a byte), whole numbers, so that a right fit can be compared exactly."""
    return 1000 * (7 * case.count + 3), 10 * (5 * case.count + 2)


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """Elements sent, and the seconds until they were back."""
    alpha, beta = link_of(case)
    counts = torch.tensor(COUNTS)
    seconds = 2 * (alpha * 1e-9 + beta * 1e-12 * 4 * counts.double())
    if not exact(case):
        seconds += 2 * 0.2 * alpha * 1e-9 * disturbance()
    return counts, seconds


def disturbance() -> torch.Tensor:
    """Up to 1 up or down, at right angles to all straight lines: least squares of all points does not see it.

    Any other choice of points does: what is left over of +, +, -, -, +, -, +, - when its own line is taken off.
    """
    signs = torch.tensor([1, 1, -1, -1, 1, -1, 1, -1]).double()
    left = signs - _line(list(COUNTS), signs.tolist()).double()
    return left / left.abs().max()


def _line(x: list[int], y: list[float]) -> torch.Tensor:
    """The values at x of the least-squares line."""
    intercept, slope = _fit(x, y)
    return torch.tensor([intercept + slope * at for at in x], dtype=torch.float64)


def _fit(x: list[int], y: list[float]) -> tuple[float, float]:
    """(intercept, slope) by least squares."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    rise = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = rise / sum((a - mean_x) ** 2 for a in x)
    return mean_y - slope * mean_x, slope


def call(comm: Any, answer: Any, counts: torch.Tensor, seconds: torch.Tensor) -> Any:
    """What the answer returned, to 10 ns and 1 ps a byte; as it is if it is not two numbers.

    10 ns are 0.06 % of the smallest alpha: enough for a fit in float32, and no mistake is as small.
    """
    returned, own = watched(answer, counts.tolist(), seconds.tolist())
    if own:
        return LIBRARY
    try:
        alpha, beta = (float(value) for value in returned)
    except (TypeError, ValueError):
        return returned
    if not (math.isfinite(alpha) and math.isfinite(beta)):
        return returned
    return torch.tensor([10.0 * round(alpha * 1e8), float(round(beta * 1e12))], dtype=torch.float64)


LIBRARY = "counterpoint.models.fit_link"
"""Stands for what an answer returned that has let the library do it."""


def watched(answer: Callable, *arguments: Any) -> tuple[Any, bool]:
    """What the answer returns, and whether the library's own fit ran: there is no trace here to show it."""
    before, own = sys.getprofile(), []

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is fit_link.__code__:
            own.append(frame.f_lineno)

    sys.setprofile(profile)
    try:
        return answer(*arguments), bool(own)
    finally:
        sys.setprofile(before)


def wants(case: Case, rank: int) -> list[Want]:
    return [Want("what it returned", None, torch.tensor(link_of(case)).double())]


def the_fit(evidence: Evidence) -> Finding | None:
    """Every wrong pair of numbers; the usual ones by their names."""
    failure = evidence.shown.failure
    if failure is not None and failure.kind == "raised":
        at = f" at your line {failure.line} (`{failure.code}`)" if failure.line else ""
        return Finding(f"Your function raised {failure.exception}{at}: {failure.message}")
    odd = next((d for d in evidence.here if d.kind == "value"), None)
    if odd is None:
        shown = evidence.shown.results[0] if evidence.shown.results else None
        if shown == LIBRARY:
            return Finding(
                f"Your function leaves the work to the library (`{LIBRARY}`). Here you build it yourself."
            )
        return Finding(
            f"Your function returned `{getattr(shown, 'shown', shown)}`; it should return two numbers, `alpha, beta`."
        ) if evidence.here else None  # fmt: skip
    alpha, beta = link_of(evidence.case)
    got_alpha, got_beta = odd.actual.tolist()
    told = (
        f"On a link of alpha {alpha / 1000:g} us and beta {beta} ps a byte, yours found "
        f"alpha {got_alpha / 1000:g} us and beta {_shown(got_beta)} ps a byte. "
    )
    why = _confused(alpha, beta, got_alpha, got_beta) or _some_points(evidence.case, got_alpha, got_beta)
    return Finding(told + why)


def _confused(alpha: int, beta: int, got_alpha: float, got_beta: float) -> str:
    """The sentence for numbers that are off by what they were taken for; "" if that is not it."""
    if _near(got_beta, 1000 * alpha):
        return "They are **swapped**: return alpha, the seconds of an empty message, first."
    if _near(got_beta, 1e24 / beta):
        return "That is the **bandwidth**, bytes in a second; beta is its reciprocal, the seconds of a byte."
    if _near(got_alpha, 1e6 * alpha) and _near(got_beta, 1e6 * beta):
        return "They are in **microseconds**; return seconds, and seconds a byte."
    if _near(got_alpha, 2 * alpha) and _near(got_beta, 2 * beta):
        return "Both are twice too large: a message there **and back** is two messages, so halve the times."
    if _near(got_alpha, alpha) and _near(got_beta, 2 * beta):
        return "beta is twice too large: **halve the times** before the fit, so that both are of one way."
    if _near(got_alpha, 2 * alpha) and _near(got_beta, beta):
        return "alpha is twice too large: **halve the times** before the fit, so that both are of one way."
    if _near(got_alpha, alpha) and _near(got_beta, 4 * beta):
        return "beta is four times too large: it is the time of **an element**, and an element has 4 bytes."
    if _near(got_alpha, 2 * alpha) and _near(got_beta, 8 * beta):
        return (
            "Neither is halved (there **and back** is two messages), and beta is for an element of 4 bytes."
        )
    if _near(8 * got_beta, beta) or _near(got_beta, 8 * beta):
        return "beta is 8 times off: **bits** are not bytes."
    if abs(got_alpha) < 10:
        return "alpha is 0: a line **through the origin** has no latency in it. Fit an intercept as well as a slope."
    return ""


def _some_points(case: Case, got_alpha: float, got_beta: float) -> str:
    """The sentence for a line through some of the points, or through none."""
    counts, seconds = (values.tolist() for values in inputs(case, 0))
    x, y = [4 * n for n in counts], [s / 2 for s in seconds]

    def of(points: slice) -> bool:
        alpha, beta = _fit(x[points], y[points])
        return abs(got_alpha - alpha * 1e9) < 10 and abs(got_beta - beta * 1e12) < 2

    if abs(got_alpha - y[0] * 1e9) < 10:
        return (
            f"alpha is the time of the **shortest message**, and that has {x[0]} bytes. Where does the line meet "
            f"0 bytes?"
        )
    if not exact(case):
        relative = fit_link(x, y)
        if _near(got_alpha, 1e9 * relative.alpha) and abs(got_beta - 1e12 * relative.beta) < 2:
            return (
                "It is the line of least **relative** error, a sound choice where errors grow with the times. Asked "
                "for is the plain one: the squares of the seconds, all alike."
            )
        for k in range(2, len(x)):
            if of(slice(k)):
                return (
                    f"It is the line through the **{k} shortest** messages: there latency is nearly all of the time, "
                    f"and what disturbs it is taken for beta. Long messages say what a byte costs; fit all {len(x)}."
                )
            if of(slice(len(x) - k, None)):
                return (
                    f"It is the line through the **{k} longest** messages, in which alpha hardly shows. Short "
                    f"messages say what latency is; fit all {len(x)}."
                )
        return (
            "Here the times are up to 20 % of alpha up or down. **All points** count, not two of them: least "
            "squares, as `torch.linalg.lstsq` does it or the formula of hint 3."
        )
    return "seconds = alpha + beta * bytes, one way: fit a straight line to (bytes, seconds / 2)."


def _shown(number: float) -> str:
    return f"{number:.0f}" if abs(number) < 1e9 else f"{number:.3g}"


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= max(12.0, 1e-3 * abs(b))


EXERCISE = Exercise(
    name="ping-pong",
    topic="07_messages_and_collectives",
    title="What a message costs",
    function="fit_link",
    parameters=("counts", "seconds"),
    minutes=20,
    difficulty=1,
    parts=(
        Part(
            "correct", 4, "alpha and beta of every link were found, disturbed or not",
            partly=((3, "right where the times lie on a line", exact),),
        ),
    ),
    hints=(
        "Draw seconds against bytes. Where does the line cross the axis, and how steep is it?",
        "A round trip is two messages, and an element of float32 has 4 bytes. What is left is a straight line: "
        "seconds = alpha + beta * bytes.",
        "With x = bytes, y = seconds / 2 and their means: beta = Σ(x − mean x)(y − mean y) / Σ(x − mean x)², alpha = "
        "mean y − beta · mean x.",
    ),
    cases=tuple(Case(1, number) for number in range(2, 10)),
    inputs=inputs,
    call=call,
    wants=wants,
    diagnoses=(the_fit,),
)  # fmt: skip
