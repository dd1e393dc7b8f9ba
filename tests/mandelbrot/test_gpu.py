"""The GPU's kernels count as the definition does: interpreted everywhere, compiled where there is a device."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

HERE = Path(__file__).parent
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def python(*arguments: str, **environment: str) -> str:
    """Run Python with TRITON_INTERPRET as given here, or unset; any warning is an error. Returns what it printed."""
    inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(
        command, env={**inherited, **environment}, cwd=HERE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_definition(xs, ys, iterations):
    """The counts, by the plainest loop over whole tensors."""
    cx, cy = xs[None, :].expand(len(ys), len(xs)), ys[:, None].expand(len(ys), len(xs))
    zx, zy = torch.zeros_like(cx), torch.zeros_like(cy)
    counts = torch.full(cx.shape, iterations, dtype=torch.int32)
    for k in range(iterations):
        escapes = (zx * zx + zy * zy > 4) & (counts == iterations)
        counts[escapes] = k
        zx, zy = zx * zx - zy * zy + cx, (zx + zx) * zy + cy
    return counts


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """What `interpreted.py` left."""
    path = tmp_path_factory.mktemp("interpreted") / "found.pt"
    python(str(HERE / "interpreted.py"), str(path), TRITON_INTERPRET="1")
    return torch.load(path)


def axes(columns, rows, dtype):
    """As in `interpreted.py`, which this process cannot import: it would compile."""
    xs = -2 + torch.arange(columns, dtype=torch.float64) * 2.6 / max(columns, 1)
    ys = (torch.arange(rows, dtype=torch.float64) - rows // 2) * 2.4 / max(rows, 1)
    return xs.to(DTYPES[dtype]), ys.to(DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", ["tile", "persistent"])
@pytest.mark.parametrize("block", [16, 32])
def test_every_kernel_is_the_definition_to_the_last_count(interpreted, dtype, kernel, block):
    counts, owner, across = interpreted["pictures"][dtype, kernel, block]
    assert counts.dtype == torch.int32 and counts.is_contiguous()
    assert torch.equal(counts, by_definition(*axes(50, 40, dtype), 60))
    tiles = {16: 4 * 3, 32: 2 * 2}[block]
    assert across == {16: 4, 32: 2}[block]
    # The interpreter runs one program after the other: of those with a queue, the first does everything.
    assert owner.tolist() == (list(range(tiles)) if kernel == "tile" else [0] * tiles)


def test_small_pictures_and_few_iterations(interpreted):
    small = {case: found for case, found in interpreted["pictures"].items() if len(case) == 4}
    assert len(small) == 16
    for (columns, rows, iterations, kernel), (counts, owner, _) in small.items():
        expected = by_definition(*axes(columns, rows, "float32"), iterations)
        assert torch.equal(counts, expected), (columns, rows, iterations, kernel)
        assert len(owner) == -(-columns // 16) * -(-rows // 16) and (owner >= 0).all()


def test_axes_may_have_strides(interpreted):
    xs, ys = axes(100, 120, "float64")
    assert torch.equal(interpreted["pictures"]["every other"][0], by_definition(xs[::2], ys[::3], 60))


@pytest.mark.parametrize("name", ["without the edge", "new x too early"])
def test_a_kernel_that_is_nearly_right_is_seen(interpreted, name):
    counts = interpreted["pictures"][name][0]
    assert counts.shape == (40, 50)
    assert not torch.equal(counts, by_definition(*axes(50, 40, "float32"), 60))


def test_a_point_whose_z_stays_at_2_is_inside():
    assert by_definition(torch.tensor([-2.0, 2.0, 1.0]), torch.zeros(1), 50).tolist() == [[50, 2, 3]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("half", "xs is torch.float16 and ys torch.float16; both are float32"),
        ("integers", "torch.int32"),
        ("two dtypes", "xs is torch.float32 and ys torch.float64"),
        ("a grid", "xs has 2 dimensions"),
        ("two devices", "ys on meta; move one"),
        ("meta", "xs is on meta"),
        ("block 24", "block is 24; it is one of these powers of two"),
        ("block 128", "block is 128"),
        ("no iterations", "iterations is 0; it is an integer from 1"),
        ("half an iteration", "iterations is 0.5"),
        ("too many iterations", "iterations is 2147483648"),
        ("no programs", "programs is 0; an integer from 1"),
        ("programs of tiles", "programs is 3; an integer from 1, and for persistent=True only"),
        ("a record", "record=True reads registers that only NVIDIA's devices have"),
    ],
)
def test_bad_calls_are_answered(interpreted, call, said):
    assert interpreted["answers"][call].startswith("escape_counts: ")
    assert said in interpreted["answers"][call]


COMPILED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ahead import compiled
import torch
from counterpoint.mandelbrot import gpu

try:
    gpu.escape_counts(torch.zeros(1), torch.zeros(1), 5)
except ValueError as error:
    answer = str(error)
chosen = [launch for launch in gpu.LAUNCHES if launch.constexprs == {"BLOCK": 16, "LOOK": gpu.LOOK, "RECORD": False}]
print(json.dumps({
    "answer": answer,
    "names": [launch.name for launch in gpu.LAUNCHES],
    "fused": {launch.name: compiled(launch, "sm_90").asm["ptx"].count("fma.rn.f") for launch in chosen},
    "specialized": [
        parameter.name
        for kernel in (gpu.tile, gpu.persistent)
        for parameter in kernel.params
        if not parameter.is_constexpr and not parameter.do_not_specialize
    ],
}))
"""


@pytest.fixture(scope="module")
def by_compiler():
    """What a process with the compiler finds; no device is needed."""
    return json.loads(python("-c", COMPILED, str(HERE.parent / "kernels")))


def test_without_the_interpreter_the_cpu_is_refused_with_the_remedy(by_compiler):
    assert "xs is on cpu" in by_compiler["answer"]
    assert "TRITON_INTERPRET=1 before triton is first imported" in by_compiler["answer"]


def test_exact_kernels_have_no_fused_products_and_the_others_do(by_compiler):
    assert len(by_compiler["fused"]) == 8
    for name, times in by_compiler["fused"].items():
        assert (times == 0) == ("exact" in name), f"{name} has {times}"


def test_what_is_listed_is_all_that_is_ever_compiled(by_compiler):
    """Two kernels, two dtypes, three blocks, exact or not, recorded or not; no argument's value makes another."""
    assert len(set(by_compiler["names"])) == len(by_compiler["names"]) == 2 * 2 * 3 * 2 * 2
    assert by_compiler["specialized"] == []


# -- on a device ---------------------------------------------------------------------------------------------


def on_device(columns, rows, dtype, iterations, **how):
    from counterpoint.mandelbrot import gpu

    xs, ys = axes(columns, rows, dtype)
    counts, record = gpu.escape_counts(xs.cuda(), ys.cuda(), iterations, **how)
    return counts.cpu(), record


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("block", [16, 32, 64])
def test_on_a_device_it_is_the_definition_too(dtype, persistent, block):
    for columns, rows, iterations in ((301, 203, 500), (1, 1, 9), (0, 5, 9), (64, 64, 8), (65, 1, 7)):
        counts, record = on_device(columns, rows, dtype, iterations, block=block, persistent=persistent)
        assert torch.equal(counts, by_definition(*axes(columns, rows, dtype), iterations))
        assert (record.owner >= 0).all() and record.sm.numel() == 0


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("persistent", [False, True])
def test_on_a_device_the_record_says_who_did_what_and_when(dtype, persistent):
    counts, record = on_device(701, 503, dtype, 2000, block=16, persistent=persistent, record=True)
    assert torch.equal(counts, by_definition(*axes(701, 503, dtype), 2000))
    tiles = -(-701 // 16) * -(-503 // 16)
    owner, sm, start, end = (t.cpu() for t in (record.owner, record.sm, record.start, record.end))
    assert len(owner) == len(sm) == len(start) == len(end) == tiles
    assert (start <= end).all() and (start > 0).all()
    assert ((sm >= 0) & (sm < torch.cuda.get_device_properties(0).multi_processor_count)).all()
    if not persistent:
        assert owner.tolist() == list(range(tiles))
    # A program does one tile after the other, on one multiprocessor.
    for program in owner.unique():
        mine = owner == program
        spans = sorted(zip(start[mine].tolist(), end[mine].tolist(), strict=True))
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        assert len(sm[mine].unique()) == 1


@pytest.mark.gpu
def test_on_a_device_three_programs_share_the_tiles():
    counts, record = on_device(301, 203, "float32", 500, persistent=True, programs=3)
    assert torch.equal(counts, by_definition(*axes(301, 203, "float32"), 500))
    assert set(record.owner.tolist()) == {0, 1, 2}


@pytest.mark.gpu
def test_on_a_device_contraction_changes_few_counts():
    exact, _ = on_device(701, 503, "float32", 2000)
    contracted, _ = on_device(701, 503, "float32", 2000, exact=False)
    assert 0 < (exact != contracted).float().mean() < 0.1
