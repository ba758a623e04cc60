"""Runs in blocks where they could take a short way: embeddings, saved prompts, verdicts with the first number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.mutations.weights import moved
from tests.runs.checking import check
from tests.runs.test_long_run import carried_out, plain
from tests.sources.turing.proof.test_refusals import mutated, with_unit
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.runs import long_run
from tm2tfr.runs.blocks import as_rows
from tm2tfr.runs.comparison import Trace, run
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.rows import Readout
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.weights import Decoder

MACHINE = load("chapter")
DECODER = compile_machine(MACHINE)


def both(decoder: Decoder, word: str = "11") -> tuple[Trace, Trace]:
    """The trace of a run in blocks, and of the plain check."""
    got, _ = carried_out(LongRun(decoder, word, machine=MACHINE, max_steps=60))
    return got, check(decoder, word, machine=MACHINE, engine=Dense(), max_steps=60)


def test_tokens_that_are_embedded_as_each_other_are_looked_at() -> None:
    size = len(DECODER.vocabulary)
    turned = moved(DECODER.token_embedding, None, [(n + 1) % size for n in range(size)])
    got, want = both(replace(DECODER, token_embedding=turned))
    assert plain(got) == plain(want)
    assert want.divergence is not None
    assert (want.divergence.position, want.divergence.column) == (0, "x")


@pytest.mark.parametrize("layer", [1, 3, 5, 6])
def test_tokens_that_a_unit_writes_over_are_looked_at(layer: int) -> None:
    got, want = both(with_unit(DECODER, {"i": 1.0}, -3.0, {"e_x[BOS]": 1.0}, layer=layer))
    assert plain(got) == plain(want)
    assert want.divergence is not None
    assert (want.divergence.position, want.divergence.column) == (4, "x")


@pytest.mark.parametrize("where", ["position_embedding", "layers.2.heads.0.output", "layers.1.feed_forward.output_bias"])
def test_tokens_that_anything_else_writes_over_are_looked_at(where: str) -> None:
    column = "i" if where == "position_embedding" else 0
    got, want = both(mutated(DECODER, where, "e_x[BOS]", column, 1.0))
    assert plain(got) == plain(want)
    assert want.divergence is not None
    assert want.divergence.column == "x"


@pytest.mark.parametrize("first", ["ACC", "1"])
def test_a_verdict_may_have_any_number(first: str) -> None:
    size, place = len(DECODER.vocabulary), DECODER.vocabulary.index(first)
    order = [(n - place) % size for n in range(size)]
    turned = replace(
        DECODER,
        vocabulary=tuple(DECODER.vocabulary[(n + place) % size] for n in range(size)),
        token_embedding=moved(DECODER.token_embedding, None, order),
        unembedding=moved(DECODER.unembedding, order),
        unembedding_bias=moved(DECODER.unembedding_bias, order),
    )
    assert turned.vocabulary[0] == first
    assert LongRun(turned, "11", machine=MACHINE).trace(Fast()).answer == "limit", "nothing was run yet"
    got, want = both(turned)
    assert plain(got) == plain(want)
    assert (got.answer, got.agrees) == ("accept", True)


def test_a_run_that_is_saved_after_every_position_goes_on_as_if_nothing_had_been() -> None:
    want, _ = carried_out(LongRun(DECODER, "11", machine=MACHINE, max_steps=60))
    going, rows = LongRun(DECODER, "11", machine=MACHINE, max_steps=60), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_run, "FIRST_BLOCK", 1)
        while not going.done:
            going.advance(lambda block: rows.extend(as_rows(block, DECODER)))
            saved = {key: array.copy() for key, array in going.save().items()}
            if not going.done:
                going = LongRun(DECODER, "11", machine=MACHINE, max_steps=60, saved=saved)
    assert plain(going.trace(Fast())) == plain(want)
    assert rows == list(check(DECODER, "11", machine=MACHINE, engine=Dense(), keep_rows=True).rows)


def test_a_decoder_that_stops_too_early_differs_where_it_stops() -> None:
    got, want = both(replace(DECODER, stop=("(q2,x,+1)",)))
    assert plain(got) == plain(want)
    assert want.divergence is not None
    found = want.divergence
    assert (found.position, found.column, found.expected, found.found) == (4, "stop", "ACC, REJ", "(q2,x,+1)")
    assert (got.tokens, got.compared) == (5, 6 * 7)  # the row that does not come was looked for


def test_the_summary_of_a_run_and_of_one_that_nobody_checked() -> None:
    checked, alone = both(DECODER)[1], run(DECODER, "11", engine=Dense())
    common = {"machine": "chapter", "input": "11", "tokens": 9, "T": 6, "outcome": "accept", "engine": "dense"}
    common |= {"dtype": "float64"}
    truth = {"steps": 6, "agrees": True, "compared": 63, "final_tape": "_x", "ones": 1}
    assert checked.as_dict() == {**common, **truth}
    assert alone.as_dict() == {**common, **dict.fromkeys(truth), "compared": 0}
    assert not replace(checked, compared=0).agrees


@pytest.mark.slow
def test_a_sink_is_given_every_row_the_last_few_too() -> None:
    machine = load("never-halts")
    given: list[Row] = []
    word = machine.input or ""
    trace = check(
        compile_machine(machine), word, machine=machine, engine=Dense(), max_steps=1100, keep_rows=True, sink=given.extend
    )
    assert trace.agrees
    assert len(given) > 1024
    assert given == list(trace.rows)


def test_a_wrong_unembedding_is_the_cause_in_a_run_in_blocks_too() -> None:
    got, want = both(mutated(DECODER, "unembedding_bias", "REJ", 0, 2.0))
    assert plain(got) == plain(want)
    assert got.divergence is not None
    assert got.divergence.column == "y"
    assert str(got.divergence.cause).startswith("unembedding at position 0")


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ([1e308, 1e308], "⟨1e+308·{0} + 1e+308·{1}⟩"),  # their sum is infinite, which NumPy warns of
        ([1.0, 1e-300], "⟨{0} + 1e-300·{1}⟩"),  # their sum is 1
        ([1.0, 0.0], "{0}"),
        ([0.0, 0.0], None),
    ],
)
def test_only_a_vector_with_a_single_one_is_a_label(values: list[float], cell: str | None) -> None:
    subspace = DECODER.layout.holder("e_q")
    place = DECODER.layout[subspace.name]
    residual = np.zeros(DECODER.layout.width)
    residual[place.start : place.start + 2] = values
    row = Readout(DECODER).row(3, "1", "1", residual)
    assert row.q == (cell and cell.format(*(subspace.labels or ())[:2]))
