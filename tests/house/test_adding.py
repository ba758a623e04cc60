"""A new format of machines is one module and one registry line, a new program one file: tried in a copy of the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tm2tfr.cli.commands import COMPLETION

ROOT = Path(__file__).parents[2]
MODULE = '''"""Our own YAML, after a line ``arrows``."""

from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.formats.lossless import Written


def looks_like(text):
    return text.startswith("arrows")


def read(source):
    return native.read(source.text.split("\\n", 1)[1], file=source.file)


def write(machine):
    return Written("arrows\\n" + native.write(machine))
'''
LINE = '    TextFormat("arrows", "arrows", (".arrows",), "Arrows"),\n'
PROGRAM = "# title: Every token twice removed\n# alphabet: ab\n# example: ab -> ab\n# example: ba -> ba\n\nsame = tokens;\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which both have been added."""
    root = tmp_path_factory.mktemp("copy")
    copytree(ROOT / "tm2tfr", root / "tm2tfr", ignore=ignore_patterns("__pycache__"))
    for folder in ("machines", "circuits", "programs", "formulas", "specs"):
        if (ROOT / folder).is_dir():
            copytree(ROOT / folder, root / folder)
    (root / "tm2tfr" / "sources" / "turing" / "formats" / "arrows.py").write_text(MODULE, encoding="utf-8")
    choices = root / "tm2tfr" / "base" / "choices.py"
    before, first, after = choices.read_text(encoding="utf-8").partition("MACHINE_TEXTS: tuple[TextFormat, ...] = (\n")
    choices.write_text(before + first + LINE + after, encoding="utf-8")
    (root / "programs" / "unchanged.rasp").write_text(PROGRAM, encoding="utf-8")
    return root


def ran(copy: Path, *arguments: str, **more: str) -> str:
    """What a command of the copy prints."""
    env = {**os.environ, "PYTHONPATH": str(copy), **more}
    line = [sys.executable, "-c", "from tm2tfr.cli import main; main()", *arguments]
    done = subprocess.run(line, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def completed(copy: Path, line: str) -> str:
    words = line.split(" ")
    return ran(copy, **{"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), COMPLETION: "complete_bash"})


@pytest.mark.slow
def test_a_format_is_a_module_and_a_line(copy: Path) -> None:
    ran(copy, "convert", "palindromes", "--to", "arrows", "-o", "p.arrows")
    assert (copy / "p.arrows").read_text(encoding="utf-8").startswith("arrows\n")
    assert "all agree" in ran(copy, "trace", "p.arrows", "--input", "abba")
    assert "accept" in ran(copy, "check", "p.arrows", "--input", "abba")
    (copy / "unnamed").write_bytes((copy / "p.arrows").read_bytes())
    assert "all agree" in ran(copy, "trace", "unnamed", "--input", "abba")
    assert "name: palindromes" in ran(copy, "convert", "unnamed", "--from", "arrows", "--to", "yaml")
    assert "arrows" in ran(copy, "convert", "--help")
    assert "arrows" in completed(copy, "tm2tfr convert palindromes --to ar")
    code = "import json, tm2tfr.web.playground.query as s; print(json.dumps(s.formats()))"
    env = {**os.environ, "PYTHONPATH": str(copy)}
    offered = json.loads(subprocess.check_output([sys.executable, "-c", code], env=env, cwd=copy))
    assert ["arrows", "Arrows"] in dict(offered)["machine"]


@pytest.mark.slow
def test_a_program_is_a_file(copy: Path) -> None:
    assert "unchanged" in ran(copy, "list", "programs")
    assert "Every token twice removed" in ran(copy, "list", "unchanged")
    assert "all agree" in ran(copy, "trace", "unchanged", "--input", "ab")
    assert "ok" in ran(copy, "check", "unchanged", "--all-up-to", "3")
    assert "unchanged" in completed(copy, "tm2tfr trace unch")
    code = "import tm2tfr.web.playground.query as s; print([each['name'] for each in s.shipped()])"
    env = {**os.environ, "PYTHONPATH": str(copy)}
    assert "unchanged" in subprocess.check_output([sys.executable, "-c", code], env=env, cwd=copy, text=True)
