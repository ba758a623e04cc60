"""Labellers as token classifiers of unmodified `transformers`: beside the interpreter, and the dense engine's stream."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.handmade import majority
from tests.targets.framed import framed
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import CompileError, ExportError
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.logic.read import formula
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.common.reference import WeightsReference, reference_of
from tm2tfr.transformer.weights import digest

pytest.importorskip("transformers", reason="no transformers here: pip install 'tm2tfr[hf]'")
torch = pytest.importorskip("torch", reason="no PyTorch here: pip install 'tm2tfr[torch]'")
PROGRAMS = Path(__file__).parents[3] / "programs"


def subject(name: str, **options: Any) -> tm2tfr.Subject:
    return tm2tfr.Subject.of(PROGRAMS / f"{name}.rasp", options=options)


def running(folder: Path) -> Any:
    from tm2tfr.targets.classifier import ClassifierRunning

    return ClassifierRunning(folder)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("to", "name"), [("bert", "reverse"), ("bert", "histogram"), ("gpt2", "running-parity")])
def test_every_label_is_the_interpreters(to: str, name: str, dtype: str, tmp_path: Path) -> None:
    report = export_to(to, subject(name, max_length=6), tmp_path / "x", dtype=dtype)
    architecture, statement, verified, _ = str(report).splitlines()
    assert architecture.startswith({"bert": "MegatronBert", "gpt2": "GPT2"}[to] + "ForTokenClassification: ")
    assert statement.startswith(f"made for sequences of 1 to 6 tokens in {dtype}; no bounds on rounding are proved")
    assert verified.endswith("every label agrees with the interpreter")
    verdict = verify_export(tmp_path / "x")
    assert str(verdict).splitlines()[-1] == f"yes: this export is {name}"
    assert verdict.cause == ""


def test_weights_without_layers(tmp_path: Path) -> None:
    export_to("bert", tm2tfr.Subject.of(formula("Q[a]")), tmp_path / "x")
    assert verify_export(tmp_path / "x").same


def test_long_random_inputs_in_float32(tmp_path: Path) -> None:
    made = subject("reverse", max_length=40).decoder
    model = running(export_to("bert", made, tmp_path / "x", dtype="float32", verify=False).folder)
    tokens = np.random.default_rng(0).integers(0, len(made.vocabulary), (6, 40))
    wanted = DenseDecoder(made).run(tokens).logits.transpose(1, 2, 0)
    found = np.array([model._run(row.tolist()).logits[0].numpy() for row in tokens])
    many = found.shape[-1]
    assert abs(found - wanted[:, :, :many]).max() < 2.0**-20


def test_what_transformers_loads_by_itself(tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    folder = str(export_to("bert", subject("reverse", max_length=8), tmp_path / "x", verify=False).folder)
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    words = ["abc", "acbacb"]
    batch = tokenizer(words, return_tensors="pt", padding=True)
    with torch.inference_mode():
        labels = model(**batch).logits.argmax(-1).tolist()
    for word, found in zip(words, labels, strict=True):
        assert "".join(model.config.id2label[n] for n in found[: len(word)]) == word[::-1]
    names = json.loads((Path(folder) / "tm2tfr.json").read_text(encoding="utf-8"))
    assert names["outputs"] == [{"name": "reverse", "labels": ["a", "b", "c"], "logits": [0, 3]}]
    card = (Path(folder) / "README.md").read_text(encoding="utf-8")
    assert "pipeline_tag: token-classification" in card
    assert "Given a sequence of at most 8 tokens" in card


@pytest.mark.parametrize(("to", "name"), [("bert", "reverse"), ("gpt2", "running-parity")])
def test_padding_on_the_left_wants_positions_that_go_with_it(to: str, name: str, tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    folder = str(export_to(to, subject(name, max_length=8), tmp_path / "x", verify=False).folder)
    assert "position_ids=(attention_mask.cumsum(-1) - 1).clamp(0)" in (Path(folder) / "README.md").read_text(
        encoding="utf-8"
    )
    model = AutoModelForTokenClassification.from_pretrained(folder)
    word, longer = {"reverse": ("abc", "acbacb"), "running-parity": ("110", "101101")}[name]

    def labels(side: str, *, told: bool = False) -> list[int]:
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side=side)
        batch = tokenizer([word, longer], return_tensors="pt", padding=True)
        mask = batch["attention_mask"]
        positions = {"position_ids": (mask.cumsum(-1) - 1).clamp(0)} if told else {}
        with torch.inference_mode():
            logits = model(**batch, **positions).logits
        return logits[0][mask[0] == 1].argmax(-1).tolist()

    assert labels("left", told=True) == labels("right")
    assert labels("left") != labels("right")


def test_all_outputs_with_labels_are_answered_side_by_side_and_a_pipeline_reads_the_first(tmp_path: Path) -> None:
    from transformers import pipeline

    given = subject("most-frequent", max_length=5)
    folder = export_to("bert", given, tmp_path / "x").folder
    outputs = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))["outputs"]
    assert len(outputs) == len(given.decoder.outputs) == 8
    model = running(folder)
    numbers = model.prompt("§abba")
    logits = model.logits(numbers)
    rows = tm2tfr.run(given, "§abba").rows
    for output, values in zip(outputs, zip(*(row[2:] for row in rows), strict=True), strict=True):
        start, stop = output["logits"]
        found = [output["labels"][n] for n in logits[:, start:stop].argmax(-1)]
        assert found == [str(value) for value in values], output["name"]
    piped = pipeline("token-classification", model=model.model, tokenizer=model.tokenizer)("§abba")
    assert [token["entity"] for token in piped] == [str(row[2]) for row in rows]


def test_the_model_card_prints_every_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export_to("bert", subject("histogram", max_length=5), tmp_path / "x", verify=False).folder
    code = (folder / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(folder)
    capsys.readouterr()
    exec(code, {})
    printed = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]
    word = code.partition("tokenizer('")[2].partition("'")[0]
    histogram, fractions = zip(*(row[2:] for row in tm2tfr.run("histogram", word).rows), strict=True)
    assert printed == [[*map(str, histogram)], [f"frac_with_0 = {each}" for each in fractions]]


def test_sabotaged_weights_give_the_same_wrong_labels(tmp_path: Path) -> None:
    from tm2tfr.transformer.weights import replaced

    given = subject("reverse", max_length=5)
    made = given.decoder
    path = "layers.2.heads.0.output"
    rolled = made.layers[1].heads[0].output
    wrong = replaced(made, {path: type(rolled)(rolled.shape, rolled.rows, rolled.columns[::-1].copy(), rolled.values)})
    assert digest(wrong) != digest(made)
    model = running(export_to("bert", wrong, tmp_path / "x", verify=False).folder)
    runs = [compared(model, wrong.vocabulary, WeightsReference(wrong), word, 5) for word in ("abc", "cab", "aabbc")]
    assert [run.divergence for run in runs] == [None, None, None]
    beside = [
        compared(model, made.vocabulary, reference_of(given.program, made), word, 5) for word in ("abc", "cab", "aabbc")
    ]
    assert any(run.divergence is not None for run in beside)
    with pytest.raises(ExportError, match="the exported model is not right on"):
        export_to("bert", wrong, tmp_path / "y", machine=made)
    verdict = verify_export(tmp_path / "x", machine=made)
    assert not verdict.same


@pytest.mark.parametrize(
    ("program", "refused", "advised"),
    [
        ("histogram-without-bos", {"gpt2", "bert"}, "use to='lens', 'torch' or 'onnx'"),
        ("reverse", {"gpt2"}, "use to='bert', 'lens', 'torch' or 'onnx'"),
        ("running-parity", {"bert"}, "use to='gpt2', 'lens', 'torch' or 'onnx'"),
    ],
)
@pytest.mark.slow
def test_advice_names_the_exports_that_take_the_weights_and_no_other(
    tmp_path: Path, program: str, refused: set[str], advised: str
) -> None:
    given = subject(program, max_length=4)
    for target in ("gpt2", "bert", "lens", "torch", "onnx"):
        if target in refused:
            with pytest.raises(ExportError, match=f": {advised}$"):
                export_to(target, given, tmp_path / target, verify=False)
        else:
            export_to(target, given, tmp_path / target, verify=False)


def test_a_number_is_refused_with_the_name_of_the_program(tmp_path: Path) -> None:
    what = "histogram-without-bos: the output 'histogram' is a number, and a token classifier answers with labels"
    with pytest.raises(ExportError, match=f"^{what}: use to='lens', 'torch' or 'onnx'$"):
        export_to("bert", subject("histogram-without-bos", max_length=3), tmp_path / "x", verify=False)


def test_what_is_refused(tmp_path: Path) -> None:
    told = (
        "running-parity: in a BERT every head sees every position, and these weights have heads with the mask future: use"
    )
    with pytest.raises(ExportError, match=f"^{told} to='gpt2', 'lens', 'torch' or 'onnx'$"):
        export_to("bert", subject("running-parity"), tmp_path / "x")
    told = "reverse: in a GPT-2 no head sees a later position, and these weights have heads with the mask none: use"
    with pytest.raises(ExportError, match=f"^{told} to='bert', 'lens', 'torch' or 'onnx'$"):
        export_to("gpt2", subject("reverse"), tmp_path / "x")
    with pytest.raises(
        ExportError, match="and these weights have heads with the mask future and past: use to='torch' or 'onnx'"
    ):
        export_to("bert", labeller(), tmp_path / "x")
    with pytest.raises(ExportError, match="to='bert' takes weights that label a sequence, and these generate one: use"):
        export_to("bert", majority(), tmp_path / "x")
    with pytest.raises(ExportError, match="stock is about the bounds for Turing machines, and these weights label a"):
        export_to("gpt2", subject("running-parity"), tmp_path / "x", stock=True)
    plain = tm2tfr.Subject.of(formula("Q[a]"))
    told = r"^Q\[a\]: these weights have no layers, and the residual stream of a GPT-2 is read at its layers: use to='bert'"
    with pytest.raises(ExportError, match=f"{told}, 'torch' or 'onnx'$"):
        export_to("gpt2", plain, tmp_path / "x")
    endless = dataclasses.replace(subject("reverse").decoder, position_table=None, provenance={})
    with pytest.raises(
        ExportError, match="of any length have scores that lie too close for the softmax of a BERT: compile"
    ):
        export_to("bert", endless, tmp_path / "x")
    unclaimed = "framed: nothing is claimed about the gap of head 'back' in layer 'look', so that no softmax is known to be"
    with pytest.raises(ExportError, match=f"^{unclaimed} sharp enough: use to='torch' or 'onnx'$"):
        export_to("gpt2", framed(claimed=False), tmp_path / "x")
    with pytest.raises(CompileError, match="no certificates of RASP programs, .*: run every input up to a length with"):
        tm2tfr.certify(subject("reverse"))
    assert list(tmp_path.iterdir()) == []


def test_weights_do_not_depend_on_the_order_of_sets() -> None:
    path = str(PROGRAMS / "sort.rasp")
    code = "import tm2tfr; from tm2tfr.transformer.weights import digest"
    code += f"; print(digest(tm2tfr.compile({path!r}, max_length=5)))"
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.add(ran.stdout)
    assert len(found) == 1
