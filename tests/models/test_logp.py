"""LogP and LogGP count every gap and overhead once, and the greedy broadcast is the fastest."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.models import LogGP, carry, optimal_broadcast

TIMES = st.integers(0, 12)
MACHINE = {"L": 6, "o": 2, "g": 4}  # the LogP paper's example, in cycles


@pytest.mark.parametrize("nbytes", [1, 2, 10, 1000])
def test_a_message_takes_two_overheads_the_latency_and_a_gap_for_each_byte_after_the_first(nbytes):
    machine = LogGP(2, **MACHINE, G=0.25)
    assert machine.route(0, 1).seconds(nbytes) == 2 + (nbytes - 1) * 0.25 + 6 + 2
    assert machine.overhead == 2


@pytest.mark.parametrize("nbytes", [1, 10])
@pytest.mark.parametrize("ends", [((0, 1), (0, 2)), ((0, 2), (1, 2))], ids=["same sender", "same receiver"])
def test_messages_of_one_rank_are_a_gap_apart_after_the_last_byte(nbytes, ends):
    machine = LogGP(3, **MACHINE, G=0.25)
    free = [0.0] * machine.links
    first, second = (carry(free, machine.route(*pair), 0.0, nbytes)[1] for pair in ends)
    assert second - first == 4 + (nbytes - 1) * 0.25


def test_an_overhead_above_the_gap_is_the_gap():
    machine = LogGP(2, L=6, o=5, g=4)
    free = [0.0] * machine.links
    assert [carry(free, machine.route(0, 1), 0.0, 1)[1] for _ in range(3)] == [16, 21, 26]


def test_in_logp_the_size_of_a_message_does_not_matter():
    route = LogGP(8, **MACHINE).route(0, 1)
    assert {route.seconds(n) for n in (0, 1, 10**9)} == {10}


def test_the_published_broadcast_takes_24_cycles():
    sends = optimal_broadcast(8, **MACHINE)
    assert [send.end for send in sends] == [10, 14, 18, 20, 22, 24, 24]  # the LogP paper, figure 3
    assert [send.start for send in sends if send.source == 0] == [0, 4, 8, 12]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
def test_the_broadcast_takes_as_long_on_the_network(ranks):
    machine = LogGP(ranks, **MACHINE)
    free, has = [0.0] * machine.links, {0: 0.0}
    for send in optimal_broadcast(ranks, **MACHINE):
        start, has[send.dest] = carry(free, machine.route(send.source, send.dest), has[send.source], 1)
        assert (start, has[send.dest]) == (send.start, send.end)
    assert sorted(has) == list(range(ranks))


def reached(t: int, L: int, o: int, g: int) -> int:
    """Ranks that can have the message t after one got it, whatever the tree (Karp et al., 1993)."""

    @cache
    def count(left: int) -> int:
        first, gap = left - L - 2 * o, max(g, o)
        return 1 + sum(count(k) for k in range(first, -1, -gap)) if first >= 0 else 1

    return count(t)


@given(st.integers(2, 40), TIMES, st.integers(1, 12), TIMES)
def test_no_broadcast_is_faster(ranks, L, o, g):
    sends = optimal_broadcast(ranks, L, o, g)
    last = int(max(send.end for send in sends))
    assert last == sends[-1].end
    assert reached(last, L, o, g) >= ranks > reached(last - 1, L, o, g)
    assert {send.dest for send in sends} == set(range(1, ranks))


def test_it_beats_the_binomial_tree_where_the_gap_is_short():
    assert optimal_broadcast(8, L=6, o=1, g=1)[-1].end < 3 * (6 + 2)
    assert optimal_broadcast(8, L=0, o=1, g=2)[-1].end == 3 * 2  # where they are the same tree


@pytest.mark.parametrize("wrong", [{"L": -1}, {"o": float("nan")}, {"g": "4"}])
def test_what_is_no_time_is_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"optimal_broadcast: {name} = "):
        optimal_broadcast(8, **{**MACHINE, **wrong})
    with pytest.raises(ValueError, match="optimal_broadcast: ranks = 0"):
        optimal_broadcast(0, **MACHINE)
