"""Specs: what they mean, and every complaint at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.datasets.golden import COMPLAINTS, said
from tm2tfr.base import resources
from tm2tfr.base.errors import NotFoundError, ReadError
from tm2tfr.lab.datasets.machines.family import Family, Members
from tm2tfr.lab.datasets.make import load_spec
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.spec import Inputs, Random

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
splits: {train: .75, test: 0.25}
split by: machine
shard size: 12
formats: jsonl
"""


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


@pytest.mark.parametrize(
    ("machines", "word", "name"),
    [
        ("[chapter, palindromes]", "1", "palindromes"),
        ("[palindromes, chapter]", "a", "chapter"),
        ("{named: chapter, all: {states: 1, symbols: 3}}", "12", "chapter"),
        ("{named: binary-increment, all: {states: 1, symbols: 2}}", "10", "0LA0LA"),
    ],
)
def test_a_word_has_to_suit_every_machine(machines: str, word: str, name: str) -> None:
    assert f"is not in the input alphabet of {name}: use only" in said(f"machines: {machines}\ninputs: ['{word}']")


def test_machine_files_stand_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("blank: _\nstart state: a\ntable: {a: {1: R}}\n", encoding="utf-8")
    (tmp_path / "spec.yaml").write_text("machines: [mine.yaml]\ninputs: [1]\n", encoding="utf-8")
    [(argument, machine)] = load_spec(tmp_path / "spec.yaml").named
    assert (argument, machine.name) == (str(tmp_path / "mine.yaml"), "mine")


test_golden = COMPLAINTS.test()


@pytest.mark.slow
def test_the_shipped_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = resources.shipped(resources.SPECS)
    assert names == ("adders", "palindromes", "three-states", "two-states")
    for name in names:
        assert load_spec(name).name == name
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        NotFoundError,
        match=r"no spec of that name is shipped \(did you mean 'two-states'\?\): name a file, or one of the shipped",
    ):
        load_spec("two-state")
    (tmp_path / "two-states").write_text("name: mine\nmachines: [chapter]\ninputs: [1]", encoding="utf-8")
    assert load_spec("two-states").name == "mine"
    with pytest.raises(ReadError, match=r": this is a folder: name a file in it$"):
        load_spec(tmp_path)
    with pytest.raises(
        NotFoundError, match=r"none/s\.yaml: there is no folder '.*none': name a file, or one of the shipped"
    ):
        load_spec(tmp_path / "none" / "s.yaml")
