"""No kernel takes more of a multiprocessor than it used to: registers, spilled bytes, shared memory."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ahead import TARGETS, Row, budget_of, complaints, same_compiler, saved, table

pytest.importorskip("triton", reason="Triton is not installed")


@pytest.mark.slow
def test_every_kernel_of_the_library_keeps_to_its_budget():
    # Compiled in a process of its own, even where this one is told to interpret.
    command = [sys.executable, str(Path(__file__).with_name("ahead.py")), "--json"]
    done = subprocess.run(
        command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = [Row(**row) for row in found["rows"]]
    assert {row.target for row in rows} == set(TARGETS)
    version, budget = saved()
    if not same_compiler(found["triton"], version):
        assert {row.launch for row in rows} == set(budget)  # they compile
        pytest.skip(f"the budget is for the compiler of Triton {version}, and this is {found['triton']}")
    assert not (said := list(complaints(rows, budget))), "\n".join(said)


# -- the judge -------------------------------------------------------------------------------------------------

SOUND = [
    Row("a tile", "sm_80", 61, 0, 16),
    Row("a tile", "gfx942", lack="has PTX inside"),
    Row("a queue", "sm_80", 72, 8, 0),
]


def test_what_was_measured_keeps_to_the_budget_made_of_it():
    assert list(complaints(SOUND, budget_of(SOUND))) == []


def test_registers_are_rounded_up_to_what_is_handed_out():
    assert budget_of(SOUND) == {"a tile": {"sm_80": [64, 0, 16]}, "a queue": {"sm_80": [72, 8, 0]}}
    assert list(complaints([replace(SOUND[0], registers=64), *SOUND[1:]], budget_of(SOUND))) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"registers": 65}, "a tile on sm_80 takes 65 registers, and its budget is 64"),
        ({"stack": 8}, "a tile on sm_80 takes 8 bytes of stack, and its budget is 0"),
        ({"shared": 20}, "a tile on sm_80 takes 20 bytes of shared memory, and its budget is 16"),
        ({"launch": "a thing"}, "a thing on sm_80 has no budget"),
        ({"target": "sm_90"}, "a tile on sm_90 has no budget"),
        ({"target": "sm_90"}, "a tile on sm_80 has a budget and no code"),
        ({"lack": "cannot be compiled"}, "a tile on sm_80 has a budget and no code"),
    ],
)
def test_a_planted_excess_is_named(change, said):
    assert said in list(complaints([replace(SOUND[0], **change), *SOUND[1:]], budget_of(SOUND)))


def test_the_table_says_why_there_is_no_code():
    lines = list(table(SOUND))
    assert "61     0    16" in lines[2] and lines[2].endswith("has PTX inside")
