"""Circuits in PyTorch and in ONNX Runtime, beside their evaluator."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.sources.circuit.running import all_inputs
from tests.targets.matrices.programs import BOTH, loaded, needs_onnx, needs_torch, rewritten
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.base.errors import CompileError, ExportError, InputError
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.targets.common import fitting
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.common.reference import reference_of

ADDER, C17 = load("binary-adder", bits=2), load("c17")
CASES = [
    pytest.param(circuit, variant, id=f"{circuit.name}-{variant}")
    for circuit in (ADDER, C17)
    for variant in CIRCUIT_VARIANTS
]


def subject(circuit: Circuit, variant: str = "lookup") -> tm2tfr.Subject:
    return tm2tfr.Subject.of(circuit, options={"variant": variant})


def exported(to: str, folder: Path, circuit: Circuit = ADDER, variant: str = "lookup", **options: Any) -> Path:
    return export_to(to, subject(circuit, variant), folder, verify=False, **options).folder


@pytest.mark.slow
@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("circuit", "variant"), CASES)
def test_every_bit_of_every_input(to: str, dtype: str, circuit: Circuit, variant: str, tmp_path: Path) -> None:
    given = subject(circuit, variant)
    model = loaded(to, exported(to, tmp_path / "x", circuit, variant, dtype=dtype))
    right = given.right
    for bits in all_inputs(right):
        symbols = [int(bit) for bit in evaluate(right, bits).symbols]
        prompt = [int(bit) for bit in bits]
        assert model.prompt(bits) == prompt
        assert model.generated(prompt, most=len(symbols)) == symbols
        assert model.answers(symbols[:-1])[len(bits) - 1 :] == symbols[len(bits) :]


@pytest.mark.parametrize("to", BOTH)
def test_what_is_said_of_it(to: str, tmp_path: Path) -> None:
    said = str(export_to(to, subject(ADDER), tmp_path / "x")).splitlines()
    assert said[0].endswith(": 1 layer, 3 heads in all, width 19, float64, 1,074 weights")
    assert (
        said[1] == "certified: for every input of the circuit, greedy generation in float64 gives exactly the right tokens"
    )
    assert said[2].endswith(": all 16 inputs, 224 tokens, all the evaluator's")
    verdict = verify_export(tmp_path / "x", word="1+3")
    assert verdict.same
    assert str(verdict).splitlines()[:2] == [
        "weights: all 21 tensors are those of binary-adder",
        "run: '1011', 14 positions, teacher-forced and generated: the evaluator's tokens",
    ]
    names = json.loads((tmp_path / "x" / "tm2tfr.json").read_text(encoding="utf-8"))
    assert names["program"]["inputs"] == list(ADDER.inputs)
    assert names["program"]["outputs"] == {name: ADDER.numbers[net] for name, net in ADDER.outputs}
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\ntags: [circuit, tm2tfr]\n---\n# binary-adder ")
    assert "it generates the bit of each of 11 gates" in card
    assert "Turing" not in card


@pytest.mark.parametrize("to", BOTH)
def test_more_inputs_than_can_be_tried_are_drawn(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.contract.exported.TRIED_TOKENS", 400)
    said = str(export_to(to, subject(load("binary-adder", bits=8)), tmp_path / "x")).splitlines()
    assert said[2].endswith(": 8 of 2^16 inputs, 448 tokens, all the evaluator's")


@pytest.mark.parametrize("to", BOTH)
def test_norms_and_softmax_are_run_and_certified_by_nobody(to: str, tmp_path: Path) -> None:
    said = str(export_to(to, subject(C17, "paper"), tmp_path / "x")).splitlines()
    assert said[1] == "not certified in float64, since softmax and layer norms round in every program in its own way"
    assert said[2].endswith(": all 32 inputs, 512 tokens, all the evaluator's")
    verdict = verify_export(tmp_path / "x")
    assert verdict.same
    assert verdict.cause == ""


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("variant", ["lookup", "paper-hard"])
def test_streams_are_those_of_the_dense_engine(to: str, variant: str, tmp_path: Path) -> None:
    given = subject(ADDER, variant)
    right = reference_of(given.right, given.decoder)
    model = loaded(to, exported(to, tmp_path / "x", variant=variant))
    run = compared(model, given.decoder.vocabulary, right, "1011", 14)
    assert (run.divergence, run.generated, run.cut, run.whose) == (None, 14, False, "the evaluator's")
    from tm2tfr.targets.common.verdict import cause

    assert cause(model, given.decoder, run, lambda x: x) == ""


# ── sabotage ────────────────────────────────────────────────────────────────────────────────────────────────
def tampered(folder: Path, to: str, name: str, change: Callable[[Any], None]) -> None:
    """Change one matrix of an export."""
    if to == "torch":
        from safetensors.numpy import load_file, save_file

        tensors = load_file(folder / "weights.safetensors")
        change(tensors[name])
        save_file(tensors, folder / "weights.safetensors", {"format": "pt"})
        return
    import onnx

    model = onnx.load(str(folder / "model.onnx"))
    (found,) = [each for each in model.graph.initializer if each.name == name]
    array = np.array(onnx.numpy_helper.to_array(found))
    change(array)
    found.CopyFrom(onnx.numpy_helper.from_array(array, name))
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


def another_operand(table: Any) -> None:
    """Gate 5 (symbol 4 + 5) reads another net as its first operand."""
    table[4, 8] = 0.0 if table[4, 8] else 1.0


@pytest.mark.parametrize("to", BOTH)
def test_another_operand_of_a_gate_is_found(to: str, tmp_path: Path) -> None:
    folder = exported(to, tmp_path / "x")
    tampered(folder, to, "position_table", another_operand)
    verdict = verify_export(folder, word="1+3")
    assert not verdict.same
    assert "embedding of position 8: a" in verdict.weights[0]
    assert str(verdict).splitlines()[-1] == "NO: this export is not binary-adder"


@pytest.mark.parametrize("to", BOTH)
def test_a_wrong_truth_table_answers_wrongly(to: str, tmp_path: Path) -> None:
    folder = exported(to, tmp_path / "x")

    def flipped(table: Any) -> None:
        table[7:15] = np.where(table[7:15] == 0, 1, 0)

    tampered(folder, to, "position_table", flipped)
    verdict = verify_export(folder, word="1+3")
    assert verdict.run is not None
    assert verdict.run.divergence is not None
    assert verdict.run.divergence.position == 3
    assert "the stream first goes wrong at position 0, after the embedding" in verdict.cause


@pytest.mark.parametrize("to", BOTH)
def test_a_norm_that_was_changed_is_found(to: str, tmp_path: Path) -> None:
    folder = exported(to, tmp_path / "x", variant="paper")
    tampered(folder, to, "layers.1.attention_norm.gain", lambda gain: gain.__setitem__(0, 2.0))
    assert "layer 1 (gate), attention norm, gain of " in verify_export(folder).weights[0]


def test_an_epsilon_that_was_changed_is_found(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no PyTorch here: pip install 'tm2tfr[torch]'")
    folder = exported("torch", tmp_path / "x", variant="paper")
    rewritten(folder, "tm2tfr.json", lambda names: names["norms"].update({"norm": 0.5}))
    verdict = verify_export(folder)
    assert "tm2tfr.json" in verdict.weights[0]
    assert "norms.norm is 0.5" in verdict.weights[0]
    assert verdict.run is None


@needs_torch
def test_another_circuit_in_the_names_is_found(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    other = json.loads((exported("torch", tmp_path / "y", C17) / "tm2tfr.json").read_text(encoding="utf-8"))
    rewritten(folder, "tm2tfr.json", lambda names: names["provenance"].update(other["provenance"]))
    assert not verify_export(folder).same


@needs_torch
def test_a_variant_that_was_changed_is_found(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    change = {"option.variant": "paper-hard"}
    rewritten(folder, "tm2tfr.json", lambda names: names["provenance"].update(change))
    assert not verify_export(folder).same
    rewritten(folder, "tm2tfr.json", lambda names: names["provenance"].update({"option.variant": "paper-soft"}))
    with pytest.raises(CompileError, match="unknown variant 'paper-soft'"):
        verify_export(folder)


@needs_torch
def test_changed_code_is_found(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    (folder / "circuit.py").write_text("raise SystemExit('this was run')\n", encoding="utf-8")
    assert "circuit.py: line 1 is not as this version writes it" in verify_export(folder).weights[0]


@needs_torch
def test_a_machines_export_has_no_code_for_circuits(tmp_path: Path) -> None:
    folder = export_to("torch", "chapter", tmp_path / "x", positions=20, verify=False).folder
    assert not (folder / "circuit.py").exists()
    (folder / "circuit.py").write_text("", encoding="utf-8")
    assert "circuit.py: does not belong to such an export" in verify_export(folder).weights[0]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_onnx
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, words in (
        (
            {"positions": 5},
            "a circuit is exported with all its positions, 14, and not with 5: omit the number of positions",
        ),
        ({"max_head": 5}, r"a bound on \|h\| is about Turing machines, and this is a circuit: omit it"),
        ({"dtype": "float16"}, "weights are exported in float64 or float32, not in 'float16'"),
    ):
        with pytest.raises(ExportError, match=words):
            exported("onnx", tmp_path / "x", **options)
    monkeypatch.setattr(fitting, "MOST_POSITIONS", 13)
    with pytest.raises(ExportError, match="it has 14 positions, and exports have at most 13: run it with tm2tfr"):
        exported("onnx", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_weights_without_their_circuit_are_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    bare = replace(tm2tfr.compile(subject(ADDER)), provenance={})
    with pytest.raises(ExportError, match="these weights have a position table and no BOS, which an export to matrices"):
        export_to("torch", bare, tmp_path / "x", verify=False)


def test_weights_of_another_circuit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="these weights are not certified in float64"):
        export_to("torch", tm2tfr.compile(subject(ADDER)), tmp_path / "x", machine=load("multiplier", bits=2), verify=False)


@needs_torch
def test_an_input_of_another_size_is_refused(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    with pytest.raises(InputError, match="3 bits for 4 inputs"):
        verify_export(folder, word="101")


# ── without this package ────────────────────────────────────────────────────────────────────────────────────
@needs_torch
def test_circuit_py_runs_by_itself(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    assert "tm2tfr." not in (folder / "circuit.py").read_text(encoding="utf-8").replace("tm2tfr.json", "")

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", "circuit.py", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)

    hard, soft, short = ran("0111"), ran("0111", "--attention", "softmax"), ran("011")
    assert hard.stdout.splitlines() == ["0 1 1 1 1 0 0 1 0 0 0 0 1 1 0", "e1=1 e2=0 c3=1"]
    assert soft.stdout == hard.stdout
    assert short.stderr == "'011' is not an input: give 4 bits, 0 or 1\n"
    assert verify_export(folder).same
