"""Data sets of machines in prompts: what an example has, what is scored, and no machine in two splits."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.base.errors import CompileError, DatasetError, SpecError
from tm2tfr.lab.datasets.machines.prompting import rule_fingerprint
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import dataset_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import digest, matrices, replaced

pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")

SPEC = """\
name: rules
seed: 5
machines:
  named: [chapter, binary-increment]
  random: {states: 2, symbols: 3, count: 24, ends: verdict, tape: one-way}
inputs: {up to: 1}
max steps: 50
universal: {states: 5, symbols: 4, order: shuffled}
splits: {train: 0.5, test: 0.5}
formats: [jsonl, parquet]
"""
CLASS = Universal(states=5, symbols=4)


def made(text: str, folder: Path, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return each example with its split."""
    found = tm2tfr.make_dataset(read(text, file="spec.yaml"), folder, workers=1, **more)
    assert found.failure is None
    return [(path.parent.name, line) for path in sorted(folder.glob("*/*.jsonl")) for line in lines_of(path)]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def rules_of(example: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    tokens = [token for token in example["prompt"] if "," in token or token.startswith("→")]
    return frozenset(zip(tokens[::2], tokens[1::2], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("in-context") / "data"


@pytest.fixture(scope="module")
def examples(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    return made(SPEC, folder)


@pytest.mark.slow
def test_the_prompt_is_the_machine_and_the_input(examples: list[tuple[str, dict[str, Any]]], folder: Path) -> None:
    machines = {line["machine"]: line for line in lines_of(folder / "machines.jsonl")}
    assert machines["binary-increment"]["states"] == {"right": "q0", "carry": "q1", "done": "halt"}
    assert machines["binary-increment"]["symbols"] == {"_": "0", "0": "1", "1": "2"}
    for _, e in examples:
        program = prompt.read(" ".join(e["prompt"]), CLASS)
        machine = Machine.from_yaml(machines[e["machine"]]["yaml"])
        own = machines[e["machine"]]["symbols"]
        assert program.right.tape == machine.tape
        assert program.right.input == "".join(own[a] for a in e["input"])
        want = result(machine, e["input"], max_steps=50)
        assert (e["verdict"], e["tape"]) == (want.outcome, want.tape)
        assert e["target"][-1] == {"accept": "ACC", "reject": "REJ", "halt": "HALT"}[want.outcome]
        assert len(e["target"]) == (1 if e["form"] == "answer" else e["T"] + 1)


def test_nothing_of_the_prompt_is_scored(examples: list[tuple[str, dict[str, Any]]]) -> None:
    for _, e in examples:
        n = len(e["target"])
        assert e["loss_mask"] == ([0] * (n - 1) + [1] if e["form"] == "steps shown" else [1] * n)
        assert e["prompt"][-1] == "BOS"
        assert "BOS" not in e["target"]


def test_tokens_have_the_same_numbers_everywhere(examples: list[tuple[str, dict[str, Any]]], folder: Path) -> None:
    vocabulary = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
    assert tuple(vocabulary) == CLASS.vocabulary
    for _, e in examples:
        assert [vocabulary[n] for n in e["prompt_ids"]] == e["prompt"]
        assert [vocabulary[n] for n in e["target_ids"]] == e["target"]


def test_no_machine_is_in_two_splits(examples: list[tuple[str, dict[str, Any]]]) -> None:
    splits: dict[frozenset[tuple[str, str]], set[str]] = {}
    orders: dict[str, set[tuple[str, ...]]] = {}
    for split, e in examples:
        splits.setdefault(rules_of(e), set()).add(split)
        orders.setdefault(e["machine"], set()).add(tuple(token for token in e["prompt"] if token.startswith("→")))
    assert len(splits) > 15
    assert {len(each) for each in splits.values()} == {1}
    assert {split for each in splits.values() for split in each} == {"train", "test"}
    assert max(map(len, orders.values())) > 1, "the order is a new one for each run"


def renamed(machine: Machine, chance: random.Random) -> Machine:
    """Return the same machine with other names of its states, which come in another order, as do its rules."""
    others = [q for q in machine.states if q != machine.start]
    chance.shuffle(others)
    names = {q: f"s{n}" for n, q in enumerate([*others, machine.start])}
    rules = [((names[q], a), (names[r.state], r.write, r.move)) for (q, a), r in machine.transitions.items()]
    chance.shuffle(rules)
    ends = {key: tuple(names[q] for q in states) for key, states in _ends(machine).items()}
    return Machine(
        transitions=dict(rules),  # type: ignore[arg-type]  # as a user writes them
        start=names[machine.start],
        blank=machine.blank,
        states=tuple(names[q] for q in [*others, machine.start]),
        input_alphabet=machine.input_alphabet,
        tape_alphabet=machine.tape_alphabet,
        tape=machine.tape,
        **ends,  # type: ignore[arg-type]
    )


def _ends(machine: Machine) -> dict[str, tuple[str, ...]]:
    return {"accept": machine.accept_states, "reject": machine.reject_states} if machine.decides else {}


@pytest.mark.parametrize("name", ["chapter", "palindromes", "busy-beaver-4", "binary-addition", "left-edge"])
def test_a_machine_whose_states_are_called_otherwise_is_the_same_machine(name: str) -> None:
    every, machine, chance = Universal(states=12, symbols=8), load(name), random.Random(1)
    want = rule_fingerprint(every.holding(machine))
    for seed in range(5):
        assert rule_fingerprint(every.holding(renamed(machine, chance), seed=seed)) == want
    (place, rule), *rest = machine.transitions.items()
    other = {place: rule._replace(move=-rule.move or 1), **dict(rest)}
    assert rule_fingerprint(every.holding(replace(machine, transitions=other, examples=()))) != want


@pytest.mark.slow
def test_the_same_spec_gives_the_same_bytes_and_another_seed_others(
    examples: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    assert made(SPEC, tmp_path / "again") == examples
    other = made(SPEC.replace("order: shuffled", "order: shuffled, seed: 6"), tmp_path / "other")
    assert [e["target"] for _, e in other] != []
    assert sorted(map(sorted, map(rules_of, (e for _, e in other)))) == sorted(
        map(sorted, map(rules_of, (e for _, e in examples)))
    )
    assert [e["prompt"] for _, e in other] != [e["prompt"] for _, e in examples]


@pytest.mark.slow
def test_an_option_says_the_same_as_a_key(examples: list[tuple[str, dict[str, Any]]], tmp_path: Path) -> None:
    plain = "".join(line for line in SPEC.splitlines(keepends=True) if not line.startswith("universal"))
    assert made(plain, tmp_path / "data", universal=(5, 4), seed=5) == examples
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["spec"].endswith("universal: {states: 5, symbols: 4, tape: both, order: shuffled, seed: 5}\n")
    again = read(manifest["spec"], file="spec.yaml")
    assert isinstance(again, MachineSpec)
    assert (again.universal, again.order, again.split_by) == (CLASS, 5, "machine")
    with pytest.raises(DatasetError, match="rules: the spec puts its machines into prompts already: omit universal"):
        made(SPEC, tmp_path / "twice", universal=(5, 4))
    for by in ("run", "input"):
        with pytest.raises(DatasetError, match=f"with 'split by: {by}', a machine would be in several splits: remove it"):
            made(f"{plain}split by: {by}\n", tmp_path / "several", universal=(5, 4))
    with pytest.raises(CompileError, match="use the size 5,3 or a larger one"):
        made(plain, tmp_path / "small", universal=(1, 2))
    assert not (tmp_path / "small").exists()


def test_the_card_says_what_the_prompts_and_the_splits_are(
    examples: list[tuple[str, dict[str, Any]]], folder: Path
) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "for machines with at most 5 states and 4 symbols: its first token names the tape, then come the rules" in text
    assert "in a random order, a new one for each run" in text
    assert "no machine is in two splits, in whatever order its rules are and whatever its states are called" in text
    assert "| prompt_ids | the numbers of the tokens of the prompt: their places in `vocabulary.json`, from 0 |" in text


def test_load_dataset_reads_the_numbers(examples: list[tuple[str, dict[str, Any]]], folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(next((folder / "train").glob("*.parquet"))).to_pylist()
    assert table == [e for split, e in examples if split == "train"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "universal: {states: 1, symbols: 3}",
            "chapter needs 5 states and 3 symbols in the prompt: write {states: 5, symb",
        ),
        (
            "universal: {states: 5, symbols: 4, tape: two-way}",
            "the tape of chapter is one-way: write 'tape: both', or omit",
        ),
        ("universal: {states: 4}", "'universal' has no symbols: add for example 'symbols: 4'"),
        ("universal: {states: 4, symbols: 63}", "symbols is '63', not a number from 1 to 62"),
        ("universal: {states: 5, symbols: 4, seed: 3}", "no order is drawn: add 'order: shuffled', or remove the seed"),
        ("universal: 4", "universal is '4', not the size of a decoder: write for example 8,4 or {states: 8, symbols: 4}"),
        ("universal: true", "universal is 'true', not the size of a decoder: write for example 8,4 or {states: 8"),
        ("universal: [5]", "universal is '5', not the size of a decoder: write for example 8,4 or {states: 8, symbols"),
        ("universal: 5,63", "not the size of a decoder: write for example 8,4 or {states: 8, symbols: 4}, at most 1,000"),
        ("universal:", "'universal' has nothing, not a mapping: write for example {states: 8, symbols: 4}"),
        ("universal: 1000,62", "universal decoder of 1,000 states and 62 symbols has more than 434,000 tokens: use fewer"),
        ("universal: {states: 1000, symbols: 62}", "a universal decoder of 1,000 states and 62 symbols has more than"),
        ("universal: 1,3", "chapter needs 5 states and 3 symbols in the prompt: write {states: 5, symbols: 3}"),
        (
            "universal: {states: 5, symbols: 4}\nsplit by: run",
            "with 'split by: run', a machine would be in several splits: remove it: machines in prompts are split by mach",
        ),
        ("universal: {states: 5, symbols: 4}\nsplit by: all", "unknown split by 'all'"),
        ("universal: {states: 5, symbols: 4}\nsplit by: [machine]", "split by is a list: write machine"),
    ],
)
def test_complaints(line: str, complaint: str) -> None:
    with pytest.raises(SpecError) as error:
        read(f"machines: [chapter]\ninputs: ['']\n{line}\n", file="spec.yaml")
    assert complaint in str(error.value)


@pytest.mark.parametrize("size", ["5,4", "5, 4", "[5, 4]", "{states: 5, symbols: 4}"])
def test_a_size_is_written_as_for_a_command_or_as_a_mapping(size: str) -> None:
    spec = read(f"machines: [chapter]\ninputs: ['']\nuniversal: {size}\nsplit by: machine\n", file="spec.yaml")
    assert isinstance(spec, MachineSpec)
    assert (spec.universal, spec.order, spec.split_by) == (CLASS, None, "machine")


def test_a_machine_is_no_spec() -> None:
    text = "blank: _\nstart state: a\ntable:\n  a: {_: {R: b}}\n  b:\n"
    with pytest.raises(SpecError) as error:
        read(text, file="mine.yaml")
    assert str(error.value) == (
        "mine.yaml: this is a machine, not a spec: write a spec that lists it, such as 'machines: [mine.yaml]' with "
        "'inputs: {up to: 3}'"
    )


def test_weights_that_are_given_are_in_the_manifest(tmp_path: Path) -> None:
    weights = tm2tfr.compile(CLASS)
    tm2tfr.save_weights(tm2tfr.compile(CLASS.holding(load("chapter"))), tmp_path / "chapter.safetensors")
    text, data = "machines: [chapter]\ninputs: ['', '1']\nformats: jsonl\n", tmp_path / "data"
    found = tm2tfr.make_dataset(read(text, file="spec.yaml"), data, workers=1, universal=tmp_path / "chapter.safetensors")
    assert dataset_report(found).startswith("spec in the prompt of universal-5-4: 2 runs")
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["weights_sha256"] == digest(weights), "of the same matrices, whatever machine they were saved with"
    path, other = "layers.6.heads.0.query", tmp_path / "other"
    matrix = matrices(weights)[path]
    row, column, value = next(matrix.entries())
    changed = replaced(weights, {path: matrix.with_entry(row, column, 2 * value)})
    with pytest.raises(DatasetError, match="this folder has a data set made with different weights: choose another"):
        made(text, data, universal=changed, resume=True)
    made(text, other, universal=(5, 4))
    assert "weights_sha256" not in json.loads((other / "manifest.json").read_text(encoding="utf-8"))


def test_the_command(tmp_path: Path) -> None:
    out = str(tmp_path / "data")
    said = command("dataset", "palindromes", "-o", out, "--universal", "3,3", "--workers", "1", cwd=tmp_path)
    assert "palindromes: it has" in failed(2, said)
    said = command("sweep", "two-states", "--universal", "1,2", cwd=tmp_path)
    assert "use the size 2,2 or a larger one" in failed(2, said)
    said = command("sweep", "two-states", "--seed", "3", cwd=tmp_path)
    assert failed(2, said) == "tm2tfr: --seed is for universal decoders: omit it, or add --universal\n"
