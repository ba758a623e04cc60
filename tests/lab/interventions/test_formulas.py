"""Interventions on runs of formulas and attention programs: what weights claim, as equations."""

from __future__ import annotations

import pytest

import tm2tfr
from tests.lab.interventions.agreeing import EACH, agreeing, differing, moved, subject, without
from tests.strategies import tries
from tm2tfr.base.errors import UsageError


@pytest.mark.slow
def test_a_subformula_that_is_set_is_seen_by_what_reads_it() -> None:
    found = tm2tfr.intervene(subject("since-b"), "aaca", {("is !s2 s3", 3): 1})
    assert (found.agrees, found.explained) == (True, ())
    counted = tm2tfr.intervene(subject("two-to-three"), "aabb", {("number s2", 4): 3})
    assert (counted.agrees, counted.first) == (True, 4)
    assert [answers[0] for answers in counted.expected.answers] == ["F", "F", "F", "F", "T"]
    assert counted.patched_answers[4][0] == "T"


@pytest.mark.slow
def test_bos_stays_where_it_is_and_means_are_not_set() -> None:
    found = tm2tfr.intervene(subject("since-b"), "aab", {("token", 0): "a"})
    assert found.agrees
    assert "BOS and EOS are where they are in every run" in found.explained
    with pytest.raises(UsageError, match="it is a mean over positions: set what it is rounded to"):
        tm2tfr.intervene(subject("since-b"), "aab", {("at since s5: is s3", 1): 1})
    with pytest.raises(UsageError, match="token@1: 'BOS' is not a value of token"):
        tm2tfr.intervene(subject("since-b"), "aab", {("token", 1): "BOS"})


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["since-b", "dyck-1-by-counting", "flip-flops", "every-a-answered", "hop-1"])
def test_patched_weights_do_what_their_claims_say(formula: str) -> None:
    assert agreeing(subject(formula), EACH).causal > 1


@pytest.mark.slow
def test_so_do_exact_ones_and_sabotaged_ones_are_found() -> None:
    agreeing(subject("two-to-three"), tries(60), engine="exact")
    assert differing(subject("dyck-1-by-counting"), 3, words=["(())", "()()", "())("]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "words"), [("since-b", ["acbc", "bba"]), ("dyck-1-by-counting", ["(())", "())("])])
def test_what_is_expected_is_not_read_off_the_weights(formula: str, words: list[str]) -> None:
    other, wrong = moved(subject(formula), tries(12), words)
    assert (other, wrong > 0) == (0, True)


def test_weights_that_are_wrong_without_any_intervention_are_found() -> None:
    bad = without(subject("since-b"), "layers.2.heads.0.output")
    found = tm2tfr.intervene(bad, "acbc", {("token", 1): "b"})
    assert not found.agrees
    assert "without any intervention, the weights (dense) already differ from the reference:" in str(found)
    assert "position 3: (Q[a] | Q[b]) since Q[b] should be T, is F" in found.broken
    assert found.without.answers[3][0] == "T"
