"""Softmax in the page: the numbers of the dense engine but for exponentials, and what flips at which temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tests.web.explorer.test_live_engine import in_a_worker
from tm2tfr.api.softness import measure_labels
from tm2tfr.api.subject import Subject
from tm2tfr.base.resources import ATTENTION_PROGRAMS, FORMULAS, PROGRAMS, shipped
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.transformer.soft import softened
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data

pytestmark = pytest.mark.slow
TEMPERATURES = (4.0, 0.5, 0.1, 2.0**-6)
RUN = """
async ({ columns, cases }) => {
  const buffers = await explorer.unpacked(columns);
  return cases.map(({ spec, given, temperature }) => {
    const decoder = explorer.softened(explorer.decoderOf(spec, buffers), temperature);
    return explorer.wholeRun(decoder, given).map(({ residual, logits }) => [...residual, ...logits]);
  });
}
"""
MEASURE = """
async ({ columns, cases }) => {
  const buffers = await explorer.unpacked(columns);
  return cases.map(({ spec, tokens, temperatures }) => {
    const softness = new explorer.Softness(explorer.decoderOf(spec, buffers), tokens);
    const rows = temperatures.map((temperature) => softness.at(temperature));
    return { warmest: softness.warmest(), rows: rows.map(({ right, flips }) => ({ right, flips })) };
  });
}
"""
EXPONENTIALS = "async (numbers) => numbers.map(Math.exp)"
NAMES = ("a-n-b-n", "since-b", "ends-in-110", "hop-1", "dyck-1-by-depth", "sort", "reverse", "histogram", "run-length")


def subjects() -> list[Subject]:
    """The shipped programs and formulas without loops."""
    names = [name for kind in (PROGRAMS, ATTENTION_PROGRAMS, FORMULAS) for name in shipped(kind)]
    found = [Subject.of(name) for name in names[::2]]
    return [subject for subject in found if subject.decoder.labeller and not subject.decoder.loops]


def test_streams_and_logits_are_those_of_the_dense_engine_to_nine_digits(chromium: Any) -> None:
    columns, cases, wanted = PackedColumns(), [], []
    for subject in subjects():
        decoder = subject.decoder
        given = [decoder.numbers[token] for token in subject.prompt(None)]
        for temperature in TEMPERATURES:
            cases.append({"spec": decoder_data(decoder, columns), "given": given, "temperature": temperature})
            passed = run_whole(softened(decoder, temperature), given, engine=Dense())
            wanted.append([[*each.residual, *each.logits] for each in passed])
    found = in_a_worker(chromium, RUN, {"columns": columns.packed(), "cases": cases})
    assert len(found) > 100
    same = total = 0
    for here, there in zip(found, wanted, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)
        same += int((np.asarray(here) == np.asarray(there)).sum())
        total += np.size(there)
    assert 0.5 < same / total <= 1  # most numbers do not even differ in their last bit


def test_exponentials_differ_from_those_of_numpy_in_the_last_bit_at_most(chromium: Any) -> None:
    numbers = np.concatenate([-np.geomspace(1e-6, 700, 20_000), np.zeros(1)])
    found, wanted = np.array(in_a_worker(chromium, EXPONENTIALS, numbers.tolist())), np.exp(numbers)
    assert (np.abs(found - wanted) <= np.spacing(wanted)).all()


def measured(name: str, columns: PackedColumns) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a case, and what `tm2tfr soften` says of it."""
    subject = Subject.of(name)
    said, decoder = measure_labels(subject), subject.decoder
    names = [output.name for output in decoder.outputs]
    case = {
        "spec": decoder_data(decoder, columns),
        "tokens": list(subject.prompt(None)),
        "temperatures": [row.temperature for row in said.rows],
    }
    flips = [
        None if row.first_wrong is None else [row.first_wrong[0], names.index(row.first_wrong[1])] for row in said.rows
    ]
    rows = [{"right": row.right, "flips": flip} for row, flip in zip(said.rows, flips, strict=True)]
    return case, {"warmest": said.warmest, "rows": rows}


def test_the_same_answers_flip_at_the_same_temperatures_as_tm2tfr_soften_says(chromium: Any) -> None:
    columns = PackedColumns()
    cases, wanted = zip(*(measured(name, columns) for name in NAMES), strict=True)
    found: Sequence[Any] = in_a_worker(chromium, MEASURE, {"columns": columns.packed(), "cases": list(cases)})
    assert list(found) == list(wanted)


@pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
def test_the_slider_says_which_answer_flips_first(opened: Open) -> None:
    page = opened(tm2tfr.explore("reverse", "abc"))
    page.locator(".soft-panel summary").click()
    panel = page.locator(".soft-panel")
    assert "every answer is right: 0.557193" in panel.inner_text()
    assert "✓ all 3 answers" in panel.inner_text()
    page.get_by_label("temperature").fill("8")
    assert "✗ 3 of 3 answers flip, the first at position 0: reverse is" in " ".join(panel.inner_text().split())
    assert page.locator(".soft-cell.bad").count() == 3
    page.locator(".soft-panel .soft-token").nth(2).click()
    assert page.locator(".controls input[type=number]").input_value() == "2"


@pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
def test_weights_with_loops_have_no_temperature(opened: Open) -> None:
    assert opened(tm2tfr.explore("looped-parity", "0110")).locator(".soft-panel").count() == 0
