"""The model of a circuit says what the evaluator does, at every position and for any circuit."""

from __future__ import annotations

import pytest

from tests.sources.circuit.running import PAPER, all_inputs, random_of
from tm2tfr.contract.modelled import ModelRuns
from tm2tfr.contract.source import ANY
from tm2tfr.sources.circuit.columns import columns
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.model import circuit_model
from tm2tfr.sources.circuit.truth import CircuitTruth


@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_without_settings_it_is_the_evaluators_run(variant: str) -> None:
    circuit = random_of(PAPER, inputs=4, gates=20, seed=3)
    decoder = compile_circuit(circuit, variant)
    model = circuit_model(circuit, variant, vocabulary=decoder.vocabulary)
    for bits in all_inputs(circuit):
        truth = CircuitTruth(circuit, bits, variant)
        run = ModelRuns(model, bits, decoder).run({}, 1000)
        assert run.tokens == tuple(map(str, truth.symbols[:-1]))
        table = columns(variant)
        for cells, answer, row in zip(run.cells, run.answers, truth.rows(table), strict=True):
            for column, value in zip(table, row, strict=True):
                found = answer if column.kind == "answered" else cells.get(column.holds, value)
                assert value in (ANY, found)
