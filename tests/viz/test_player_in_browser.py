"""The exported player in Chromium, with no network and no kernel: it plays what the trace says."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.collectives import explain
from counterpoint.collectives import ring as ring_file
from counterpoint.viz import Player
from counterpoint.viz.player.table import state_at

from .runs import explained, failed, ring, run, send_first, star, too_long, tree

pytestmark = pytest.mark.browser
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a player's HTML on a page of its own; whatever goes wrong there fails the test."""
    contexts, complaints = [], []

    def open_page(player: Player, width: int = 900, **options: Any) -> Any:
        file = tmp_path / f"{player.element_id}.html"
        file.write_text(player.html(), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("[data-testid=player][data-t]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def state(page: Any) -> dict[str, str]:
    return page.evaluate("() => ({...document.querySelector('[data-testid=player]').dataset})")


def seek(page: Any, t: float) -> None:
    """Drag the slider."""
    page.get_by_test_id("scrub").evaluate(
        "(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input', {bubbles: true})); }", t
    )


def holds(page: Any, film: dict) -> list[list[str]]:
    cells = page.locator("[data-testid^=cell-]").evaluate_all("all => all.map(td => td.dataset.holds)")
    per_rank = len(film["cells"])
    return [cells[i : i + per_rank] for i in range(0, len(cells), per_rank)]


def expected(film: dict, t: float) -> list[list[str]]:
    return [[film["vectors"][v] for v in row] for row in state_at(film, t)]


def picture(page: Any, name: str) -> int:
    """How many different colours the canvas shows."""
    return page.get_by_test_id(name).evaluate(
        """canvas => new Set(new Uint32Array(canvas.getContext("2d")
             .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )


@pytest.mark.parametrize("function", [ring, tree, star])
def test_scrubbing_shows_what_the_trace_says_at_every_step(show, function):
    trace, provenance = explained(function, 4)
    player = Player.from_trace(trace, provenance)
    page = show(player)
    for step in range(player.film["steps"] + 1):
        seek(page, step)
        assert holds(page, player.film) == expected(player.film, step)
        assert state(page)["step"] == str(step)
        assert int(state(page)["messages"]) == sum(
            taken <= step for taken in player.film["messages"]["taken"]
        )
    assert int(state(page)["complete"]) == 4 * len(player.film["cells"])
    assert int(state(page)["bytes"]) == trace.totals().bytes_total


def test_play_runs_to_the_end_and_every_chunk_is_complete(show):
    trace, provenance = explained(ring, 3)
    player = Player.from_trace(trace, provenance, ring_file.cost(3, 12, 4), speed=8)
    page = show(player)
    assert state(page)["playing"] == "false"
    page.evaluate(WATCH)
    page.get_by_test_id("play").click()
    page.wait_for_selector("[data-testid=player][data-playing='false'][data-step='4']")
    assert page.evaluate("() => window.seen") == ["0", "1", "2", "3", "4"]
    assert {held for row in holds(page, player.film) for held in row} == {"0-2"}
    assert "all 9 chunks hold the sum of all 3 ranks" in page.get_by_test_id("status").inner_text()
    for name in ("steps", "messages", "bytes_busiest", "bytes_total"):
        value = page.get_by_test_id(f"count-{name}").get_attribute("data-value")
        assert int(value) == player.film["predicted"][name]


def test_a_kb_is_a_thousand_bytes_as_in_every_chart(show):
    trace, provenance = explained(ring, 4, count=4000)
    page = show(Player.from_trace(trace, provenance))
    assert "96 kB" in page.locator("tr", has=page.get_by_test_id("count-bytes_total")).inner_text()


WATCH = """() => {
  const root = document.querySelector("[data-testid=player]");
  window.seen = [root.dataset.step];
  new MutationObserver(() => { if (window.seen.at(-1) !== root.dataset.step) window.seen.push(root.dataset.step); })
    .observe(root, { attributes: true });
}"""


def test_play_pauses_where_it_is(show):
    trace, provenance = explained(ring, 8)
    page = show(Player.from_trace(trace, provenance))
    page.get_by_test_id("play").click()
    page.wait_for_selector("[data-testid=player][data-step='1']")
    page.get_by_test_id("play").click()
    page.wait_for_selector("[data-testid=player][data-playing='false']")
    assert 0 < float(state(page)["t"]) < 14


def test_the_keyboard_does_everything(show):
    trace, provenance = explained(ring, 4)
    page = show(Player.from_trace(trace, provenance), reduced_motion="reduce")
    page.get_by_test_id("player").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state(page)["t"] == "1.5"
    page.keyboard.press("ArrowLeft")
    assert state(page)["t"] == "0.5"
    assert state(page)["moving"] == "4"
    page.keyboard.press("ArrowDown")
    assert state(page)["focus"] == "1"
    assert (
        "rank 1 sends chunk 1 (rank 1) to rank 2, which adds it" in page.get_by_test_id("status").inner_text()
    )
    page.keyboard.press("End")
    assert state(page)["t"] == "6"
    page.keyboard.press("Home")
    assert state(page)["t"] == "0"
    page.keyboard.press(" ")
    assert state(page)["playing"] == "true"


@pytest.mark.parametrize("ranks", [2, 8, 17])
def test_every_view_draws_and_follows_the_theme(show, ranks):
    trace, provenance = explained(ring, ranks)
    page = show(Player.from_trace(trace, provenance, t=1.5))
    for view in ("ring", "row", "tree"):
        page.get_by_test_id(f"view-{view}").click()
        grounds = set()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_selector(f"[data-testid=player][data-theme={scheme}][data-view={view}]")
            assert min(picture(page, name) for name in ("stage", "timeline", "matrix", "sum")) > 4
            grounds.add(page.get_by_test_id("player").evaluate("e => getComputedStyle(e).backgroundColor"))
        assert len(grounds) == 2


def test_nothing_sticks_out_at_any_width(show):
    trace, provenance = explained(ring, 8)
    page = show(Player.from_trace(trace, provenance, t=2.5))
    for width in (420, 760, 1000, 1300):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("w => document.getElementById('widget').player.width <= w", arg=width)
        assert page.get_by_test_id("player").evaluate(OUTSIDE) == []


OUTSIDE = """root => [...root.querySelectorAll("canvas, .cp-side, .cp-bar, table.cp-count, .cp-source")]
             .filter(e => e.offsetParent && e.getBoundingClientRect().right > root.getBoundingClientRect().right)
             .map(e => e.className)"""


def test_the_time_axis_shows_the_same_end(show):
    trace, provenance = explained(star, 5)
    player = Player.from_trace(trace, provenance)
    page = show(player)
    page.get_by_test_id("axis-time").click()
    seek(page, player.film["axes"]["time"]["end"])
    assert state(page)["axis"] == "time"
    assert state(page)["step"] == str(player.film["steps"])
    assert {held for row in holds(page, player.film) for held in row} == {"0-4"}


def test_a_wrong_run_says_so_and_jumps_to_the_message(show):
    trace, provenance = explained(too_long, 4)
    player = Player.from_trace(trace, provenance)
    page = show(player)
    assert "Counted twice" in page.get_by_test_id("verdict").inner_text()
    page.get_by_test_id("show-wrong").click()
    assert state(page)["t"] == "3.5"
    seek(page, 4)
    assert page.locator("td[data-state=twice]").count() > 0


def test_a_deadlock_names_who_waits_and_where(show):
    error = failed(send_first, 4, eager_limit=0)
    player = Player.from_trace(error.run.trace, explain(send_first, 4), waits=error.waits, cycle=error.cycle)
    page = show(player)
    page.get_by_test_id("end").click()
    assert "0 → 1 → 2 → 3 → 0" in page.get_by_test_id("verdict").inner_text()
    words = page.get_by_test_id("status").inner_text()
    assert "rank 0 waits in send to rank 1" in words
    assert "runs.py:" in words
    assert "comm.send(" in page.get_by_test_id("source").inner_text()
    assert state(page)["messages"] == "0"


def test_pointing_at_the_timeline_selects_the_message_everywhere(show):
    trace, provenance = explained(ring, 4)
    page = show(Player.from_trace(trace, provenance))
    timeline = page.get_by_test_id("timeline")
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    at = page.evaluate(
        """() => { const { B } = document.getElementById("widget").player;
             return [B.x(2) + 0.2 * B.unit, B.top(2) + B.tall(2) / 2]; }"""
    )
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    assert "step 3" in page.get_by_test_id("status").inner_text()
    assert "rank 2 sends" in page.get_by_test_id("status").inner_text()
    page.mouse.click(box["x"] + at[0], box["y"] + at[1])
    assert state(page)["t"] == "2.5"
    assert state(page)["focus"] == "2"


def test_a_run_without_messages_or_provenance_is_shown(show):
    page = show(Player.from_trace(run(ring, 1).trace))
    assert "no message" in page.get_by_test_id("status").inner_text()
    page = show(Player.from_trace(run(ring, 3).trace, t=0.5))
    assert "not known" in page.get_by_test_id("note").inner_text()


@pytest.mark.slow
def test_sixty_four_ranks_are_drawn(show, capsys):
    trace, provenance = explained(ring, 64)
    player = Player.from_trace(trace, provenance)
    began = time.perf_counter()
    page = show(player)
    loaded = time.perf_counter() - began
    times = page.evaluate(
        """() => { const P = document.getElementById("widget").player, all = [];
             for (let i = 0; i < 60; i++) {
               const began = performance.now();
               P.clock.seek(i * 2 + 0.3);
               all.push(performance.now() - began);
             }
             return all.sort((a, b) => a - b); }"""
    )
    with capsys.disabled():
        size = len(json.dumps(player.film)) / 1e6
        print(
            f"\n64 ranks: film {size:.2f} MB, page {loaded:.2f} s, frame {times[30]:.1f} ms (worst {times[-1]:.1f})"
        )
    assert picture(page, "stage") > 50
    seek(page, 126)
    page.get_by_test_id("table").locator("summary").click()
    page.wait_for_selector("[data-testid=cell-63-63][data-holds='0-63']")
