"""The widget and its twins without a kernel: same film, nothing fetched."""

import io
import re

import numpy as np
import pytest

from counterpoint.viz import Player
from counterpoint.viz.player.widget import module, styles

from .runs import explained, failed, ring, run, send_first, too_long, tree


@pytest.fixture(scope="module")
def player() -> Player:
    trace, provenance = explained(ring, 4)
    return Player.from_trace(trace, provenance, title="a <ring> & more")


def pixels(png: bytes) -> np.ndarray:
    from matplotlib.image import imread

    return imread(io.BytesIO(png))


def test_the_figure_shows_buffers_bytes_and_timeline(player):
    figure = player.figure()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert "what each rank holds at the end" in titles[0]
    assert titles[1] == "bytes received"
    assert "24 messages, 6 steps" in figure.get_suptitle()
    boxes, bars = figure.axes[0].collections[0], figure.axes[2].collections[-1]
    assert len(boxes.get_paths()) == 4 * 4 * (1 + 4)  # each chunk, and a slot for each contributor
    assert len(bars.get_paths()) == 2 * 24
    assert len(figure.axes[1].collections[0].get_paths()) == 4


def test_the_figure_at_the_start_has_only_own_contributions(player):
    boxes = player.figure(t=0).axes[0].collections[0]
    assert len(boxes.get_paths()) == 4 * 4 * 2


@pytest.mark.parametrize("ranks", [1, 2, 17])
def test_every_size_has_a_picture(ranks):
    trace, provenance = explained(tree, ranks)
    image = pixels(Player.from_trace(trace, provenance).png())
    assert image[..., :3].std() > 0.05


def test_the_figure_of_a_deadlock_names_the_cycle():
    error = failed(send_first, 3, eager_limit=0)
    player = Player.from_trace(error.run.trace, waits=error.waits, cycle=error.cycle)
    assert "Deadlock: each waits for the next" in player.figure().get_suptitle()


def test_the_figure_of_wall_time_needs_no_provenance():
    player = Player.from_trace(run(ring, 3, network=None).trace, axis="time")
    assert player.figure().axes[2].get_xlabel().startswith("wall seconds")


def test_the_table_is_what_is_drawn(player):
    rows = player.table(t=0)
    assert len(rows) == 16
    assert rows[5] == {"rank": 1, "chunk": 1, "holds": {1: 1}, "state": "part"}
    assert {row["state"] for row in player.table(t=6)} == {"complete"}
    assert len(player.messages()) == 24


def test_at_message_goes_to_where_it_flies():
    trace, provenance = explained(too_long, 4)
    player = Player.from_trace(trace, provenance)
    index = player.film["verdict"]["message"]
    assert player.at_message(player.film["messages"]["id"][index]) is player
    assert player.t == 3.5
    assert player.focus == player.film["messages"]["source"][index]


def test_what_is_displayed_is_the_widget_and_its_stand_in(player):
    data, _ = player._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["image/png"]
    assert "srcdoc=" in data["text/html"]
    assert data["text/plain"].startswith("Player(")


def test_in_a_notebook_the_stand_in_gives_way_to_the_widget(player, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *rest: shown.append(data))
    player._ipython_display_()
    live, still = shown
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "application/vnd.jupyter.widget-view+json" not in still
    assert f"body:has(#{player.element_id})" in still["text/html"]


def test_nothing_is_fetched(player):
    page = player.html()
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", page)
    assert "import " not in module().split("export default")[0].replace("// ", "")
    assert not re.findall(r"url\(|@import|https?://", styles() + module())


def test_text_from_outside_is_no_markup(player):
    page = player.html()
    assert "<ring>" not in page
    assert "a &lt;ring&gt; &amp; more" in page  # the document's title


def test_two_players_have_two_names():
    trace = run(ring, 2).trace
    assert Player.from_trace(trace).element_id != Player.from_trace(trace).element_id
