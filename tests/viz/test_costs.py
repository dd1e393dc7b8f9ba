"""The cost explorer: its seconds are `Cost.seconds`, and it marks where the order changes."""

import itertools

import pytest

import counterpoint as cp
from counterpoint.collectives.all_reduce import BY_MESSAGES
from counterpoint.models import Link, preset
from counterpoint.viz.costs.tables import ITEMSIZE, RANKS, SIZES, overtakings, size_at

LINK = Link(alpha=3e-6, beta=2e-10, gamma=1e-11)


@pytest.mark.parametrize("p", [2, 5, 8, 96, 1024])
def test_every_time_is_the_costs_own(p):
    explorer = cp.explore_costs("all_reduce", LINK, p)
    assert explorer.p == p
    for name, times in explorer.times().items():
        for nbytes, time in zip(explorer.sizes, times, strict=True):
            assert nbytes % (p * ITEMSIZE) == 0
            expected = BY_MESSAGES[name][1](p, nbytes // ITEMSIZE, ITEMSIZE).seconds(LINK)
            assert time == pytest.approx(expected, rel=1e-12)


def test_a_number_of_ranks_between_those_there_are_is_taken_to_the_nearest():
    assert cp.explore_costs("broadcast", LINK, 1000).p == 1024
    assert cp.explore_costs("broadcast", LINK, 1).p == 2


@pytest.mark.parametrize("collective", ["all_reduce", "broadcast", "all_gather", "all_to_all"])
def test_what_overtakes_is_faster_above_and_slower_below(collective):
    explorer = cp.explore_costs(collective, LINK, 16)
    times, sizes = explorer.times(), explorer.sizes
    fastest = [min(times, key=lambda name: times[name][i]) for i in range(len(sizes))]
    changes = [(old, new) for old, new in itertools.pairwise(fastest) if old != new]
    assert [(old, new) for _, old, new in explorer.overtakings()] == changes
    for at, old, new in explorer.overtakings():
        below = max(i for i, n in enumerate(sizes) if n <= at)
        assert times[old][below] <= times[new][below]
        assert times[new][below + 1] <= times[old][below + 1]


def test_the_place_of_an_overtaking_is_where_two_straight_lines_meet():
    sizes = [0, 100, 200]
    assert overtakings(["a", "b"], sizes, [[10, 110, 210], [60, 110 - 0.0, 160]]) == [(100.0, "a", "b")]
    assert overtakings(["a", "b"], sizes, [[0, 100, 200], [80, 130, 180]]) == [(160.0, "a", "b")]
    assert overtakings(["a", "b"], sizes, [[0, 1, 2], [3, 4, 5]]) == []


def test_presets_are_the_links_of_full_crossbars():
    presets = cp.explore_costs().data["presets"]
    assert presets["nvlink-node"] == [
        getattr(preset("nvlink-node").link, n) for n in ("alpha", "beta", "gamma")
    ]
    assert "nvlink-cluster" not in presets  # two kinds of links


def test_its_twins_need_no_kernel():
    explorer = cp.explore_costs("broadcast")
    assert "scatter-all-gather" in explorer.html() and "const COLORS" in explorer.html()
    assert explorer.png().startswith(b"\x89PNG")
    assert "overtakes binomial at" in repr(explorer)
    assert len(explorer.html()) < 150_000


def test_what_there_is_not_is_named():
    with pytest.raises(ValueError, match="no collective 'sort'"):
        cp.explore_costs("sort")
    with pytest.raises(ValueError, match="no link 'abacus'"):
        cp.explore_costs("all_reduce", "abacus")


def test_sizes_are_whole_chunks_for_every_number_of_ranks():
    for p, n in itertools.product(RANKS, SIZES):
        assert size_at(p, n) % (p * ITEMSIZE) == 0
        assert 0 <= size_at(p, n) - n < p * ITEMSIZE


@pytest.mark.browser
def test_in_a_browser_sliders_and_keys_change_what_is_told(chromium, tmp_path):
    from playwright.sync_api import sync_playwright

    explorer = cp.explore_costs("all_reduce", LINK, 8)
    page_file = tmp_path / "costs.html"
    page_file.write_text(explorer.html(), encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 940, "height": 760})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.as_uri())
        told = page.get_by_test_id("told")
        ways = [f"{new} overtakes {old}" for _, old, new in explorer.overtakings()]
        assert all(way in told.inner_text() for way in ways)
        row = page.get_by_test_id("row-ring")
        before = row.inner_text()
        page.get_by_test_id("chart").focus()
        page.keyboard.press("ArrowRight")
        assert row.inner_text() != before
        assert page.locator("[data-fastest=true]").count() == 1
        page.get_by_test_id("p").evaluate("s => { s.value = 20; s.dispatchEvent(new Event('input')); }")
        assert "With 1024 ranks" in told.inner_text()
        assert page.get_by_test_id("p-value").inner_text() == "1024"
        page.get_by_test_id("preset").select_option("nvlink-node")
        assert page.get_by_test_id("alpha-value").inner_text() == "3.4 µs"
        nvlink = cp.explore_costs("all_reduce", "nvlink-node", 1024)
        ways = [f"{new} overtakes {old}" for _, old, new in nvlink.overtakings()]
        assert all(way in told.inner_text() for way in ways)
        assert page.get_by_test_id("overtaking").count() == len(ways)
        browser.close()
    assert errors == []
