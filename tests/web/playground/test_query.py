"""Queries of the playground are checked, and its list of shipped sources is true."""

from __future__ import annotations

from typing import Any

import pytest

from tm2tfr.base.errors import UsageError
from tm2tfr.sources.registry import kind_of_text
from tm2tfr.web.playground.query import MOST_INPUT, MOST_SOURCE, Query, shipped, shipped_text


def test_a_query_is_what_json_says() -> None:
    found = Query.of(
        {"source": "x", "format": None, "input": "1", "options": {"max_steps": 5, "mask": None}, "name": "a b/c"}
    )
    assert found == Query(source="x", input="1", options={"max_steps": 5}, name="a-b-c")
    assert found.steps(300) == 5
    assert Query(source="").steps(300) == 300
    assert Query(source="", options={"max_steps": 5, "left_boundary": "chapter"}).compiling == {"left_boundary": "chapter"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, 'a request must be an object, not None: send {"source": …}'),
        ({}, 'a request must have a source: send {"source": …}'),
        ({"source": None}, "source must be text, not None: put it in quotes"),
        ({"source": "x" * (MOST_SOURCE + 1)}, "source has 1,048,577 characters: use at most 1,048,576"),
        ({"source": "", "input": "x" * (MOST_INPUT + 1)}, "input has 10,001 characters: use at most 10,000"),
        ({"source": "", "input": 11}, "input must be text, not 11: put it in quotes"),
        ({"source": "", "format": 1}, "format must be text, not 1: put it in quotes"),
        ({"source": "", "options": [1]}, "options must be an object, not [1]: use {} for none"),
        ({"source": "", "options": {"mask": 1}}, "mask must be text, not 1: put it in quotes"),
        (
            {"source": "", "options": {"max_steps": True}},
            "the step limit must be a whole number from 0 to 5,000, not True: use for example 300",
        ),
        (
            {"source": "", "options": {"max_step": 1}},
            "unknown option 'max_step' (did you mean 'max_steps'?): use max_steps, left_boundary, variant, basis, "
            "sop, alphabet, max_length, mask, max_values, max_units, unbounded, define, compare, answers, steep",
        ),
        (
            {"source": "", "options": {"steep": 1}},
            "steep must be true or false, not 1: omit it, or send true",
        ),
        (
            {"source": "", "imput": ""},
            "unknown field 'imput' (did you mean 'input'?): use source, format, input, options, name, what, to",
        ),
    ],
)
def test_what_is_no_query_is_told(given: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Query.of(given)
    assert str(caught.value) == said


@pytest.mark.slow
def test_each_shipped_source_is_of_the_kind_and_the_format_that_the_list_says() -> None:
    names = [each["name"] for each in shipped()]
    assert len(names) == len(set(names)) > 140
    for each in shipped():
        text = shipped_text(each["name"])
        assert kind_of_text(text, format=each["format"])[0] == each["kind"], each["name"]
        assert kind_of_text(text)[0] == each["kind"], each["name"]
