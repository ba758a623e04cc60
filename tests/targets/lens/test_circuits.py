"""Circuits in TransformerLens, beside their evaluator."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors

import tm2tfr
from tests.sources.circuit.running import all_inputs
from tests.targets.test_documents import BLOCK, Reader
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.targets.lens.target import LensRunning

there = pytest.mark.skipif(
    find_spec("transformer_lens") is None, reason="TransformerLens is not installed: pip install 'tm2tfr[lens]'"
)
ADDER, C17 = load("binary-adder", bits=2), load("c17")
HARD = ("lookup", "paper-hard")


def subject(circuit: Circuit, variant: str = "lookup") -> tm2tfr.Subject:
    return tm2tfr.Subject.of(circuit, options={"variant": variant})


# ── without TransformerLens ─────────────────────────────────────────────────────────────────────────────────
def test_what_is_written(tmp_path: Path) -> None:
    done = export_to("lens", subject(ADDER), tmp_path / "x", verify=False)
    assert str(done).splitlines()[:2] == [
        "TransformerLens: 1 layer, 3 heads, width 21, float64, 0.02 million parameters",
        "no bounds on the rounding of TransformerLens are proved for circuits: in float64 it is right where it was run",
    ]
    config = json.loads((tmp_path / "x" / "lens.json").read_text(encoding="utf-8"))
    assert (config["n_ctx"], config["eos_token_id"], config["default_prepend_bos"]) == (14, [], False)
    names = json.loads((tmp_path / "x" / "tm2tfr.json").read_text(encoding="utf-8"))
    assert [head["name"] for head in names["layers"][0]["heads"]] == ["operand a", "operand b", "operand c"]
    assert (names["vocabulary"], names["bos"], names["stop"]) == (["0", "1", "[PAD]", "[UNK]"], None, [])
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert "tags: [circuit, tm2tfr, interpretability]" in card
    assert "it generates the bit of each of 11 gates" in card
    assert "Turing" not in card
    assert "verdict" not in card


@pytest.mark.parametrize("variant", HARD)
def test_the_position_table_is_in_the_position_embedding(variant: str, tmp_path: Path) -> None:
    given = subject(ADDER, variant)
    export_to("lens", given, tmp_path / "x", verify=False)
    table = tm2tfr.compile(given).position_table
    assert table is not None
    places = safetensors.load_file(tmp_path / "x" / "model.safetensors")["pos_embed.weight"]
    own = table.dense()
    rows = np.flatnonzero(own.any(axis=1))
    assert len(rows) > 0
    assert np.array_equal(places[:, rows], own[rows].T)


def test_what_is_refused(tmp_path: Path) -> None:
    for variant, options, words in (
        (
            "paper",
            {},
            "softmax or layer norms of their own, and an export to TransformerLens makes .*: use the variant lookup or",
        ),
        ("lookup", {"positions": 5}, "a circuit is exported with all its positions, 14, and not with 5"),
        ("lookup", {"max_head": 5}, r"a bound on \|h\| is about Turing machines, and this is a circuit: omit it"),
        ("lookup", {"stock": True}, "--to lens does not take --stock, which only applies to --to gpt2: omit it"),
    ):
        with pytest.raises(ExportError, match=words):
            export_to("lens", subject(ADDER, variant), tmp_path / "x", verify=False, **options)
    with pytest.raises(ExportError, match="softmax or layer norms of their own"):
        export_to("lens", tm2tfr.soften(tm2tfr.compile(subject(ADDER))), tmp_path / "x", verify=False)
    assert list(tmp_path.iterdir()) == []


# ── with it ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@there
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("variant", HARD)
@pytest.mark.parametrize("circuit", [ADDER, C17], ids=lambda circuit: circuit.name)
def test_every_bit_of_every_input(circuit: Circuit, variant: str, dtype: str, tmp_path: Path) -> None:
    given = subject(circuit, variant)
    model = LensRunning(export_to("lens", given, tmp_path / "x", dtype=dtype, verify=False).folder)
    for bits in all_inputs(given.right):
        symbols = [int(bit) for bit in evaluate(given.right, bits).symbols]
        prompt = [int(bit) for bit in bits]
        assert model.prompt(bits) == prompt
        assert model.answers(symbols[:-1])[len(bits) - 1 :] == symbols[len(bits) :]
        assert model.generated(prompt, most=len(symbols)) == symbols


@there
def test_exports_are_verified(tmp_path: Path) -> None:
    said = str(export_to("lens", subject(ADDER), tmp_path / "x")).splitlines()
    assert said[2].startswith("verified: loaded and run in TransformerLens ")
    assert said[2].endswith(": all 16 inputs, 224 tokens, all the evaluator's")
    verdict = verify_export(tmp_path / "x", word="1+3")
    assert verdict.same
    assert str(verdict).splitlines()[:2] == [
        "weights: all 16 tensors are those of binary-adder",
        "run: '1011', 14 positions, teacher-forced and generated: the evaluator's tokens",
    ]
    with pytest.raises(InputError, match="3 bits for 4 inputs"):
        verify_export(tmp_path / "x", word="101")


@there
@pytest.mark.parametrize("variant", HARD)
def test_a_sabotaged_table_is_found(variant: str, tmp_path: Path) -> None:
    folder = export_to("lens", subject(ADDER, variant), tmp_path / "x", verify=False).folder
    tensors = safetensors.load_file(folder / "model.safetensors")
    tensors["pos_embed.weight"][8] = tensors["pos_embed.weight"][3]
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    verdict = verify_export(folder, word="1+3")
    assert not verdict.same
    assert "pos_embed.weight[8, " in verdict.weights[0]
    assert "embedding of position 8: " in verdict.weights[0]
    assert "the stream first goes wrong at position 8, after the embedding" in verdict.cause


@there
def test_another_circuit_and_another_recipe_are_found(tmp_path: Path) -> None:
    folder = export_to("lens", subject(ADDER), tmp_path / "x", verify=False).folder
    assert not verify_export(folder, machine=C17, word="10110").same
    text = (folder / "lens.json").read_text(encoding="utf-8")
    (folder / "lens.json").write_text(text.replace('"stock": false', '"stock": true'), encoding="utf-8")
    assert "lens.json: its recipe: binary-adder: --stock is about the bounds" in verify_export(folder).weights[0]


@there
@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize(("variant", "direction"), [("lookup", "y"), ("paper-hard", "one")])
def test_the_model_card_is_true(
    variant: str, direction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export_to("lens", subject(ADDER, variant), tmp_path / "x", verify=False).folder
    reader = Reader(monkeypatch, capsys)
    for _, text in BLOCK.findall((folder / "README.md").read_text(encoding="utf-8")):
        reader.python(text, folder)
    variables = reader.variables
    assert "".join(variables["model"].to_str_tokens(variables["run"][0])) == evaluate(ADDER, "0000").symbols
    assert variables["cache"]["resid_post", 0][0, :, variables["where"][direction]].shape == (14,)
