"""RASP programs under softmax: a whole sequence at each temperature, and equal best scores whose mean is the limit."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.api.softness import measure_labels
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.cli import main
from tm2tfr.engines.reading import softly
from tm2tfr.lab.softness.report import report
from tm2tfr.runs.batches.labelled import checked_words, every_input
from tm2tfr.transformer.weights import Decoder

PROGRAMS = Path(__file__).parents[3] / "programs"
HISTOGRAM, REVERSE = (str(PROGRAMS / f"{name}.rasp") for name in ("histogram", "reverse"))


def unclaimed(decoder: Decoder) -> Decoder:
    """Return `decoder` without a claim about any head."""
    layers = (
        dataclasses.replace(layer, heads=tuple(dataclasses.replace(head, claim=None) for head in layer.heads))
        for layer in decoder.layers
    )
    return dataclasses.replace(decoder, layers=tuple(layers))


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "soften", REVERSE)
    assert code == 0
    assert lines == [
        "reverse on 'abc': dense, float64, 3 positions",
        "the claimed gaps, checked with average-hard attention at every position: hold",
        "  full_s  uniform",
        "  flip    gap at least 1; smallest found 1; one position has the best score",
        "the largest temperature found at which every output is right: 0.557193",
        "",
        "elsewhere: the largest weight of a head on positions without its best score, at most n·e^(-γ/τ) where scores are",
        "exact, as in the first layer (γ: the smallest gap); logits, stream: their largest error",
        "",
        "τ              elsewhere  n·e^(-γ/τ)    logits    stream  outputs",
        "2^1 = 2            0.548        1.82     0.548     0.548  3 of 3 wrong, first reverse at position 0",
        "2^0 = 1            0.424         1.1     0.424     0.424  3 of 3 wrong, first reverse at position 0",
        "2^-1 = 0.5         0.213       0.406     0.213     0.213  all 3 right",
        "2^-2 = 0.25       0.0353      0.0549    0.0353    0.0353  all 3 right",
        "2^-3 = 0.125    6.70e-04     0.00101  6.70e-04  6.70e-04  all 3 right",
        "2^-4 = 0.0625   2.25e-07    3.38e-07  2.25e-07  2.25e-07  all 3 right",
        "2^-5 = 0.0312   2.53e-14    3.80e-14  2.53e-14  2.53e-14  all 3 right",
        "2^-6 = 0.0156   3.21e-28    4.81e-28  1.60e-28  1.60e-28  all 3 right",
    ]


def test_the_weight_elsewhere_of_one_position_among_three() -> None:
    found = measure_labels(REVERSE, "abc", temperature=0.4)
    row = next(row for row in found.rows if row.temperature == 0.4)
    other = math.exp(-1 / 0.4)
    assert row.elsewhere == pytest.approx(2 * other / (1 + 2 * other))
    assert row.bound == pytest.approx(3 * other)


def test_the_warmest_temperature_is_where_a_quarter_is_lost() -> None:
    # the score of one position of three is ahead by 1: the weights elsewhere are 1/4 at τ = 1/ln 6
    found = measure_labels(REVERSE, "abc").warmest
    assert found is not None
    assert 2 ** (-1 / 32) / math.log(6) < found <= 1 / math.log(6)


def test_equal_scores_share_their_weight_in_the_limit() -> None:
    found = measure_labels(HISTOGRAM, "§abccc")
    (head,) = found.heads
    assert (head.sharing, head.gap, head.claimed, head.holds) == (4, 1.0, 1.0, True)
    assert all(row.elsewhere <= row.bound for row in found.rows)
    assert [row.first_wrong is None for row in found.rows] == [False, False, *[True] * 6]
    assert found.rows[0].first_wrong == (0, "histogram")
    assert found.rows[-1].stream == 0


def test_temperatures_agree_with_the_check_of_soft_weights() -> None:
    decoder = tm2tfr.compile(HISTOGRAM)
    found = measure_labels(decoder, "§abccc")
    assert found.warmest is not None
    for row in found.rows:
        soft = tm2tfr.soften(decoder, temperature=row.temperature)
        assert tm2tfr.check(soft, "§abccc").agrees == (row.first_wrong is None)
    assert tm2tfr.check(tm2tfr.soften(decoder, temperature=found.warmest), "§abccc").agrees


def test_nothing_is_softened_where_every_head_is_uniform(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "soften", str(PROGRAMS / "mean.rasp"), "--temperature", "auto")
    assert code == 0
    assert lines[3] == "softmax changes nothing at any temperature: there is no head that is not uniform"
    assert [line.endswith("all 4 right") for line in lines[9:]] == [True] * 7


def test_a_head_of_which_nothing_is_claimed_does_not_hold() -> None:
    decoder = unclaimed(tm2tfr.compile(HISTOGRAM))
    found = measure_labels(decoder, "§abccc")
    assert not found.holds
    text = report(found).splitlines()
    assert text[1].endswith("do NOT hold")
    assert text[2].endswith("no gap claimed; smallest found 1; up to 4 positions share the best score; does NOT hold")


def test_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "soften", REVERSE, "--input", "abcc", "--format", "csv")
    rows = list(csv.DictReader(lines))
    assert [(row["temperature"], row["right"], row["wrong_position"], row["wrong_output"]) for row in rows[:3]] == [
        ("2.0", "1", "1", "reverse"),
        ("1.0", "2", "2", "reverse"),
        ("0.5", "4", "", ""),
    ]
    _, lines = tm2tfr_here(capsys, "soften", REVERSE, "--format", "json")
    plain = json.loads(lines[0])
    assert (plain["holds"], plain["positions"], len(plain["rows"])) == (True, 3, 8)
    assert [head["gap"] for head in plain["heads"]] == [None, 1.0]


def test_the_program_is_called_what_it_is() -> None:
    formula, program = tm2tfr.formula("Q[a]", alphabet="ab"), "deduplicate"
    assert next(iter(measure_labels(formula, "ab").as_dict().items())) == ("formula", formula.name)
    assert next(iter(measure_labels(program).as_dict().items())) == ("program", program)


@pytest.mark.slow
def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["soften", REVERSE, "--plot", str(tmp_path / "x.svg")])
    assert end.value.code == 2
    assert "reverse.rasp labels" in (said := capsys.readouterr().err)
    assert said.strip().endswith("labels a whole sequence at once: use --format csv, which has a row for each temperature")
    with pytest.raises(CompileError, match="these weights already have softmax attention: measure the weights they were"):
        measure_labels(tm2tfr.soften(REVERSE, temperature=0.1), "abc")
    with pytest.raises(CompileError, match="the temperature must be positive, not -1"):
        measure_labels(REVERSE, "abc", temperature=-1)
    with pytest.raises(EngineError, match="soften them at a temperature, and check the run of what comes out"):
        tm2tfr.measure_softness(REVERSE, "abc")


@pytest.mark.slow
def test_check_reads_outputs_under_softmax_as_trace_does(capsys: pytest.CaptureFixture[str]) -> None:
    soft = ("--attention", "softmax", "--temperature")
    code, lines = tm2tfr_here(capsys, "check", REVERSE, "--all-up-to", "4", *soft, "0.1")
    assert (code, lines[0]) == (
        0,
        "ok    all 120 inputs of up to 4 tokens: 426 cells compared with the interpreter, all agree",
    )
    code, lines = tm2tfr_here(capsys, "check", REVERSE, "--all-up-to", "4", *soft, "1")
    assert code == 1
    assert lines[0].startswith("FAIL  all 120 inputs of up to 4 tokens: ")
    assert "reverse should be" in lines[1]


def test_many_inputs_fail_where_one_does() -> None:
    program = tm2tfr.Subject.of(REVERSE).right
    decoder = tm2tfr.compile(REVERSE)
    for temperature in (2.0, 0.6, 0.5):
        soft = tm2tfr.soften(decoder, temperature=temperature)
        one = all(tm2tfr.check(soft, word).agrees for word in ("a", "ab", "abc", "bca"))
        assert checked_words(soft, program, every_input(3, 3)).agrees == one


def test_logits_near_whole_numbers_count_as_those_at_each_position() -> None:
    logits = np.array([[0.9, 0.7, 0.25], [0.1, 0.3, 0.75]])
    assert softly(logits).tolist() == [[1.0, 0.7, 0.0], [0.0, 0.3, 1.0]]
