"""The tile server: the same tiles, delays and failures each time, never more at once than it says, and gone after."""

import threading

import pytest

from counterpoint.balance.fan_out import fan_out
from counterpoint.balance.tile_server import TileServer, TileUnavailable, fetch, is_whole, tile


def test_a_tile_follows_from_its_place_and_the_seed():
    assert tile(3, 5, 2) == tile(3, 5, 2) and len(tile(3, 5, 2)) == 4096
    assert len({tile(2, x, y, seed=s) for x in range(4) for y in range(4) for s in range(2)}) == 32


def test_a_damaged_tile_is_seen():
    good = tile(1, 0, 0)
    assert is_whole(good) and len(tile(1, 0, 0, nbytes=5)) == 5
    for place in (0, 100, 4095):
        assert not is_whole(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])


def test_what_is_fetched_is_the_tile():
    with TileServer(latency=0, seed=7, nbytes=100) as server:
        assert fetch(server.url(3, 5, 2)) == tile(3, 5, 2, seed=7, nbytes=100)
        assert len(server.urls(2)) == len(set(server.urls(2))) == 16
        assert (server.served, server.refused) == (1, 0)


def test_many_threads_get_every_tile():
    with TileServer(latency=0.001) as server:
        run = fan_out(fetch, server.urls(3), 8)
    assert run.results == [tile(3, x, y) for y in range(8) for x in range(8)] and server.served == 64


def test_failures_are_the_same_each_time_whatever_the_order():
    def attempts(workers, order):
        with TileServer(latency=0, failures=0.4, seed=3) as server:
            places = [(x, y) for y in range(4) for x in range(4)][::order]
            run = fan_out(lambda place: fetch(server.url(2, *place)), places, workers, retries=50)
            assert server.served == 16 and server.refused == sum(run.attempts) - 16 > 0
        return dict(zip(places, run.attempts, strict=True))

    first = attempts(1, 1)
    assert first == attempts(6, -1)
    expected = TileServer(failures=0.4, seed=3)
    for (x, y), tries in first.items():
        fails = [expected.answer(2, x, y, attempt)[1] for attempt in range(tries)]
        assert fails == [True] * (tries - 1) + [False]


def test_delays_and_failures_have_the_mean_that_was_asked_for():
    server = TileServer(latency=2.0, failures=0.25)
    answers = [server.answer(10, x, 0, 0) for x in range(2000)]
    assert all(1 <= seconds <= 3 for seconds, _ in answers)
    assert sum(seconds for seconds, _ in answers) / 2000 == pytest.approx(2.0, abs=0.05)  # sd 0.013
    assert sum(fails for _, fails in answers) / 2000 == pytest.approx(0.25, abs=0.04)  # sd 0.01


def test_never_more_at_once_than_the_limit():
    with TileServer(latency=0.003, at_once=2) as server:
        fan_out(fetch, server.urls(2), 8)
        assert 1 <= server.busiest <= 2


def test_a_refusal_says_what_to_do():
    with TileServer(latency=0, failures=1.0) as server:
        with pytest.raises(TileUnavailable, match=r"/1/0/1: 503 .*; ask again") as caught:
            fetch(server.url(1, 0, 1))
        assert caught.value.status == 503 and server.refused == 1


@pytest.mark.parametrize("path", ["1/2/0", "1/0/2", "0/0", "a/0/0", "1/-1/0", "99/0/0", "1/0/0/0", "²/0/0"])
def test_a_tile_that_is_not_there_is_404(path):
    with TileServer(latency=0) as server:
        address = server.url(0, 0, 0).removesuffix("0/0/0")
        with pytest.raises((TileUnavailable, UnicodeEncodeError), match=r"404|ascii"):
            fetch(address + path)
        assert server.served == 0


def test_two_servers_live_side_by_side_and_leave_no_thread():
    before = threading.active_count()
    with TileServer(seed=1, latency=0) as one, TileServer(seed=2, latency=0) as two:
        assert one.url(0, 0, 0) != two.url(0, 0, 0)
        assert fetch(one.url(0, 0, 0)) != fetch(two.url(0, 0, 0))
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="it has no address yet"):
        one.url(0, 0, 0)


def test_closing_does_not_wait_for_slow_answers():
    server = TileServer(latency=3600)
    got = []
    with server:
        url = server.url(0, 0, 0)
        thread = threading.Thread(target=lambda: got.append(fetch(url, timeout=60)))
        thread.start()
        while not server.busiest:
            pass
    thread.join()
    assert got == [tile(0, 0, 0)]


@pytest.mark.parametrize(
    "named", [{"latency": -1}, {"failures": 1.5}, {"failures": -0.1}, {"at_once": 0}, {"nbytes": 4}]
)
def test_settings_that_make_no_sense_are_refused(named):
    with pytest.raises(ValueError, match="tile server: "):
        TileServer(**named)
