"""ping-pong: alpha and beta of a link, from the times of round trips."""

import math
from typing import Any

import torch

from counterpoint.grading.diagnoses import Evidence, Finding
from counterpoint.grading.exercise import Case, Exercise, Part, Want

SIZES = 8
"""Messages of 256, 512, ... elements of float32."""


def exact(case: Case) -> bool:
    """Whether the times lie on a line; in the other runs something disturbs them, evenly."""
    return case.count % 2 == 0


def link_of(case: Case) -> tuple[int, int]:
    """(alpha in ns, beta in ps a byte), whole numbers, so that a right fit can be compared exactly."""
    return 1000 * (7 * case.count + 3), 10 * (5 * case.count + 2)


def inputs(case: Case, rank: int) -> tuple[torch.Tensor, ...]:
    """Elements sent, and the seconds until they were back.

    What disturbs the times is +, -, -, + in each group of four equally spaced sizes, which no straight line can
    follow: least squares gives the same line as without it.
    """
    alpha, beta = link_of(case)
    counts = 256 * torch.arange(1, SIZES + 1)
    seconds = 2 * (alpha * 1e-9 + beta * 1e-12 * 4 * counts.double())
    if not exact(case):
        seconds += 0.2 * alpha * 1e-9 * torch.tensor([1, -1, -1, 1] * (SIZES // 4)).double()
    return counts, seconds


def call(comm: Any, answer: Any, counts: torch.Tensor, seconds: torch.Tensor) -> Any:
    """What the answer returned, in ns and ps a byte; as it is if it is not two numbers."""
    returned = answer(counts.tolist(), seconds.tolist())
    try:
        alpha, beta = (float(value) for value in returned)
    except (TypeError, ValueError):
        return returned
    if not (math.isfinite(alpha) and math.isfinite(beta)):
        return returned
    return torch.tensor([round(alpha * 1e9), round(beta * 1e12)])


def wants(case: Case, rank: int) -> list[Want]:
    return [Want("what it returned", None, torch.tensor(link_of(case)))]


def the_fit(evidence: Evidence) -> Finding | None:
    """Every wrong pair of numbers; the usual ones by their names."""
    odd = next((d for d in evidence.here if d.kind == "value"), None)
    if odd is None:
        shown = evidence.shown.results[0] if evidence.shown.results else None
        return Finding(
            f"Your function returned `{getattr(shown, 'shown', shown)}`; it should return two numbers, `alpha, beta`."
        ) if evidence.here else None  # fmt: skip
    alpha, beta = link_of(evidence.case)
    got_alpha, got_beta = (int(value) for value in odd.actual)
    told = (
        f"On a link of alpha {alpha / 1000:g} us and beta {beta} ps a byte, yours found "
        f"alpha {got_alpha / 1000:g} us and beta {got_beta} ps a byte. "
    )
    return Finding(told + _why(alpha, beta, got_alpha, got_beta, exact(evidence.case)))


def _why(alpha: int, beta: int, got_alpha: int, got_beta: int, on_a_line: bool) -> str:
    if _near(got_beta, 1000 * alpha):
        return "They are **swapped**: return alpha, the seconds of an empty message, first."
    if _near(got_alpha, 2 * alpha) and _near(got_beta, 2 * beta):
        return "Both are twice too large: a message there **and back** is two messages, so halve the times."
    if _near(got_alpha, alpha) and _near(got_beta, 4 * beta):
        return "beta is four times too large: it is the time of **an element**, and an element has 4 bytes."
    if _near(got_alpha, 2 * alpha) and _near(got_beta, 8 * beta):
        return (
            "Neither is halved (there **and back** is two messages), and beta is for an element of 4 bytes."
        )
    if _near(8 * got_beta, beta) or _near(got_beta, 8 * beta):
        return "beta is 8 times off: **bits** are not bytes."
    if abs(got_alpha) <= 1:
        return "alpha is 0: a line **through the origin** has no latency in it. Fit an intercept as well as a slope."
    if not on_a_line:
        return (
            "Without disturbance yours may be right; here the times are 20 % of alpha up or down. **All points** "
            "count, not two of them: least squares, `torch.linalg.lstsq` or the formula of lesson 07."
        )
    return "seconds = alpha + beta * bytes, one way: fit a straight line to (bytes, seconds / 2)."


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= max(2.0, 1e-3 * abs(b))


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
