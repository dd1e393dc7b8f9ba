"""Charts show the values they are given, follow the theme, and say what they show."""

import base64
import inspect
import itertools
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from counterpoint.collectives.ring import ring_all_reduce
from counterpoint.collectives.star import star_all_reduce
from counterpoint.ranks import launch
from counterpoint.viz import byte_matrix, curves, show_source
from counterpoint.viz.charts import COLORS, NAMES_APART


def trace_of(algorithm, ranks=4):
    return launch(algorithm, ranks, (torch.zeros(1000),)).trace


def drawn() -> object:
    return curves(
        [1, 2, 4], {"slow": [1, 2, 4], "fast": [1, 1, 2]},
        x_label="size", y_label="time", x_unit="B", y_unit="s", alt="Two <lines>.", marks={"here": 2},
    )  # fmt: skip


def test_each_curve_has_its_name_at_its_end_and_no_legend():
    (axes,) = drawn().figure.axes
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [[1, 2, 4], [1, 1, 2]]
    assert [text.get_text().strip() for text in axes.texts[:2]] == ["slow", "fast"]
    assert axes.get_legend() is None
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size", "time")


def test_names_of_lines_that_end_together_do_not_touch():
    chart = curves(
        ["a", "b"], {name: [0, value] for name, value in {"x": 1, "y": 1, "z": 1.01}.items()},
        x_label="", y_label="", logarithmic=False, alt="",
    )  # fmt: skip
    (axes,) = chart.figure.axes
    chart.figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert abs(heights[0] + heights[-1]) < NAMES_APART / 4  # to both sides alike


def test_positions_may_be_letters():
    chart = curves("abc", {"t": [1, 2, 3]}, x_label="", y_label="", logarithmic=False, alt="")
    (axes,) = chart.figure.axes
    assert axes.lines[0].get_xdata().tolist() == ["a", "b", "c"]


def test_ticks_carry_their_unit():
    chart = curves(
        [1, 1e3, 1e6], {"t": [1e-6, 1e-3, 1]}, x_label="", y_label="", x_unit="B", y_unit="s", alt=""
    )
    (axes,) = chart.figure.axes
    assert axes.xaxis.get_major_formatter()(1000) == "1 kB"
    assert axes.yaxis.get_major_formatter()(1e-3) == "1 ms"


def test_curves_differ_by_more_than_colour():
    (axes,) = drawn().figure.axes
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle()


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two colours."""

    def light(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_line_colours_stand_out_on_both_themes(background):
    assert min(contrast(color, background) for color in COLORS) >= 3


def test_the_svg_takes_its_ink_from_the_theme_and_styles_nothing_else():
    svg = drawn().svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Two <lines>."
    assert "var(--jp-content-font-color1" in svg
    assert "<style" not in svg
    assert "#1f2328;" not in svg  # ink that no theme can change


def test_a_chart_has_a_picture_and_words_for_those_who_cannot_show_html():
    bundle = drawn()._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == "Two <lines>."


def test_the_byte_matrix_shows_what_each_rank_sent_to_whom():
    trace = trace_of(star_all_reduce)
    (axes,) = byte_matrix(trace).figure.axes
    squares = {(patch.get_x() + 0.46, patch.get_y() + 0.46) for patch in axes.patches}
    assert {(round(x), round(y)) for x, y in squares} == {(0, r) for r in (1, 2, 3)} | {
        (r, 0) for r in (1, 2, 3)
    }
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("4") == 6 + 3  # 4 kB in each of 6 cells, and sent by each of 3 ranks
    assert "12" in texts  # by the root


def test_matrices_side_by_side_share_one_scale():
    figure = byte_matrix({"star": trace_of(star_all_reduce), "ring": trace_of(ring_all_reduce)}).figure
    star, ring = (axes.patches[0].get_facecolor() for axes in figure.axes)
    assert star != ring  # 4 kB and 6 kB
    assert [axes.get_title() for axes in figure.axes] == ["star: 24 kB in all", "ring: 24 kB in all"]


def test_a_matrix_of_many_ranks_leaves_the_numbers_out():
    (axes,) = byte_matrix(trace_of(ring_all_reduce, 16)).figure.axes
    assert len(axes.patches) == 16
    assert not axes.texts


def test_the_words_of_a_matrix_name_the_busiest_rank():
    assert "rank 0 sends most, 12 kB, and the least is 4 kB" in repr(byte_matrix(trace_of(star_all_reduce)))


def test_a_run_without_messages_has_an_empty_matrix():
    (axes,) = byte_matrix(trace_of(ring_all_reduce, 1)).figure.axes
    assert not axes.patches


def test_a_source_is_shown_as_it_stands_with_its_place():
    shown = show_source(star_all_reduce).data
    _, first = inspect.getsourcelines(star_all_reduce)
    assert shown.startswith(
        f"`counterpoint/collectives/star.py`, line {first}\n```python\ndef star_all_reduce("
    )
    assert inspect.getsource(star_all_reduce).rstrip() in shown
