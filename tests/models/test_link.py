"""A link's time is alpha + n * beta; anything that is no time is refused."""

import pytest

from counterpoint.models import Cost, Link


def test_a_message_takes_alpha_plus_bytes_times_beta():
    assert Link(alpha=2.0, beta=0.5).seconds(10) == 7.0
    assert Link().seconds(10**9) == 0.0


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), "1 us", None])
@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_a_time_that_is_none_is_refused_by_name(name, wrong):
    with pytest.raises(ValueError, match=f"Link: {name} = "):
        Link(**{name: wrong})


def test_cost_on_unequal_links_takes_the_worst_of_each():
    cost = Cost(1, 8, 8, 1, path_latencies=3, path_bytes=8, path_reduced=4)
    assert cost.seconds(Link(1.0, 2.0, 0.5)) == 3 + 16 + 2
    assert cost.seconds([Link(1.0, 0.0), Link(0.0, 2.0, 0.5)]) == 3 + 16 + 2
    with pytest.raises(ValueError, match="no links"):
        cost.seconds([])
