"""``tm2tfr labels``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.labels.test_rows import sabotaged
from tm2tfr.api.datasets import make_labels
from tm2tfr.base.errors import EngineError
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded
from tm2tfr.transformer.storage import save

pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = guarded(app, ["labels", *arguments, "--workers", "1"])
    return code, *capsys.readouterr()


@pytest.mark.slow
def test_inputs_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("ab\nba\n", encoding="utf-8")
    dense = ("--engine", "dense", "-o")
    code, out, _ = told(capsys, "palindromes", "-i", "a", "--inputs-from", "words.txt", *dense, "one")
    assert (code, out.splitlines()[0]) == (
        0,
        "palindromes: 3 runs (1 accept, 2 reject), 19 rows, 133 cells compared, all agree",
    )
    code, out, _ = told(capsys, "palindromes", "--random", "5", "--seed", "3", "--lengths", "2-3", *dense, "two")
    assert (code, out.splitlines()[0].split(" (")[0]) == (0, "palindromes: 5 runs")
    code, out, _ = told(capsys, "full-adder", "-o", "three")
    assert (code, out.splitlines()[0]) == (0, "full-adder: 8 runs, 32 rows, 16 cells compared, all agree")
    code, out, _ = told(capsys, "reverse", "--all-up-to", "2", "-o", "four")
    assert (code, out.splitlines()[0]) == (0, "reverse: 12 runs, 21 rows, 21 cells compared, all agree")
    assert out.splitlines()[2:4] == [
        "hooks: torch, lens",
        "no hooks for gpt2, which tm2tfr export refuses: reverse: in a GPT-2 no head sees a later position, and these "
        "weights have heads with the mask none",
    ]


@pytest.mark.slow
def test_a_run_that_differs_is_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(sabotaged("palindromes", "layers.2.heads.0.output"), tmp_path / "w.safetensors")
    arguments = (str(tmp_path / "w.safetensors"), "--all-up-to", "2", "--engine", "dense", "-o", str(tmp_path / "out"))
    code, out, _ = told(capsys, *arguments)
    assert code == 1
    assert "FAILED after" in out
    assert "counterexample: palindromes on " in out


def test_only_machines_have_steps(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="sort is a program, and only machines have steps: omit max_steps"):
        make_labels("sort", tmp_path / "out", max_steps=5)
    assert not (tmp_path / "out").exists()
