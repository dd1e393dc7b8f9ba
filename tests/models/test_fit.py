"""A fitted link is the link that was measured; a fit of noise is no worse than its neighbours."""

import pytest

from counterpoint.models import Link, fit_link

SIZES = [4, 1024, 65536, 1 << 20, 4 << 20]


@pytest.mark.parametrize("link", [Link(1e-3, 2e-8), Link(1e-6, 1e-10), Link(0.5, 0.0), Link(0.0, 1e-9)])
def test_exact_times_give_the_link_back(link):
    found = fit_link(SIZES, [link.seconds(n) for n in SIZES], gamma=3e-11)
    assert found.alpha == pytest.approx(link.alpha, rel=1e-6, abs=1e-15)
    assert found.beta == pytest.approx(link.beta, rel=1e-6, abs=1e-16)
    assert found.gamma == 3e-11


def test_no_neighbouring_link_has_a_smaller_relative_error():
    times = [
        Link(1e-3, 2e-8).seconds(n) * factor
        for n, factor in zip(SIZES, [1.2, 0.9, 1.1, 1, 0.95], strict=False)
    ]

    def error(alpha, beta):
        return sum(((alpha + n * beta) / t - 1) ** 2 for n, t in zip(SIZES, times, strict=False))

    found = fit_link(SIZES, times)
    best = error(found.alpha, found.beta)
    for a in (0.99, 1, 1.01):
        for b in (0.99, 1, 1.01):
            assert error(found.alpha * a, found.beta * b) >= best


def test_a_negative_alpha_or_beta_becomes_zero():
    assert fit_link([10, 20], [1.0, 3.0]).alpha == 0
    assert fit_link([10, 20], [3.0, 1.0]).beta == 0


@pytest.mark.parametrize(
    ("sizes", "seconds", "sentence"),
    [
        ([1, 2], [1.0], "2 sizes and 1 times"),
        ([5, 5], [1.0, 1.1], "two different"),
        ([1, 2], [1.0, 0.0], r"2 bytes in 0\.0 s"),
        ([-1, 2], [1.0, 2.0], "-1 bytes"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sizes, seconds, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_link(sizes, seconds)
