"""What a machine lacks skips its tests, with the reason; CI without a browser fails them instead."""

import os
from functools import lru_cache

import pytest

from counterpoint.cli.doctor import find_browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests share one server and one browser, so one process runs all of them."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run."""
    for marker, lack in (("browser", _no_browser), ("gpu", _no_gpu), ("hosts", _no_hosts)):
        if item.get_closest_marker(marker) and (reason := lack()):
            if marker == "browser" and os.environ.get("CI") == "true":
                pytest.fail(f"CI must run the browser tests: {reason}", pytrace=False)
            pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser. Tests that use it carry the marker `browser`."""
    path = find_browser()
    assert path is not None, "a test that uses `chromium` lacks the marker `browser`"
    return path


def _no_browser() -> str | None:
    return None if find_browser() else "no Chromium found; install chromium or set CHROMIUM to its path"


def _no_gpu() -> str | None:
    import torch

    return None if torch.cuda.is_available() else "no CUDA device"


@lru_cache
def _no_hosts() -> str | None:
    from namespaces import lacking  # in benchmarks/, which is on the path where a test has this marker

    return lacking()
