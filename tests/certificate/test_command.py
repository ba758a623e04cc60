"""``tm2tfr certify``: what it prints and writes, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tm2tfr import console
from tm2tfr.cli import app
from tm2tfr.compiler.turing import compile_machine
from tm2tfr.export.weight_file import save
from tm2tfr.machine.library import load
from tm2tfr.transformer.weights import matrices, replaced


def certify(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = console.guarded(app, ["certify", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_of_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = certify("chapter", capsys=capsys)
    assert code == 0
    assert "exact   rational  ≤ N - 1    no limit  -" in out


def test_the_question_of_the_five_state_busy_beaver(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["busy-beaver-5", "--engine", "fast", "--max-steps", "47176872", "--max-head", "12289"]
    code, out, _ = certify(*asked, capsys=capsys)
    assert code == 0
    assert "certified: for every input and every run with at most 47,176,872 positions and |h| ≤ 12,289, fast in" in out
    asked = ["busy-beaver-5", "--dtype", "float32", "--max-positions", "162"]
    code, out, _ = certify(*asked, capsys=capsys)
    assert code == 1
    assert "NOT certified: runs with at most 162 positions on dense in float32" in out


def test_a_weight_file_and_the_json_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = load("parity")
    decoder, good, bad = compile_machine(machine), tmp_path / "good.safetensors", tmp_path / "bad.safetensors"
    save(decoder, good)
    code, _, err = certify(str(good), "-o", str(tmp_path / "good.json"), capsys=capsys)
    assert code == 0
    assert "wrote" in err
    found = json.loads((tmp_path / "good.json").read_text(encoding="utf-8"))
    assert found["granted"] is True
    assert [row["positions"] for row in found["certificates"]] == [161, 131_072, 21_221_686, None]
    path = "layers.5.feed_forward.input_bias"
    save(replaced(decoder, {path: matrices(decoder)[path].with_entry(0, 0, 0.0)}), bad)
    code, out, _ = certify(str(bad), "-o", str(tmp_path / "bad.json"), capsys=capsys)
    assert code == 1
    assert "NOT certified: the weights could not be shown to be right\n  layer 5 (symbol), feed-forward: e_a[" in out
    assert json.loads((tmp_path / "bad.json").read_text(encoding="utf-8"))["refusals"][0]["layer"] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chapter", "--engine", "slow"], "unknown engine 'slow'"),
        (["chapter", "--engine", "exact", "--dtype", "float32"], "the exact engine does not compute in 'float32'"),
        (["nonesuch"], "nonesuch"),
        (["chapter", "-o", "c.txt"], "c.txt: certificates are written as .json: name the file c.json"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = certify(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert said in err


def test_help_says_what_n_counts() -> None:
    found = " ".join(CliRunner().invoke(app, ["certify", "--help"]).output.split())
    assert "prompt, BOS, and one more than the machine's steps" in found
