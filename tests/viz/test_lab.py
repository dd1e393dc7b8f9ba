"""The load-balance lab shows `simulate`'s runs, answers every choice, and says what costs the most."""

import base64

import numpy as np
import pytest
import traitlets

import counterpoint as cp
from counterpoint.balance import simulate
from counterpoint.mandelbrot import VIEWS, draw, tiles
from counterpoint.viz.lab.words import seconds, sentence


@pytest.fixture(scope="module")
def lab():
    return cp.explore_balance("skewed", "static", 2)


def choose(lab, **traits):
    for name, value in traits.items():
        setattr(lab, name, value)
    return lab.run["measures"]


def test_a_tile_costs_its_iterations(lab):
    view = VIEWS["skewed"].resized(256)
    counts = draw(view).counts
    costs = [counts[tile.where].sum() * 2e-9 for tile in tiles(view, 16)]
    assert lab.scene["costs"] == pytest.approx(costs, rel=1e-12)
    shades = np.frombuffer(base64.b64decode(lab.scene["shade"]), np.uint8).reshape(256, 256)
    assert ((shades == 0) == (counts == view.iterations)).all()


@pytest.mark.parametrize(
    ("schedule", "text"),
    [("static", "static"), ("cyclic", "static,4"), ("dynamic", "dynamic,4"), ("guided", "guided,4"),
     ("work_stealing", "work_stealing,4")],
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 3, 64])
def test_what_it_shows_is_what_simulate_says(lab, schedule, text, workers):
    shown = choose(lab, schedule=schedule, workers=workers, chunk=4)
    run = simulate(lab.scene["costs"], workers, text, take_seconds=5e-6, steal_seconds=5e-6)
    assert shown == run.measures() and lab.run["tasks"] == run.to_json()["tasks"]
    assert lab.run["spans"][schedule] == run.makespan
    swept = {chunk: makespan for chunk, makespan, _ in lab.run["sweep"]}
    assert swept[4] == lab.run["spans"]["cyclic" if schedule == "static" else schedule]
    assert len(lab.run["colors"]) == workers == len(lab.table())
    assert sum(row["tasks"] for row in lab.table()) == 256


def test_on_the_skewed_view_guided_is_as_bad_as_static_and_dynamic_is_even(lab):
    choose(lab, schedule="static", workers=2, chunk=1, view="skewed", window=[])
    spans = lab.run["spans"]
    assert spans["static"] > 1.9 * lab.run["measures"]["lower_bound"]
    assert spans["guided"] == pytest.approx(spans["static"], rel=0.01)
    assert spans["dynamic"] < 1.1 * lab.run["measures"]["lower_bound"]


def test_zooming_makes_a_new_scene_and_too_deep_a_zoom_says_so(lab):
    whole = lab.scene["costs"]
    lab.window = [0.25, 0.25, 0.5, 0.5]
    assert lab.scene["costs"] != whole and lab.scene["about"].startswith("0.5 wide")
    lab.window = []
    assert lab.scene["costs"] == whole and not lab.complaint


def test_a_view_beyond_the_numbers_is_a_complaint_and_keeps_the_picture(lab):
    kept = lab.scene
    scene_of, lab._scene_of = (
        lab._scene_of,
        lambda view, window: VIEWS["full"].resized(256).zoom(0, 0, 1e-16).axes(),
    )
    lab.window = [0.1, 0.1, 0.2, 0.2]
    assert "zoom out" in lab.complaint and lab.scene == kept
    lab._scene_of = scene_of
    lab.window = []
    assert not lab.complaint


def test_what_there_is_not_is_refused(lab):
    with pytest.raises(ValueError, match="there are full, skewed, zoom"):
        cp.explore_balance("nowhere")
    with pytest.raises(traitlets.TraitError, match="no view"):
        lab.view = "nowhere"
    with pytest.raises(traitlets.TraitError, match="at least 1"):
        lab.workers = 0
    with pytest.raises(traitlets.TraitError):
        lab.schedule = "random"


@pytest.mark.parametrize(
    ("costs", "workers", "schedule", "options", "says"),
    [
        ([1.0] * 8, 1, "static", {}, "One worker does everything, in 8 s."),
        ([], 2, "static", {}, "no tiles"),
        ([1.0] * 50 + [0.0] * 50, 2, "static", {}, "Worker 0 works alone for the last 50 s: its tiles are 100%"),
        ([1.0] * 100, 2, "dynamic", {"take_seconds": 0.2}, "Taking tiles costs"),
        ([1.0] * 100, 2, "dynamic", {}, "Even: 0.0% above"),
        ([10.0, 1.0, 1.0], 3, "dynamic", {}, "the longest of the tiles alone takes 10 s"),
    ],
)  # fmt: skip
def test_the_sentence_names_what_costs_most(costs, workers, schedule, options, says):
    assert says in sentence(simulate(costs, workers, schedule, **options).to_json())


def test_seconds_have_three_figures():
    assert [seconds(v) for v in (0, 2e-9, 0.9999e-3, 0.0254, 61.0)] == [
        "0 s",
        "2 ns",
        "1 ms",
        "25.4 ms",
        "61 s",
    ]


def test_its_twins_need_no_kernel(lab):
    choose(lab, schedule="guided", workers=2, chunk=1)
    axes = lab.figure().axes
    assert len(axes) == 2 and "makespan" in axes[1].get_title()
    assert lab.html().count("<script") == 2 and "guided" in repr(lab)
    assert "alone" in lab.figure().get_suptitle()


@pytest.mark.browser
def test_the_saved_lab_plays_and_is_read_without_a_kernel(chromium, tmp_path, lab):
    from playwright.sync_api import sync_playwright

    choose(lab, schedule="work_stealing", workers=2, chunk=1, view="skewed", window=[])
    file, complaints = tmp_path / "lab.html", []
    file.write_text(lab.html(), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": 900, "height": 700}, offline=True).new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())

        def get(name):
            return page.locator(f'[data-testid="{name}"]')

        assert get("sentence").text_content() == lab.run["sentence"]
        assert get("workers").is_disabled() and "run the notebook" in get("about").text_content()
        assert len(page.locator("[data-schedule]").all()) == 5
        assert get("table").locator("tbody tr").count() == 2
        get("scrub").fill("500")
        shown = float(page.locator('[data-part="clip"]').get_attribute("width"))
        get("play").click()
        page.wait_for_function(
            f"+document.querySelector('[data-part=clip]').getAttribute('width') > {shown} + 20"
        )
        get("play").click()
        get("chart").focus()
        page.keyboard.press("ArrowRight")
        assert get("read").text_content().startswith("Worker 0: tile 0,")
        page.keyboard.press("ArrowDown")
        assert "Worker 1" in get("read").text_content()
        page.get_by_text("sweep over chunks").click()
        assert page.locator("circle[data-chunk]").count() == 8
        browser.close()
    assert not complaints
