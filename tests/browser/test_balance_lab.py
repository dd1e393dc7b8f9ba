"""The load-balance lab in JupyterLab, used as a learner uses it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PICTURES = Path(__file__).parent / "pictures"


@pytest.fixture(scope="module")
def lesson(new_notebook: Any) -> Iterator[Any]:
    """Lesson 02, with all its cells run, and nothing gone wrong."""
    notebook = new_notebook()
    notebook.open("course/02_load_balance.ipynb")
    notebook.run_all()
    assert notebook.faults() == []
    yield notebook
    notebook.close()


@pytest.fixture
def widget(lesson: Any) -> Any:
    """The lab, live: the saved stand-in below it is hidden."""
    widget = lesson.cell("lab").get_by_test_id("balance-lab").first
    widget.wait_for()
    return widget


def choose(widget: Any, schedule: str) -> str:
    """Choose a schedule; what the lab then says."""
    before = widget.get_by_test_id("sentence").text_content()
    widget.locator(f'[data-schedule="{schedule}"] input').click()
    widget.page.wait_for_function(
        "([id, before]) => document.querySelector(`#${id} [data-testid=sentence]`).textContent !== before",
        arg=[widget.get_attribute("id"), before],
    )
    return widget.get_by_test_id("sentence").text_content()


def test_the_lesson_shows_its_figures_and_asks_nobody_outside(lesson):
    for name in ("picture", "static-lanes", "guided", "sweep", "lpt"):
        assert lesson.cell(name).get_by_test_id("figure").is_visible()
    assert lesson.outside == []


def test_the_others_makespans_are_hidden_until_asked_for(widget):
    assert widget.locator("[data-schedule=dynamic]").text_content().strip().endswith("?")
    widget.get_by_test_id("reveal").click()
    widget.page.wait_for_function(
        "id => !document.querySelector(`#${id} [data-schedule=dynamic]`).textContent.includes('?')",
        arg=widget.get_attribute("id"),
    )
    assert widget.get_by_test_id("reveal").count() == 0


def test_each_choice_is_answered_and_its_picture_kept(widget):
    assert "works alone" in widget.get_by_test_id("sentence").text_content()
    widget.screenshot(path=PICTURES / "lab-static.png")
    assert "Taking tiles costs" in choose(widget, "dynamic")
    widget.screenshot(path=PICTURES / "lab-dynamic.png")
    assert "works alone" in choose(widget, "guided")
    widget.screenshot(path=PICTURES / "lab-guided.png")
    assert "Even" in choose(widget, "work_stealing")


def test_play_runs_to_the_end_and_dragging_zooms(widget):
    widget.get_by_test_id("speed").select_option("3")
    widget.get_by_test_id("play").click()
    scrub = widget.get_by_test_id("scrub")
    widget.page.wait_for_function(
        "id => +document.querySelector(`#${id} [data-testid=scrub]`).value < 900",
        arg=widget.get_attribute("id"),
    )
    widget.page.wait_for_function(
        "id => +document.querySelector(`#${id} [data-testid=scrub]`).value === 1000",
        arg=widget.get_attribute("id"),
    )
    assert scrub.is_visible()
    about = widget.get_by_test_id("about").text_content()
    box = widget.get_by_test_id("picture").bounding_box()
    mouse = widget.page.mouse
    mouse.move(box["x"] + 60, box["y"] + 60)
    mouse.down()
    mouse.move(box["x"] + 100, box["y"] + 100, steps=4)
    mouse.move(box["x"] + 140, box["y"] + 140, steps=4)
    mouse.up()
    widget.page.wait_for_function(
        "([id, about]) => document.querySelector(`#${id} [data-testid=about]`).textContent !== about",
        arg=[widget.get_attribute("id"), about],
    )
    assert widget.get_by_test_id("whole").is_visible()
    widget.screenshot(path=PICTURES / "lab-zoomed.png")


def test_it_follows_the_dark_theme(lesson, widget):
    lesson.theme("JupyterLab Dark")
    widget.screenshot(path=PICTURES / "lab-dark.png")
    assert widget.get_attribute("data-theme") == "dark"
    lesson.theme("JupyterLab Light")
    assert widget.get_attribute("data-theme") == "light"
