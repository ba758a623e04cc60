"""Specs: what they mean, and every complaint at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tm2tfr.dataset.family import Family, Members
from tm2tfr.dataset.reader import read
from tm2tfr.dataset.shelf import load_spec, shipped_specs
from tm2tfr.dataset.words import Inputs, Random
from tm2tfr.errors import NotFoundError, ReadError, SpecError

FULL = """\
name: everything
description: what can be said
seed: 7
machines:
  named: [palindromes, 1RB1LB_1LA1RZ]
  all: {states: 1, symbols: 2, moves: [L, S, R], tape: one-way, ends: verdict}
  random:
  - {states: 2, symbols: 2, count: 3}
  - {states: 2, symbols: 2, count: 2, seed: 8}
inputs:
  words: ['']
max steps: 50
supervision: [steps scored, answer]
unfinished: keep
splits: {train: 0.75, test: 0.25}
split by: machine
shard size: 12
formats: jsonl
"""


def complaints(text: str, **options: Path) -> str:
    with pytest.raises(SpecError) as caught:
        read(text, file="spec.yaml", **options)
    return str(caught.value)


def test_all_keys() -> None:
    spec = read(FULL, file="spec.yaml")
    assert spec.text == FULL
    assert (spec.name, spec.seed, spec.max_steps, spec.shard_size) == ("everything", 7, 50, 12)
    assert [(argument, machine.name) for argument, machine in spec.named] == [
        ("palindromes", "palindromes"),
        ("1RB1LB_1LA1RZ", "1RB1LB_1LA1RZ"),
    ]
    every, three, two = spec.families
    assert every == Members(Family(1, 2, (-1, 0, 1), "one-way", "verdict"), range(18**2))
    assert (len(three), len(two), three.family) == (3, 2, Family(2, 2))
    assert spec.inputs == Inputs(words=("",))
    assert (spec.forms, spec.keep_unfinished) == (("answer", "steps scored"), True)
    assert (spec.splits, spec.split_by, spec.formats) == ((("train", 0.75), ("test", 0.25)), "machine", ("jsonl",))


def test_what_is_left_out() -> None:
    spec = read("machines: [chapter]\ninputs: {random: {count: 1, length: 4}}", file="mine.yaml")
    assert (spec.name, spec.seed, spec.max_steps, spec.shard_size) == ("mine", 0, 1_000, 10_000)
    assert (spec.forms, spec.keep_unfinished) == (("answer", "steps shown", "steps scored"), False)
    assert (spec.splits, spec.split_by) == ((("train", 0.8), ("validation", 0.1), ("test", 0.1)), "run")
    assert spec.formats == ("jsonl", "parquet")
    assert spec.inputs == Inputs(random=(Random(1, 4, 4, "inputs 0, seed 0"),))


def test_words_are_what_is_written() -> None:
    spec = read("machines: [binary-increment]\ninputs: [0011, '', 010, 0011]", file="spec.yaml")
    assert spec.inputs.words == ("0011", "", "010", "0011")
    assert spec.inputs.over(("0", "1")) == ("0011", "", "010")


def test_machine_files_stand_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("blank: _\nstart state: a\ntable: {a: {1: R}}\n", encoding="utf-8")
    (tmp_path / "spec.yaml").write_text("machines: [mine.yaml]\ninputs: [1]\n", encoding="utf-8")
    [(argument, machine)] = load_spec(tmp_path / "spec.yaml").named
    assert (argument, machine.name) == (str(tmp_path / "mine.yaml"), "mine")


def test_every_complaint_with_its_place() -> None:
    said = complaints(
        """\
seed: -1
machines:
  named: [palindrome, palindromes, palindromes, '-']
  all: {states: 5, symbols: 2}
  random: {states: 1, symbols: 2, count: 1000, tapes: 1}
inputs:
  up too: 3
  random: {count: 5, length: 7 to 3}
max steps: 1e3
supervision: [answers]
splits: {train: 0.8, te-st: 0.1}
split by: [run]
formats: csv
"""
    )
    assert [line for line in said.splitlines() if line.startswith("spec.yaml")] == [
        "spec.yaml:1:7: seed is '-1', not a number of at least 0: write a whole number of at least 0, without signs",
        "spec.yaml:3:11: this machine cannot be loaded (palindrome: there is no such file, and no machine of that name is "
        "shipped (did you mean 'palindromes'?): name a file, or a machine that 'tm2tfr machines' lists): mend it, or take it out",
        "spec.yaml:3:36: a second machine is called 'palindromes': take one of the two out, or change the 'name' in its file",
        "spec.yaml:3:49: a machine cannot come from standard input here: name a file",
        "spec.yaml:4:8: there are 63,403,380,965,376 such machines: ask for some of them with 'random' and a 'count'",
        "spec.yaml:5:11: there are only 64 such machines: ask for 32 at most, or for all of them with 'all'",
        "spec.yaml:5:48: unknown key 'tapes' in 'random' (did you mean 'tape'?): the keys are states, symbols, moves, tape, "
        "ends, count, seed",
        "spec.yaml:7:3: unknown key 'up too' in 'inputs' (did you mean 'up to'?): the keys are words, up to, random",
        "spec.yaml:8:30: the length is '7 to 3': write a number, or two, as in '1 to 10'",
        "spec.yaml:9:12: max steps is '1e3', not a number of at least 1: write a whole number of at least 1, without signs",
        "spec.yaml:10:15: unknown supervision 'answers' (did you mean 'answer'?): known are answer, steps shown, steps scored",
        "spec.yaml:11:9: the shares add up to 0.9: they have to add up to 1, as in {train: 0.9, test: 0.1}",
        "spec.yaml:11:22: 'te-st' cannot be the name of a split: use letters, digits and _",
        "spec.yaml:12:11: split by is a list: write run, machine or input",
        "spec.yaml:13:10: unknown formats 'csv': known are jsonl, parquet",
    ]
    assert said.splitlines()[1:3] == ["  seed: -1", "        ^~"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "spec.yaml: the document is empty: a spec has at least the keys 'machines' and 'inputs'"),
        ("[1]", "spec.yaml:1:1: the document is a list, not a mapping: a spec has at least"),
        ("name: x", "spec.yaml: there are no machines: add a line 'machines:'"),
        ("machines: {}\ninputs: {}", "spec.yaml:1:1: there are no machines: add 'named', 'all' or 'random'"),
        ("machines: [chapter]\ninputs: {}", "spec.yaml:2:1: there are no inputs: add 'words', 'up to' or 'random'"),
        ("machines: []\ninputs: [1]", "spec.yaml:1:11: no machine is named: write names of machines or files"),
        ("machines: [chapter]\ninputs: [1, ]\nmax-steps: 3", "(did you mean 'max steps'?)"),
        ("machines: {all: 3}\ninputs: [1]", "'all' has text, not a mapping: write for instance {states: 2, symbols: 2}"),
        ("machines: {all: {states: 2}}\ninputs: [1]", "'all' has no symbols: add for instance 'symbols: 2'"),
        (
            "machines: {random: {states: 2, symbols: 2}}\ninputs: [1]",
            "'random' has no count: add for instance 'count: 100'",
        ),
        ("machines: {all: {states: 26, symbols: 2}}\ninputs: [1]", "states is '26', not a number from 1 to 25"),
        ("machines: {all: {states: 25, symbols: 10}}\ninputs: [1]", "there are some 10^679 such machines"),
        (
            "machines: [chapter]\ninputs: [11, 12]",
            "spec.yaml:2:15: '2' is not in the input alphabet of chapter: use only 1",
        ),
        ("machines: [chapter]\ninputs: [11,\n\n]\nname: [x]", "spec.yaml:5:7: name is a list, not text"),
        ("machines: [chapter]\ninputs: {words: [1, '', ~, ]}", "'~' is not in the input alphabet of chapter"),
        ("machines: [chapter]\ninputs:\n- 1\n-\n", "nothing stands here: write '' for the empty word"),
        (
            "machines: [chapter]\ninputs: {random: {count: 9, length: 1 to 5}}",
            "9 different inputs are wanted, and chapter has 5",
        ),
        ("machines: [chapter]\ninputs: {random: {count: 9}}", "'random' has no length: add for instance 'length: 1 to 10'"),
        (
            "machines: [palindromes]\ninputs: {up to: 30}",
            "that is more than 10,000,000 inputs for palindromes: ask for fewer",
        ),
        ("machines: [palindromes]\ninputs: {up to: 1000000000}", "that is more than 10,000,000 inputs for palindromes"),
        ("machines: [chapter]\ninputs: {up to: 1000000000}", "that is more than 10,000,000 inputs for chapter"),
        (
            "machines: [chapter]\ninputs: [1]\nsplits: train",
            "spec.yaml:3:9: there are no splits: write for instance {train",
        ),
        ("machines: [chapter]\ninputs: [1]\nsplits: {a: 1, b: 50%}", "the share of 'b' is no number from 0 to 1"),
        ("machines: [chapter]\ninputs: [1]\nsplits: {a: 1, a: 0}", "the split 'a' is here a second time"),
        ("machines: [chapter]\ninputs: [1]\nformats:", "spec.yaml:3:1: nothing stands after 'formats'"),
        ("machines: [chapter]\ninputs: [*x]", "'*x' is an alias of YAML"),
        ("machines: [chapter\ninputs: [1]", "spec.yaml:1:11: this '[' is not closed properly"),
    ],
)
def test_complaints(text: str, said: str) -> None:
    assert said in complaints(text)


def test_the_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped_specs() == ("palindromes", "two-states")
    for name in shipped_specs():
        assert load_spec(name).name == name
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match=r"no such spec is shipped \(did you mean 'two-states'\?\): shipped are palin"):
        load_spec("two-state")
    (tmp_path / "two-states").write_text("name: mine\nmachines: [chapter]\ninputs: [1]", encoding="utf-8")
    assert load_spec("two-states").name == "mine"
    with pytest.raises(ReadError, match="this file cannot be read"):
        load_spec(tmp_path)
