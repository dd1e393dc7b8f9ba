"""What README shows can be typed as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/SUPPORT.md")


def test_the_programs_in_readme_run(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    library = text[text.index("## The library") :]
    programs = re.findall(r"```python\n(.*?)```", library, flags=re.DOTALL)
    assert len(programs) == 4
    names: dict = {}
    for program in programs:
        exec(compile(program, "README.md", "exec"), names)
    assert "rank 0" in capsys.readouterr().out  # the deadlock's cycle


def test_the_commands_in_the_texts_exist():
    from counterpoint.cli import main

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in TEXTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        for command in re.findall(r"`counterpoint ([a-z]+)", text):
            assert command in main.commands, f"{name}: counterpoint {command}"
        for target in re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"{name}: make {target}"


@pytest.mark.parametrize("name", TEXTS)
def test_links_between_the_texts_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"
