"""Random inputs balanced by outcome, in data sets and labels; examples of several programs split by their tokens."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.base.errors import InputError, SpecError
from tm2tfr.lab.datasets.balance import Judged, balanced, judged, numbers
from tm2tfr.lab.datasets.files import shared_tokens
from tm2tfr.lab.datasets.make import dataset_report, make
from tm2tfr.lab.datasets.reader import read

pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")


# ── the outcomes of each kind of source
@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("palindromes", {}, ["", "ab", "aba", "abba", "abb"]),
        ("chapter", {"universal": (8, 4)}, ["1", "11", "111"]),
        ("full-adder", {}, ["000", "101", "111"]),
        ("since-b", {}, ["ab", "ba", "aab", "abc"]),
        ("regex:(a|b)*abb", {}, ["abb", "ab", "babb"]),
    ],
)
def test_outcomes_are_those_of_the_reference_run(name: str, options: dict[str, Any], words: list[str]) -> None:
    found = tm2tfr.Subject.of(name, options=options)
    words = [word for word in words if set(word) <= set(found.decoder.vocabulary)]
    outcomes = judged(found.right, 100).outcomes(words)
    assert len(words) > 1
    assert outcomes == [tm2tfr.check(found, word, max_steps=None).result.outcome for word in words]


def test_the_outcome_of_a_program_is_its_value_at_the_last_position() -> None:
    assert judged(tm2tfr.Subject.of("sort").right).outcomes(["cab", "ba", "b"]) == ["c", "b", "b"]
    assert judged(tm2tfr.Subject.of("hop-1").right).outcomes(["abab"]) == ["a"]
    undefined = tm2tfr.Subject.of("sort-unique").right
    assert judged(undefined).outcomes(["aa", "ab"]) == [None, "b"]


def test_a_run_that_is_cut_off_has_no_outcome() -> None:
    assert judged(tm2tfr.Subject.of("palindromes").right, 3).outcomes(["", "abba"]) == ["accept", None]


# ── drawing
def test_each_outcome_has_the_same_number_of_inputs_in_the_order_drawn() -> None:
    program = Judged("third", lambda words: ["no" if int(word) % 3 else "yes" for word in words])
    words = balanced(program, (str(n) for n in range(5_000)), 9)
    assert words == ["0", "1", "2", "3", "4", "5", "6", "7", "9"]
    assert numbers(program.outcomes(words)) == {"no": 5, "yes": 4}


def test_outcomes_that_cannot_be_balanced_are_refused() -> None:
    def refused(of: Any, count: int = 10) -> str:
        program = Judged("it", lambda words: [of(int(word)) for word in words])
        with pytest.raises(InputError) as error:
            balanced(program, islice((str(n) for n in range(10**6)), 3_000), count)
        return str(error.value)

    assert refused(lambda n: "halt") == (
        "it: all 3,000 random inputs that were drawn have the outcome halt, or none: "
        "draw inputs of other lengths, or without balanced outcomes"
    )
    assert "all 3,000 random inputs that were drawn have no outcome: " in refused(lambda n: None)
    assert "there are more than 10 outcomes, such as 0, 1, 10: draw the inputs without" in refused(lambda n: str(n % 12))
    assert refused(lambda n: "rare" if n % 1_000 == 0 else "often") == (
        "it: the outcome rare has 3 of 3,000 random inputs, too few for 10 inputs with 2 outcomes: "
        "ask for at most 6, or for inputs of other lengths"
    )


def test_a_data_set_has_balanced_inputs_and_says_how_many(tmp_path: Path) -> None:
    spec = read(
        "machines: [palindromes, same-ends]\ninputs: {random: {count: 20, length: 1 to 9, balanced outcomes: true}}\n"
        "supervision: answer\nformats: jsonl\n",
        file="spec.yaml",
    )
    made = make(spec, tmp_path / "data", workers=1)
    assert made.outcomes == {name: {"accept": 10, "reject": 10} for name in ("palindromes", "same-ends")}
    assert "inputs of palindromes: 10 accept, 10 reject" in dataset_report(made).splitlines()
    verdicts = Counter(
        (e["machine"], e["verdict"]) for split in ("train", "validation", "test") for e in rows(tmp_path, split)
    )
    assert set(verdicts.values()) == {10}
    assert json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))["outcomes"] == made.outcomes
    again = make(spec, tmp_path / "again", workers=1)
    assert again.outcomes == made.outcomes
    assert [*rows(tmp_path, "train", "again")] == [*rows(tmp_path, "train")]


@pytest.mark.parametrize(
    "text",
    [
        "program: since-b\ninputs: {random: {count: 12, length: 2 to 6, balanced outcomes: true}}\n",
        "circuits: [majority]\ninputs: {random: {count: 6, balanced outcomes: true}}\n",
    ],
)
def test_programs_and_circuits_have_balanced_inputs_as_well(text: str, tmp_path: Path) -> None:
    found = make(read(text, file="spec.yaml"), tmp_path / "data", workers=1)
    [outcomes] = found.outcomes.values()
    assert len(outcomes) == 2
    assert len(set(outcomes.values())) == 1


def test_the_machines_of_a_family_share_their_inputs() -> None:
    text = (
        "machines: {all: {states: 1, symbols: 2}}\ninputs: {random: {count: 2, length: 1 to 3, balanced outcomes: true}}\n"
    )
    with pytest.raises(SpecError, match="'balanced outcomes': the machines of a family share their inputs, whose outcomes"):
        read(text, file="spec.yaml")


def test_labels_have_balanced_inputs(tmp_path: Path) -> None:
    said = command("labels", "palindromes", "--random", "20", "--balanced-outcomes", "-o", "out", cwd=tmp_path)
    assert (said.returncode, "inputs: 10 accept, 10 reject" in said.stdout.splitlines()) == (0, True)
    inputs = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["inputs"]
    assert (inputs["balanced_outcomes"], inputs["outcomes"]) == (True, {"accept": 10, "reject": 10})
    few = failed(2, command("labels", "palindromes", "--random", "999", "--balanced-outcomes", "-o", "few", cwd=tmp_path))
    assert (
        "the outcome accept has 125 of 2,047 random inputs, too few for 999 inputs with 2 outcomes: ask for at mos" in few
    )
    assert not (tmp_path / "few").exists()
    alone = failed(2, command("labels", "palindromes", "--balanced-outcomes", "-o", "few", cwd=tmp_path))
    assert "--balanced-outcomes is about random inputs: add --random K" in alone


# ── the tokens of several programs
SEVERAL = """\
machines: {random: {states: 2, symbols: 3, count: 40, ends: verdict}}
inputs: {up to: 2}
max steps: 30
splits: {train: 0.6, test: 0.4}
"""


def rows(tmp_path: Path, split: str, name: str = "data") -> list[dict[str, Any]]:
    texts = (path.read_text(encoding="utf-8") for path in sorted((tmp_path / name / split).glob("*.jsonl")))
    return [json.loads(line) for text in texts for line in text.splitlines()]


def tokens(tmp_path: Path, split: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(tuple(row["prompt"]), tuple(row["target"])) for row in rows(tmp_path, split)]


def test_examples_of_several_machines_are_split_by_their_tokens(tmp_path: Path) -> None:
    spec = read(SEVERAL + "shard size: 50\n", file="spec.yaml")
    assert spec.split_by == "tokens"
    made = make(spec, tmp_path / "data", workers=1)
    train, test = (tokens(tmp_path, split) for split in ("train", "test"))
    assert min(len(train), len(test)) > 50
    assert not set(train) & set(test)
    assert json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))["split_by"] == "tokens"
    assert "No two splits have an example with the same tokens." in (tmp_path / "data" / "README.md").read_text("utf-8")
    assert made.shared == {}


def test_splits_by_run_or_machine_say_how_many_examples_they_share(tmp_path: Path) -> None:
    made = make(read(f"{SEVERAL}split by: machine\n", file="spec.yaml"), tmp_path / "data", workers=1)
    train, test = (tokens(tmp_path, split) for split in ("train", "test"))
    shared = sum(each in set(train) for each in test)
    assert made.shared == {"test": shared} == shared_tokens(tmp_path / "data", ["train", "test"], "parquet")
    assert shared > len(test) / 2
    share = f"{shared:,} of {len(test):,} examples of test ({shared / len(test):.0%})"
    said = f"{share} have the same tokens as an example of train."
    assert f"{said} Use 'split by: tokens'." in dataset_report(made).splitlines()
    assert said in (tmp_path / "data" / "README.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))["shared_tokens"] == {
        "test": shared
    }


def test_circuits_are_split_by_tokens_as_well(tmp_path: Path) -> None:
    spec = read("circuits: [full-adder, majority]\ninputs: {all: true}\nsplits: {train: 0.5, test: 0.5}\n", file="s.yaml")
    assert spec.split_by == "tokens"
    make(spec, tmp_path / "data", workers=1)
    train, test = (tokens(tmp_path, split) for split in ("train", "test"))
    assert train
    assert test
    assert not set(train) & set(test)


def test_one_machine_and_machines_in_prompts_are_split_as_before() -> None:
    assert read("machines: [chapter]\ninputs: {up to: 2}\n", file="s.yaml").split_by == "run"
    prompted = read(f"{SEVERAL}universal: {{states: 2, symbols: 3}}\n", file="s.yaml")
    assert (prompted.split_by, prompted.may_share_tokens) == ("machine", False)
