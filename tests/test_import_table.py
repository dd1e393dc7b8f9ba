"""The table in ARCHITECTURE.md holds: every import of the library is one that its folder's line allows.

The table is read from the text, so that text and test cannot disagree. The checker is itself tested: each
rule is broken once in a small planted package, and must say so.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import counterpoint

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lib" / "counterpoint"
NAME = "counterpoint"

EVERYWHERE = {"numpy", "torch"}
COMPILED = {"triton": "gpu.py", "numba": "cpu.py"}  # who alone may import it
FORBIDDEN = {"utils", "common", "helpers", "core", "base"}
TOP = {"cli", "grading"}  # imported by the units of ABOVE_ALL only
ABOVE_ALL = {"cli", "grading", "__init__.py"}


@dataclass(frozen=True)
class Line:
    """One line of the table: what a unit (a folder, or a file at the top) may import."""

    allowed: set[str]
    third_party: set[str]
    planned: bool


@dataclass(frozen=True)
class Import:
    """An import of `module`; for the library's own, `module` is relative to the package."""

    line: int
    module: str
    own: bool

    @property
    def unit(self) -> str:
        return self.module.split(".")[0]


# -- reading ---------------------------------------------------------------------------------------


def read_table(text: str) -> dict[str, Line]:
    """The lines of the table in ARCHITECTURE.md, by unit, bottom floor first."""
    rows = [
        [cell.strip() for cell in row.strip("|\n ").split("|")] for row in text.splitlines() if "|" in row
    ]
    start = next(i for i, row in enumerate(rows) if row[0] == "folder" and len(row) == 4) + 2
    table: dict[str, Line] = {}
    for row in rows[start:]:
        if len(row) != 4:
            break
        unit, what, imports, third_party = row
        unit = unit.strip("`/")
        table[unit] = Line(
            allowed=_allowed(imports, above=set(table)),
            third_party=_names(third_party),
            planned=what.startswith("*planned*"),
        )
    return table


def _allowed(cell: str, above: set[str]) -> set[str]:
    if cell == "everything above":
        return above
    if cell == "anything":
        return {*above, *TOP}
    if cell.startswith("anything but "):
        return above - _names(cell.removeprefix("anything but "))
    return _names(cell)


def _names(cell: str) -> set[str]:
    return set() if cell == "–" else {name.strip("` ") for name in cell.split(",")}


def imports(path: Path, package: Path) -> Iterator[Import]:
    """Every import in a file, wherever it stands, `import_module("…")` and uses of the face included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = path.relative_to(package).parent.parts
    faces = {
        alias.asname or NAME
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == NAME
    }
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                base = [NAME, *here[: len(here) - node.level + 1], *base]
            module = ".".join(base)
            found = [f"{NAME}.{alias.name}" for alias in node.names] if module == NAME else [module]
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                found = [argument.value]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in faces:
            found = [f"{NAME}.{node.attr}"]
        for module in found:
            if module == NAME or module.startswith(f"{NAME}.__"):
                continue  # the package itself, or its version
            own = module.startswith(f"{NAME}.")
            yield Import(
                node.lineno, _behind_the_face(module.removeprefix(f"{NAME}.")) if own else module, own
            )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _behind_the_face(name: str) -> str:
    return counterpoint._FACE.get(name, f"{NAME}.{name}").removeprefix(f"{NAME}.")


# -- judging ---------------------------------------------------------------------------------------


def breaks(package: Path, table: dict[str, Line]) -> Iterator[str]:
    """Each break of the table and of its rules, as a sentence."""
    yield from breaks_of_the_table_itself(package, table)
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        unit = name.parts[0]
        if path.stem in FORBIDDEN or FORBIDDEN & set(name.parts):
            yield f"{name}: say what it holds; a module must not be called {' or '.join(sorted(FORBIDDEN))}"
        if unit not in table:
            yield f"{name}: {unit} has no line in the table"
            continue
        for found in imports(path, package):
            if complaint := judge(found, unit, path.name, table):
                yield f"{name}:{found.line} imports {found.module}: {complaint}"
        if path.name == "__init__.py":
            yield from (f"{name}:{line} {what}" for line, what in more_than_names(path, unit == path.name))


def breaks_of_the_table_itself(package: Path, table: dict[str, Line]) -> Iterator[str]:
    above: set[str] = set()
    for unit, line in table.items():
        if strange := line.allowed - above - TOP:
            yield f"the table: {unit} may import {', '.join(sorted(strange))}, which is not below it"
        above.add(unit.removesuffix(".py"))
        above.add(unit)
        exists = (package / unit).is_file() or any((package / unit).rglob("*.py"))
        if exists and line.planned:
            yield f"the table: {unit} has code now; take away *planned*"
        if not exists and not line.planned:
            yield f"the table: {unit} has no code; call it *planned* or take the line away"


def judge(found: Import, unit: str, file: str, table: dict[str, Line]) -> str | None:
    """Why this import is not allowed; None if it is."""
    if not found.own:
        if found.unit in COMPILED:
            alone = COMPILED[found.unit]
            return None if file == alone else f"only a {alone} may"
        known = found.unit in sys.stdlib_module_names or found.unit in EVERYWHERE
        return None if known or found.unit in table[unit].third_party else f"not on the line of {unit}"
    target = found.unit if found.unit in table else f"{found.unit}.py"
    if target == unit:
        return None
    if found.unit in TOP and unit not in ABOVE_ALL:
        return f"nothing but the face, cli and notebooks may import {found.unit}"
    if target in table[unit].allowed:
        return None
    return f"not on the line of {unit}, which allows {', '.join(sorted(table[unit].allowed)) or 'nothing'}"


def more_than_names(path: Path, face: bool) -> Iterator[tuple[int, str]]:
    """What an `__init__.py` does besides handing names on."""
    hands_on = {"__all__", "__version__", "_FACE"} if face else {"__all__"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Import() | ast.ImportFrom() if face:
                light = {"importlib", "typing"}
                names = {a.name for a in node.names} if isinstance(node, ast.Import) else {node.module}
                if names - light:
                    yield node.lineno, "the face must import nothing when it is imported"
            case ast.Import() | ast.ImportFrom():
                pass
            case ast.Assign(targets=[ast.Name(id=name)]) if name in hands_on:
                pass
            case ast.FunctionDef(name="__getattr__" | "__dir__"):
                pass
            case _:
                yield node.lineno, "does more than hand names on; give it a file"


# -- the library -----------------------------------------------------------------------------------


def test_the_library_keeps_to_the_table():
    table = read_table((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert "trace" in table
    assert "__init__.py" in table
    found = list(breaks(PACKAGE, table))
    assert not found, "\n".join(found)


def run_python(code: str) -> str:
    """Run a program in a fresh interpreter; returns what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_counterpoint_imports_nothing_heavy():
    loaded = run_python(f"import sys, {NAME}; print(*{{name.split('.')[0] for name in sys.modules}})").split()
    heavy = {"torch", "triton", "numba", "numpy", "matplotlib", "IPython", "ipywidgets", "anywidget", "click"}
    assert not heavy & set(loaded)


def test_everything_but_kernels_is_importable_without_compilers():
    """Where triton and numba are missing, only `gpu.py` and `cpu.py` are lost."""
    modules = [
        ".".join((NAME, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name not in {*COMPILED.values(), "__main__.py"}
    ]
    run_python(
        "import importlib, sys\n"
        "import torch\n"  # looks for triton itself, and copes; we must not lean on that
        f"for name in {sorted(COMPILED)}:\n"
        "    for loaded in [m for m in sys.modules if m.split('.')[0] == name]: del sys.modules[loaded]\n"
        "    sys.modules[name] = None\n"  # Python's way to say: cannot be imported
        f"for name in {modules}: importlib.import_module(name)\n"
    )


# -- the checker -----------------------------------------------------------------------------------

SMALL = """
| folder | what lives there | imports | third party |
| --- | --- | --- | --- |
| `trace/` | events | – | – |
| `ranks/` | Comm | trace | cloudpickle |
| `sorting/` | *planned*: sorts | ranks | – |
| `hybrid/` | all together | everything above | – |
| `viz/` | pictures | trace | matplotlib |
| `grading/` | checks | anything but cli | – |
| `cli/` | the command | anything | click |
| `__init__.py` | the face | anything | – |

The end.
"""
SOUND = {
    "__init__.py": '"""The face."""\nfrom importlib import import_module\n__version__ = "0"\n',
    "trace/__init__.py": "from counterpoint.trace.event import Event\n__all__ = ['Event']\n",
    "trace/event.py": "import os\nimport numpy as np\nclass Event: pass\n",
    "ranks/threads.py": "def f():\n    import torch, cloudpickle\n    import counterpoint.trace.event\n",
    "ranks/cpu.py": "import numba\n",
    "hybrid/gpt.py": "from ..ranks import threads\n",
    "hybrid/gpu.py": "import triton.language as tl\n",
    "viz/player.py": "import matplotlib.pyplot\nfrom counterpoint.trace import event\n",
    "grading/check.py": "import counterpoint\nimport counterpoint.viz\nv = counterpoint.__version__\n",
    "cli/commands.py": "import click\nfrom counterpoint import grading\n",
}


def plant(folder: Path, changes: dict[str, str]) -> list[str]:
    """The breaks of a sound small package with some files changed or added."""
    package = folder / NAME
    for name, text in {**SOUND, **changes}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    return list(breaks(package, read_table(SMALL)))


def test_the_sound_package_passes(tmp_path):
    assert plant(tmp_path, {}) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("trace/a.py", "import counterpoint.ranks", "imports ranks: not on the line of trace"),
        ("trace/a.py", "def f():\n    from counterpoint.ranks import x", "a.py:2 imports ranks"),
        ("trace/a.py", "from counterpoint import ranks", "imports ranks"),
        ("trace/a.py", "from ..ranks.threads import f", "imports ranks.threads"),
        ("trace/a.py", "from .. import ranks", "imports ranks"),
        ("trace/a.py", "import importlib\nimportlib.import_module('counterpoint.ranks')", "imports ranks"),
        ("trace/a.py", "from counterpoint import launch", "imports ranks"),
        ("trace/a.py", "import counterpoint as cp\ncp.launch(print)", "imports ranks"),
        ("trace/a.py", "import counterpoint\ncounterpoint.launch(print)", "imports ranks"),
        ("ranks/a.py", "import matplotlib", "imports matplotlib: not on the line of ranks"),
        ("ranks/a.py", "import numba", "only a cpu.py may"),
        ("ranks/cpu.py", "import triton", "only a gpu.py may"),
        ("hybrid/a.py", "import counterpoint.viz", "imports viz: not on the line of hybrid"),
        ("viz/a.py", "from counterpoint.ranks import launch", "imports ranks: not on the line of viz"),
        ("viz/a.py", "import counterpoint.grading", "nothing but the face, cli and notebooks"),
        ("grading/a.py", "import counterpoint.cli", "imports cli: not on the line of grading"),
        ("surprise/a.py", "", "surprise has no line in the table"),
        ("surprise.py", "", "surprise.py has no line in the table"),
        ("sorting/merge.py", "", "take away *planned*"),
        ("ranks/utils.py", "", "must not be called"),
        ("ranks/core/a.py", "", "must not be called"),
        ("ranks/__init__.py", "def launch(): pass", "does more than hand names on"),
        ("ranks/__init__.py", "WORLD = []", "does more than hand names on"),
        ("__init__.py", "import numpy", "must import nothing"),
        ("__init__.py", "from counterpoint.ranks import launch", "must import nothing"),
    ],
)
def test_a_planted_break_is_named(tmp_path, name, text, said):
    found = plant(tmp_path, {name: text})
    assert any(said in sentence for sentence in found), found


def test_a_line_without_code_is_named(tmp_path):
    package = tmp_path / NAME
    package.mkdir()
    assert any("viz has no code" in sentence for sentence in breaks(package, read_table(SMALL)))


def test_a_table_that_allows_what_is_not_below_is_named():
    upside_down = SMALL.replace("| `trace/` | events | – |", "| `trace/` | events | viz |")
    assert any(
        "not below it" in sentence
        for sentence in breaks_of_the_table_itself(PACKAGE, read_table(upside_down))
    )
