"""Runs of universal decoders."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tm2tfr
from tests.runs.test_long_run import carried_out, plain, right_rows
from tests.runs.test_sabotage import sabotages
from tests.strategies import machines_with_inputs, tries
from tm2tfr.base.errors import CheckpointError
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.runs import long_run
from tm2tfr.runs import run as runs
from tm2tfr.runs.blocks import RowBlock, as_rows
from tm2tfr.runs.comparison import Trace, check
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.plan import RunOptions
from tm2tfr.sources.turing.blocks import TuringBlocks
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import prompt
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CLASS = Universal(states=8, symbols=5)
RIGHT: Any = {("go", "1"): ("go", "1", 1)}
ACCEPTS_AT_ONCE = Machine(transitions=RIGHT, start="accept", blank="_", accept=("accept",), name="at-once")
STOPS_AT_ONCE = Machine(transitions=RIGHT, start="go", blank="_", name="no-rule-for-the-blank")


@cache
def decoder_of(universal: Universal) -> Decoder:
    return compile_universal(universal)


def in_the_prompt(machine: Machine, seed: int | None = None) -> tuple[Universal, Decoder]:
    universal = CLASS.holding(machine, seed=seed)
    return universal, decoder_of(universal)


def row_by_row(decoder: Decoder, universal: Universal, word: str, limit: int | None, **more: Any) -> Trace:
    truth = UniversalTruth(universal, word, max_steps=limit)
    return check(decoder, truth, engine=Dense(), max_steps=limit, **more)


def rows_of(blocks: list[RowBlock], decoder: Decoder) -> list[Row]:
    return [row for block in blocks for row in as_rows(block, decoder)]


# ── the reference ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=tries(300), deadline=None)
@given(machines_with_inputs(), st.none() | st.integers(0, 9), st.integers(0, 40), st.integers(1, 9))
def test_blocks_of_the_reference_are_its_rows(case: tuple[Machine, str], seed: int | None, limit: int, size: int) -> None:
    universal, decoder = in_the_prompt(case[0], seed)
    want = UniversalTruth(universal, case[1], max_steps=limit)
    run = TuringBlocks(decoder, UniversalTruth(universal, case[1]), limit).run(case[1])
    assert right_rows(run, size, decoder) == list(want.rows())
    assert run.result() == want.result()


# ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=tries(200), deadline=None)
@given(machines_with_inputs(), st.integers(0, 60))
def test_the_same_trace_as_row_by_row(case: tuple[Machine, str], limit: int) -> None:
    universal, decoder = in_the_prompt(case[0])
    want = row_by_row(decoder, universal, case[1], limit, keep_rows=True)
    got, blocks = carried_out(LongRun(decoder, case[1], machine=universal, max_steps=limit))
    assert plain(got) == plain(want)
    assert rows_of(blocks, decoder) == list(want.rows)
    assert got.agrees


@pytest.mark.parametrize(
    ("machine", "word", "said"),
    [
        (load("chapter"), "11", ("accept", 6)),
        (load("chapter"), "111", ("reject", 4)),
        (load("busy-beaver-3"), "", ("halt", 22)),
        (load("left-edge"), "1", ("accept", 3)),
        (ACCEPTS_AT_ONCE, "1", ("accept", 1)),
        (STOPS_AT_ONCE, "", ("halt", 1)),
        (STOPS_AT_ONCE, "11", ("halt", 3)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_verdicts_and_halting(machine: Machine, word: str, said: tuple[str, int]) -> None:
    universal, decoder = in_the_prompt(machine)
    got, _ = carried_out(LongRun(decoder, word, machine=universal))
    assert (got.agrees, got.machine, got.input, got.blank) == (True, machine.name, word, machine.blank)
    assert (got.result.outcome, got.answer, got.T) == (said[0], *said)
    assert plain(got) == plain(row_by_row(decoder, universal, word, None))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "left-edge", "busy-beaver-4"])
def test_a_sabotage_is_caught_at_the_same_cell_with_the_same_cause(name: str) -> None:
    universal, decoder = in_the_prompt(load(name))
    caught = 0
    for path, broken in sabotages(decoder, seed=3)[::6]:
        for word in ("", "11"):
            if "1" not in (universal.right.input_alphabet or ()) and word:
                continue
            want = row_by_row(broken, universal, word, 60)
            got, _ = carried_out(LongRun(broken, word, machine=universal, max_steps=60))
            assert plain(got) == plain(want), path
            caught += want.divergence is not None
    assert caught > 2


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), [("busy-beaver-5", ""), ("palindromes", "abba"), ("chapter", "1" * 8)])
def test_a_run_that_is_resumed_even_in_its_prompt_goes_on_as_if_nothing_had_been(name: str, word: str) -> None:
    universal, decoder = in_the_prompt(load(name))
    want, blocks = carried_out(LongRun(decoder, word, machine=universal, max_steps=400))
    chance, got, places = random.Random(5), list[RowBlock](), list[int]()
    run = LongRun(decoder, word, machine=universal, max_steps=400)
    with pytest.MonkeyPatch.context() as patch:
        while not run.done:
            size = chance.randrange(1, 9) if run.standing.positions < 60 else chance.randrange(1, 90)
            patch.setattr(long_run, "FIRST_BLOCK", size)
            run.advance(got.append)
            if run.done:
                break
            places.append(run.standing.positions)
            saved = {key: array.copy() for key, array in run.save().items()}
            run = LongRun(decoder, word, machine=universal, max_steps=400, saved=saved)
    assert min(places) < len(universal.description), "not even once was it resumed in the description"
    assert plain(run.trace(Fast())) == plain(want)
    assert rows_of(got, decoder) == rows_of(blocks, decoder)


def test_a_run_that_is_begun_again_on_another_word() -> None:
    universal, decoder = in_the_prompt(load("chapter"))
    run = LongRun(decoder, "11", machine=universal)
    for word in ("11", "", "1111", "1"):
        run.restart(word)
        assert carried_out(run)[0] == carried_out(LongRun(decoder, word, machine=universal))[0]


def test_without_a_machine_the_tokens_are_fed_and_nothing_is_compared() -> None:
    universal, decoder = in_the_prompt(load("chapter"))
    trace, blocks = carried_out(LongRun(decoder, "11", machine=None, fed=prompt(universal, "11")))
    assert (trace.answer, trace.T, trace.compared, trace.result, trace.agrees) == ("accept", 6, 0, None, False)
    assert rows_of(blocks, decoder) == list(UniversalTruth(universal, "11").rows())


# ── recorded ────────────────────────────────────────────────────────────────────────────────────────────────
def test_rows_in_a_file_are_those_of_the_table(tmp_path: Path) -> None:
    universal, decoder = in_the_prompt(load("chapter"))
    texts = []
    for engine in ("fast", "dense"):
        out = tmp_path / f"{engine}.csv"
        trace = runs.carried_out(decoder, "11", universal, RunOptions(engine=engine, out=out, keep_rows=False))
        assert trace.agrees
        texts.append(out.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == trace.tokens + 1


@pytest.mark.slow
def test_a_checkpoint_is_one_of_the_machine_in_the_prompt(tmp_path: Path) -> None:
    universal, decoder = in_the_prompt(load("busy-beaver-5"))
    files = {"checkpoint": tmp_path / "run.npz", "engine": "fast", "keep_rows": False}
    first = runs.carried_out(decoder, "", universal, RunOptions(max_steps=300, **files))
    resumed = RunOptions(max_steps=900, resume=tmp_path / "run.npz", engine="fast", keep_rows=False)
    further = runs.carried_out(decoder, "", universal, resumed)
    assert (first.T, further.answer, further.agrees) == (None, "limit", True)
    assert plain(further) == plain(row_by_row(decoder, universal, "", 900))
    shuffled = CLASS.holding(load("busy-beaver-5"), seed=1)
    with pytest.raises(CheckpointError, match="with another machine to compare with"):
        runs.carried_out(decoder, "", shuffled, resumed)


CHAPTER = tm2tfr.Universal(states=8, symbols=4).holding(tm2tfr.load("chapter"))


def changed(path: str, by: float) -> Decoder:
    """Return the decoder with the first entry of a matrix multiplied."""
    decoder = tm2tfr.compile(CHAPTER)
    matrix = matrices(decoder)[path]
    row, column, value = next(matrix.entries())
    return replaced(decoder, {path: matrix.with_entry(row, column, by * value)})


@pytest.mark.slow
def test_the_vectors_say_which_rule_is_found() -> None:
    ends = tm2tfr.activations(CHAPTER, "11", 12)["rule"]
    assert (ends["r_q"], ends["r_a"], ends["[r*_q=q]"]) == ("q1", "x", 0)
    assert tm2tfr.activations(CHAPTER, "11", 39)["rule"] == {
        "r_q": None,
        "r_a": None,
        "r*_q": "q1",
        "r*_a": "x",
        "out": "→ACC",
        "[r*_q=q]": 1,
        "[r*_a=a]": 1,
    }
    assert "rule" not in tm2tfr.activations("chapter", "11", 2)


def test_a_mean_of_rules_where_there_is_none() -> None:
    halting = tm2tfr.Universal(states=4, symbols=2).holding(tm2tfr.load("busy-beaver-2"))
    last = tm2tfr.check(halting).tokens - 1
    rule = tm2tfr.activations(halting, None, last)["rule"]
    assert (rule["r*_q"], rule["[r*_q=q]"], rule["[r*_a=a]"]) == ("⟨0.5·A + 0.5·B⟩", 0, 1)


def test_a_cause_names_the_layer_the_head_and_the_rule() -> None:
    found = tm2tfr.check(changed("layers.6.heads.0.output", -1), "11", engine="dense", max_steps=8).divergence
    assert found is not None
    assert str(found).splitlines() == [
        "position 34: y should be (q1,_,+1), is HALT",
        "cause: layer 6 (find rule), attention at position 34: r*_q should be q0, is ⟨-1·q0⟩",
        "  the head looked where it should: its value or output weights are wrong",
        "  the rule q0,1 →(q1,_,+1), at position 2",
    ]
    found = tm2tfr.check(changed("layers.4.heads.0.query", 0), "11", engine="dense", max_steps=8).divergence
    assert found is not None
    assert found.cause is not None
    assert found.cause.attention is not None
    assert (found.cause.layer, found.cause.attention.head) == (4, "latest write")
    assert found.cause.about == "the rule q4,x →(q4,x,-1), at position 28"


def test_the_summary_is_that_of_the_machine() -> None:
    summary = tm2tfr.check(CHAPTER, "11", engine="dense").as_dict()
    assert {name: summary[name] for name in ("machine", "input", "outcome", "steps", "tokens", "T", "final_tape")} == {
        "machine": "chapter",
        "input": "11",
        "outcome": "accept",
        "steps": 6,
        "tokens": 40,
        "T": 6,
        "final_tape": "_x",
    }
