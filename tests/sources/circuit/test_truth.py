"""A circuit's run as it must be: bits, rows, outputs; and where its decoders look."""

from __future__ import annotations

import pytest

from tests.sources.circuit.running import DENSE, PAPER, all_inputs, random_of
from tm2tfr.contract.modelled import ModelRuns
from tm2tfr.contract.source import ANY
from tm2tfr.engines import generate
from tm2tfr.runs.rows import Readout
from tm2tfr.sources.circuit.columns import GATE_NAMES, LOOKUP_COLUMNS, PAPER_COLUMNS, columns
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.model import circuit_model
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.soft import smallest_gap, softened
from tm2tfr.transformer.storage import dumps, loads

FULL = load("full-adder")


def test_the_rows_of_a_full_adder() -> None:
    truth = CircuitTruth(FULL, "011")
    assert truth.symbols == (0, 1, 1, 0, 1)
    assert truth.prompt == ("0", "1", "1")
    assert truth.outputs == {"sum": 0, "carry": 1}
    assert truth.result().outputs == (("sum", 0), ("carry", 1))
    assert list(truth.rows(LOOKUP_COLUMNS)) == [
        (0, "0", "CONST0", 0, 0, 0, 0, 0, 0, ANY),
        (1, "1", "CONST0", 0, 0, 0, 0, 0, 0, ANY),
        (2, "1", "XOR", 0, 1, 2, 0, 1, 1, "0"),
        (3, "0", "MAJ", 0, 1, 2, 0, 1, 1, "1"),
    ]
    assert [column.name for column in LOOKUP_COLUMNS] == ["i", "x", "gate", "a", "b", "c", "x_a", "x_b", "x_c", "y"]


def test_the_rows_of_the_paper_s_variants() -> None:
    truth = CircuitTruth(load("half-adder"), "01", "paper")
    assert list(truth.rows(PAPER_COLUMNS)) == [(0, "0", ANY, ANY), (1, "1", 0, "1"), (2, "1", 0, "0")]
    assert columns("paper") == columns("paper-hard") == PAPER_COLUMNS


@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_the_rows_are_those_that_a_decoder_has(variant: str) -> None:
    circuit = random_of(PAPER, inputs=3, gates=20, seed=8)
    decoder = compile_circuit(circuit, variant)
    for bits in all_inputs(circuit):
        found = Readout(decoder).rows(list(generate(decoder, bits, engine=DENSE)))
        right = list(CircuitTruth(circuit, bits, variant).rows(columns(variant)))
        assert [tuple(row) for row in found] == right


def test_gates_are_called_by_their_names_whatever_their_operands() -> None:
    names = {"0001": "AND", "0010": "0010", "10": "NOT", "01": "BUF", "00010111": "MAJ"}
    for table, name in names.items():
        assert GATE_NAMES["".join(bit * (8 // len(table)) for bit in table)] == name
    assert len(GATE_NAMES) == 16 + 8
    assert "00000010" not in GATE_NAMES


def test_a_wrong_bit_of_the_gate_is_shown_as_it_is() -> None:
    decoder = compile_circuit(FULL)
    steps = list(generate(decoder, "011", engine=DENSE))
    at = decoder.layout.index("t000")
    steps[2].residual[at] = 0.5
    assert Readout(decoder).rows(steps)[2][2] == "⟨0.5·t000 + t001 + t010 + t100 + …⟩"
    steps[3].residual[at] = 1
    assert Readout(decoder).rows(steps)[3][2] == "10010111"


def test_what_a_position_does_is_said_in_words() -> None:
    specification = CircuitTruth(FULL, "011").specification(0)
    assert specification.about(3) == "position 3 answers net carry: MAJ(a, b, c)"
    assert specification.about(1) is None
    assert specification.remark("y", 3) is None
    assert specification.tokens == ("0", "1", "1", "0")
    assert [tuple(specification.attended(where, 3)) for where in ("a", "b", "c", "all")] == [(0,), (1,), (2,), ()]
    paper = CircuitTruth(load("half-adder"), "01", "paper").specification(0)
    assert [tuple(paper.attended("operands", i)) for i in (0, 1)] == [(0,), (0, 1)]


def test_missing_operands_are_the_last_one_again() -> None:
    gates = (Gate("k", "1"), Gate("n", "10", ("b",)), Gate("y", "0111", ("a", "n")))
    circuit = Circuit(name="few", inputs=("a", "b"), gates=gates, outputs=(("y", "y"),))
    rows = list(CircuitTruth(circuit, "10").rows(LOOKUP_COLUMNS))
    assert [row[2:6] for row in rows] == [("CONST0", 0, 0, 0), ("CONST1", 0, 0, 0), ("NOT", 1, 1, 1), ("OR", 0, 3, 3)]


def test_a_claimed_gap_may_be_the_same_at_every_position() -> None:
    constant, falling = Claim(attends="a", gap=1, over="constant"), Claim(attends="a", gap=1)
    assert [claim.gap_at(9, 20) for claim in (constant, falling, Claim(attends="all", gap=None))] == [1.0, 0.1, None]
    assert smallest_gap(compile_circuit(FULL), 1000) == 1.0


def test_claims_survive_a_weight_file() -> None:
    decoder = softened(compile_circuit(FULL), 0.25)
    assert loads(dumps(decoder)) == decoder


# ── the model of a circuit says what the evaluator does, at every position and for any circuit
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_without_settings_it_is_the_evaluators_run(variant: str) -> None:
    circuit = random_of(PAPER, inputs=4, gates=20, seed=3)
    decoder = compile_circuit(circuit, variant)
    model = circuit_model(circuit, variant, vocabulary=decoder.vocabulary)
    for bits in all_inputs(circuit):
        run, symbols = ModelRuns(model, bits, decoder).run({}, 1000), evaluate(circuit, bits).symbols
        assert "".join(run.tokens) == symbols[:-1]
        assert "".join(run.answers[len(bits) - 1 :]) == symbols[len(bits) :]
