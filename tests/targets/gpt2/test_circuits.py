"""Circuits as GPT-2s, run by `transformers` beside their evaluator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr
from tests.sources.circuit.running import all_inputs
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.choices import CIRCUIT_VARIANTS
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit

pytest.importorskip("torch", reason="no PyTorch here: pip install 'tm2tfr[hf]'")
pytest.importorskip("transformers", reason="no transformers here: pip install 'tm2tfr[hf]'")

ADDER, C17 = load("binary-adder", bits=2), load("c17")
HARD = ("lookup", "paper-hard")


def subject(circuit: Circuit, variant: str = "lookup") -> tm2tfr.Subject:
    return tm2tfr.Subject.of(circuit, options={"variant": variant})


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("variant", CIRCUIT_VARIANTS)
@pytest.mark.parametrize("circuit", [ADDER, C17], ids=lambda circuit: circuit.name)
def test_every_bit_of_every_input(circuit: Circuit, variant: str, dtype: str, tmp_path: Path) -> None:
    from tm2tfr.targets.gpt2.running import Gpt2Running

    given = subject(circuit, variant)
    model = Gpt2Running(export_to("gpt2", given, tmp_path / "x", dtype=dtype, verify=False).folder)
    for bits in all_inputs(given.right):
        symbols = [int(bit) for bit in evaluate(given.right, bits).symbols]
        prompt = [int(bit) for bit in bits]
        assert model.prompt(bits) == prompt
        assert model.answers(symbols[:-1])[len(bits) - 1 :] == symbols[len(bits) :]
    assert model.generated(prompt, most=len(symbols)) == symbols


def test_what_is_said_of_it(tmp_path: Path) -> None:
    said = str(export_to("gpt2", subject(ADDER), tmp_path / "x")).splitlines()
    assert said[0] == "GPT-2: 1 layer, 3 heads, width 192, float64, 0.16 million parameters"
    assert said[1] == "no bounds on GPT-2's rounding are proved for circuits: in float64 it is right where it was run"
    assert said[2].endswith(": all 16 inputs, 224 tokens, all the evaluator's")
    verdict = verify_export(tmp_path / "x", word="1+3")
    assert verdict.same
    assert str(verdict).splitlines()[1] == "run: '1011', 14 positions, teacher-forced and generated: the evaluator's tokens"
    settings = json.loads((tmp_path / "x" / "config.json").read_text(encoding="utf-8"))
    assert (settings["bos_token_id"], settings["eos_token_id"], settings["n_positions"]) == (None, None, 14)
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert "it generates the bit of each of 11 gates" in card
    assert "Turing" not in card


def test_the_norms_of_the_paper_are_those_of_gpt_2(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    given = tm2tfr.Subject.of(ADDER, options={"variant": "paper", "epsilon": 1e-5})
    folder = export_to("gpt2", given, tmp_path / "x").folder
    tensors = load_file(folder / "model.safetensors")
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (settings["n_embd"], settings["n_head"], settings["layer_norm_epsilon"]) == (23, 1, 1e-5)
    assert settings["scale_attn_weights"] is True
    assert {name for name in tensors if "ln_" in name and name.endswith("weight")} == {
        "transformer.h.0.ln_1.weight",
        "transformer.h.0.ln_2.weight",
        "transformer.ln_f.weight",
    }
    assert (tensors["transformer.ln_f.weight"] == given.decoder.norm.gain.dense()[:, 0]).all()
    assert verify_export(folder).same


@pytest.mark.parametrize("name", ["transformer.h.0.ln_1.weight", "transformer.h.0.attn.c_attn.weight", "lm_head.weight"])
def test_a_sabotaged_weight_of_the_paper_is_found(name: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = export_to("gpt2", subject(ADDER, "paper"), tmp_path / "x", verify=False).folder
    tensors = load_file(folder / "model.safetensors")
    tensors[name][..., 0] += 1.0
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    verdict = verify_export(folder)
    assert not verdict.same
    assert name in verdict.weights[0]


def test_softmax_without_norms_is_refused(tmp_path: Path) -> None:
    soft = tm2tfr.soften(subject(ADDER))
    with pytest.raises(ExportError, match="softmax of their own, .*: export them with average-hard attention, or"):
        export_to("gpt2", soft, tmp_path / "x")


@pytest.mark.parametrize("variant", HARD)
def test_a_sabotaged_table_is_found(variant: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = export_to("gpt2", subject(ADDER, variant), tmp_path / "x", verify=False).folder
    tensors = load_file(folder / "model.safetensors")
    tensors["transformer.wpe.weight"][8] = tensors["transformer.wpe.weight"][3]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    verdict = verify_export(folder, word="1+3")
    assert not verdict.same
    assert "transformer.wpe.weight[8, " in verdict.weights[0]
    assert "embedding of position 8: " in verdict.weights[0]
    assert "the stream first goes wrong at position 8, after the embedding" in verdict.cause


def test_what_is_refused(tmp_path: Path) -> None:
    for variant, options, words in (
        ("lookup", {"stock": True}, "--stock is about the bounds for Turing machines: omit it"),
        ("lookup", {"positions": 5}, "a circuit is exported with all its positions, 14, and not with 5"),
        ("lookup", {"max_head": 5}, r"a bound on \|h\| is about Turing machines, and this is a circuit: omit it"),
    ):
        with pytest.raises(ExportError, match=words):
            export_to("gpt2", subject(ADDER, variant), tmp_path / "x", **options)
    assert list(tmp_path.iterdir()) == []
