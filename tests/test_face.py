"""The face hands on a few names, each when it is first asked for."""

import importlib

import pytest

import counterpoint


@pytest.mark.parametrize("name", sorted(counterpoint._FACE))
def test_each_name_is_its_modules(name):
    assert getattr(counterpoint, name) is getattr(importlib.import_module(counterpoint._FACE[name]), name)


def test_dir_and_all_list_every_name():
    assert set(counterpoint.__all__) <= set(dir(counterpoint))
    assert set(counterpoint._FACE) < set(counterpoint.__all__)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(AttributeError, match="no 'lunch'; it has launch"):
        _ = counterpoint.lunch
