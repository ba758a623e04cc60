"""Data sets of a RASP program: what a spec says, the labels, and what is left out."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tests.lab.datasets.golden import said
from tm2tfr.base.errors import CompileError, DatasetError
from tm2tfr.base.text.words import all_words
from tm2tfr.lab.datasets.labels import LabelSpec, values_of_sops
from tm2tfr.lab.datasets.make import dataset_report, load_spec, make, sweep
from tm2tfr.lab.datasets.reader import read
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.library import load, shipped, word_of
from tm2tfr.sources.rasp.program import shown_atom

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
            "program: sort\ninputs: [a]\nsupervision: answer\n",
            "unknown key 'supervision' in a spec of a RASP program: use the keys name,",
        ),
        ("program: sort\ns-ops: srted\ninputs: [a]\n", "unknown s-ops 'srted' (did you mean 'sorted'?)"),
    ],
)
def test_complaints_about_a_program(text: str, complaint: str) -> None:
    assert complaint in said(text)


def test_a_program_without_an_alphabet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.rasp").write_text("y = indices;\n", encoding="utf-8")
    refused = failed(2, command("dataset", "x.rasp", "-o", "data", cwd=tmp_path))
    assert "x does not say its alphabet: add a line '# alphabet: abc' at the top of its file" in refused


def test_a_sweep_and_an_engine_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="a sweep compares runs of machines or circuits: use tm2tfr check"):
        sweep(load_spec("sort.rasp"), workers=1)
    with pytest.raises(DatasetError, match="labels of a RASP program are the interpreter's: omit engine"):
        make(load_spec("sort.rasp"), tmp_path / "data", workers=1, engine="dense")


def test_the_command_takes_a_program(tmp_path: Path) -> None:
    (tmp_path / "ones.rasp").write_text("# alphabet: a\ny = 1 / (indices - 3);\n", encoding="utf-8")
    made = command("dataset", "ones.rasp", "-o", "data", "--workers", "1", cwd=tmp_path)
    assert (made.returncode, made.stdout.splitlines()[0]) == (0, "ones: 3 inputs, 6 labels by the interpreter"), made.stderr
    assert "left out: 7 inputs on which the program is undefined" in made.stdout
    assert "use tm2tfr check" in failed(2, command("sweep", "ones.rasp", cwd=tmp_path))
