"""Columns of rows, and runs in blocks at their edges."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import tm2tfr
from tests.handmade import HANDMADE, clashing, majority
from tests.handmade import decoder as handmade
from tests.mutations.weights import moved
from tests.runs.checking import check
from tests.runs.test_long_run import carried_out, plain
from tests.sources.turing.proof.test_refusals import mutated, with_unit
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.contract.source import Column
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.runs import long_run
from tm2tfr.runs.blocks import as_rows
from tm2tfr.runs.comparison import Trace, run
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.rows import Readout, columns_of, is_turing, row_type
from tm2tfr.sources.turing.columns import TURING, Row
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder


def renamed(decoder: Decoder) -> Decoder:
    """The same weights, with names of the subspaces that say nothing."""
    subspaces = (replace(s, name=f"s{n}") for n, s in enumerate(decoder.layout.subspaces))
    return replace(decoder, layout=Residual(tuple(subspaces)))


def with_layout(layout: Residual) -> Decoder:
    """A decoder with this stream, and nothing in it."""
    return handmade(layout, [{}], [], [{}], vocabulary=("<s>",))


# ── the columns ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_decoder_made_by_hand_has_a_column_for_each_subspace() -> None:
    assert [(c.name, c.kind, c.subspace) for c in columns_of(majority())] == [
        ("i", "position", None),
        ("x", "fed", None),
        ("token", "label", "token"),
        ("one", "number", "one"),
        ("share of 1s", "number", "share of 1s"),
        ("verdict", "label", "verdict"),
        ("y", "answered", None),
    ]


def test_no_two_columns_have_the_same_name() -> None:
    columns = columns_of(clashing())
    assert [c.name for c in columns] == [
        *("i", "x", "a b", "a-b", "x (stream) (stream)", "i (stream)", "class", "y (stream)", "_", "x (stream)", "y")
    ]
    assert [c.subspace for c in columns[2:-1]] == ["a b", "a-b", "x", "i", "class", "y", "_", "x (stream)"]


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-2"])
def test_the_chapters_columns_are_found_by_what_the_subspaces_hold(name: str) -> None:
    decoder = tm2tfr.compile(name)
    assert columns_of(decoder) is columns_of(renamed(decoder)) is TURING
    assert tm2tfr.run(renamed(decoder)).rows == tm2tfr.run(decoder).rows


@pytest.mark.parametrize("engine", ["dense", "fast"])
def test_the_table_of_renamed_subspaces_is_the_same(engine: str) -> None:
    decoder = tm2tfr.compile("palindromes")
    tables = [tm2tfr.run(each, "abba", engine=engine) for each in (decoder, renamed(decoder))]
    assert tables[0] == tables[1]
    assert tm2tfr.check(renamed(decoder), "abba", engine=engine, keep_rows=False).agrees


def test_subspaces_of_another_kind_are_not_the_chapters() -> None:
    decoder = tm2tfr.compile("chapter")
    wrong = [replace(s, labels=("a",)) if s.holds == "h" else s for s in decoder.layout.subspaces]
    assert not is_turing(Residual(tuple(wrong)))
    for holds in ("", "something else"):  # whatever it is called
        other = [replace(s, holds=holds) if s.name == "e_q" else s for s in decoder.layout.subspaces]
        assert not is_turing(Residual(tuple(other)))


def test_a_subspace_of_any_name_can_be_a_column() -> None:
    layout = Residual((Subspace(""), Subspace("empty", ())))
    columns = columns_of(with_layout(layout))
    assert [c.read_from(layout) for c in columns] == [None, None, *layout.subspaces, None]


def test_cells_as_they_are_written() -> None:
    plain, signed = columns_of(majority())[3], next(c for c in TURING if c.signed)
    assert [plain.text(v) for v in (None, 1, -1, 0.5)] == ["⊥", "1", "-1", "0.5"]
    assert [signed.text(v) for v in (None, 1, -1, 0, 0.5)] == ["⊥", "+1", "-1", "0", "+0.5"]


# ── the rows ────────────────────────────────────────────────────────────────────────────────────────────────
def test_rows_are_named_tuples_whatever_the_columns_are_called() -> None:
    names = ("i", "a b", "a-b", "class", "_", "__", "1", "ﬁ", "fi", "c_class", "", "é", "y")
    columns = tuple(Column(name=n, kind="number", subspace=n, meaning="") for n in names)
    row = row_type(columns)(*range(len(names)))
    fields = ["i", "a_b", "a_b_2", "c_class_2", "column", "column_2", "c_1", "c__", "fi", "c_class", "column_3", "é", "y"]
    assert list(row._fields)[:7] == fields[:7]  # type: ignore[attr-defined]
    assert len(set(row._fields)) == len(names)  # type: ignore[attr-defined]
    assert all(field.isidentifier() for field in row._fields)  # type: ignore[attr-defined]
    assert (row[0], row[-1]) == (row.i, row.y) == (0, 12)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(row)) == row
    assert type(pickle.loads(pickle.dumps(row))) is row_type(columns)


def test_the_chapters_rows_are_those_of_the_chapter() -> None:
    assert row_type(TURING) is Row
    assert Row._fields == tuple(column.name for column in TURING)


# ── what has no meaning without the chapter's columns ───────────────────────────────────────────────────────
def test_a_result_has_its_own_fields_only() -> None:
    make, word, _ = HANDMADE["majority"]
    trace = tm2tfr.run(make(), word)
    assert trace.as_dict() == {
        "machine": "majority",
        "input": "10110",
        "outcome": "end",
        "tokens": 7,
        "T": 1,
        "agrees": None,
        "compared": 0,
        "engine": "dense",
        "dtype": "float64",
    }
    assert (trace.has_tape, trace.reach, trace.checked, trace.agreed) == (False, 0, False, 7)
    assert pickle.loads(pickle.dumps(trace)) == trace


@pytest.mark.parametrize("name", HANDMADE)
def test_they_are_not_compared_with_a_machine(name: str, tmp_path: object) -> None:
    make, word, _ = HANDMADE[name]
    with pytest.raises(CompileError, match="no machine is stored with these weights"):
        tm2tfr.check(make(), word)
    said = (
        "chapter: these weights cannot be compared with a Turing machine, since no subspace of their residual stream holds"
    )
    for options in ({}, {"out": f"{tmp_path}/rows.csv"}, {"engine": "fast", "keep_rows": False}):
        with pytest.raises(CompileError, match=said):
            tm2tfr.check(make(), "11", machine="chapter", **options)  # type: ignore[arg-type]


def test_blocks_are_of_the_chapters_columns() -> None:
    with pytest.raises(EngineError, match="holds the table's column x: run them row by row"):
        LongRun(majority(), "1", machine=None)
    with pytest.raises(EngineError, match="whose columns the table of these weights does not have: omit the checkpoint"):
        tm2tfr.run(majority(), "1", checkpoint="never-written")


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
