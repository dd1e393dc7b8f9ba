"""A learner's hour in JupyterLab: run a lesson, play a run, guess, answer wrongly, come back the next day."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from counterpoint.collectives import explain
from counterpoint.collectives.ring import ring_all_reduce

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = Path(__file__).parent / "pictures"
RANKS = 8


@pytest.fixture(scope="module")
def lesson(new_notebook: Any) -> Iterator[Any]:
    """Lesson 08, with all its cells run, and nothing gone wrong."""
    notebook = new_notebook()
    notebook.open("course/08_all_reduce.ipynb")
    notebook.run_all()
    assert notebook.faults() == []
    yield notebook
    notebook.close()


@pytest.fixture
def notebook(new_notebook: Any) -> Iterator[Any]:
    """A page for one test; nothing may go wrong on it that the test does not expect."""
    notebook = new_notebook()
    yield notebook
    notebook.close()


def test_the_lesson_shows_a_player_and_figures_and_asks_nobody_outside(lesson):
    for name in ("star-run", "tree-run", "reduce-scatter-run", "ring-run"):
        assert lesson.player(name).is_visible()
    for name in ("shares-figure", "matrices", "crossover-figure"):
        assert lesson.cell(name).get_by_test_id("figure").is_visible()
    assert lesson.outside == []


def test_the_first_lesson_too(notebook):
    notebook.open("course/00_orientation.ipynb")
    notebook.run_all()
    assert notebook.faults() == []


def test_lesson_07_shows_its_deadlock_its_tree_and_its_figures(notebook):
    notebook.open("course/07_messages_and_collectives.ipynb")
    notebook.run_all()
    assert notebook.faults() == []
    for name in ("eager-play", "broadcast-run", "logp"):
        assert notebook.player(name).is_visible()
    assert notebook.cell("long-change").get_by_test_id("cost-explorer").first.is_visible()
    for name in ("ping-pong-figure", "depth-figure", "family-figure", "long-figure"):
        assert notebook.cell(name).get_by_test_id("figure").is_visible()
    assert notebook.outside == []
    for name in ("ping-pong-figure", "family-figure", "long-change", "broadcast-run"):
        notebook.cell(name).screenshot(path=PICTURES / f"lesson-07-{name}.png")


# -- the player ------------------------------------------------------------------------------------------


def seek(player: Any, t: float) -> None:
    """Drag the slider to step `t`."""
    slider = player.get_by_test_id("scrub")
    slider.evaluate(
        "(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input', {bubbles: true})); }", t
    )


def held(player: Any) -> dict[tuple[int, int], set[int]]:
    """Whose contributions the player's table says each (rank, chunk) holds."""
    if player.get_by_test_id("table").get_attribute("open") is None:
        player.get_by_test_id("table").locator("summary").click()
    cells = player.locator("[data-testid^=cell-]").evaluate_all(
        "all => all.map(td => [td.dataset.testid, td.dataset.holds])"
    )
    return {tuple(map(int, name.split("-")[1:])): contributors(text) for name, text in cells}


def contributors(text: str) -> set[int]:
    """ "0-2,7" reads {0, 1, 2, 7}."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def traced() -> list[dict[tuple[int, int], set[int]]]:
    """The same from a trace of the same function: before the first step, after it, and so on."""
    record = explain(ring_all_reduce, RANKS)
    steps = [{(r, c): {r} for r in range(RANKS) for c in range(RANKS)}]
    for step in range(1, record.trace.steps + 1):
        steps.append(dict(steps[-1]))
        for event, chunk, counts in record.changes:
            if record.trace.step[event] == step:
                steps[-1][int(record.trace.rank[event]), chunk] = set(np.flatnonzero(counts).tolist())
    return steps


def test_the_player_shows_after_every_step_what_the_trace_says(lesson):
    player = lesson.player("ring-run")
    for step, expected in enumerate(traced()):
        seek(player, step)
        assert held(player) == expected, f"after step {step}"


def test_play_draws_every_step_until_each_chunk_is_complete(lesson):
    player = lesson.player("ring-run")
    seek(player, 0)
    before = stage(player)
    player.evaluate(WATCH)
    player.get_by_test_id("speed").select_option("8")
    player.get_by_test_id("play").click()
    lesson.page.wait_for_function("root => root.dataset.playing === 'false'", arg=player.element_handle())
    seen = player.evaluate("root => root.seen")
    assert [step for step, _ in seen] == [str(step) for step in range(15)]
    assert len({picture for _, picture in seen}) == 15  # each step looks different
    assert stage(player) != before
    assert set(map(frozenset, held(player).values())) == {frozenset(range(RANKS))}


WATCH = """root => {
  const look = () => [root.dataset.step, root.querySelector("[data-testid=stage]").toDataURL()];
  root.seen = [look()];
  new MutationObserver(() => { if (root.dataset.step !== root.seen.at(-1)[0]) root.seen.push(look()); })
    .observe(root, { attributes: true, attributeFilter: ["data-step"] });
}"""


def stage(player: Any) -> str:
    return player.get_by_test_id("stage").evaluate("canvas => canvas.toDataURL()")


def test_scrubbing_to_the_end_shows_every_chunk_complete(lesson):
    for cell, chunks in (("star-run", 1), ("tree-run", 1), ("ring-run", RANKS)):
        player = lesson.player(cell)
        seek(player, 1e9)  # a slider stops at its end
        assert set(map(frozenset, held(player).values())) == {frozenset(range(RANKS))}, cell
        assert len(held(player)) == RANKS * chunks
        assert player.get_attribute("data-complete") == str(RANKS * chunks)


def test_the_picture_is_not_blank(lesson):
    player = lesson.player("ring-run")
    player.get_by_test_id("table").evaluate("details => { details.open = false; }")
    for name, t in (("player-start", 0), ("player-midway", 7.4), ("player-end", 14)):
        seek(player, t)
        assert colors(photograph(player, name)) > 100


# -- the rest of the page ----------------------------------------------------------------------------------


def photograph(locator: Any, name: str) -> Image.Image:
    """A screenshot, kept to be looked at."""
    PICTURES.mkdir(exist_ok=True)
    png = locator.screenshot(path=PICTURES / f"{name}.png")
    return Image.open(io.BytesIO(png))


def colors(picture: Image.Image) -> int:
    """How many different colours there are: one or two if nothing is drawn."""
    return len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0))


def test_figures_and_player_follow_the_theme(lesson):
    inks, grounds = [], []
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        lesson.theme(theme)
        figure = lesson.cell("matrices").get_by_test_id("figure")
        inks.append(figure.locator("svg text").first.evaluate("text => getComputedStyle(text).fill"))
        player = lesson.player("ring-run")
        grounds.append(player.evaluate("root => getComputedStyle(root).backgroundColor"))
        photograph(lesson.page, f"lesson-{theme[11:].lower()}")
    assert len(set(inks)) == 2
    assert len(set(grounds)) == 2


def test_a_guess_is_kept_and_shown_beside_the_answer(notebook):
    notebook.open("course/00_orientation.ipynb")
    for name in ("imports", "relay", "guess-time"):
        notebook.run(name)
    box = notebook.cell("guess-time").locator("input[type=text]")
    box.fill("5")
    box.press("Enter")
    notebook.cell("guess-time").get_by_text("kept").wait_for()
    notebook.run("time")
    assert "you guessed 5 ms; it is 4 ms" in notebook.cell("time").inner_text()


WRONG = '''
def ring_reduce_scatter(comm, chunks):
    """Passes on the wrong chunk from the second step on: rank + step, where rank - step is meant."""
    p, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(p - 1):
        outgoing, incoming = chunks[(comm.rank + step) % p], chunks[(comm.rank - 1 + step) % p]
        comm.sendrecv_reduce(outgoing, right, incoming, left)
'''


def test_a_wrong_answer_is_told_which_rank_step_and_chunk(notebook):
    notebook.open("exercises/08_all_reduce/08_all_reduce.ipynb")
    notebook.run("setup")
    notebook.type_into("ring-reduce-scatter", WRONG)
    notebook.run("ring-reduce-scatter-test")
    cell = notebook.cell("ring-reduce-scatter-test")
    verdict = cell.get_by_test_id("check")
    verdict.wait_for()
    assert verdict.get_attribute("data-points") == "0"
    said = verdict.inner_text()
    assert "Not yet: 0 of 8." in said
    assert "The first message that went wrong is in step" in said
    cell.get_by_test_id("player").first.wait_for()
    assert colors(photograph(notebook.page, "failed-check")) > 100
    assert notebook.faults() == []


def test_a_saved_notebook_without_a_kernel_still_shows_the_player(notebook, lab):
    source = lab.workbook / "course" / "00_orientation.ipynb"
    copy = source.with_name("next_day.ipynb")
    copy.write_bytes(source.read_bytes())
    notebook.open(f"course/{copy.name}")
    for name in ("imports", "relay", "relay-run"):
        notebook.run(name)
    notebook.player("relay-run").wait_for()
    notebook.save()
    notebook.stop_kernel()
    notebook.open(f"course/{copy.name}", kernel=False)
    assert not notebook.has_kernel()
    frame = notebook.cell("relay-run").frame_locator("iframe")
    player = frame.get_by_test_id("player")
    player.wait_for()
    player.get_by_test_id("end").click()
    assert held(player)[4, 0] == {0, 1, 2, 3, 4}
    assert colors(photograph(notebook.cell("relay-run"), "reopened")) > 50
    assert notebook.outside == []
