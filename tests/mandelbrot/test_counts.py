"""All versions of the iteration agree to the last count, and bad views are answered."""

import math

import numpy as np
import pytest
import torch

from counterpoint.mandelbrot import VIEWS, Tile, View, bands, draw, tiles
from counterpoint.mandelbrot.reference import escape_counts

cpu = pytest.importorskip(
    "counterpoint.mandelbrot.cpu", reason="Numba is not installed", exc_type=ImportError
)


def by_reference(view, dtype="float64"):
    xs, ys = view.axes(dtype)
    return escape_counts(torch.from_numpy(xs), torch.from_numpy(ys), view.iterations).numpy()


def by_kernel(name, view, dtype="float64", exact=True):
    xs, ys = view.axes(dtype)
    counts = np.full((view.rows, view.columns), -7, np.int32)
    cpu.kernel(name, exact)(xs, ys, view.iterations, counts)
    return counts


def test_known_points():
    points = torch.tensor([0.0, -2.0, 0.25, -0.75, 0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
    counts = escape_counts(points, torch.zeros(1, dtype=torch.float64), 50)[0].tolist()
    assert counts == [50, 50, 50, 50, 5, 3, 2, 1]  # 1 -> 2 -> 5: the third number is out


@pytest.mark.parametrize("name", ["scalar", "lanes", "speculative"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_every_kernel_is_the_reference_to_the_last_count(name, dtype, view):
    view = VIEWS[view].resized(150, 97, iterations=203)  # no multiples of lanes or blocks
    assert (by_kernel(name, view, dtype) == by_reference(view, dtype)).all()


@pytest.mark.parametrize("name", ["scalar", "lanes", "speculative"])
@pytest.mark.parametrize(("columns", "rows"), [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (129, 2)])
@pytest.mark.parametrize("iterations", [1, 2, 7, 8, 9, 64])
def test_small_pictures_and_few_iterations(name, columns, rows, iterations):
    view = VIEWS["full"].resized(columns, rows, iterations)
    assert (by_kernel(name, view) == by_reference(view)).all()


def test_contraction_changes_few_counts_and_the_comparison_sees_them():
    view = VIEWS["zoom"].resized(200, iterations=500)
    exact = by_reference(view, "float32")
    for name in ("scalar", "lanes", "speculative"):
        off = (by_kernel(name, view, "float32", exact=False) != exact).mean()
        assert 0 < off < 0.1, name


def test_one_count_too_many_is_seen():
    view = VIEWS["full"].resized(64, iterations=50)
    wrong = by_kernel("lanes", view)
    wrong[10, 20] += 1
    assert (wrong != by_reference(view)).sum() == 1


@pytest.mark.parametrize("schedule", ["static", "static,1", "dynamic,2", "guided", "work_stealing"])
@pytest.mark.parametrize("tasks", [16, 100, "bands"])
def test_a_picture_is_whole_whatever_the_schedule(schedule, tasks):
    view = VIEWS["skewed"].resized(90, 70, iterations=100)
    cut = bands(view, 3) if tasks == "bands" else tasks
    picture = draw(view, 3, schedule, cut)
    assert (picture.counts == by_reference(view)).all()
    assert len(picture.run.computed) == len(picture.tasks)


def test_tiles_cover_every_pixel_once():
    view = View(columns=50, rows=33)
    for cut in (tiles(view, 16), tiles(view, 100), bands(view), bands(view, 7)):
        times = np.zeros((33, 50), int)
        for tile in cut:
            times[tile.where] += 1
        assert (times == 1).all()
    assert tiles(view, 32)[-1] == Tile(32, 32, 1, 18)
    with pytest.raises(ValueError, match="at least 1 pixel"):
        tiles(view, 0)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"center_x": math.nan}, ValueError, "center_x is nan"),
        ({"center_y": math.inf}, ValueError, "center_y is inf"),
        ({"width": 0}, ValueError, "width is 0"),
        ({"width": -1.0}, ValueError, "positive"),
        ({"width": math.nan}, ValueError, "width is nan"),
        ({"iterations": 0}, ValueError, "iterations is 0; it is at least 1"),
        ({"columns": -1}, ValueError, "columns is -1"),
        ({"rows": 2.5}, TypeError, "rows is 2.5"),
        ({"columns": True}, TypeError, "columns is True"),
    ],
)
def test_views_that_make_no_picture_are_refused(change, error, says):
    with pytest.raises(error, match=says):
        View(**change)


def test_zooming_ends_with_an_error_and_not_with_equal_pixels():
    view = View(-0.743643887037151, 0.131825904205330, 1e-3, 400, 400, 50)
    while True:
        try:
            xs, ys = view.axes()
        except ValueError as stop:
            said = str(stop)
            break
        assert (np.diff(xs) > 0).all() and (np.diff(ys) < 0).all()
        spread = np.diff(xs) / view.pixel
        assert spread.min() > 0.4 and spread.max() < 1.6
        view = view.zoom(200, 200, 0.5)
    assert "zoom out to a width of at least" in said and view.width < 1e-12
    least = float(said.split("at least ")[1].split()[0].rstrip(","))
    View(view.center_x, view.center_y, 1.1 * least, 400, 400, 50).axes()


def test_float32_says_that_float64_goes_deeper():
    with pytest.raises(ValueError, match="or use float64"):
        View(-0.75, 0.1, 1e-5, 400, 400).axes("float32")
    with pytest.raises(ValueError, match="float32 and float64"):
        View().axes("int32")


def test_zooming_keeps_the_point_under_the_pointer():
    view = View(-0.5, 0.25, 2.0, 200, 100)
    xs, ys = view.axes()
    closer = view.zoom(30, 80, 0.25)
    assert (closer.center_x, closer.center_y) == pytest.approx((xs[30], ys[80]))
    assert closer.width == 0.5


def test_smooth_counts_have_no_steps_and_round_to_counts():
    view = VIEWS["full"].resized(120, iterations=80)
    xs, ys = view.axes()
    counts = by_kernel("lanes", view)
    smooth = cpu.smooth_counts(xs, ys, counts, view.iterations)
    outside = counts < view.iterations
    assert np.isnan(smooth[~outside]).all() and np.isfinite(smooth[outside]).all()
    assert np.abs(smooth - counts)[outside].max() < 1.7
    step = np.abs(np.diff(smooth[0]))  # along the top edge, far from the set
    assert step.max() < 0.5 and np.abs(np.diff(counts[0])).max() == 1


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="there are scalar, lanes, speculative"):
        cpu.kernel("simd")
