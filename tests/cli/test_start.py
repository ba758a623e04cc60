"""What the command line imports: nothing heavy for help, nothing that is not needed for a short run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lines import LISTED
from tests.cli.test_commands import ROOT


def imported(*arguments: str, cwd: Path) -> set[str]:
    """The modules that a command has imported when it ends, of other packages by their first name."""
    code = (
        "import sys; from tm2tfr import cli; from tm2tfr.cli.commands import guarded; guarded(cli.app, sys.argv[1:]);"
        "print(*sorted({m if m.startswith('tm2tfr.') else m.partition('.')[0] for m in sys.modules}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, capture_output=True, encoding="utf-8", check=True, cwd=cwd
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {
    "networkx",
    "numba",
    "rich",
    "pydantic",
    "safetensors",
    "graphviz",
    "lark",
    "torch",
    "pyarrow",
    "dask",
    "scipy",
    "matplotlib",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["trace", "--help"], ["export", "--help"]])
def test_help_imports_next_to_nothing(arguments: list[str], tmp_path: Path) -> None:
    found = imported(*arguments, cwd=tmp_path)
    drawn = {"rich"} if "--help" in arguments else set()
    assert found & {*HEAVY, "numpy", "yaml"} == drawn
    parts = r"sources\.\w+\.compiler|engines|transformer|trace|tables|softness|targets|text|api"
    assert {m for m in found if re.match(rf"tm2tfr\.({parts})\b", m)} == set()


@pytest.mark.slow
def test_the_list_of_commands_imports_none_of_them(tmp_path: Path) -> None:
    modules = {f"tm2tfr.cli.{each.function.partition(':')[0]}" for each in LISTED.values()}
    assert imported("--help", cwd=tmp_path) & modules == set()
    assert imported("trace", "--help", cwd=tmp_path) & modules == {"tm2tfr.cli.runs"}


@pytest.mark.slow
def test_a_short_run_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    found = imported("trace", "--input", "11", cwd=tmp_path)
    assert found & HEAVY == set()
    assert {"numpy", "yaml", "tm2tfr.runs.comparison"} <= found
    parts = r"explorer|dataset|softness|targets|tables\.stream|runs\.recording"
    assert {m for m in found if re.match(rf"tm2tfr\.({parts})\b", m)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("line", ["list machines", "table busy-beaver-2x4 --max-steps 3000", "compile universal --explain"])
def test_a_reader_that_goes_away_has_seen_enough(line: str, tmp_path: Path) -> None:
    """Typer makes a failure of it, and forgets why."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = f"'{sys.executable}' -m tm2tfr {line} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")
