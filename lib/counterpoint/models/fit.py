"""A link's alpha and beta from measured times: the straight line through a ping-pong's sizes and seconds."""

import math
from collections.abc import Sequence

from counterpoint.models.link import Link


def fit_link(sizes: Sequence[int], seconds: Sequence[float], gamma: float = 0.0) -> Link:
    """The `Link` whose messages take closest to `seconds`: one for each of `sizes`, bytes one way.

    Least squares of the relative error (alpha + n beta) / t - 1, so that a microsecond's error counts at the
    small sizes, which show alpha, and not at the large ones, which show beta. Where a negative alpha or beta
    would fit best it is 0. gamma: handed on; a ping-pong reduces nothing. Cost: O(sizes).
    Raises ValueError unless there are two different sizes, and a positive time for each.
    """
    if len(sizes) != len(seconds):
        raise ValueError(
            f"fit_link: {len(sizes)} sizes and {len(seconds)} times; give one time for each size"
        )
    if len(set(sizes)) < 2:
        raise ValueError(f"fit_link: sizes {list(sizes)}; alpha and beta need at least two different ones")
    for n, t in zip(sizes, seconds, strict=True):
        if not (math.isfinite(n) and n >= 0 and math.isfinite(t) and t > 0):
            raise ValueError(f"fit_link: {n!r} bytes in {t!r} s; give sizes from 0 on, and positive times")
    # alpha * u + beta * v = 1 for each size, with u = 1 / t and v = n / t: the normal equations of that.
    u, v = [1 / t for t in seconds], [n / t for n, t in zip(sizes, seconds, strict=True)]
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    determinant = uu * vv - uv * uv
    alpha, beta = (sum(u) * vv - sum(v) * uv) / determinant, (sum(v) * uu - sum(u) * uv) / determinant
    if alpha < 0:
        alpha, beta = 0.0, sum(v) / vv
    elif beta < 0:
        alpha, beta = sum(u) / uu, 0.0
    return Link(alpha, beta, gamma)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
