"""Circuits in every program that they are exported to, beside their evaluator."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.sources.circuit.running import all_inputs
from tests.targets.matrices.programs import BOTH, loaded, needs_torch, rewritten, tampered
from tests.targets.test_documents import BLOCK, Reader, there
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.base.errors import CompileError, ExportError, InputError
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.targets.common import fitting
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.verdict import cause

ADDER, C17 = load("binary-adder", bits=2), load("c17")
HARD = ("lookup", "paper-hard")
TABLES = {
    "gpt2": "transformer.wpe.weight",
    "lens": "pos_embed.weight",
    "torch": "position_table",
    "onnx": "position_table",
}
"""Target -> the tensor that has the position table."""
EVERY = [pytest.param(to, marks=there(to)) for to in TABLES]


def subject(circuit: Circuit, variant: str = "lookup") -> tm2tfr.Subject:
    return tm2tfr.Subject.of(circuit, options={"variant": variant})


def exported(to: str, folder: Path, circuit: Circuit = ADDER, variant: str = "lookup", **options: Any) -> Path:
    return export_to(to, subject(circuit, variant), folder, verify=False, **options).folder


def running(to: str, folder: Path) -> Any:
    if to == "gpt2":
        from tm2tfr.targets.gpt2.running import Gpt2Running

        return Gpt2Running(folder)
    if to == "lens":
        from tm2tfr.targets.lens.target import LensRunning

        return LensRunning(folder)
    return loaded(to, folder)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("variant", CIRCUIT_VARIANTS)
@pytest.mark.parametrize("circuit", [ADDER, C17], ids=lambda circuit: circuit.name)
@pytest.mark.parametrize("to", EVERY)
def test_every_bit_of_every_input(to: str, circuit: Circuit, variant: str, dtype: str, tmp_path: Path) -> None:
    if to == "lens" and variant not in HARD:
        return  # it is refused, see below
    model, right = running(to, exported(to, tmp_path / "x", circuit, variant, dtype=dtype)), subject(circuit, variant).right
    for bits in all_inputs(right):
        symbols = [int(bit) for bit in evaluate(right, bits).symbols]
        prompt = [int(bit) for bit in bits]
        assert model.prompt(bits) == prompt
        assert model.answers(symbols[:-1])[len(bits) - 1 :] == symbols[len(bits) :]
        if to != "gpt2" or "0" not in bits:  # its generation is slow
            assert model.generated(prompt, most=len(symbols)) == symbols


CERTIFIED = "certified: for every input of the circuit, greedy generation in float64 gives exactly the right tokens"
UNPROVED = "are proved for circuits: in float64 only the compared runs are known to be right"
SAID = {
    "gpt2": (
        "GPT-2: 1 layer, 3 heads, width 192, float64, 0.16 million parameters",
        f"no bounds on GPT-2's rounding {UNPROVED}",
    ),
    "lens": (
        "TransformerLens: 1 layer, 3 heads, width 21, float64, 0.02 million parameters",
        f"no bounds on the rounding of TransformerLens {UNPROVED}",
    ),
    "torch": ("PyTorch: 1 layer, 3 heads in all, width 19, float64, 1,074 weights", CERTIFIED),
    "onnx": ("ONNX: 1 layer, 3 heads in all, width 19, float64, 1,074 weights", CERTIFIED),
}


@pytest.mark.slow
@pytest.mark.parametrize("to", EVERY)
def test_what_is_said_of_it(to: str, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    said = str(export_to(to, subject(ADDER), folder)).splitlines()
    assert tuple(said[:2]) == SAID[to]
    assert said[2].endswith(": all 16 inputs, 224 tokens, all agree with the evaluator")
    verdict = verify_export(folder, word="1+3")
    assert verdict.same
    assert str(verdict).splitlines()[1] == "run: '1011', 14 positions, teacher-forced and generated: the evaluator's tokens"
    with pytest.raises(InputError, match="3 bits for 4 inputs"):
        verify_export(folder, word="101")
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"tags: [circuit, tm2tfr{', interpretability' if to == 'lens' else ''}]\n" in card
    assert "it generates the bit of each of 11 gates" in card
    assert "Turing" not in card
    assert "verdict" not in card
    files = {
        each: json.loads((folder / each).read_text(encoding="utf-8"))
        for each in ("tm2tfr.json", "config.json", "lens.json")
        if (folder / each).exists()
    }
    names = files["tm2tfr.json"]
    if to == "gpt2":
        settings = files["config.json"]
        assert (settings["bos_token_id"], settings["eos_token_id"], settings["n_positions"]) == (None, None, 14)
    elif to == "lens":
        config = files["lens.json"]
        assert (config["n_ctx"], config["eos_token_id"], config["default_prepend_bos"]) == (14, [], False)
        assert [head["name"] for head in names["layers"][0]["heads"]] == ["operand a", "operand b", "operand c"]
        assert (names["vocabulary"], names["bos"], names["stop"]) == (["0", "1", "[PAD]", "[UNK]"], None, [])
    else:
        assert names["program"]["inputs"] == list(ADDER.inputs)
        assert names["program"]["outputs"] == {name: ADDER.numbers[net] for name, net in ADDER.outputs}


@pytest.mark.parametrize("to", BOTH)
def test_more_inputs_than_can_be_tried_are_drawn(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.contract.exported.TRIED_TOKENS", 400)
    said = str(export_to(to, subject(load("binary-adder", bits=8)), tmp_path / "x")).splitlines()
    assert said[2].endswith(": 8 of 2^16 inputs, 448 tokens, all agree with the evaluator")


@pytest.mark.parametrize("to", BOTH)
def test_norms_and_softmax_are_run_and_certified_by_nobody(to: str, tmp_path: Path) -> None:
    said = str(export_to(to, subject(C17, "paper"), tmp_path / "x")).splitlines()
    assert said[1] == "not certified in float64, since softmax and layer norms round in every program in its own way"
    assert said[2].endswith(": all 32 inputs, 512 tokens, all agree with the evaluator")
    verdict = verify_export(tmp_path / "x")
    assert (verdict.same, verdict.cause) == (True, "")


@there("gpt2")
def test_the_norms_of_the_paper_are_those_of_gpt_2(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    given = tm2tfr.Subject.of(ADDER, options={"variant": "paper", "epsilon": 1e-5})
    folder = export_to("gpt2", given, tmp_path / "x").folder
    tensors = load_file(folder / "model.safetensors")
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (settings["n_embd"], settings["n_head"], settings["layer_norm_epsilon"]) == (23, 1, 1e-5)
    assert settings["scale_attn_weights"] is True
    norms = ("transformer.h.0.ln_1.weight", "transformer.h.0.ln_2.weight", "transformer.ln_f.weight")
    assert {name for name in tensors if "ln_" in name and name.endswith("weight")} == set(norms)
    assert (tensors["transformer.ln_f.weight"] == given.decoder.norm.gain.dense()[:, 0]).all()
    assert verify_export(folder).same


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("variant", HARD)
def test_streams_are_those_of_the_dense_engine(to: str, variant: str, tmp_path: Path) -> None:
    given = subject(ADDER, variant)
    right = reference_of(given.right, given.decoder)
    model = loaded(to, exported(to, tmp_path / "x", variant=variant))
    run = compared(model, given.decoder.vocabulary, right, "1011", 14)
    assert (run.divergence, run.generated, run.cut, run.whose) == (None, 14, False, "the evaluator's")
    assert cause(model, given.decoder, run, lambda x: x) == ""


@pytest.mark.parametrize("variant", HARD)
def test_the_position_table_is_in_the_position_embedding(variant: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    table = tm2tfr.compile(subject(ADDER, variant)).position_table
    assert table is not None
    places, own = load_file(exported("lens", tmp_path / "x", variant=variant) / "model.safetensors"), table.dense()
    rows = np.flatnonzero(own.any(axis=1))
    assert len(rows) > 0
    assert np.array_equal(places["pos_embed.weight"][:, rows], own[rows].T)


# ── sabotage ────────────────────────────────────────────────────────────────────────────────────────────────
def another_operand(table: Any) -> None:
    """Gate 5 (symbol 4 + 5) reads another net as its first operand: `table` has a column for each position."""
    table[4, 8] = 0.0 if table[4, 8] else 1.0


def another_row(table: Any) -> None:
    """Position 8 is taken for position 3: `table` has a row for each position."""
    table[8] = table[3]


@pytest.mark.parametrize("variant", HARD)
@pytest.mark.parametrize("to", EVERY)
def test_a_sabotaged_table_is_found(to: str, variant: str, tmp_path: Path) -> None:
    if to in ("torch", "onnx") and variant != "lookup":
        return
    folder = exported(to, tmp_path / "x", variant=variant)
    tampered(folder, to, TABLES[to], another_operand if to in ("torch", "onnx") else another_row)
    verdict = verify_export(folder, word="1+3")
    assert not verdict.same
    assert verdict.weights[0].startswith(f"{TABLES[to]}[")
    assert "embedding of position 8: " in verdict.weights[0]
    assert "the stream first goes wrong at position 8, after the embedding" in verdict.cause
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


@pytest.mark.parametrize(
    ("to", "name", "words"),
    [
        *(
            pytest.param(
                *to.values, "layers.1.attention_norm.gain", "layer 1 (gate), attention norm, gain of ", marks=to.marks
            )
            for to in BOTH
        ),
        *(
            pytest.param("gpt2", name, name, marks=there("gpt2"))
            for name in ("transformer.h.0.ln_1.weight", "transformer.h.0.attn.c_attn.weight", "lm_head.weight")
        ),
    ],
)
def test_a_sabotaged_weight_of_the_paper_is_found(to: str, name: str, words: str, tmp_path: Path) -> None:
    def raised(weights: Any) -> None:
        weights[..., 0] += 1.0

    folder = exported(to, tmp_path / "x", variant="paper")
    tampered(folder, to, name, raised)
    verdict = verify_export(folder)
    assert not verdict.same
    assert words in verdict.weights[0]


@needs_torch
@pytest.mark.parametrize(
    ("variant", "change", "words"),
    [
        ("paper", {"norms": {"norm": 0.5}}, "tm2tfr.json: norms.norm is 0.5"),
        ("lookup", {"provenance": {"option.variant": "paper-hard"}}, ""),
        ("lookup", {"provenance": dict(subject(C17).decoder.provenance)}, ""),
    ],
)
def test_changed_names_are_found(variant: str, change: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x", variant=variant)
    rewritten(folder, "tm2tfr.json", lambda names: [names[entry].update(value) for entry, value in change.items()])
    verdict = verify_export(folder)
    assert not verdict.same
    assert words in verdict.weights[0]
    rewritten(folder, "tm2tfr.json", lambda names: names["provenance"].update({"option.variant": "paper-soft"}))
    with pytest.raises(CompileError, match="unknown variant 'paper-soft'"):
        verify_export(folder)


@there("lens")
def test_another_circuit_and_another_recipe_are_found(tmp_path: Path) -> None:
    folder = exported("lens", tmp_path / "x")
    assert not verify_export(folder, machine=C17, word="10110").same
    text = (folder / "lens.json").read_text(encoding="utf-8")
    (folder / "lens.json").write_text(text.replace('"stock": false', '"stock": true'), encoding="utf-8")
    assert "lens.json: its recipe: binary-adder: stock is about the bounds" in verify_export(folder).weights[0]


@needs_torch
def test_changed_code_is_found(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x")
    (folder / "circuit.py").write_text("raise SystemExit('this was run')\n", encoding="utf-8")
    assert "circuit.py: line 1 is not as this version writes it" in verify_export(folder).weights[0]
    machine = export_to("torch", "chapter", tmp_path / "y", positions=20, verify=False).folder
    assert not (machine / "circuit.py").exists()
    (machine / "circuit.py").write_text("", encoding="utf-8")
    assert "circuit.py: does not belong to such an export" in verify_export(machine).weights[0]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
OWN_SOFTMAX = "softmax or layer norms of their own, and an export to TransformerLens makes .*: use the variant lookup or"
ALL_POSITIONS = "a circuit is exported with all its positions, 14, and not with 5: omit the number of positions"
REFUSED = [
    *((to, "lookup", {"positions": 5}, ALL_POSITIONS) for to in ("gpt2", "lens", "onnx")),
    *(
        (to, "lookup", {"max_head": 5}, r"a bound on \|h\| is about Turing machines, and this is a circuit: omit it")
        for to in ("gpt2", "lens", "onnx")
    ),
    ("onnx", "lookup", {"dtype": "float16"}, "weights are exported in float64 or float32, not in 'float16'"),
    ("gpt2", "lookup", {"stock": True}, "stock is about the bounds for Turing machines: omit it"),
    ("lens", "lookup", {"stock": True}, "to=.lens. does not take stock, which only applies to to=.gpt2.: omit it"),
    ("lens", "paper", {}, OWN_SOFTMAX),
]


@pytest.mark.parametrize(
    ("to", "variant", "options", "words"), [pytest.param(*each, marks=there(each[0])) for each in REFUSED]
)
def test_what_is_refused(to: str, variant: str, options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=words):
        exported(to, tmp_path / "x", variant=variant, **options)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, soft = tm2tfr.compile(subject(ADDER)), tm2tfr.soften(subject(ADDER))
    for to, weights, other, words in (
        ("gpt2", soft, None, "softmax of their own, .*: export them with average-hard attention, or"),
        ("lens", tm2tfr.soften(made), None, "softmax or layer norms of their own"),
        ("torch", replace(made, provenance={}), None, "a position table and no BOS, which an export to matrices"),
        ("torch", made, load("multiplier", bits=2), "these weights are not certified in float64"),
    ):
        with pytest.raises(ExportError, match=words):
            export_to(to, weights, tmp_path / "x", machine=other, verify=False)
    monkeypatch.setattr(fitting, "MOST_POSITIONS", 13)
    with pytest.raises(ExportError, match="it has 14 positions, and exports have at most 13: run it with tm2tfr"):
        exported("torch", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# ── without this package ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
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


@there("lens")
@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize(("variant", "direction"), [("lookup", "y"), ("paper-hard", "one")])
def test_the_model_card_is_true(
    variant: str, direction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, reader = exported("lens", tmp_path / "x", variant=variant), Reader(monkeypatch, capsys)
    for _, text in BLOCK.findall((folder / "README.md").read_text(encoding="utf-8")):
        reader.python(text, folder)
    variables = reader.variables
    assert "".join(variables["model"].to_str_tokens(variables["run"][0])) == evaluate(ADDER, "0000").symbols
    assert variables["cache"]["resid_post", 0][0, :, variables["where"][direction]].shape == (14,)
