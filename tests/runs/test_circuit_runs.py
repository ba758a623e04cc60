"""Runs of circuits: the engine of a recorded one, and many inputs up to the first that differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.base.errors import UsageError
from tm2tfr.runs.batches.batch import ComparedRuns
from tm2tfr.runs.batches.checked import checked_inputs
from tm2tfr.runs.choose import engines
from tm2tfr.runs.plan import RunOptions
from tm2tfr.sources.circuit.blocks import inputs
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CIRCUIT = tm2tfr.load("full-adder")
DECODER = tm2tfr.compile(CIRCUIT)


def checked_bits(decoder: Decoder, words: Sequence[str], name: str) -> ComparedRuns:
    return checked_inputs(decoder, CIRCUIT, words, RunOptions(engine=name, max_steps=None), tokens_alone=True)


def test_a_short_run_of_a_circuit_is_dense_whether_it_is_recorded_or_not() -> None:
    """Its rows are read one by one in any case, and nothing has to be compiled for that."""
    for options in (RunOptions(), RunOptions(out=Path("rows.csv"))):
        assert [found.name for found, _ in engines(DECODER, 3, options)] == ["dense"]


@pytest.mark.parametrize("name", ["dense", "exact"])
def test_all_inputs_agree_bit_by_bit(name: str) -> None:
    found = checked_bits(DECODER, inputs(CIRCUIT, None, 0), name)
    assert (found.runs, found.bits, found.agrees, found.failure) == (8, 16, True, None)
    assert found.as_dict()["engine"] == name


def test_the_first_run_that_differs_is_the_last_and_says_why() -> None:
    path = "layers.1.feed_forward.output"
    wrong = replaced(DECODER, {path: matrices(DECODER)[path].with_entry(18, 7, -1.0)})  # the case 111
    found = checked_bits(wrong, inputs(CIRCUIT, None, 0), "dense")
    assert (found.runs, found.agrees) == (8, False)
    assert found.failure is not None
    assert found.failure.input == "111"
    assert found.failure.divergence is not None
    assert found.failure.divergence.cause is not None
    assert found.failure.divergence.cause.about == "position 2 answers net sum: XOR(a, b, c)"
    cause = found.as_dict()["failure"]["divergence"]["cause"]
    assert cause["about"] == found.failure.divergence.cause.about


def test_no_inputs_agree_with_nothing() -> None:
    found = checked_bits(DECODER, (), "dense")
    assert (found.runs, found.agrees) == (0, False)


def test_the_cause_in_a_machine_has_no_gate() -> None:
    decoder = tm2tfr.compile("chapter")
    path = "layers.1.feed_forward.output"
    first = next(iter(matrices(decoder)[path].entries()))
    wrong = replaced(decoder, {path: matrices(decoder)[path].with_entry(first[0], first[1], 3.0)})
    found = tm2tfr.check(wrong, "1111").divergence
    assert found is not None
    assert found.cause is not None
    assert "about" not in found.cause.as_dict()


def test_a_batch_shows_what_came_out_in_words() -> None:
    pytest.importorskip("numba", reason="the fast engine needs Numba: pip install 'tm2tfr[fast]'")
    batch = tm2tfr.check_batch(tm2tfr.load("binary-adder", bits=4), ["3+5", "15+1"])
    assert batch.shown == ("e = 8, c5 = 0", "e = 0, c5 = 1")
    assert tm2tfr.check_batch("palindromes", ["aba", "ab"]).shown == ("accept", "reject")


def test_compile_takes_the_parameters_of_a_shipped_circuit() -> None:
    assert tm2tfr.compile("parity", bits=100) == tm2tfr.compile(tm2tfr.load("parity", bits=100))
    assert tm2tfr.compile("random", gates=9, seed=3) == tm2tfr.compile(tm2tfr.load("random", gates=9, seed=3))
    with pytest.raises(UsageError, match=r"compile has no option 'bit' \(did you mean 'bits'\?\): use one of .*, bits"):
        tm2tfr.compile("parity", bit=3)
    with pytest.raises(
        UsageError, match=r"compile has no option 'varient' \(did you mean 'variant'\?\): use one of left_boundary"
    ):
        tm2tfr.compile("chapter", varient="paper")  # a slip
    with pytest.raises(UsageError, match="compile has no option 'heads': use one of left_boundary"):
        tm2tfr.Subject.of("chapter", heads=3)
    with pytest.raises(UsageError, match="chapter is not a shipped circuit, and only these have parameters: omit bits"):
        tm2tfr.compile("chapter", bits=3)
