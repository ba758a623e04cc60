"""Hidden weights answer what their originals do: exactly, in floats, and in every export."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.lab.hidden.cases import NAMES, answers, hidden
from tests.strategies import DEPTH, some
from tests.targets.matrices.programs import needs_torch
from tm2tfr.base.errors import DisguiseError, ShapeError
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.dead_code import prompts_of
from tm2tfr.lab.hidden.dyadic import Turn
from tm2tfr.lab.hidden.key import load_key, of_dict
from tm2tfr.lab.hidden.verify import proof_of, verified
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import dumps
from tm2tfr.transformer.weights import replaced

CASES = [(name, grade, seed) for seed in range(4) for name in NAMES for grade in ((1, 2, 3) if seed < 2 else (2, 3))]


def test_there_are_two_hundred_cases_of_all_sources() -> None:
    assert len(CASES) == 220


@pytest.mark.slow
@pytest.mark.parametrize(("name", "grade", "seed"), CASES if DEPTH >= 1 else some(CASES[::5]))
def test_hidden_weights_answer_the_same(name: str, grade: int, seed: int) -> None:
    """In dense on many inputs, which making it compares after a proof for all; in exact on a short one."""
    made, program = hidden(name, grade, seed), tm2tfr.load(name)
    original = made.key.original
    assert made.key.equal["different"] == 0
    assert made.key.equal["runs"] > 0
    prompt = prompts_of(original, program, positions=6, runs=6)[-1]
    assert answers(made.decoder, prompt, Exact(), 6) == answers(original, prompt, Exact(), 6)


def test_nothing_legible_is_left() -> None:
    made = hidden("half-adder")
    assert dict(made.decoder.provenance) == {"construction": "hidden", "name": "hidden"}
    assert len({head.claim for layer in made.decoder.layers for head in layer.heads}) == 1
    assert {head.name for layer in made.decoder.layers for head in layer.heads} >= {"head 1.1"}
    assert made.decoder.layout.directions[0] == "stream[x0]"
    assert not any(head.uniform for layer in made.decoder.layers for head in layer.heads)
    with pytest.raises(tm2tfr.Tm2tfrError, match="these weights are hidden: .*tm2tfr disguise FILE --verify KEY"):
        tm2tfr.check(made.decoder)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    made, again, other = hidden("half-adder"), tm2tfr.disguise("half-adder"), hidden("half-adder", seed=1)
    assert dumps(made.decoder) == dumps(again.decoder)
    assert dumps(made.decoder) != dumps(other.decoder)
    made.key.save(tmp_path / "key.json")
    assert load_key(tmp_path / "key.json") == dataclasses.replace(made.key)
    assert load_key(tmp_path / "key.json").text() == again.key.text()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: tm2tfr.disguise("half-adder", grade=4),
            "grade 4 is trained, and no disguise of the same function: use disguise_by_training",
        ),
        (lambda: tm2tfr.disguise("half-adder", seed=-1), "a seed is a whole number, not -1: use 0 or more"),
        (lambda: hidden("half-adder", 3, variant="paper"), "these weights have layer norms.*: use grade=2"),
        (lambda: tm2tfr.verify_disguise("half-adder", 5), "5 is neither a key nor the path to one"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_hidden_is_refused(call: Any, words: str) -> None:
    with pytest.raises(DisguiseError, match=words):
        call()


def test_weights_with_too_many_digits_are_refused() -> None:
    right = tm2tfr.compile("half-adder")
    changed = replaced(right, {"unembedding": Matrix(right.unembedding.shape, *_thirds(right.unembedding))})
    with pytest.raises(DisguiseError, match="cannot be hidden in grade 2: .*has more digits than a float64"):
        tm2tfr.disguise(changed, grade=2)
    assert tm2tfr.disguise(changed, grade=1).decoder.nonzero == right.nonzero


def _thirds(matrix: Matrix) -> tuple[Any, Any, Any]:
    return matrix.rows, matrix.columns, matrix.values / 3


@pytest.mark.parametrize("grade", [1, 2])
def test_layer_norms_are_permuted_and_turned(grade: int) -> None:
    made = hidden("half-adder", grade, variant="paper")
    assert verified(made.decoder, made.key).proved
    assert made.decoder.normed
    assert made.key.equal["different"] == 0
    assert of_dict(json.loads(made.key.text())) == made.key
    assert (made.decoder.nonzero > 3 * made.key.original.nonzero) == (grade == 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["full-adder", "c17", "multiplexer", "majority"])
def test_layer_norms_with_weights_that_have_all_digits_are_turned(name: str) -> None:
    made = hidden(name, 2, variant="paper")
    assert verified(made.decoder, made.key).proved
    assert made.key.equal["different"] == 0


def test_a_basis_that_layer_norms_notice_is_refused() -> None:
    made = hidden("half-adder", 2, variant="paper")
    (rows, turn), *rest = made.key.basis.blocks
    signed = Turn(turn.size, tuple((order, (-1, *signs[1:])) for order, signs in turn.rounds))
    basis = dataclasses.replace(made.key.basis, blocks=((rows, signed), *rest))
    found = " ".join(proof_of(made.decoder, dataclasses.replace(made.key, basis=basis)).refusals)
    assert "layer norms: the basis does not keep the mean" in found
    norm = next(layer.attention_norm for layer in made.key.original.layers)
    assert norm is not None
    first = dataclasses.replace(norm, gain=norm.gain.with_entry(0, 0, 2.0))
    layers = [dataclasses.replace(made.key.original.layers[0], attention_norm=first), *made.key.original.layers[1:]]
    other = dataclasses.replace(made.key.original, layers=tuple(layers))
    found = " ".join(proof_of(made.decoder, dataclasses.replace(made.key, original=other)).refusals)
    assert "layer norms: the basis mixes directions of different gains" in found
    with pytest.raises(ShapeError, match="a turn that keeps the mean has no signs"):
        Turn(4, (((0, 1, 2, 3), (1, -1, 1, 1)),), centred=True)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("of",), 99, "is layer 99 of the original, which has"),
        (("of",), -5, "is layer -5 of the original, which has"),
        (("heads", 0), "layers.9.heads.9", "has the head layers.9.heads.9, which the original does not have"),
        (("units", 0), ["x", 1.0, None], "expected a list of whole numbers"),
        (("units", 0), [99, 1.0, None], "has unit 99, and that of the original has"),
        (("head_groups",), [[]], "has an empty group"),
    ],
)
def test_a_key_about_what_is_not_there_is_refused(path: tuple[str | int, ...], value: object, words: str) -> None:
    data = hidden("half-adder").key.as_dict()
    place = next(layer for layer in data["layers"] if layer["of"] is not None)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(DisguiseError, match=words):
        of_dict(data)


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    path, made = tmp_path / "key.json", hidden("half-adder", 1)
    text = made.key.text()
    for damaged, words in (
        ("{", "it is not JSON"),
        ("[]", "it is not a key of hidden weights"),
        (text.replace('"version":"1"', '"version":"9"'), "a key of version '9'"),
        (text.replace('"order":[', '"order":[0,'), "this key is damaged"),
        (text[:-40] + '"}\n', "this key is damaged|the original weights in this key are damaged"),
    ):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(DisguiseError, match=words):
            load_key(path)


# ── exports ─────────────────────────────────────────────────────────────────────────────────────────────────
@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "name", "grade", "options"),
    [
        *(("torch", "half-adder", 3, {}), ("torch", "busy-beaver-2", 1, {"universal": (2, 2)})),
        *(("onnx", "running-maximum", 3, {}), ("gpt2", "busy-beaver-2", 3, {})),
        *(("bert", "reverse", 3, {}), ("lens", "since-b", 3, {})),
    ],
)
def test_hidden_weights_of_every_source_are_exported(
    to: str, name: str, grade: int, options: dict[str, Any], tmp_path: Path
) -> None:
    """An export is only written if its runs are those of the dense engine: each target once, all five sources."""
    module = {"onnx": "onnxruntime", "gpt2": "transformers", "bert": "transformers", "lens": "transformer_lens"}.get(
        to, "torch"
    )
    pytest.importorskip(module, reason=f"{module} is not installed: pip install 'tm2tfr[{to}]'")
    made = hidden(name, grade, **options)
    done = tm2tfr.export_to(to, made.decoder, tmp_path / "out", positions=24 if to == "gpt2" else None)
    assert "verified: " in str(done)
    assert name != "half-adder" or tm2tfr.verify_export(tmp_path / "out", machine=made.decoder).same


@needs_torch
@pytest.mark.slow
def test_an_export_is_right_if_its_answers_are_whatever_its_stream_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A direction of hidden weights mixes what they compute with what decoys write: no export is refused for it."""
    pytest.importorskip("transformer_lens", reason="transformer_lens is not installed: pip install 'tm2tfr[lens]'")
    monkeypatch.setattr("tm2tfr.targets.common.verdict.cause", lambda *_: "the stream goes wrong")
    made = hidden("since-b", 3)
    assert "verified: " in str(tm2tfr.export_to("lens", made.decoder, tmp_path / "out"))
    verdict = tm2tfr.verify_export(tmp_path / "out", machine=made.decoder)
    assert (verdict.same, verdict.cause) == (True, "")
    with pytest.raises(tm2tfr.Tm2tfrError, match="the stream goes wrong"):
        tm2tfr.export_to("lens", made.key.original, tmp_path / "other")
