"""Every GPU kernel of the library, compiled for devices that need not be here, and held to a budget.

`python tests/kernels/ahead.py` finds each `gpu.py` that has LAUNCHES, compiles each of them for each of TARGETS, and
prints what a thread takes of a multiprocessor: registers, and bytes of stack, which is where spilled registers go; and
the shared memory of a program. `--save` writes the budget, `--json` prints the numbers for a test.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib"
BUDGET = Path(__file__).with_name("budget.json")
TARGETS = {
    "sm_80": ("cuda", 80, 32),
    "sm_90": ("cuda", 90, 32),
    "sm_100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
}
GRAIN = 8
"""Registers are handed out in eights: fewer than that are no gain, and no loss."""


@dataclass(frozen=True)
class Row:
    """What one launch takes on one target; if there is no code for it, `lack` says why, and the numbers are 0."""

    launch: str
    target: str
    registers: int = 0
    stack: int = 0
    shared: int = 0
    lack: str = ""

    @property
    def numbers(self) -> list[int]:
        return [self.registers, self.stack, self.shared]


# -- compiling ---------------------------------------------------------------------------------------------


def launches() -> Iterator[tuple[str, Any]]:
    """Each launch of the library with its name, which begins with the folder of its kernel."""
    for path in sorted((LIBRARY / "counterpoint").rglob("gpu.py")):
        parts = path.relative_to(LIBRARY).with_suffix("").parts
        for launch in getattr(import_module(".".join(parts)), "LAUNCHES", ()):
            yield f"{'/'.join(parts[1:-1])} {launch.name}", launch


def compiled(launch: Any, target: str) -> Any:
    """The kernel as Triton compiles it for a launch on `target`; it needs no device."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {**launch.signature, **dict.fromkeys(launch.constexprs, "constexpr")}
    return triton.compile(
        ASTSource(launch.kernel, signature, launch.constexprs),
        target=GPUTarget(*TARGETS[target]),
        options={"num_warps": launch.num_warps, **launch.options},
    )


def measure(name: str, launch: Any) -> Iterator[Row]:
    """A row for each target."""
    portable = True
    for target, (backend, *_) in TARGETS.items():
        if backend == "cuda":
            kernel = compiled(launch, target)
            portable = "elementwise_inline_asm" not in kernel.asm["ttir"]
            yield Row(name, target, *_of_cubin(kernel.asm["cubin"]), kernel.metadata.shared)
        elif not portable:
            yield Row(name, target, lack="has PTX inside")
        else:
            try:
                kernel = compiled(launch, target)
            except Exception as error:  # whatever this backend cannot do yet; the budget knows what it could
                yield Row(name, target, lack=str(error).strip().splitlines()[-1][:60])
            else:
                yield Row(name, target, *_of_assembly(kernel.asm["amdgcn"]), kernel.metadata.shared)


def _of_cubin(cubin: bytes) -> tuple[int, int]:
    """Registers and bytes of stack a thread, by the tool in Triton's wheel."""
    import triton

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        said = subprocess.run(
            [triton.knobs.nvidia.cuobjdump.path, "-res-usage", str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    (found,) = re.findall(r"REG:(\d+) STACK:(\d+)", said)  # one kernel, all that it calls inlined
    return int(found[0]), int(found[1])


def _of_assembly(text: str) -> tuple[int, int]:
    """The same, from what AMD's assembler is told."""
    keys = (r"\.vgpr_count", r"\.private_segment_fixed_size")
    found = [re.search(rf"{key}:\s*(\d+)", text) for key in keys]
    registers, stack = (int(match[1]) for match in found if match)
    return registers, stack


# -- judging -----------------------------------------------------------------------------------------------


def complaints(rows: list[Row], budget: dict[str, dict[str, list[int]]]) -> Iterator[str]:
    """Each way in which the rows and the budget do not fit, as a sentence."""
    known = {(launch, target) for launch, targets in budget.items() for target in targets}
    for row in rows:
        if row.lack:
            continue
        who = f"{row.launch} on {row.target}"
        if (row.launch, row.target) not in known:
            yield f"{who} has no budget"
            continue
        known.remove((row.launch, row.target))
        for what, taken, allowed in zip(
            ("registers", "bytes of stack", "bytes of shared memory"),
            row.numbers,
            budget[row.launch][row.target],
            strict=True,
        ):
            if taken > allowed:
                yield f"{who} takes {taken} {what}, and its budget is {allowed}"
    for launch, target in sorted(known):
        yield f"{launch} on {target} has a budget and no code"


def budget_of(rows: list[Row]) -> dict[str, dict[str, list[int]]]:
    """What the rows take, registers rounded up to what is handed out."""
    budget: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        if not row.lack:
            registers = -(-row.registers // GRAIN) * GRAIN
            budget.setdefault(row.launch, {})[row.target] = [registers, row.stack, row.shared]
    return budget


def saved() -> tuple[str, dict[str, dict[str, list[int]]]]:
    """The Triton whose compiler the budget was made with, and the budget."""
    found = json.loads(BUDGET.read_text(encoding="utf-8"))
    return found["triton"], found["registers, stack, shared"]


def same_compiler(one: str, other: str) -> bool:
    """Whether two versions of Triton are of one minor release: another allots registers differently."""
    return one.split(".")[:2] == other.split(".")[:2]


def save(triton: str, budget: dict[str, dict[str, list[int]]]) -> None:
    """A line for each launch, so that a change can be read."""
    lines = ",\n".join(
        f"    {json.dumps(launch)}: {json.dumps(targets)}" for launch, targets in budget.items()
    )
    head = f'{{\n  "triton": "{triton}",\n  "registers, stack, shared": {{\n'
    BUDGET.write_text(f"{head}{lines}\n  }}\n}}\n", encoding="utf-8")


# -- showing -----------------------------------------------------------------------------------------------


def table(rows: list[Row]) -> Iterator[str]:
    """A line for each launch; for each target its registers, stack and shared memory."""
    width = max(len(row.launch) for row in rows)
    yield " " * width + "".join(f"{target:>19}" for target in TARGETS)
    yield f"{'launch':{width}}" + f"{'regs':>7}{'stack':>6}{'shar':>6}" * len(TARGETS)
    cells: dict[str, str] = {}
    for row in rows:
        numbers = f"{row.registers:>7}{row.stack:>6}{row.shared:>6}"
        cells[row.launch] = cells.get(row.launch, "") + (f"{row.lack:>19}" if row.lack else numbers)
    for launch, text in cells.items():
        yield f"{launch:{width}}{text}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true", help="what is measured becomes the budget")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON, unjudged")
    arguments = parser.parse_args()
    # The interpreter's kernels cannot be compiled, and triton looks only once, when it is imported.
    os.environ.pop("TRITON_INTERPRET", None)
    import triton

    rows = [row for name, launch in launches() for row in measure(name, launch)]
    if arguments.json:
        print(json.dumps({"triton": triton.__version__, "rows": [asdict(row) for row in rows]}))
        return 0
    print(*table(rows), sep="\n")
    if arguments.save:
        save(triton.__version__, budget_of(rows))
        return 0
    if not BUDGET.exists():
        print(f"{BUDGET.name} is missing; --save makes it")
        return 1
    version, budget = saved()
    if not same_compiler(triton.__version__, version):
        print(f"\nNot judged: the budget is for Triton {version}, and this is {triton.__version__}")
        return 0
    found = list(complaints(rows, budget))
    for complaint in found:
        print(complaint)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
