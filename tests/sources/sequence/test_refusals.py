"""What cannot be compiled is refused: with the place in the text, what there is too much of, and what to do."""

from __future__ import annotations

import re

import pytest

from tests.sources.rasp.running import read
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.sequence.compiler import Limits, compile_graph
from tm2tfr.sources.sequence.selections import AttentionValues

HEADER = "# alphabet: abc\n"
SAME = "same = select(tokens, tokens, ==);\n"


def refused(text: str, length: int = 10, limits: Limits | None = None) -> str:
    """Return what is said where a program is refused."""
    program = read(HEADER + text)
    with pytest.raises(CompileError) as caught:
        compile_graph(lowered(program, [("it", program.sop)], file="it.rasp"), length=length, limits=limits)
    return str(caught.value)


def test_too_many_values_of_an_attention() -> None:
    said = refused("m = aggregate(select(tokens, tokens, ==), indices);", 12, Limits(values=20))
    assert re.match(r"it\.rasp:2:\d+: 'm' can have more than 20 values on inputs of up to 12 tokens", said)
    assert "round it, use a smaller max_length, or allow more with max_values" in said


def test_too_many_values_of_a_function() -> None:
    said = refused("product = 10 * indices + length;", 10, Limits(values=30))
    assert re.match(r"it\.rasp:2:\d+: 'product' can have more than 30 values on inputs of up to 10 tokens", said)


PAIR = "twice = selector_width(select(often, often, ==));"


@pytest.mark.parametrize(
    ("text", "said", "most", "lengths"),
    [
        (
            f"{SAME}often = selector_width(same);\n{PAIR}",
            "it.rasp:4:9: this selector compares 'often' and 'indices', which can have more than 100 values together",
            100,
            {12},
        ),
        (
            "before = aggregate(select(tokens, tokens, <) or select(indices, indices + 1, ==), 1);",
            "it.rasp:2:20: this selector compares 'tokens' and 'indices', which can have more than 30 values together",
            30,
            set(),
        ),
        (
            f"{SAME}mean = aggregate(same, indices);\nsame_mean = aggregate(select(mean, mean, ==), tokens);",
            "it.rasp:3:8: 'mean' can have more than 40 values",
            40,
            {12},
        ),
    ],
)
def test_too_many_values_are_refused_as_soon_as_the_longest_inputs_are_known(
    text: str, said: str, most: int, lengths: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, sets = set[int](), AttentionValues.sets

    def watched(self: AttentionValues, n: int) -> list[int]:
        reached.add(n)
        return sets(self, n)

    monkeypatch.setattr(AttentionValues, "sets", watched)
    what, _, remedy = refused(text, 12, Limits(values=most)).splitlines()[0].rpartition(": ")
    assert (what, reached) == (f"{said} on inputs of up to 12 tokens", lengths)
    assert remedy.removeprefix("round it, ") == "use a smaller max_length, or allow more with max_values"


def test_too_many_entries_of_a_table() -> None:
    text = f"{SAME}hist = selector_width(same);\nodd = (hist * indices + length) % 2;"
    said = refused(text, 10, Limits(units=50))
    assert re.match(r"it\.rasp:4:\d+: 'odd' is tabulated over ", said)
    assert ", which have more than 50 combinations of values on inputs of up to 10 tokens: " in said
    assert "use a smaller max_length, or allow more with max_units" in said


@pytest.mark.parametrize("condition", ["length > 3", "length > 3 and half"])
def test_different_values_that_look_the_same(condition: str) -> None:
    text = f'half = aggregate(select(indices, 9, <), indicator(tokens == "a")) > 0.5;\nw = "1" if {condition} else 1;'
    said = refused(text)
    assert re.match(r"it\.rasp:3:\d+: 'w' has different values that look the same, such as a number and its text", said)
    assert "give it values of one type" in said


def test_what_is_just_allowed_compiles() -> None:
    program = read(f"{HEADER}m = round(aggregate(select(tokens, tokens, ==), indices));")
    graph = lowered(program, [("m", program.sop)])
    assert compile_graph(graph, length=4, limits=Limits(values=12)).outputs[0].labels == ("0", "1", "2", "3")
