"""Many runs of circuits, RASP programs and formulas in one call: the rows, ends and differences of the runs one by one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.runs.batches.one_by_one import assert_same, equal
from tests.runs.test_sabotage import sabotages
from tm2tfr.base.errors import CompileError, EngineError, InputError
from tm2tfr.base.text.words import written
from tm2tfr.runs.batches import labelled, running
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

CASES: dict[str, dict[str, Any]] = {
    "full-adder": {},
    "half-adder": {"variant": "paper-hard"},
    "sort": {},
    "since-b": {},
    "prime-count": {},
}
"""The name of a shipped program, and options of its construction."""


def words_of(program: Any, many: int, longest: int = 6) -> list[str]:
    """Random inputs, one of them twice."""
    dice = random.Random(many)
    if isinstance(program, tm2tfr.Circuit):
        found = ["".join(dice.choices("01", k=len(program.inputs))) for _ in range(many)]
    else:
        found = [written(dice.choices(program.alphabet, k=dice.randint(1, longest))) for _ in range(many)]
    return [*found, found[0]]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_row_and_end_is_that_of_the_run_by_itself(name: str) -> None:
    subject = tm2tfr.Subject.of(name, options=CASES[name])
    words = words_of(subject.right, 5)
    batch = tm2tfr.check_batch(subject.decoder, words)
    assert_same(batch, subject.decoder, subject.right, words)
    assert batch.agrees
    assert_same(tm2tfr.run_batch(subject.decoder, words), subject.decoder, subject.right, words)
    if isinstance(subject.right, tm2tfr.Circuit):
        cut = tm2tfr.check_batch(subject.decoder, words, max_steps=1)
        assert_same(cut, subject.decoder, subject.right, words, 1)
        assert set(cut.outcomes) | set(cut.results.outcomes if cut.results else ()) == {"limit"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_sabotaged_weights(name: str) -> None:
    subject = tm2tfr.Subject.of(name, options=CASES[name])
    words, differ = words_of(subject.right, 3), 0
    for _, broken in random.Random(3).sample(sabotages(subject.decoder, 5), 4):
        batch = tm2tfr.check_batch(broken, words)
        assert_same(batch, broken, subject.right, words)
        differ += len(batch.failures) > 0
        for run in batch.failures[:1].tolist():
            assert batch.divergence(run) == tm2tfr.check(broken, words[run], engine=batch.engine).divergence
    assert differ > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "path", "entry", "outcomes"),
    [
        ("since-b", "layers.2.heads.0.output", 0, {"refused", "end"}),
        ("prime-count", "layers.2.heads.0.query", 0, {"limit", "end"}),
        ("sort", "token_embedding", 0, {"refused", "end"}),
        ("full-adder", "layers.1.heads.0.query", 1, {"limit", "refused"}),
        ("full-adder", "layers.1.heads.1.output", 0, {"refused", "end"}),
    ],
)
def test_numbers_that_are_too_large(name: str, path: str, entry: int, outcomes: set[str]) -> None:
    """In some words, and there from some position on: what comes before is compared."""
    subject = tm2tfr.Subject.of(name)
    words, matrix = words_of(subject.right, 6), matrices(subject.decoder)[path]
    row, column, _ = list(matrix.entries())[entry]
    broken = replaced(subject.decoder, {path: matrix.with_entry(row, column, 1.7e308)})
    batch = tm2tfr.check_batch(broken, words)
    assert_same(batch, broken, subject.right, words)
    assert set(batch.outcomes) == outcomes
    assert_same(tm2tfr.run_batch(broken, words), broken, subject.right, words)
    for run in batch.refused[:1].tolist():
        with pytest.raises(EngineError):
            batch.trace(run)


@pytest.mark.slow
def test_any_number_of_workers_and_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("full-adder", "since-b"):
        words = words_of(tm2tfr.load(name), 90)
        one = tm2tfr.check_batch(name, words, workers=1)
        assert one.agrees
        with monkeypatch.context() as patched:
            patched.setattr(running, "FIRST", 3)
            patched.setattr(running, "ROWS", 40)
            patched.setattr(labelled, "WORDS", 5)
            patched.setattr(labelled, "WINDOW", 37)
            assert equal(one, tm2tfr.check_batch(name, words, workers=3))
        few = tm2tfr.check_batch(name, words, keep_rows=False, progress=(said := Mock()))
        assert (few.rows, len(few.tokens), few.compared.tolist()) == (one.rows, 0, one.compared.tolist())
        said.assert_called_with(len(words), one.rows)


@pytest.mark.slow
def test_where_a_decoder_stops_is_compared_too() -> None:
    """A position table that is too short: every run differs, at its last row."""
    for name in ("full-adder", "half-adder"):
        decoder, circuit = tm2tfr.compile(name), tm2tfr.load(name)
        table = decoder.position_table
        assert table is not None
        fewer = table.shape[1] - 1
        kept = table.columns < fewer
        entries = table.rows[kept], table.columns[kept], table.values[kept]
        short = replace(decoder, position_table=Matrix((table.shape[0], fewer), *entries))
        found = tm2tfr.check_batch(short, words := words_of(circuit, 3))
        assert_same(found, short, circuit, words)
        assert len(found.failures) == len(words)


def test_words_as_people_write_them() -> None:
    batch = tm2tfr.check_batch("sort", ["cab", '["b", "a"]', "a"])
    assert (batch.offsets.tolist(), batch.agrees) == ([0, 3, 5, 6], True)
    assert batch.results is not None
    assert batch.results.outcomes.tolist() == ["abc", "ab", "a"]
    adder = tm2tfr.check_batch("full-adder", ["101", "1+0+1"])
    assert adder.results is not None
    assert (adder.results.outcomes.tolist(), np.diff(adder.offsets).tolist()) == (["01", "01"], [4, 4])


@pytest.mark.slow
def test_weights_without_a_program() -> None:
    decoder, words = labeller(), ["abca", "b"]
    batch = tm2tfr.run_batch(decoder, words)
    assert (batch.results, batch.outcomes.tolist(), batch.agrees) == (None, ["end", "end"], False)
    for run, word in enumerate(words):
        trace = tm2tfr.run(decoder, word, engine="dense")
        assert trace.tokens == np.diff(batch.offsets)[run]


@pytest.mark.slow
def test_nothing_to_run() -> None:
    for name in ("sort", "since-b", "full-adder"):
        batch = tm2tfr.check_batch(name, [])
        assert (len(batch), batch.rows, batch.offsets.tolist(), batch.agrees) == (0, 0, [0], False)


@pytest.mark.parametrize(
    ("subject", "words", "error", "why"),
    [
        ("sort", ["cab", "cxb"], InputError, r"input 1 \(counted from 0\): sort: token 1 of the input, 'x', is not in the"),
        ("sort", ["cab", ""], InputError, r"input 1 \(counted from 0\): sort: the input is empty: give at least one token"),
        ("sort", ["a", "a" * 11], EngineError, r"input 1 .*the prompt has 11 tokens, and these weights have 10 positions"),
        ("sort-unique", ["ab", "aa"], InputError, r"input 1 \(counted from 0\): .*undefined"),
        ("since-b", ["a", "d"], InputError, r"input 1 \(counted from 0\): since-b: token 1 of the word, 'd', is not in"),
        ("since-b", ["a", 3], InputError, r"input 1 \(counted from 0\) must be text, not 3"),
        ("full-adder", ["000", "0000"], InputError, r"input 1 \(counted from 0\): input of full-adder: 4 bits for 3 "),
    ],
)
def test_what_is_refused(subject: str, words: list[Any], error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        tm2tfr.check_batch(subject, words)


def test_a_limit_beyond_64_bits_is_refused() -> None:
    with pytest.raises(EngineError, match="max_steps is 9,223,372,036,854,775,807: use at most 1,000,000,000,000,000,000"):
        tm2tfr.run_batch("chapter", ["11", ""], max_steps=2**63 - 1)
    assert tm2tfr.run_batch("chapter", ["11", ""], max_steps=10**18).rows == tm2tfr.run_batch("chapter", ["11", ""]).rows


def test_weights_that_cannot_be_run_many_at_a_time_are_refused() -> None:
    soft = tm2tfr.compile("full-adder", variant="paper")
    why = "these weights have layer norms, which the fast engine cannot run: run these inputs one by one, with the dense"
    with pytest.raises(EngineError, match=why):
        tm2tfr.check_batch(soft, ["000"])
    with pytest.raises(CompileError, match="the alphabet of the program is not the vocabulary of these weights: compile"):
        tm2tfr.check_batch(tm2tfr.compile("reverse", alphabet="xyz"), ["cab"], machine="sort")
