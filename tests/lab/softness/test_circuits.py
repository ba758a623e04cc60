"""Circuits under softmax: their gaps are constant, so that the temperature hardly depends on the length."""

from __future__ import annotations

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.base.errors import CompileError
from tm2tfr.cli import main
from tm2tfr.lab.softness.report import report
from tm2tfr.sources.circuit.inputs import all_cases
from tm2tfr.sources.circuit.library.registry import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

ADDER = load("binary-adder", bits=2)


def wrong(circuit: Circuit, temperature: float) -> int:
    """Return the number of inputs on which the decoder is wrong under softmax."""
    soft = tm2tfr.soften(tm2tfr.Subject.of(circuit), temperature=temperature)
    return sum(not tm2tfr.check(soft, "".join(map(str, bits))).agrees for bits in all_cases(circuit))


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "soften", "binary-adder", "--bits", "4", "--input", "3+5")
    assert code == 0
    assert lines[:6] == [
        "binary-adder on '11001010': dense, float64, 28 positions",
        "uniform-tieless, checked with average-hard attention at every position: holds",
        "  operand a  tieless, gap at least 1; smallest found 1",
        "  operand b  tieless, gap at least 1; smallest found 1",
        "  operand c  tieless, gap at least 1; smallest found 1",
        "softmax at temperature 2^-4 = 0.0625: every token is right",
    ]
    assert lines[-1].endswith("like n^0.19 by the theorem: O(log n)")


def test_every_measured_error_is_within_its_bounds() -> None:
    for variant in ("lookup", "paper-hard"):
        run = tm2tfr.measure_softness(tm2tfr.Subject.of(ADDER, options={"variant": variant}), "1+2", temperature=0.0625)
        assert run.softness.uniform_tieless
        assert run.softness.first_wrong is None
        for head in run.softness.heads:
            assert head.lemma_33 is not None
            assert head.weights <= head.lemma_33
            assert head.place is None or head.lemma_7 is None or head.place <= head.lemma_7
        assert all(layer.lemma_25 is not None and layer.after <= layer.lemma_25 for layer in run.softness.layers)


@pytest.mark.slow
def test_the_largest_temperature_that_is_right() -> None:
    found = tm2tfr.measure_softness("binary-adder", "3+5").growth[-1].found
    assert found is not None
    assert 2**-2 < found < 2**-1
    assert [wrong(ADDER, 2.0**power) > 0 for power in (0, -1, -2, -3, -10)] == [True, True, False, False, False]


@pytest.mark.parametrize("variant", ["lookup", "paper-hard"])
def test_the_temperature_that_is_chosen_is_right_for_all_inputs(variant: str) -> None:
    decoder = tm2tfr.soften(tm2tfr.Subject.of(ADDER, options={"variant": variant}))
    for bits in all_cases(ADDER):
        assert tm2tfr.check(decoder, "".join(map(str, bits))).agrees


def test_it_is_chosen_for_all_positions_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = tm2tfr.soften("binary-adder")
    positions = tm2tfr.compile("binary-adder").positions
    assert positions is not None
    assert chosen.provenance["temperature"] == tm2tfr.soften("binary-adder", length=positions).provenance["temperature"]
    given = ("binary-adder", "--bits", "4", "--input", "3+5", "--attention", "softmax")
    code, lines = tm2tfr_here(capsys, "trace", *given)
    assert code == 0
    assert lines[-2:] == [
        "engine: dense, float64, 28 positions; softmax at temperature 0.015625",
        "check: 245 cells compared with the evaluator, all agree",
    ]


@pytest.mark.parametrize("command_line", [("soften",), ("check", "--attention", "softmax")])
def test_what_is_soft_by_construction_is_refused(command_line: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command_line, "binary-adder", "--bits", "4", "--input", "3+5", "--variant", "paper"])
    why = capsys.readouterr().err
    assert end.value.code == 2
    assert "these weights have softmax attention by their construction, and no temperature: use them as they are" in why
    with pytest.raises(CompileError, match="or soften a variant with average-hard attention"):
        tm2tfr.soften(tm2tfr.Subject.of(load("binary-adder", bits=2), options={"variant": "paper"}))


def test_softmax_without_a_temperature_is_named_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "trace", "binary-adder", "--bits", "4", "--input", "3+5", "--variant", "paper")
    assert code == 0
    assert lines[-2] == "engine: dense, float64, 28 positions; softmax"


def test_a_gap_that_is_smaller_than_claimed_is_reported() -> None:
    decoder = tm2tfr.compile(tm2tfr.Subject.of(ADDER))
    query = matrices(decoder)["layers.1.heads.0.query"]
    half = Matrix(query.shape, query.rows, query.columns, query.values / 2)
    run = tm2tfr.measure_softness(replaced(decoder, {"layers.1.heads.0.query": half}), "1+2")
    assert not run.softness.uniform_tieless
    assert "operand a  tieless, gap at least 1; smallest found 0.5; NOT at position " in report(run)
