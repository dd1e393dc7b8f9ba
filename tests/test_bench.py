"""The bench counts, checks and converts as nccl-tests does."""

import dataclasses

import pytest
import torch

from counterpoint import bench


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4KiB:16KiB", [4096, 8192, 16384]),
        ("8:40", [8, 16, 32]),
        ("1M", [1 << 20]),
        ("1kB:2kB", [1000, 2000]),
        ("0", [0]),
    ],
)
def test_sizes_double_from_the_first_to_the_last(text, sizes):
    assert bench.parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", ":", "4KiB:", "4KiB:1KiB", "1:2:3", "-4", "4 apples", "0:8"])
def test_sizes_that_mean_nothing_are_refused(text):
    with pytest.raises(ValueError, match="size"):
        bench.parse_sizes(text)


@pytest.mark.parametrize("collective", sorted(bench.OPERATIONS))
@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_right_results_have_nothing_wrong(collective, p, dtype):
    row = bench.measure(collective, p, 240 * dtype.itemsize, dtype=dtype, iters=1)
    assert row.wrong == 0
    assert row.nbytes == 240 * dtype.itemsize
    assert row.count == (240 // p if bench.OPERATIONS[collective].pieces else 240)


def test_busbw_is_algbw_times_the_factor_of_nccl_tests():
    row = bench.measure("all_reduce", 4, 4096, iters=1)
    assert row.algbw == 4096 / row.seconds
    assert row.busbw == row.algbw * 2 * 3 / 4


@pytest.mark.parametrize("collective", sorted(bench.OPERATIONS))
def test_a_collective_that_does_nothing_is_wrong(monkeypatch, collective):
    idle = dataclasses.replace(bench.OPERATIONS[collective], call=lambda *_, **__: None)
    monkeypatch.setitem(bench.OPERATIONS, collective, idle)
    assert bench.measure(collective, 2, 400, iters=1).wrong > 0


def test_every_wrong_element_counts(monkeypatch):
    idle = dataclasses.replace(bench.OPERATIONS["all_reduce"], call=lambda *_, **__: None)
    monkeypatch.setitem(bench.OPERATIONS, "all_reduce", idle)
    # Rank 0 holds i % 3 where 2 (i % 3) + 1 is right: all 100 are wrong. Rank 1 holds (i % 3) + 1, which is
    # right in the 34 places where i % 3 is 0.
    assert bench.measure("all_reduce", 2, 400, iters=1).wrong == 100 + 66


def test_an_algorithm_is_chosen_only_where_there_is_a_choice():
    with pytest.raises(ValueError, match="reduce has one algorithm"):
        bench.measure("reduce", 2, 400, algorithm="ring")


def test_no_elements_is_a_size_too():
    assert bench.measure("all_reduce", 2, 0, iters=1).wrong == 0


def test_time_is_the_median_span_of_the_slowest_rank():
    early = [(0.0, 2.0), (10.0, 11.0), (20.0, 29.0)]
    late = [(0.5, 4.0), (10.0, 12.0), (20.0, 21.0)]
    assert bench._slowest([early, late], [2, 2, 2]) == 2.0  # spans of 4, 2 and 9 seconds


def test_no_calls_are_refused():
    with pytest.raises(ValueError, match="at least 1 call"):
        bench.measure("all_reduce", 2, 400, iters=0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1.0, "4.10e-06"), (1e-3, "0.00410"), (1e-5, "0.410"), (1e-7, "40.96"), (1e-9, "4096.00")],
)
def test_bandwidth_has_three_digits_however_slow(seconds, shown):
    row = bench.Row(4096, 1024, "float", "sum", seconds, 4096 / seconds, 4096 / seconds, 0)
    assert str(row).split()[-3:] == [shown, shown, "0"]
