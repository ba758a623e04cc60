"""Data sets of programs that label words: what a spec says, the labels, what is left out, splits by length."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tests.lab.datasets.golden import said
from tm2tfr.api.datasets import make_dataset
from tm2tfr.base.errors import CompileError, DatasetError
from tm2tfr.base.text.words import all_words
from tm2tfr.lab.datasets.labels import LabelSpec, values_of_nodes, values_of_sops
from tm2tfr.lab.datasets.make import dataset_report, load_spec, make, sweep
from tm2tfr.lab.datasets.reader import read
from tm2tfr.sources.logic.evaluate import evaluate as evaluate_formula
from tm2tfr.sources.logic.library import load as load_formula
from tm2tfr.sources.logic.truth import shown_value
from tm2tfr.sources.logic.write import output_names
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.library import load, shipped, word_of
from tm2tfr.sources.rasp.program import shown_atom

# ── data sets of a RASP program: what a spec says, the labels, and what is left out
HALVES = """\
# alphabet: ["a", "b", "cd", 0]
first = indices == 0;
share = 1 / {"a": 2, "b": 3, "cd": 4}[tokens_asis];
"""
SPEC = 'program: halves.rasp\ns-ops: [first, share]\ninputs: {up to: 1, words: [\'["cd", "b"]\', a0]}\nformats: jsonl\n'


def spec_of(text: str, folder: Path | None = None) -> LabelSpec:
    spec = read(text, file="spec.yaml", folder=folder)
    assert isinstance(spec, LabelSpec)
    return spec


def halves(folder: Path, text: str = SPEC) -> LabelSpec:
    (folder / "halves.rasp").write_text(HALVES, encoding="utf-8")
    return spec_of(text + "splits: {all: 1}\n", folder)


# ── what is written ─────────────────────────────────────────────────────────────────────────────────────────
def test_labels_of_two_s_ops_and_inputs_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    found = make(halves(tmp_path), folder, workers=1)
    assert dataset_report(found).splitlines() == [
        "spec: 4 inputs, 10 labels by the interpreter",
        "all: 8 examples (4 first, 4 share)",
        "left out: 2 inputs on which the program is undefined",
        f"wrote {folder}: 1 shard, manifest.json, programs.jsonl, README.md",
    ]
    lines = [json.loads(line) for line in (folder / "all/00000-of-00001.jsonl").read_text("utf-8").splitlines()]
    assert [line for line in lines if line["s-op"] == "share"] == [
        example('["cd", "b"]', "share", ["cd", "b"], ["1/4", "1/3"]),
        example("a", "share", ["a"], ["1/2"]),
        example("b", "share", ["b"], ["1/3"]),
        example('["cd"]', "share", ["cd"], ["1/4"]),
    ]
    assert [line["target"] for line in lines if line["s-op"] == "first"] == [["T", "F"], ["T"], ["T"], ["T"]]
    assert json.loads((folder / "programs.jsonl").read_text("utf-8")) == {
        "program": "halves",
        "text": HALVES,
        "alphabet": ["a", "b", "cd", "0"],
        "s-ops": ["first", "share"],
        "chosen": "share",
    }
    counts = {"runs": 4, "rows": 5, "cells": 10, "outcomes": {}, "left_out": 2}
    written = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert (written["engine"], written["counts"]) == ("interpreter", counts)
    assert "with the values of its s-ops by the interpreter, made by tm2tfr" in (folder / "README.md").read_text("utf-8")


def example(given: str, sop: str, prompt: list[str], target: list[str]) -> dict[str, Any]:
    scored = [1] * len(target)
    return {"program": "halves", "input": given, "s-op": sop, "prompt": prompt, "target": target, "loss_mask": scored}


@pytest.mark.parametrize("name", ["histogram", "reverse", "dyck-2", "fraction-of-previous"])
def test_labels_are_the_interpreters(name: str) -> None:
    program = load(name).program
    words = [word for length in (3, 1) for word in all_words(program.alphabet[:4], length)]
    found = values_of_sops(program, (program.chosen,), words)
    for word, labels in zip(words, found, strict=True):
        try:
            values = evaluate(program, word).values[program.sop]
        except Undefined:
            assert labels is None
            continue
        assert labels == {program.chosen: tuple(map(shown_atom, values))}


@pytest.mark.slow
def test_every_shipped_program_stands_for_a_spec_that_can_be_sent_to_a_worker() -> None:
    for name in shipped():
        spec = load_spec(f"{name}.rasp")
        assert isinstance(spec, LabelSpec)
        assert spec.forms == (spec.program.chosen,)
        [piece] = spec.pieces()
        assert piece.runs == (1_000 if len(spec.program.alphabet) > 1 else 10)
        assert len({word_of(spec.program, word) for word in piece.words}) == piece.runs
        (job,) = spec.jobs()
        assert sum(part.runs for part in pickle.loads(pickle.dumps(job)).work) == piece.runs


def test_random_words_with_a_first_token_have_it_there_and_nowhere_else(tmp_path: Path) -> None:
    [piece] = spec_of("program: histogram\ninputs: {random: {count: 40, length: 1 to 4, first: §}}\n").pieces()
    assert sorted(piece.words) == sorted("§" + "".join(w) for n in range(4) for w in all_words("abc", n))
    text = "program: halves.rasp\ninputs: {random: {count: 3, length: 2, first: '[\"cd\"]'}}\n"
    [piece] = halves(tmp_path, text).pieces()
    assert sorted(piece.words) == ['["cd", "a"]', '["cd", "b"]', '["cd", 0]']


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("program: nowhere\ninputs: {up to: 2}\n", "this program cannot be loaded"),
        ("program: sort\n", "there is no key 'inputs': add a line 'inputs: {up to: 5}'"),
        ("program: sort\ninputs: [a?]\n", "sort: token 1 of the input, '?', is not in the alphabet: use a, b,"),
        ("program: sort\ninputs: {up to: 30}\n", "these are more than 10,000,000 inputs for sort: ask for fewer"),
        ("program: sort\ninputs: {random: {count: 1, length: 0 to 2}}\n", "has at least one token: start the lengths at 1"),
        ("program: sort\ninputs: {random: {count: 99, length: 1}}\n", "99 different inputs are requested, but sort has"),
        (
            "program: sort\ninputs: {random: {count: 9, length: 1 to 3, first: ab}}\n",
            "'ab' is not a token of sort: let words begin with one of a, b, c",
        ),
        (
            "program: histogram\ninputs: {random: {count: 5, length: 1 to 2, first: §}}\n",
            "5 different inputs are requested, but histogram has 4 of that length",
        ),
        (
            "program: sort\ninputs: [a]\nsupervision: answer\n",
            "unknown key 'supervision' in a spec of a RASP program: use the keys name,",
        ),
        ("program: sort\ns-ops: srted\ninputs: [a]\n", "unknown s-ops 'srted' (did you mean 'sorted'?)"),
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
def test_complaints(text: str, complaint: str) -> None:
    assert complaint in said(text)


def test_a_program_without_an_alphabet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.rasp").write_text("y = indices;\n", encoding="utf-8")
    refused = failed(2, command("dataset", "x.rasp", "-o", "data", cwd=tmp_path))
    assert "x does not say its alphabet: add a line '# alphabet: abc' at the top of its file" in refused


@pytest.mark.parametrize(
    ("source", "noun", "reference"),
    [("sort.rasp", "a RASP program", "interpreter"), ("no-aa", "a formula", "evaluator")],
)
def test_a_sweep_and_an_engine_are_refused(source: str, noun: str, reference: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=f"is about {noun}, and a sweep compares runs of .*: use tm2tfr check"):
        sweep(load_spec(source), workers=1)
    with pytest.raises(DatasetError, match=f"labels of {noun} are the {reference}'s: omit engine"):
        make(load_spec(source), tmp_path / "data", workers=1, engine="dense")


def test_the_command_takes_a_program(tmp_path: Path) -> None:
    (tmp_path / "ones.rasp").write_text("# alphabet: a\ny = 1 / (indices - 3);\n", encoding="utf-8")
    made = command("dataset", "ones.rasp", "-o", "data", "--workers", "1", cwd=tmp_path)
    assert (made.returncode, made.stdout.splitlines()[0]) == (0, "ones: 3 inputs, 6 labels by the interpreter"), made.stderr
    assert "left out: 7 inputs on which the program is undefined" in made.stdout
    assert "use tm2tfr check" in failed(2, command("sweep", "ones.rasp", cwd=tmp_path))


# ── data sets of formulas and programs of temporal logic: labels at every position, splits by length
FORMULA = "# alphabet: ab\nseen := once Q[a]\nseen & Q[b]\n"
LATE = (
    "formula: late.tl\nnodes: all\ninputs: {up to: 2}\nsplit by: length\nsplits: {train: 1, test: 2 to 3}\nformats: jsonl\n"
)


def late(folder: Path, text: str = LATE) -> LabelSpec:
    (folder / "late.tl").write_text(FORMULA, encoding="utf-8")
    spec = read(text, file="spec.yaml", folder=folder)
    assert isinstance(spec, LabelSpec)
    return spec


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_node_has_labels_and_splits_are_by_length(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    found = make(late(tmp_path), folder, workers=1)
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
    program = load_formula(name).program
    words = [
        tuple(program.alphabet[n % len(program.alphabet)] for n in range(k, k + length))
        for length in (4, 1)
        for k in (0, 1)
    ]
    names = {name: node for node, name in output_names(program).items()}
    for word, labels in zip(words, values_of_nodes(program, tuple(names), words), strict=True):
        values = evaluate_formula(program, word)
        assert labels == {n: tuple(str(shown_value(v, node.kind)) for v in values[node]) for n, node in names.items()}


def test_the_longest_word_to_train_on_is_all_that_has_to_be_said(tmp_path: Path) -> None:
    spec = load_spec("no-aa", max_length=6)
    assert isinstance(spec, LabelSpec)
    assert spec.lengths == (("train", 1, 6), ("test", 7, 24))
    assert spec.pieces()[0].runs == 126 + 1_000  # all words of up to 6 tokens are fewer than are wanted
    (job,) = spec.jobs()
    assert sum(part.runs for part in pickle.loads(pickle.dumps(job)).work) == spec.pieces()[0].runs
    refused = "a longest word to train on is that of a program, a formula or an automaton: omit max_length"
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
