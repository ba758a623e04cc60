"""Weights that label a sequence in TransformerLens: RASP programs beside their interpreter, all outputs at once."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.engines.labellers import causal, labeller
from tests.targets.framed import framed
from tests.targets.matrices.programs import tampered
from tests.targets.test_documents import BLOCK, Reader
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.logic.read import formula

PROGRAMS = Path(__file__).parents[3] / "programs"
there = pytest.mark.skipif(
    find_spec("transformer_lens") is None, reason="TransformerLens is not installed: pip install 'tm2tfr[lens]'"
)


def subject(name: str, **options: Any) -> tm2tfr.Subject:
    return tm2tfr.Subject.of(PROGRAMS / f"{name}.rasp", options={"max_length": 6, **options})


# ── without TransformerLens ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("name", "direction"), [("running-parity", "causal"), ("reverse", "bidirectional")])
def test_what_is_written(name: str, direction: str, tmp_path: Path) -> None:
    given = subject(name)
    lines = str(export_to("lens", given, tmp_path / "x", verify=False)).splitlines()
    assert lines[0].startswith("TransformerLens: ")
    assert lines[1].startswith("made for sequences of 1 to 6 tokens in float64; no bounds on rounding are proved: only")
    config, names = (
        json.loads((tmp_path / "x" / file).read_text(encoding="utf-8")) for file in ("lens.json", "tm2tfr.json")
    )
    made = given.decoder
    assert (config["d_vocab_out"], config["attention_dir"], config["n_ctx"]) == (made.answers, direction, 6)
    assert (config["d_vocab"], config["eos_token_id"]) == (len(made.vocabulary) + 2, [])
    assert [(each["name"], each["logits"]) for each in names["outputs"]] == [(made.outputs[0].name, [0, made.answers])]
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert "tags: [rasp, tm2tfr, interpretability]" in card
    assert f"# {name} in TransformerLens" in card
    assert "Given a sequence of at most 6 tokens, each one of" in card
    assert "generates" not in card


def test_what_is_refused(tmp_path: Path) -> None:
    in_lens = "in TransformerLens all heads see every position, or none sees a later one, and these weights have heads"
    for given, options, words in (
        (labeller(), {}, f"^labeller: {in_lens} with the mask future and none and past: use to='torch' or 'onnx'$"),
        (
            causal(),
            {},
            "^labeller: weights for sequences of any length have scores that lie too close for the softmax of Tr",
        ),
        (
            tm2tfr.Subject.of(formula("Q[a]")),
            {},
            r"^Q\[a\]: these weights have no layers, and the residual stream of a model of TransformerLens is read at its "
            "layers: use to='bert', 'torch' or 'onnx'$",
        ),
        (subject("reverse"), {"positions": 5}, "are exported with all their positions, 6, and not with 5: omit the number"),
        (subject("reverse"), {"max_head": 5}, "is about Turing machines, and these weights label a sequence: omit it"),
        (subject("reverse"), {"stock": True}, "to='lens' does not take stock, which only applies to to='gpt2': omit it"),
        (
            tm2tfr.soften(framed(), temperature=0.01),
            {},
            "these weights have softmax attention: export the weights that they were made",
        ),
    ):
        with pytest.raises(ExportError, match=words):
            export_to("lens", given, tmp_path / "x", verify=False, **options)
    assert list(tmp_path.iterdir()) == []


# ── with it ─────────────────────────────────────────────────────────────────────────────────────────────────
@there
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["running-parity", "reverse"])
def test_every_label_is_the_interpreters(name: str, dtype: str, tmp_path: Path) -> None:
    said = str(export_to("lens", subject(name), tmp_path / "x", dtype=dtype)).splitlines()
    assert said[2].startswith("verified: loaded and run in TransformerLens ")
    assert said[2].endswith("every label agrees with the interpreter")
    verdict = verify_export(tmp_path / "x")
    assert str(verdict).splitlines()[-1] == f"yes: this export is {name}"
    assert verdict.cause == ""


@there
def test_sabotaged_weights_are_found(tmp_path: Path) -> None:
    folder = export_to("lens", subject("running-parity"), tmp_path / "x", verify=False).folder
    tampered(folder, "lens", "unembed.weight", lambda weights: weights.__setitem__(slice(None), weights[::-1].copy()))
    verdict = verify_export(folder)
    assert not verdict.same
    assert "unembed.weight[0, " in verdict.weights[0]
    assert "logit of state[0], reads state[0]" in verdict.weights[0]
    assert verdict.run is not None
    assert "the whole sequence at once: state should be " in str(verdict.run.divergence)


@there
@pytest.mark.filterwarnings("ignore")  # theirs
def test_the_model_card_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export_to("lens", framed(), tmp_path / "x", verify=False).folder
    reader, printed = Reader(monkeypatch, capsys), []
    for _, text in BLOCK.findall((folder / "README.md").read_text(encoding="utf-8")):
        printed.append(reader.python(text, folder))
    assert reader.variables["model"].to_str_tokens(reader.variables["word"][0]) == ["BOS", "a"]
    assert printed[0].splitlines() == ["once Q[a] F T", "prev Q[a] F F", "once Q[b] F F", "count(Q[a]) 0.0 1.0"]
    assert printed[1].startswith("tensor([1., 1.]")  # of the first output, F: 1 less the bit
