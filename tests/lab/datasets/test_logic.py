"""Data sets of formulas and programs of temporal logic: labels at every position, splits by length."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.lab.datasets.golden import said
from tm2tfr.api.datasets import make_dataset
from tm2tfr.base.errors import CompileError, DatasetError
from tm2tfr.lab.datasets.labels import LabelSpec, values_of_nodes
from tm2tfr.lab.datasets.make import dataset_report, load_spec, make, sweep
from tm2tfr.lab.datasets.reader import read
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.truth import shown_value
from tm2tfr.sources.logic.write import output_names

FORMULA = "# alphabet: ab\nseen := once Q[a]\nseen & Q[b]\n"
SPEC = (
    "formula: late.tl\nnodes: all\ninputs: {up to: 2}\nsplit by: length\nsplits: {train: 1, test: 2 to 3}\nformats: jsonl\n"
)


def spec_of(folder: Path, text: str = SPEC) -> LabelSpec:
    (folder / "late.tl").write_text(FORMULA, encoding="utf-8")
    spec = read(text, file="spec.yaml", folder=folder)
    assert isinstance(spec, LabelSpec)
    return spec


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_node_has_labels_and_splits_are_by_length(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    found = make(spec_of(tmp_path), folder, workers=1)
    assert dataset_report(found).splitlines() == [
        "spec: 6 inputs, 60 labels by the evaluator",
        "train: 12 examples (2 in, 2 Q[a], 2 true, 2 seen, 2 Q[b], 2 seen & Q[b])",
        "test: 24 examples (4 in, 4 Q[a], 4 true, 4 seen, 4 Q[b], 4 seen & Q[b])",
        f"wrote {folder}: 1 shard, manifest.json, formulas.jsonl, README.md",
    ]
    test = lines_of(folder / "test/00000-of-00001.jsonl")
    assert [(line["input"], line["target"]) for line in test if line["node"] == "seen & Q[b]"] == [
        ("aa", ["F", "F"]),
        ("ab", ["F", "T"]),
        ("ba", ["F", "F"]),
        ("bb", ["F", "F"]),
    ]
    assert test[0] == {
        "formula": "late",
        "input": "aa",
        "node": "in",
        "prompt": ["a", "a"],
        "target": ["a", "a"],
        "loss_mask": [1, 1],
    }
    (about,) = lines_of(folder / "formulas.jsonl")
    assert (about["formula"], about["text"], about["language"], about["alphabet"]) == ("late", FORMULA, "tl", ["a", "b"])
    assert (about["nodes"][-1], about["chosen"]) == ("seen & Q[b]", "")
    assert "| node | the subformula or step whose values are the labels |" in (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["flip-flops", "starts-110", "dyck-1-by-depth", "successor"])
def test_labels_are_the_evaluators(name: str) -> None:
    program = load(name).program
    words = [
        tuple(program.alphabet[n % len(program.alphabet)] for n in range(k, k + length))
        for length in (4, 1)
        for k in (0, 1)
    ]
    names = {name: node for node, name in output_names(program).items()}
    for word, labels in zip(words, values_of_nodes(program, tuple(names), words), strict=True):
        values = evaluate(program, word)
        assert labels == {n: tuple(str(shown_value(v, node.kind)) for v in values[node]) for n, node in names.items()}


def test_the_longest_word_to_train_on_is_all_that_has_to_be_said(tmp_path: Path) -> None:
    spec = load_spec("no-aa", max_length=6)
    assert isinstance(spec, LabelSpec)
    assert spec.lengths == (("train", 1, 6), ("test", 7, 24))
    assert spec.pieces()[0].runs == 126 + 1_000  # all words of up to 6 tokens are fewer than are wanted
    (job,) = spec.jobs()
    assert sum(part.runs for part in pickle.loads(pickle.dumps(job)).work) == spec.pieces()[0].runs
    refused = "a longest word to train on is that of a program or a formula: omit max_length"
    with pytest.raises(DatasetError, match=refused):
        load_spec("chapter", max_length=3)
    with pytest.raises(DatasetError, match="a spec says its lengths itself: omit max_length"):
        make_dataset(spec, tmp_path / "data", max_length=3)
    with pytest.raises(DatasetError, match="max_length must be a number of tokens, not 0"):
        make_dataset("no-aa", tmp_path / "data", max_length=0)


def test_a_program_is_named_as_a_program(tmp_path: Path) -> None:
    spec = read("program: hop-1\nnodes: [before, hop_1]\ninputs: [abc]\n", file="spec.yaml")
    assert isinstance(spec, LabelSpec)
    assert (spec.program.name, spec.forms, spec.noun) == ("hop-1", ("before", "hop_1"), "formula")


def test_a_sweep_and_an_engine_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        CompileError, match="is about a formula, and a sweep compares runs of machines or circuits: use tm2tfr"
    ):
        sweep(load_spec("no-aa"), workers=1)
    with pytest.raises(DatasetError, match="labels of a formula are the evaluator's: omit engine"):
        make(load_spec("no-aa"), tmp_path / "data", workers=1, engine="dense")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("formula: nowhere\ninputs: {up to: 2}\n", "this formula cannot be loaded"),
        ("formula: no-aa\n", "there is no key 'inputs': add a line 'inputs: {up to: 5}'"),
        ("formula: no-aa\ninputs: [ac]\n", "no-aa: token 2 of the word, 'c', is not in the alphabet: use a, b"),
        ("formula: no-aa\ns-ops: all\ninputs: [a]\n", "unknown key 's-ops' in a spec of a formula"),
        ("formula: no-aa\nnodes: prv\ninputs: [a]\n", "unknown nodes 'prv'"),
        (
            "formula: no-aa\ninputs: [a]\nsplit by: length\n",
            "the splits have no lengths: add a line 'splits: {train: 1 to 20, test: 21 to 80}'",
        ),
        ("formula: no-aa\ninputs: [a]\nsplit by: length\nsplits: {train: 0.5}\n", "'train' has no lengths: write for"),
        (
            "formula: no-aa\ninputs: [a]\nsplit by: length\nsplits: {train: 1 to 4, test: 4 to 8}\n",
            "'test' has lengths of another split",
        ),
        (
            "formula: no-aa\ninputs: {up to: 3}\nsplit by: length\nsplits: {train: 1 to 2}\n",
            "no split has words of 3 tokens: add them to the lengths of a split",
        ),
        ("formula: no-aa\ninputs: [aaa]\nsplit by: length\nsplits: {train: 1 to 2}\n", "no split has words of 3 tokens"),
    ],
)
def test_complaints_about_a_formula(text: str, complaint: str) -> None:
    assert complaint in said(text)
