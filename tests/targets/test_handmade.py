"""Exports of decoders without a machine: compared with the dense engine, known by a digest, and certified by nobody."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.handmade import HANDMADE, bigrams, majority, shifted
from tests.targets.matrices.programs import tampered
from tm2tfr.base.errors import CompileError, EngineError, ExportError
from tm2tfr.cli import main
from tm2tfr.targets.common.reference import prompts
from tm2tfr.targets.registry import TARGETS

torch = pytest.importorskip("torch", reason="no PyTorch here: pip install 'tm2tfr[torch]'")
pytest.importorskip("onnxruntime", reason="no ONNX here: pip install 'tm2tfr[onnx]'")
TAKERS = ("torch", "onnx")
POSITIONS = 40


def exported(folder: Path, to: str, decoder: tm2tfr.Decoder, **options: Any) -> str:
    return str(tm2tfr.export_to(to, decoder, folder, **{"positions": POSITIONS, **options}))


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    return found


# ── exports ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("to", TAKERS)
@pytest.mark.parametrize("name", HANDMADE)
def test_it_is_exported_run_and_verified(tmp_path: Path, name: str, to: str, dtype: str) -> None:
    make, word, answers = HANDMADE[name]
    said = exported(tmp_path / "x", to, make(), dtype=dtype).splitlines()
    assert said[1] == "not certified: no machine is stored with these weights"
    assert re.fullmatch(
        r"verified: loaded and run in .*: 4 runs, \d+ tokens, all agree with the dense engine, "
        r"on prompts made from the vocabulary, since no machine is stored.*",
        said[2],
    )
    assert ("4 cut off at the last position" in said[2]) == (not make().stop or name == "shifted")
    own = tm2tfr.verify_export(tmp_path / "x")
    beside = tm2tfr.verify_export(tmp_path / "x", machine=make(), word=word)
    assert own.same
    assert beside.same
    assert beside.run is not None
    assert list(beside.run.answers[len(word) :])[:8] == answers
    assert beside.run.whose == "the dense engine's"


def test_what_is_said_of_it(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", majority())
    assert str(tm2tfr.verify_export(tmp_path / "x", word="101")).splitlines() == [
        "weights: all 12 tensors are those of majority as it was exported",
        "run: '101', 5 positions, teacher-forced and generated: the dense engine's tokens",
        f"ran in torch {torch.__version__}",
        "compared with the digest that was written with it, and with the dense engine: no machine is stored with it",
        "yes: this export is majority as it was exported",
    ]
    names, card = document(tmp_path / "x"), (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert names["certified"] == "not certified: no machine is stored with these weights"
    assert names["recipe"] == {"positions": POSITIONS, "max_head": None, "dtype": "float64"}
    assert len(names["digest"]) == 64
    assert "Nothing is certified, since no machine is stored with these weights." in card
    assert "Turing" not in card
    assert "until it answers with `end`" in card


def test_a_machine_is_exported_as_before(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", tm2tfr.compile("chapter"))
    names = document(tmp_path / "x")
    assert "digest" not in names
    assert names["recipe"]["max_head"] == POSITIONS - 1
    assert "no machine" not in str(tm2tfr.verify_export(tmp_path / "x"))


def test_the_usual_number_of_positions(tmp_path: Path) -> None:
    tm2tfr.export_to("torch", majority(), tmp_path / "x")
    assert document(tmp_path / "x")["recipe"]["positions"] == 1024


def test_prompts_are_made_from_the_signs_of_the_vocabulary() -> None:
    found = prompts(majority())
    assert [len(word) for word in found] == [2, 8, 32, 0]
    assert set("".join(found)) == {"0", "1"}
    assert found == prompts(majority())
    assert prompts(replace(bigrams(), stop=("a", "end"))) == [""]


# ── a check that can fail ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("to", TAKERS)
def test_a_model_that_answers_otherwise_is_not_written(tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running = {"torch": "torch.target.TorchRunning", "onnx": "onnx.target.OnnxRunning"}[to]
    monkeypatch.setattr(f"tm2tfr.targets.{running}.answers", lambda _self, tokens: [0] * len(tokens))
    with pytest.raises(ExportError, match="the exported model is not right on '01'"):
        exported(tmp_path / "x", to, majority())
    assert list(tmp_path.iterdir()) == []


def misread(folder: Path) -> None:
    """Change one weight: of the token 1, in what the head reads."""
    tampered(folder, "torch", "layers.1.heads.0.value", lambda value: value.__setitem__((0, 1), -1))


def test_a_changed_weight_is_found(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", majority())
    misread(tmp_path / "x")
    own = tm2tfr.verify_export(tmp_path / "x")
    assert not own.same
    said = "tm2tfr.json: its digest is not that of these names and weights: they have changed since they were exported"
    assert own.weights == (said,)
    assert str(own).splitlines()[-1] == "NO: this export is not majority as it was exported"
    beside = tm2tfr.verify_export(tmp_path / "x", machine=majority(), word="101")
    assert beside.weights == (
        "layers.1.heads.0.value[0, 1] is -1, should be 1: layer 1 (count), head 'average', value 0, reads token[1]",
    )
    assert beside.run is not None
    assert str(beside.run.divergence) == "position 3, teacher-forced: the token should be 1, is 0"
    assert beside.cause.startswith(
        "the stream first goes wrong at position 0, after layer 1 (count): share of 1s should be 1"
    )


@pytest.mark.parametrize(("entry", "value"), [("stop", ["0"]), ("bos", "0"), ("features", ["i"]), ("provenance", {})])
def test_a_changed_name_is_found(tmp_path: Path, entry: str, value: object) -> None:
    exported(tmp_path / "x", "torch", majority())
    names = document(tmp_path / "x") | {entry: value}
    (tmp_path / "x" / "tm2tfr.json").write_text(json.dumps(names), encoding="utf-8")
    found = tm2tfr.verify_export(tmp_path / "x")
    assert not found.same
    assert any("its digest is not that of these names and weights" in line for line in found.weights)


def test_it_is_not_another_decoder(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", majority())
    assert not tm2tfr.verify_export(tmp_path / "x", machine=shifted()).same
    assert not tm2tfr.verify_export(tmp_path / "x", machine="chapter").same


def test_what_makes_no_decoder_is_refused(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", majority())
    names = document(tmp_path / "x")
    (tmp_path / "x" / "tm2tfr.json").write_text(json.dumps(names | {"vocabulary": ["0"]}), encoding="utf-8")
    with pytest.raises(
        ExportError, match="its names and its matrices do not fit together .ShapeError: .*: export it again"
    ):
        tm2tfr.verify_export(tmp_path / "x")


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("to", sorted(set(TARGETS) - {*TAKERS, "bert"}))
@pytest.mark.parametrize("name", HANDMADE)
def test_what_is_made_for_machines_alone_says_so(tmp_path: Path, name: str, to: str) -> None:
    with pytest.raises(
        ExportError, match=f"to='{to}' has bounds for the construction of a Turing machine alone, and no mach"
    ):
        exported(tmp_path / "x", to, HANDMADE[name][0]())
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_meaning_without_a_machine(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"a bound on \|h\| is about Turing machines, .*: omit it"):
        exported(tmp_path / "x", "torch", majority(), max_head=3)
    with pytest.raises(ExportError, match="softmax attention: export the weights that they were made from"):
        exported(tmp_path / "x", "torch", tm2tfr.soften(shifted(), temperature=0.5))
    with pytest.raises(ExportError, match="these weights could not be proved right, see tm2tfr certify: layout"):
        exported(tmp_path / "x", "torch", majority(), machine="chapter")
    exported(tmp_path / "x", "torch", majority())
    with pytest.raises(EngineError, match="token 1 of the prompt, 'z', is not in the vocabulary"):
        tm2tfr.verify_export(tmp_path / "x", word="0z")


def test_a_machine_that_is_named_is_the_truth(tmp_path: Path) -> None:
    nameless = replace(tm2tfr.compile("chapter"), provenance={})
    assert exported(tmp_path / "x", "torch", nameless, machine="chapter").splitlines()[1].startswith("certified: for every")
    with pytest.raises(CompileError, match="no machine is stored"):
        tm2tfr.check(nameless, "11")
    assert tm2tfr.verify_export(tmp_path / "x", machine="chapter").same


# ── the model on its own, and the commands ──────────────────────────────────────────────────────────────────
def test_its_model_runs_and_softmax_needs_a_temperature(tmp_path: Path) -> None:
    exported(tmp_path / "x", "torch", shifted(), positions=8)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", str(tmp_path / "x" / "model.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert document(tmp_path / "x")["temperature"] is None
    assert run("11").stdout.split() == [*"11", "<s>", *"101010"]
    assert "no temperature is recommended for these weights: give one" in run("--attention", "softmax", "11").stderr
    assert run("--attention", "softmax", "--temperature", "0.001", "11").stdout.split() == [*"11", "<s>", *"101010"]


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def command(*arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        return int(ended.value.code or 0)

    weights = tmp_path / "w.safetensors"
    tm2tfr.save_weights(majority(), weights)
    for to in TAKERS:
        assert command("export", weights, "--to", to, "-o", tmp_path / to, "--positions", 20) == 0
        assert command("verify-export", tmp_path / to) == 0
        assert command("verify-export", tmp_path / to, "--machine", weights, "--input", "011") == 0
    assert capsys.readouterr().out.endswith("yes: this export is majority\n")
    assert command("export", weights, "-o", tmp_path / "gpt2") == 2
    assert "name the machine, or use --to torch or --to onnx" in capsys.readouterr().err
    misread(tmp_path / "torch")
    assert command("verify-export", tmp_path / "torch") == 1
