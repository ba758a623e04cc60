"""The command without the program that it exports to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import failed, tm2tfr
from tm2tfr.base.errors import ExportError
from tm2tfr.targets.gpt2 import running


def test_export_without_verification(tmp_path: Path) -> None:
    done = tm2tfr("export", "--to", "gpt2", "-o", "x", "--positions", "64", "--no-verify", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == ["not verified: see tm2tfr verify-export", "wrote x"]
    assert (tmp_path / "x" / "model.safetensors").stat().st_size > 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--positions", "5000", "--dtype", "float32"], "use --positions 2048, or --max-head 399, or --dtype float64"),
        (["--positions", "0"], "--positions"),
        (["--left-boundary", "chapter"], "these weights could not be proved right"),
        (["--to", "llama"], "llama"),
    ],
)
def test_what_does_not_fit_exits_with_2(arguments: list[str], words: str, tmp_path: Path) -> None:
    machine = "left-edge"
    said = failed(2, tm2tfr("export", machine, "-o", "x", "--no-verify", *arguments, cwd=tmp_path))
    assert words in said
    assert list(tmp_path.iterdir()) == []


def test_without_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ExportError, match=r"needs torch and transformers .*: pip install 'tm2tfr\[hf\]'$"):
        running.required()
