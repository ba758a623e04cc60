"""Circuits in specs: what they mean, that all runs agree, and what is written of them."""

from __future__ import annotations

import io
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import failed
from tests.cli.test_commands import tm2tfr as command
from tests.lab.datasets.golden import CIRCUIT_COMPLAINTS
from tests.lab.datasets.test_sweep import again
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.lab.datasets.circuits import ChosenCircuit, CircuitSpec, circuit_fingerprint, made_circuits
from tm2tfr.lab.datasets.make import dataset_report, load_spec, make, sweep, sweep_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Failure, Splitting
from tm2tfr.lab.datasets.spec import Inputs, Random
from tm2tfr.sources.circuit import compiler
from tm2tfr.sources.circuit import truth as judged
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import registry as formats
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.source import SOURCE

FULL = """\
name: everything
description: what can be said
seed: 7
circuits: [binary-adder]
parameters: {bits: 3, order: paper-1}
variant: paper-hard
basis: nor
inputs:
  words: ["3+5", "110000", 0b11 + 0x5]
  all: false
  random:
  - {count: 4}
  - {count: 2, seed: 8}
supervision: [steps scored, answer]
splits: {train: .75, test: 0.25}
split by: circuit
shard size: 12
formats: jsonl
"""
ADDER = "circuits: [binary-adder]\nparameters: {bits: 2}\ninputs: {all: true}\nsplits: {all: 1}\nformats: jsonl\n"


def circuits(text: str, folder: Path | None = None) -> CircuitSpec:
    spec = read(text, file="spec.yaml", folder=folder)
    assert isinstance(spec, CircuitSpec)
    return spec


def of(circuit: Circuit, inputs: Inputs) -> tuple[str, ...]:
    return inputs.of(SOURCE.inputs(circuit))


COLUMNS = ["circuit", "input", "form", "prompt", "target", "loss_mask", "result"]


def lines(spec: CircuitSpec, engine: str = "dense") -> list[dict[str, Any]]:
    """The examples of a spec with one split, called all."""
    making = spec.making(spec.how(engine))
    found = [made_circuits(job, making).files[f"all/{job.number:05}-of-00001.jsonl"] for job in spec.jobs()]
    return [json.loads(line) for data in found for line in data.decode().splitlines()]


# ── specs ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_all_keys_of_circuits() -> None:
    spec = circuits(FULL)
    [chosen] = spec.circuits
    assert (spec.text, spec.name, spec.seed, spec.shard_size) == (FULL, "everything", 7, 12)
    assert (chosen.argument, chosen.parameters) == ("binary-adder", {"bits": "3", "order": "paper-1"})
    assert (chosen.options, set(chosen.circuit.kinds)) == ({"variant": "paper-hard", "basis": "nor"}, {"NOR"})
    assert spec.inputs == Inputs(
        ("3+5", "110000", "0b11 + 0x5"), -1, (Random(4, 0, 0, "inputs 0, seed 7"), Random(2, 0, 0, "inputs 1, seed 8"))
    )
    assert (spec.forms, spec.formats, spec.split_by) == (("answer", "steps scored"), ("jsonl",), "circuit")
    assert spec.splits == (("train", 0.75), ("test", 0.25))


def test_what_a_spec_of_circuits_leaves_out() -> None:
    spec = circuits("circuits: full-adder\ninputs: ['011', 1+1+0]")
    assert (spec.name, spec.seed, spec.shard_size, spec.split_by) == ("spec", 0, 10_000, "run")
    assert (spec.forms, spec.formats) == (("answer", "steps shown", "steps scored"), ("jsonl", "parquet"))
    assert spec.circuits == (ChosenCircuit("full-adder", {}, load("full-adder"), {}),)
    assert of(load("full-adder"), spec.inputs) == ("011", "110")


def test_inputs_come_once_in_the_order_listed_all_random() -> None:
    adder = load("half-adder")
    assert of(adder, Inputs(("10", "1+0"), 20)) == ("10", "00", "01", "11")
    some = of(load("binary-adder"), Inputs(random=(Random(500, 0, 0, "x"),)))
    assert len(set(some)) == 500
    assert {len(word) for word in some} == {16}
    assert some == of(load("binary-adder"), Inputs(random=(Random(500, 0, 0, "x"),)))
    assert some != of(load("binary-adder"), Inputs(random=(Random(500, 0, 0, "y"),)))
    assert sorted(of(load("full-adder"), Inputs(random=(Random(8, 0, 0, "x"),)))) == [f"{n:03b}" for n in range(8)]


def test_circuit_files_stand_beside_the_spec_and_come_before_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "mine.bench").write_text("INPUT(a)\nOUTPUT(b)\nb = NOT(a)\n", encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(
        "circuits: [mine.bench, parity]\nparameters: {bits: 2}\ninputs: []\n", encoding="utf-8"
    )
    spec = load_spec(tmp_path / "spec.yaml")
    assert isinstance(spec, CircuitSpec)
    assert [(c.argument, c.circuit.name, c.parameters) for c in spec.circuits] == [
        (str(tmp_path / "mine.bench"), "mine", {}),
        ("parity", "parity", {"bits": "2"}),
    ]


test_complaints_about_circuits = CIRCUIT_COMPLAINTS.test()


@pytest.mark.parametrize(("name", "runs"), [("full-adder", 8), ("parity", 256), ("sha256-round", 1_000)])
def test_the_name_of_a_circuit_stands_for_a_spec(
    name: str, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = load_spec(name)
    assert isinstance(spec, CircuitSpec)
    assert (spec.name, spec.circuits[0].circuit) == (name, load(name))
    assert sum(piece.runs for job in spec.jobs() for piece in job.work) == runs


@pytest.mark.parametrize("format", ["bench", "yaml"])
def test_the_file_of_a_circuit_stands_for_a_spec(format: str, tmp_path: Path) -> None:
    text = formats.write(load("c17"), format)
    (tmp_path / f"my c17.{format}").write_text(str(text), encoding="utf-8")
    found = sweep(load_spec(tmp_path / f"my c17.{format}"), workers=1, engine="dense")
    assert sweep_report(found) == "my c17: 1 circuit, 32 runs, 192 bits compared, all agree"


# ── sweeps ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_shipped_spec_of_adders() -> None:
    found = sweep(load_spec("adders"), workers=1, engine="dense")
    assert sweep_report(found) == "adders: 1 circuit, 256 runs, 5,376 bits compared, all agree"
    assert (found.tally.machines, found.tally.rows) == (1, 256 * (8 + 21 - 1))


@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_every_variant_agrees_also_in_several_jobs(variant: str) -> None:
    text = f"circuits: [full-adder, half-adder]\nvariant: {variant}\ninputs: {{all: true}}\nshard size: 3\n"
    found = sweep(circuits(text), workers=1)
    assert (found.failure, found.tally.machines, found.tally.runs) == (None, 2, 12)


def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the compiler take the carry of a full adder for 0 where its inputs are 1, 0 and 1."""
    right = compiler.compile_circuit

    def wrong(circuit: Circuit, *arguments: Any, **options: Any) -> Any:
        if circuit.name == "full-adder":
            sum_of_three, carry = circuit.gates
            assert carry.table == "00010111"
            circuit = replace(circuit, gates=(sum_of_three, replace(carry, table="00010011")))
        return right(circuit, *arguments, **options)

    monkeypatch.setattr(compiler, "compile_circuit", wrong)


@pytest.mark.parametrize("size", [3, 100])
def test_the_first_run_that_differs_is_the_counterexample(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    spec = circuits(f"circuits: [half-adder, full-adder]\ninputs: {{all: true}}\nshard size: {size}")
    found = sweep(spec, workers=1, engine="dense")
    assert found.failure is not None
    assert (found.failure.program.name, found.failure.word, found.tally.runs) == ("full-adder", "101", 4 + 5)
    said = sweep_report(found).splitlines()
    assert said[:3] == [
        "spec: FAILED after 9 runs, 18 bits compared, all of which agree",
        "counterexample: full-adder on '101'",
        "  position 3: gate should be MAJ, is 00010011",
    ]
    assert said[-1] == "reproduce: tm2tfr trace full-adder --input 101 --engine dense"


def test_a_run_that_is_wrong_only_after_others_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    right = judged.evaluate_cases
    monkeypatch.setattr(judged, "evaluate_cases", lambda circuit, inputs: right(circuit, inputs) ^ (len(inputs) > 1))
    found = sweep(circuits("circuits: [half-adder]\ninputs: [00, 01]"), workers=1, engine="dense")
    assert found.failure == Failure(
        load("half-adder"), "00", "the bits of its gates are not the evaluator's after other inputs"
    )


def test_nothing_is_written_of_a_shard_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    found = make(circuits("circuits: [full-adder]\ninputs: {all: true}\nformats: jsonl"), tmp_path / "data", workers=1)
    assert dataset_report(found).splitlines()[0] == "spec: FAILED after 5 runs, 10 bits compared"
    assert [path for path in (tmp_path / "data").rglob("*.jsonl") if path.parent.name != "data"] == []


@pytest.mark.slow
def test_the_command_to_reproduce_names_the_circuit_and_not_the_machine_of_that_name(tmp_path: Path) -> None:
    spec = circuits("circuits: [parity, binary-adder]\nvariant: paper-hard\nbasis: nor\ninputs: []")
    parity, adder = (chosen.circuit for chosen in spec.circuits)
    how = spec.how("auto")
    told = spec.again(Failure(parity, "01010101", ""), how)
    assert shlex.split(told)[2:5] == ["parity", "--bits", "8"]
    told = spec.again(Failure(adder, "0" * 16, ""), how)
    assert told == f"tm2tfr trace binary-adder --variant paper-hard --basis nor --input {'0' * 16} --engine auto"
    done = again(told, tmp_path)
    assert (done.returncode, "compared with the evaluator, all agree" in done.stdout) == (0, True), done.stderr


def test_what_makes_no_sense_for_circuits_is_refused() -> None:
    spec = load_spec("adders")
    with pytest.raises(CompileError, match="adders is about circuits, and .* one-way tape: omit left_boundary"):
        sweep(spec, workers=1, left_boundary="chapter")
    with pytest.raises(CompileError, match="whose runs end with their last gate: omit the limit of steps"):
        sweep(spec, workers=1, max_steps=5)
    soft = circuits("circuits: [half-adder]\nvariant: paper\ninputs: {all: true}")
    with pytest.raises(EngineError, match="layer norms, which the exact engine cannot run"):
        sweep(soft, workers=1, engine="exact")


@pytest.mark.slow
def test_the_commands_take_circuits(tmp_path: Path) -> None:
    swept = command("sweep", "half-adder", "--engine", "dense", cwd=tmp_path)
    assert (swept.returncode, swept.stdout) == (0, "half-adder: 1 circuit, 4 runs, 8 bits compared, all agree\n")
    refused = command("sweep", "half-adder", "--max-steps", "5", cwd=tmp_path)
    assert "omit the limit of steps" in failed(2, refused)


# ── examples ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_three_forms_of_an_adder() -> None:
    spec = circuits(ADDER.replace("{all: true}", '["3+1"]'))
    same = {"circuit": "binary-adder", "input": "1110", "prompt": list("1110"), "result": "e = 0, c3 = 1"}
    answer, shown, scored = lines(spec)
    nets = [gate.net for gate in load("binary-adder", bits=2).gates]
    gates = list("01100011100")
    assert nets == ["d1", "d2", "f1", "f2", "c1", "g1", "c2", "g2", "c3", "e1", "e2"]
    assert answer == {**same, "form": "answer", "target": ["0", "0", "1"], "loss_mask": [1, 1, 1]}
    assert shown == {**same, "form": "steps shown", "target": gates, "loss_mask": [0] * 8 + [1, 1, 1]}
    assert scored == {**same, "form": "steps scored", "target": gates, "loss_mask": [1] * 11}
    assert set(answer) == set(COLUMNS)


@pytest.mark.parametrize("engine", ["dense", "exact", "auto"])
def test_every_target_is_what_the_evaluator_says(engine: str) -> None:
    spec = circuits(ADDER + "supervision: steps scored\nshard size: 5\n")
    [chosen] = spec.circuits
    found = lines(spec, engine)
    assert [line["input"] for line in found] == [f"{n:04b}" for n in range(16)]
    for line in found:
        assert "".join(line["prompt"] + line["target"]) == evaluate(chosen.circuit, line["input"]).symbols


def test_weak_supervision_can_be_cut_from_strong_by_the_positions_that_are_told(tmp_path: Path) -> None:
    make(circuits(ADDER), tmp_path / "data", workers=1)
    [told] = [json.loads(line) for line in (tmp_path / "data" / "circuits.jsonl").read_text().splitlines()]
    assert told["outputs"] == {"e1": 13, "e2": 14, "c3": 12}
    assert [*told["inputs"], *told["gates"]][13] == "e1"
    assert formats.read(told["yaml"], file="told", format="yaml").circuit == load("binary-adder", bits=2)
    written = [json.loads(line) for line in (tmp_path / "data/all/00000-of-00001.jsonl").read_text().splitlines()]
    answers = {line["input"]: line["target"] for line in written if line["form"] == "answer"}
    for line in written:
        if line["form"] == "steps scored":
            symbols = line["prompt"] + line["target"]
            assert [symbols[position] for position in told["outputs"].values()] == answers[line["input"]]


def test_an_output_that_is_an_input_is_an_answer_but_no_step() -> None:
    circuit = Circuit(name="x", inputs=("a", "b"), gates=(Gate("c", "0001", ("a", "b")),), outputs=(("y", "a"),))
    chosen = ChosenCircuit("x", {}, circuit, {})
    spec = replace(circuits(ADDER), circuits=(chosen,), inputs=Inputs(("10",)))
    assert [(line["form"], line["target"], line["loss_mask"]) for line in lines(spec)] == [
        ("answer", ["1"], [1]),
        ("steps scored", ["0"], [1]),
    ]


def test_both_formats_of_circuits_say_the_same(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")
    make(circuits(ADDER.replace("jsonl", "[jsonl, parquet]")), tmp_path / "data", workers=1)
    table = parquet.read_table(io.BytesIO((tmp_path / "data/all/00000-of-00001.parquet").read_bytes()))
    written = [json.loads(line) for line in (tmp_path / "data/all/00000-of-00001.jsonl").read_text().splitlines()]
    assert table.column_names == COLUMNS
    assert table.to_pylist() == written
    assert len(written) == 48


def test_what_is_said_of_a_data_set_of_circuits(tmp_path: Path) -> None:
    spec, folder = circuits(ADDER + "shard size: 6\n"), tmp_path / "data"
    whole = make(spec, folder, workers=1)
    assert dataset_report(whole).splitlines() == [
        "spec: 16 runs, 176 bits compared, all agree",
        "all: 48 examples (16 answer, 16 steps shown, 16 steps scored)",
        f"wrote {folder}: 3 shards, manifest.json, circuits.jsonl, README.md",
    ]
    assert "16 runs, 176 bits of gates, each compared with a reference evaluator." in (folder / "README.md").read_text()


def test_the_split_of_a_run_is_that_of_the_circuit_and_not_of_its_names() -> None:
    adder = load("binary-adder", bits=2)
    renamed = replace(adder, name="another", outputs=tuple((f"out {name}", net) for name, net in adder.outputs))
    assert circuit_fingerprint(renamed) == circuit_fingerprint(adder)
    assert circuit_fingerprint(load("binary-adder", bits=2, order="paper-1")) != circuit_fingerprint(adder)
    shared = Splitting(0, "circuit", (("train", 0.5), ("test", 0.5)))
    assert len({shared.of(circuit_fingerprint(adder), word) for word in ("0000", "0001", "0010", "1111", "1010")}) == 1
