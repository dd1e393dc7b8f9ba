"""A line of a notebook's cell is named as its reader knows it."""

import pytest

from counterpoint.ranks import Waiting
from counterpoint.trace import is_cell, place_of


@pytest.mark.parametrize(
    "file", ["/tmp/ipykernel_77/123456.py", r"C:\Temp\ipykernel_5\98.py", "<ipython-input-3-ab>"]
)
def test_a_cell_is_the_readers_own(file):
    assert is_cell(file)
    assert place_of(file, 4) == "your cell, line 4"


def test_a_file_keeps_its_path():
    assert not is_cell("course/ring.py")
    assert place_of("course/ring.py", 12) == "course/ring.py:12"


def test_who_waits_in_a_cell_is_told_so():
    waiting = Waiting(1, "send", [2], file="/tmp/ipykernel_77/123456.py", line=4, code="comm.send(x, 2)")
    assert str(waiting).endswith(", your cell, line 4: comm.send(x, 2)")
