"""The functions that are compiled, beside those of the interpreter, which were written apart from them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.rasp.program import digits
from tm2tfr.sources.rasp.values import BINARY, CONVERSIONS, UNARY, ValueRefused
from tm2tfr.sources.rasp.values import RELATIONS as ASKED
from tm2tfr.sources.sequence.functions import RELATIONS, NoValueError, applied, is_number, whole

numbers = st.one_of(st.integers(-12, 12), st.fractions(-9, 9, max_denominator=6))
atoms = st.one_of(st.sampled_from(["", "a", "b", "ab", "3", "-1", "x y"]), st.booleans(), numbers)


def outcome(function: Any, *values: Any) -> Any:
    """Return the value with its kind, or None where there is none."""
    try:
        found = function(*values)
    except (NoValueError, ValueRefused, TypeError):
        return None
    return type(found) is str, type(found) is bool, whole(found)


def same(name: str, theirs: Any, *values: Any) -> bool:
    """Return whether both are the same; a text times a number is one that only the interpreter has."""
    own = tuple(map(whole, values))
    return bool(outcome(lambda: applied(name, own, {})) == outcome(theirs, *values))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(BINARY) - {"^", "*", "and", "or"}))
@given(left=atoms, right=atoms)
@settings(max_examples=tries(200))
def test_of_two_values(name: str, left: Any, right: Any) -> None:
    assert same(name, BINARY[name], left, right)


@given(left=st.one_of(numbers, st.booleans()), right=st.one_of(numbers, st.booleans()))
@settings(max_examples=tries(200))
def test_products(left: Any, right: Any) -> None:
    assert same("*", BINARY["*"], left, right)


@given(left=numbers, right=st.integers(-6, 6))
@example(left=0, right=-1)
@example(left=Fraction(1, 2), right=-3)
@settings(max_examples=tries(200))
def test_whole_powers(left: Any, right: int) -> None:
    assert same("^", BINARY["^"], left, right)


@pytest.mark.parametrize("name", ["and", "or"])
@given(left=st.booleans(), right=st.booleans())
@settings(max_examples=tries(20))
def test_of_truth_values(name: str, left: bool, right: bool) -> None:
    assert same(name, BINARY[name], left, right)


@pytest.mark.parametrize("name", sorted(UNARY))
@given(value=atoms)
@example(value=Fraction(1, 2))
@example(value=Fraction(3, 2))
@example(value=Fraction(-5, 2))
@settings(max_examples=tries(200))
def test_of_one_value(name: str, value: Any) -> None:
    assert same(name, UNARY[name], value)


@pytest.mark.parametrize("name", ["int", "float", "bool"])
@given(value=st.one_of(st.sampled_from(["3", "-1", "0", "x"]), st.integers(-5, 5), st.booleans()))
@settings(max_examples=tries(100))
def test_conversions(name: Any, value: Any) -> None:
    assert same(name, CONVERSIONS[name], value)


@pytest.mark.parametrize("name", sorted(RELATIONS))
@given(key=atoms, query=atoms)
@settings(max_examples=tries(200))
def test_relations(name: str, key: Any, query: Any) -> None:
    assert outcome(RELATIONS[name], key, query) == outcome(ASKED[name], key, query)


def test_choices_and_tables() -> None:
    assert applied("if", ("a", True, "b"), {}) == "a"
    assert applied("if", ("a", "", "b"), {}) == "b"
    assert applied("in", ("a",), {"a": True}) is True
    assert applied("in", ("b",), {"a": True}) is False
    assert applied("table", ("a", 1), {("a", 1): 5}) == 5


def test_whole_numbers_are_never_fractions() -> None:
    assert type(whole(Fraction(4, 2))) is int
    half = whole(Fraction(1, 2))
    assert half == Fraction(1, 2)
    assert hash(half) == hash(Fraction(1, 2)) == hash(0.5)
    assert half in {Fraction(1, 2)}
    assert half != whole(Fraction(1, 3))
    assert is_number(half)
    assert not is_number(True)
    assert not is_number("1")


@pytest.mark.parametrize(("exponent", "shift"), [(0, -1), (0, -8), (4000, 0), (8001, -1), (12345, 17)])
def test_numbers_are_written_out_however_long(exponent: int, shift: int) -> None:
    for number in (10**exponent + shift, -(10**exponent) - shift):
        sign, text = (-1, digits(number)[1:]) if number < 0 else (1, digits(number))
        value = 0
        for start in range(0, len(text), 1000):
            value = value * 10 ** len(text[start : start + 1000]) + int(text[start : start + 1000])
        assert sign * value == number
        assert not text.startswith("0") or text == "0"
