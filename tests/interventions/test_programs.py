"""Interventions on runs of RASP programs: s-ops by what they are made of, as far as weights read them."""

from __future__ import annotations

import pytest

import tm2tfr
from tests.interventions.agreeing import EACH, agreeing, differing, moved, subject
from tests.strategies import tries
from tm2tfr.errors import CompileError, UsageError


@pytest.mark.slow
def test_an_s_op_that_is_set_is_seen_by_what_reads_it() -> None:
    found = tm2tfr.intervene(subject("dyck-1"), "(())", {("mean balance", 2): "4/3"})
    assert (found.settings[0].variable, found.agrees) == ("mean s331 1 -1", True)
    token = tm2tfr.intervene(subject("reverse"), "abcab", {("tokens", 0): "c"})
    assert (token.agrees, token.first) == (True, 4)
    assert [answers[0] for answers in token.expected.answers] == ["b", "a", "c", "b", "c"]


@pytest.mark.slow
def test_what_occurs_in_no_run_is_not_compared_and_said() -> None:
    found = tm2tfr.intervene(subject("dyck-1"), "(())", {("found c336", 0): 1})
    assert found.agrees
    assert all("as in no run" in why or "comes together in no run" in why for why in found.explained)


@pytest.mark.slow
def test_what_cannot_be_set_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="steps of balance cannot be set: it is computed from the mean, which can be set"):
        tm2tfr.intervene(subject("dyck-1"), "(())", {("steps of balance", 0): 1})
    with pytest.raises(UsageError, match="position cannot be set: it says where a position is"):
        tm2tfr.intervene(subject("histogram"), "abc", {("position", 0): "1"})
    with pytest.raises(UsageError, match="mean balance@0: mean s331 1 -1 is a number, not 'x': use for example 1/2"):
        tm2tfr.intervene(subject("dyck-1"), "(())", {("mean balance", 0): "x"})
    with pytest.raises(CompileError, match="as in weights for any length: compile it with --max-length"):
        tm2tfr.intervene(tm2tfr.Subject.of("length", options={"unbounded": True}), "aab", {("tokens", 0): "a"})


@pytest.mark.slow
@pytest.mark.parametrize("program", ["dyck-1", "histogram", "running-maximum", "binary-addition"])
def test_patched_weights_do_what_the_program_says(program: str) -> None:
    tried = agreeing(subject(program), EACH * 5 // 4)
    assert tried.causal > 5


@pytest.mark.slow
def test_so_do_exact_ones_and_sabotaged_ones_are_found() -> None:
    agreeing(subject("reverse"), tries(60), engine="exact")
    assert differing(subject("histogram"), 3, words=["abca", "aab", "cabb"]) >= 2


@pytest.mark.slow
def test_what_is_expected_is_not_read_off_the_weights() -> None:
    other, wrong = moved(subject("histogram"), tries(12), ["abca", "bb"])
    assert (other, wrong > 0) == (0, True)
