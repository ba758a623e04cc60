"""Tables as boxes: each combination in exactly one of them, and exactly one way fires where its value is the case."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.sequence.compiler.codes import BitForm, Box, Code, Time, added, boxes, complement, of_bits, ways
from tm2tfr.sources.sequence.graph import Item

Table = dict[tuple[Item, ...], Item]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Tables over up to three sources, some combinations left out; 0 and False, 1 and True are different results."""
    width, values = draw(st.integers(1, 3)), ["a", "b", "c", 4]
    every = list(product(values[: draw(st.integers(1, 4))], repeat=width))
    chosen = draw(st.lists(st.sampled_from(every), unique=True, min_size=1))
    return {each: draw(st.sampled_from([0, False, 1, True, "x"])) for each in sorted(chosen, key=str)}


@given(tables())
@settings(max_examples=tries(400))
def test_each_combination_is_in_one_box(table: Table) -> None:
    assert_is_partition(boxes(table), table)


def assert_is_partition(found: list[tuple[Box, Item]], table: Table) -> None:
    """Assert that each combination is in exactly one box, which has its result."""
    for combination, result in table.items():
        ((value, kind),) = [
            (value, type(value))
            for box, value in found
            if all(own in some for own, some in zip(combination, box, strict=True))
        ]
        assert (value, kind) == (result, type(result))


def test_what_makes_no_difference_is_one_box() -> None:
    table: Table = {(a, b): b == "y" for a in "abcd" for b in "xyz"}
    assert dict(boxes(table)) == {
        (frozenset("abcd"), frozenset("y")): True,
        (frozenset("abcd"), frozenset("xz")): False,
    }
    assert boxes({}) == []


def test_a_disjunction_of_many_sources_has_few_boxes() -> None:
    """Of (a and b) or (c and d) or …: the first conjunction that is true, or for each the part that is not."""
    table: Table = {
        each: any(map(all, zip(each[::2], each[1::2], strict=True))) for each in product([False, True], repeat=10)
    }
    found = boxes(table)
    assert len(found) <= 3**5
    assert_is_partition(found, table)


@pytest.mark.parametrize("width", [7, 8])
def test_merged_boxes_are_a_partition_with_the_results_of_the_table(width: int) -> None:
    chosen = random.Random(width)
    table: Table = {
        each: chosen.choice([0, False, True]) for each in product([0, 1], repeat=width) if chosen.random() < 0.9
    }
    found = boxes(table)
    assert len(found) < len(table)
    assert_is_partition(found, table)


def code(name: str) -> Code:
    """Return a code of three values, of which one comes about in two ways, and two of them share a further bit."""
    found: BitForm = {f"{name}.found": 1}
    one, two = {f"{name}.1": 1}, {f"{name}.2": 1}
    return Code({1: ((one, found),), 2: ((two, found), (complement(found),)), 3: (({f"{name}.3": 1}, found),)}, Time(1))


STATES: list[tuple[int, dict[str, int]]] = [(value, {str(value): 1, "found": 1}) for value in (1, 2, 3)] + [(2, {"1": 1})]
"""The value, and the bits that are 1; where nothing is found, a picked value is of no account."""


@given(st.sets(st.sampled_from([1, 2, 3]), min_size=1), st.sets(st.sampled_from([1, 2, 3]), min_size=1))
@settings(max_examples=tries(60))
def test_one_way_fires(first: set[int], second: set[int]) -> None:
    whole = frozenset[Item]([1, 2, 3])
    every = list(ways([code("p"), code("q")], (frozenset(first), frozenset(second)), [whole, whole]))
    for (a, p), (b, q) in product(STATES, STATES):
        bits = {"1": 1, **{f"p.{k}": v for k, v in p.items()}, **{f"q.{k}": v for k, v in q.items()}}
        if "found" not in p:
            bits["p.1"] = 0  # what is picked there is a mixture, which no bit reads without `found`
        fired = [all(sum(c * bits.get(d, 0) for d, c in form.items()) == 1 for form in way) for way in every]
        assert sum(fired) == (a in first and b in second)


def test_forms_are_added() -> None:
    assert added([{"a": 1, "b": 2}, {"b": -2, "c": 1}]) == {"a": 1, "c": 1}
    assert added([{"a": 1}, {"a": 2}], times=[3, -1]) == {"a": 1}
    assert complement({"a": 1}) == {"1": 1, "a": -1}
    assert of_bits({"x": {"a": 1}}, Time(2, 1)).linear
    assert not code("p").linear
