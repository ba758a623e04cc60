"""The universal decoder under softmax: where there is no rule, any mean of rules gives the same answer."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.api.softness import measure_softness, soften
from tm2tfr.base.errors import CompileError
from tm2tfr.cli import main
from tm2tfr.lab.softness.report import report
from tm2tfr.sources.circuit.inputs import all_cases
from tm2tfr.sources.circuit.library import load as load_circuit
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.turing.library import shipped
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import load, save
from tm2tfr.transformer.weights import Decoder, Layer, matrices, replaced

EVERY = tm2tfr.Universal(states=8, symbols=4)


@cache
def fitting() -> dict[str, Machine]:
    """Return the shipped machines that fit into 8 states and 4 symbols."""
    machines = {}
    for name in shipped():
        machine = tm2tfr.load(name)
        try:
            EVERY.holding(machine)
        except CompileError:
            continue
        machines[name] = machine
    return machines


def wrong_runs(names: list[str], longest: int) -> tuple[int, list[str]]:
    """Return the number of examples run at the temperature that ``auto`` picks for each length, and which are wrong."""
    runs, wrong = 0, []
    for name in names:
        decoder = tm2tfr.compile(EVERY.holding(fitting()[name]))
        for example in fitting()[name].examples:
            length = tm2tfr.check(decoder, example.input, max_steps=60, keep_rows=False).tokens
            if length <= longest:
                soft = soften(decoder, length=length)
                runs += 1
                if not tm2tfr.check(soft, example.input, max_steps=60, engine="dense", keep_rows=False).agrees:
                    wrong.append(f"{name} on {example.input!r}")
    return runs, wrong


@pytest.mark.slow
def test_auto_is_what_theorem_26_guarantees_and_right() -> None:
    soft = soften(EVERY.holding(tm2tfr.load("chapter")), length=40)
    assert soft.provenance["temperature"] == str(2.0**-15)
    trace = tm2tfr.check(soft, "11")
    assert (trace.agrees, trace.soft, trace.lead, trace.answer) == (True, True, 31, "accept")
    assert wrong_runs(["busy-beaver-2", "parity"], 40) == (7, [])


@pytest.mark.slow
def test_every_shipped_machine_that_fits() -> None:
    assert len(fitting()) == 27
    runs, wrong = wrong_runs(list(fitting()), 50)
    assert wrong == []
    assert runs > 60


def test_what_is_not_proved_is_refused() -> None:
    held = EVERY.holding(tm2tfr.load("chapter"))
    with pytest.raises(CompileError, match="head 'last key' has no local bound under softmax, since what it carries"):
        soften(held, temperature="local", length=40)
    with pytest.raises(CompileError, match="its gap shrinks with the position, so softmax needs a temperature"):
        soften(held, temperature="none")


# ── ties ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_ties_are_measured_as_what_they_are() -> None:
    found = measure_softness(EVERY.holding(tm2tfr.load("chapter")), "11", temperature="auto")
    assert (found.softness.first_wrong, found.softness.uniform_tieless) == (None, True)
    own = [head for head in found.softness.heads if head.head == "rule for q, a"]
    tied = [head for head in own if head.tied]
    assert [head.position for head in own if not head.tied] == [0, *range(4, 10), *range(34, 40)]
    assert {(head.lemma_6, head.lemma_33) for head in tied} == {(None, None)}
    assert all(head.lemma_33 is not None and head.weights <= head.lemma_33 for head in own if not head.tied)
    line = "tied at 27 positions, where that decides nothing; otherwise tieless, gap at least 1; smallest found 1"
    shown = report(found)
    assert f"rule for q, a  {line}\n" in shown
    checked = (
        "uniform-tieless, checked with average-hard attention at every position: holds, but for ties that decide nothing"
    )
    assert shown.splitlines()[1] == checked


@pytest.mark.slow
def test_where_there_is_no_rule_every_mean_gives_the_same_answer() -> None:
    """In exact arithmetic, the last two feed-forward networks on random means of the rules' own vectors."""
    universal = EVERY.holding(tm2tfr.load("busy-beaver-4"))
    decoder, chance = tm2tfr.compile(universal), random.Random(26)
    names, layout = universal.names, decoder.layout
    rules = universal.entries
    for _ in range(60):
        state, symbol = chance.randrange(len(names.ruled)), chance.randrange(len(names.symbols))
        others = [entry for entry in rules if (entry.state, entry.symbol) != (state, symbol)]
        shares = [Fraction(chance.randrange(5)) for _ in others]
        total = sum(shares) or 1
        stream = [Fraction(0)] * layout.width
        at = layout.index
        for place in (f"e_q[{names.states[state]}]", f"e_a[{names.symbols[symbol]}]"):
            stream[at(place)] = Fraction(1)
        stream[at("1")] = Fraction(1)
        for entry, share in zip(others, shares, strict=True):
            found = (names.states[entry.state], names.symbols[entry.symbol], names.value(entry.answer))
            for where, label in zip(("r*_q", "r*_a", "out"), found, strict=True):
                stream[at(f"{where}[{label}]")] += share / total
        for layer in decoder.layers[5:]:
            stream = fed_forward(layer, stream)
        logits = stream[layout["e_y"]]
        assert [token for token, value in zip(decoder.vocabulary, logits, strict=True) if value] == ["HALT"]
        assert sum(logits) == 1


def fed_forward(layer: Layer, stream: list[Fraction]) -> list[Fraction]:
    network = layer.feed_forward
    assert network is not None
    hidden = [Fraction(0)] * network.input.shape[0]
    for row, column, value in network.input.entries():
        hidden[row] += Fraction(value) * stream[column]
    for row, _, value in network.input_bias.entries():
        hidden[row] += Fraction(value)
    after = list(stream)
    for row, column, value in network.output.entries():
        after[row] += Fraction(value) * max(hidden[column], Fraction(0))
    return after


def test_the_claim_is_stored(tmp_path: Path) -> None:
    decoder = tm2tfr.compile(EVERY)
    save(decoder, tmp_path / "u.safetensors")
    found: Decoder = load(tmp_path / "u.safetensors")
    assert found.layers[5].heads[0].claim == Claim(attends="rule", gap=1.0, over="constant", ties=True)
    assert found.layers[1].heads[2].claim == Claim(attends="last key", gap=0.5)


# ── Circuits under softmax: their gaps are constant, so that the temperature hardly depends on the length.
ADDER = load_circuit("binary-adder", bits=2)


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
        tm2tfr.soften(tm2tfr.Subject.of(load_circuit("binary-adder", bits=2), options={"variant": "paper"}))


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
