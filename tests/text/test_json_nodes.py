"""JSON with places: what it means is what Python's own reader says, and what is no JSON is refused where it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.json_nodes import compose_json
from tm2tfr.base.text.nodes import List, Map, Node, Scalar
from tm2tfr.base.text.source import SourceText

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def value(node: Node | None) -> Any:
    """Return what a node means in Python."""
    if isinstance(node, Map):
        return {value(key): value(item) for key, item in node.pairs}
    if isinstance(node, List):
        return [value(item) for item in node.items]
    assert isinstance(node, Scalar)
    return json.loads(node.text) if node.plain else node.text


def compose(text: str) -> Node | None:
    return compose_json(SourceText(text, "f"))


@pytest.mark.slow
@settings(max_examples=tries(1_000))
@given(given=VALUES, indent=st.sampled_from([None, 0, 3, "\t"]), ascii=st.booleans())
def test_it_means_what_python_says(given: Any, indent: int | str | None, ascii: bool) -> None:
    text = json.dumps(given, indent=indent, ensure_ascii=ascii)
    assert value(compose(text)) == given


@pytest.mark.slow
@settings(max_examples=tries(2_000))
@given(
    given=VALUES,
    at=st.integers(0, 60),
    text=st.sampled_from([*'{}[],:"\\ 0-e.t', "true", "//", "\n"]),
    cut=st.integers(0, 3),
)
def test_a_damaged_text_is_refused_if_python_refuses_it(given: Any, at: int, text: str, cut: int) -> None:
    whole = json.dumps(given)
    damaged = whole[:at] + text + whole[at + cut :]
    try:
        want = json.loads(damaged, parse_constant=int)
        json.dumps(want, ensure_ascii=False).encode()  # half a character is none
    except (ValueError, RecursionError):
        with pytest.raises(SpecError, match=r"^f:\d+:\d+: "):
            compose(damaged or " ,")
    else:
        assert value(compose(damaged)) == want


def test_nodes_know_their_places() -> None:
    root = compose('{\n\t"a": [1, "x\\u0041"]\n}\n')
    assert isinstance(root, Map)
    ((key, items),) = root.pairs
    assert (key.start, key.end) == ((1, 1), (1, 4))
    assert isinstance(items, List)
    number, word = items.items
    assert (number, number.start, number.end) == (Scalar((1, 7), (1, 8), "1", plain=True), (1, 7), (1, 8))  # type: ignore[arg-type]
    assert isinstance(word, Scalar)
    assert (word.text, word.plain, word.start, word.end) == ("xA", False, (1, 10), (1, 19))


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_is_no_document(text: str) -> None:
    assert compose(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[01]", "f:1:2: expected a value, found '01': add it, or remove what is not JSON"),
        ("[1 2]", "f:1:4: expected a comma or ']', found '2': add it, or remove what is not JSON"),
        ('{"a": 1 "b": 2}', "f:1:9: expected a comma or '}', found '\"b\"': add it, or remove what is not JSON"),
        ("[NaN]", "f:1:2: expected a value, found 'NaN': put the text in double quotes"),
        ("[,]", "f:1:2: expected a value, found ',': add it, or remove what is not JSON"),
        ("{,}", "f:1:2: expected a key in double quotes, found ',': add it, or remove what is not JSON"),
        ("[1,]", "f:1:4: there is a comma before this ']': remove the comma"),
        ('{"a"', "f:1:5: expected a colon after the key, but the text ends: complete it"),
        ('{"a":', "f:1:6: expected a value, but the text ends: complete it"),
        ("[\n1", "f:2:2: the text ends, but the '[' in line 1 is not closed: add ']'"),
        ("[" * 99_999, "f:1:18: the text is nested more than 16 levels deep: check that this is the right file"),
    ],
)
def test_what_is_no_json(text: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        compose(text)
    assert str(caught.value).split("\n")[0] == said
