"""``tm2tfr certify``: what it prints and writes, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tm2tfr.api.checking import check
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.certificate import CertifiedRuns
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import matrices, replaced


def certify(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = guarded(app, ["certify", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_of_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = certify("chapter", capsys=capsys)
    assert code == 0
    assert "exact   rational  ≤ N - 1    no limit  -" in out


def test_the_question_of_the_five_state_busy_beaver(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["busy-beaver-5", "--engine", "fast", "--max-steps", "47_176_870", "--max-head", "12289"]
    code, out, _ = certify(*asked, capsys=capsys)
    assert code == 0
    assert "asked: runs of at most 47,176,870 steps on the empty input: 47,176,872 positions" in out
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
    assert "NOT certified: the weights could not be proved right\n  layer 5 (symbol), feed-forward: e_a[" in out
    assert json.loads((tmp_path / "bad.json").read_text(encoding="utf-8"))["refusals"][0]["layer"] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chapter", "--engine", "slow"], "--engine: unknown value 'slow': use one of dense, fast, exact"),
        (["chapter", "--engine", "exact", "--dtype", "float32"], "the exact engine does not compute in 'float32'"),
        (["nonesuch"], "nonesuch"),
        (["chapter", "--max-steps", "5", "--max-positions", "9"], "cannot be combined: omit one of them"),
        (["chapter", "--input-length", "5"], "--input-length only applies with --max-steps: add it"),
        (["chapter", "-o", "c.txt"], "c.txt: certificates are written as .json: name the file c.json"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = certify(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert said in err


def test_steps_are_the_machines_and_positions_are_the_decoders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The chapter's float32 certificate is for 161 positions: n symbols, BOS, and one more than the steps."""
    float32 = ["chapter", "--dtype", "float32"]
    symbols = len(load("chapter").input or "")
    for steps, length, granted in ((159, 0, True), (160, 0, False), (149, 10, True), (150, 10, False)):
        asked = ["--max-steps", str(steps), "--input-length", str(length)]
        code, out, _ = certify(*float32, *asked, capsys=capsys)
        assert (code, f"{steps + length + 2} positions" in out) == (0 if granted else 1, True)
    own, path = 161 - symbols - 2, tmp_path / "c.json"
    code, out, _ = certify(*float32, "--max-steps", str(own), "-o", str(path), capsys=capsys)
    assert (code, f"on every input of at most {symbols} symbols" in out) == (0, True)
    assert json.loads(path.read_text(encoding="utf-8"))["runs"] == {"steps": own, "symbols": symbols, "positions": 161}
    assert certify(*float32, "--max-steps", str(own + 1), capsys=capsys)[0] == 1
    assert certify(*float32, "--max-positions", "161", capsys=capsys)[0] == 0
    assert certify(*float32, "--max-positions", "162", capsys=capsys)[0] == 1


def test_a_run_of_the_steps_asked_for_has_no_more_positions_than_that() -> None:
    machine = load("never-halts")
    for steps in (0, 7, 12):
        trace = check(compile_machine(machine), "", machine=machine, max_steps=steps)
        assert trace.tokens <= CertifiedRuns(steps, 0).positions
    chapter = load("chapter")
    for word in ("", "1", "11", "1111"):
        trace = check(compile_machine(chapter), word, machine=chapter)
        assert trace.result is not None
        assert trace.tokens <= CertifiedRuns(trace.result.steps, len(word)).positions


def test_help_says_what_n_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(app, ["certify", "--help"]) == 0
    found = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "prompt, BOS, and one more than the machine's steps" in found
