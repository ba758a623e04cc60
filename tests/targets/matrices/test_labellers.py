"""Decoders that label sequences, in PyTorch and in ONNX Runtime: beside the dense engine, at every position."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engines.labellers import causal, labeller, scrambled
from tests.engines.looped import counting
from tests.targets.labellers import compiled
from tests.targets.matrices.programs import BOTH, loaded, needs_torch, tampered
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.read import formula
from tm2tfr.targets.common import fitting
from tm2tfr.targets.common.reference import first_wrong, inputs, read_labels, tokens_of
from tm2tfr.transformer.soft import locally_softened
from tm2tfr.transformer.weights import Decoder

MADE: dict[str, Callable[[], Decoder]] = {
    "three masks": labeller,
    "causal": causal,
    "sort": lambda: compiled("sort"),
    "parity": lambda: compiled("parity"),
    "running-parity": lambda: compiled("running-parity", mask="future"),
    "elementwise": lambda: compiled("elementwise"),
    "looped-parity": lambda: compiled("looped-parity"),
    "a loop by hand": counting,
    "a loop with both": lambda: counting(times=3),
    "a fixed number of passes": lambda: counting(times=3, until=False),
}


def exported(to: str, folder: Path, decoder: Decoder, **options: Any) -> Path:
    return export_to(to, decoder, folder, verify=False, **options).folder


@pytest.mark.similar
@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MADE)
def test_it_is_exported_run_and_verified(to: str, dtype: str, name: str, tmp_path: Path) -> None:
    made = MADE[name]()
    report = export_to(to, made, tmp_path / "x", dtype=dtype)
    lines = str(report).splitlines()
    assert lines[1] == f"not certified in {dtype}: only the compared labels are known to be right"
    assert "every label agrees with the dense engine, since no program is stored" in lines[2]
    assert len(report.runs) > 100
    longest = max(len(run.tokens) for run in report.runs)
    assert longest == (made.positions or 1024)
    assert lines[2].endswith("; words of all 1,024 positions agree with the dense engine") == (made.positions is None)
    verdict = verify_export(tmp_path / "x")
    assert verdict.same
    assert verdict.cause == ""
    assert f"{len(verdict.run.tokens)} position" in str(verdict)  # type: ignore[union-attr]
    assert "the whole sequence at once: the dense engine's labels" in str(verdict)


@pytest.mark.parametrize("to", BOTH)
def test_random_weights_of_any_mask_answer_as_they_do_here(to: str, tmp_path: Path) -> None:
    for seed in range(12):
        made = scrambled(seed, integers=True, positions=None if seed % 2 else 6)
        model: Any = loaded(to, exported(to, tmp_path / str(seed), made, positions=6))
        for n in (1, 3, 6):
            tokens = [(seed + 2 * i) % len(made.vocabulary) for i in range(n)]
            right = run_whole(made, tokens, engine=Dense())
            wanted = read_labels(made.outputs, np.array([there.logits for there in right]))
            assert first_wrong(wanted, model.labelled(made, tokens)) is None


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("made", [labeller(), counting()], ids=["three masks", "a loop, of other passes in each"])
def test_a_batch_has_the_labels_of_its_sequences(to: str, made: Decoder, tmp_path: Path) -> None:
    folder, batch = exported(to, tmp_path / "x", made), np.array([[0, 1, 2, 2], [2, 0, 0, 1], [1, 1, 1, 1]])
    if to == "torch":
        import torch

        from tm2tfr.targets.torch.labeller import load

        logits = load(folder)(torch.tensor(batch)).numpy()
    else:
        import onnxruntime

        (logits,) = onnxruntime.InferenceSession(str(folder / "model.onnx")).run(["logits"], {"input_ids": batch})
    assert logits.shape == (len(batch), 4, made.answers)
    for tokens, found in zip(batch, logits, strict=True):
        right = [answered(made, there.logits) for there in run_whole(made, tokens.tolist(), engine=Dense())]
        assert first_wrong(right, read_labels(made.outputs, found)) is None


def test_what_is_said_of_it(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="no ONNX here: pip install 'tm2tfr[onnx]'")
    folder = exported("onnx", tmp_path / "x", compiled("reverse", length=5))
    names = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    (output,) = names["outputs"]
    labels = output["labels"]
    assert (output["name"], output["logits"]) == ("reverse", [0, len(labels)])
    assert {head["mask"] for layer in names["layers"] for head in layer["heads"]} == {"none"}
    assert (names["recipe"], names["temperature"], names["bos"]) == (
        {"positions": 5, "max_head": None, "dtype": "float64"},
        None,
        None,
    )
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Given a sequence of at most 5 tokens, each one of\n" in card
    assert f"- `reverse`: one of {', '.join(f'`{label}`' for label in labels)}" in card
    assert "average-hard, not masked" in card
    assert "Turing" not in card
    assert "generates" not in card


@needs_torch
def test_labeller_py_runs_by_itself(tmp_path: Path) -> None:
    folder = exported("torch", tmp_path / "x", labeller(), positions=9)
    assert "tm2tfr." not in (folder / "labeller.py").read_text(encoding="utf-8").replace("tm2tfr.json", "")
    command = [sys.executable, "-B", "labeller.py", "abba"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert ran.stdout.splitlines() == ["next: b b a a", "share: 0.5 0.5 0.5 0.5", "same: no yes no yes"]
    assert verify_export(folder).same


@needs_torch
def test_labeller_py_in_python(tmp_path: Path) -> None:
    from tm2tfr.targets.torch.labeller import load

    folder = exported("torch", tmp_path / "x", labeller(), positions=9)
    made, told = load(folder), {"next": list("bbaa"), "share": [0.5] * 4, "same": ["no", "yes", "no", "yes"]}
    assert made.labels("abba") == made.labels(["a", "b", "b", "a"]) == made.labels('["a", "b", "b", "a"]') == told
    assert load(folder, "softmax", 0.001).labels("abba") == told
    for word, why in (("abz", "'z' is not in"), ("a" * 10, "10 positions, but these weights are for 9"), ("", "is empty")):
        with pytest.raises(ValueError, match=why):
            made.labels(word)
    with pytest.raises(ValueError, match="softmax attention has a temperature, and nothing else has: give both"):
        load(folder, "softmax")


# ── sabotage ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("to", BOTH)
def test_sabotaged_weights_answer_wrongly_as_they_do_here(to: str, tmp_path: Path) -> None:
    from tm2tfr.transformer.matrix import Matrix
    from tm2tfr.transformer.weights import replaced

    made, path = labeller(), "layers.1.heads.1.value"
    folder = exported(to, tmp_path / "x", made)
    tampered(folder, to, path, lambda value: value.__setitem__((0, 0), 2.0))
    own = verify_export(folder)
    assert not own.same
    verdict = verify_export(folder, machine=made, word="cab")
    assert verdict.weights[0].startswith(
        f"{path}[0, 0] is 2, should be 1: layer 1 (look), head 'all', value 0, reads token"
    )
    assert verdict.run is not None
    assert str(verdict.run.divergence).startswith("position 0, the whole sequence at once: share should be 0.333")
    assert verdict.cause.startswith(
        "the stream first goes wrong at position 0, after layer 1 (look): share should be 0.333"
    )
    entries = {(0, column): 2.0 for _, column, _ in made.layers[0].heads[1].value.entries()}
    wrong = replaced(made, {path: Matrix.from_entries((1, made.layout.width), entries)})
    model: Any = loaded(to, folder)
    for word in inputs(wrong):
        tokens = [wrong.numbers[token] for token in tokens_of(word)]
        right = [answered(wrong, there.logits) for there in run_whole(wrong, tokens, engine=Dense())]
        assert first_wrong(right, model.labelled(wrong, tokens)) is None


@pytest.mark.parametrize("to", BOTH)
def test_a_changed_mask_is_found(to: str, tmp_path: Path) -> None:
    folder = exported(to, tmp_path / "x", labeller())
    assert not verify_export(folder, machine=causal()).same
    verdict = verify_export(exported(to, tmp_path / "y", causal()), machine=labeller(), word="ab")
    assert "layers.0.heads.0.mask" in str(verdict) or "mask" in " ".join(verdict.weights)


@pytest.mark.parametrize("to", BOTH)
def test_a_model_that_answers_otherwise_is_not_written(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = {"torch": "torch.target.TorchRunning", "onnx": "onnx.target.OnnxRunning"}[to]
    monkeypatch.setattr(
        f"tm2tfr.targets.{running}.labelled", lambda _self, _decoder, tokens: [("a", 0.0, "no") for _ in tokens]
    )
    with pytest.raises(
        ExportError, match="not right on 'a' in .*: position 0, the whole sequence at once: share should be 1"
    ):
        export_to(to, labeller(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_torch
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled("sort")
    for options, words in (
        ({"positions": 5}, "these weights are exported with all their positions, 8, and not with 5: omit the number"),
        ({"max_head": 5}, r"a bound on \|h\| is about Turing machines, and these weights label a sequence: omit it"),
        ({"dtype": "float16"}, "weights are exported in float64 or float32, not in 'float16'"),
    ):
        with pytest.raises(ExportError, match=words):
            exported("torch", tmp_path / "x", made, **options)
    folder = exported("torch", tmp_path / "x", labeller(), positions=8)
    with pytest.raises(
        ExportError, match="the input has 9 tokens, and this export is for at most 8: use a shorter one, or "
    ):
        verify_export(folder, word="a" * 9)
    monkeypatch.setattr(fitting, "MOST_POSITIONS", 7)
    with pytest.raises(ExportError, match="exports have at most 7 positions, not 8: run these weights with tm2tfr, or com"):
        exported("torch", tmp_path / "y", made)


def test_the_tokens_of_an_input() -> None:
    assert tokens_of("abc") == ("a", "b", "c")
    assert tokens_of('["a", 3, true, 0.5]') == ("a", "3", "T", "1/2")
    assert tokens_of("[ab") == ("[", "a", "b")
    with pytest.raises(InputError, match="a token is text, a number, true or false: write for example"):
        tokens_of("[null]")
    tried = list(inputs(labeller()))
    assert tried == list(inputs(labeller()))
    assert (tried[:3], len(tried), max(map(len, tried))) == (["a", "b", "c"], 152, 64)


@pytest.mark.parametrize("to", BOTH)
def test_softmax_by_local_bounds_is_exported_for_the_positions_that_it_is_right_for(to: str, tmp_path: Path) -> None:
    program = formula("prev (Q[a] S Q[b])", alphabet=("a", "b"))
    soft = locally_softened(compile_program(program, LogicOptions()), 30)
    assert export_to(to, soft, tmp_path / "x").recipe.positions == 30
    with pytest.raises(ExportError, match="softmax is right for at most 30 positions with these weights, and not 31: "):
        export_to(to, soft, tmp_path / "y", positions=31)
    steep = locally_softened(compile_program(program, LogicOptions(steep=True)), None)
    assert export_to(to, steep, tmp_path / "z", verify=False).recipe.positions == 1024
