"""The library against plain Python, on every input up to a length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from tests.sources.rasp.language.running import program
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.model.described import WIDTHS
from tm2tfr.sources.rasp.sops import needed

Word = Sequence[str]


def words(alphabet: str, longest: int) -> Iterator[Word]:
    for length in range(1, longest + 1):
        yield from product(alphabet, repeat=length)


def each(function: Callable[[Word, int], Any]) -> Callable[[Word], list[Any]]:
    return lambda word: [function(word, i) for i in range(len(word))]


def everywhere(function: Callable[[Word], Any]) -> Callable[[Word], list[Any]]:
    return lambda word: [function(word)] * len(word)


LIBRARY: dict[str, Callable[[Word], list[Any]]] = {
    "length": everywhere(len),
    "selector_width(full_s)": everywhere(len),
    "selector_width(select(tokens, tokens, ==))": each(lambda w, i: w.count(w[i])),
    "selector_width(select(tokens, tokens, <))": each(lambda w, i: sum(t < w[i] for t in w)),
    'selector_width(select(tokens, "b", ==))': everywhere(lambda w: w.count("b")),
    'has_focus(select(tokens, "b", ==) and select(indices, indices, <))': each(lambda w, i: "b" in w[:i]),
    'count(tokens, "a")': everywhere(lambda w: w.count("a")),
    'contains(tokens, "a")': everywhere(lambda w: "a" in w),
    "average(indices)": everywhere(lambda w: (len(w) - 1) / 2),
    "max(indices, 2)": each(lambda w, i: max(i, 2)),
    "min(2, indices)": each(lambda w, i: min(i, 2)),
    'max(tokens, "b")': each(lambda w, i: max(w[i], "b")),
    "load_from_location(tokens, length - 1)": everywhere(lambda w: w[-1]),
    'shift(tokens, 1, "-")': lambda w: ["-", *w[:-1]],
    'shift(tokens, -2, "-")': lambda w: [*w[2:], "-", "-"][-len(w) :] if len(w) > 1 else ["-"],
    'mark_last_instance(tokens, "a")': each(lambda w, i: w[i] == "a" and "a" not in w[i + 1 :]),
    'mark_first_instance(tokens, "a")': each(lambda w, i: w[i] == "a" and "a" not in w[:i]),
    'aggregate(select_from_last(tokens, "a"), indices, -1)': everywhere(lambda w: "".join(w).rfind("a")),
    'aggregate(select_from_first(tokens, "a"), indices, -1)': everywhere(lambda w: "".join(w).find("a")),
    "sort(tokens, tokens)": sorted,
    "sort(tokens, -indices)": lambda w: [*w[::-1]],
    'sort(indices, indicator(tokens == "a"))': lambda w: sorted(range(len(w)), key=lambda i: w[i] == "a"),
    "aggregate(select_next_identical(tokens), indices, -1)": each(lambda w, i: "".join(w).find(w[i], i + 1)),
    "hist_nobos": each(lambda w, i: w.count(w[i])),
    "reverse": lambda w: [*w[::-1]],
}


@pytest.mark.slow
@pytest.mark.parametrize("text", list(LIBRARY))
def test_a_function_of_the_library_on_every_input_up_to_length_6(text: str) -> None:
    made = program(f"answer = {text};")
    for word in words("abc", 6):
        assert list(evaluate(made, word).values[made.sop]) == LIBRARY[text](word)


def _most_frequent(word: Word) -> list[str]:
    shown = sorted(dict.fromkeys(word[1:]), key=lambda t: -word.count(t))
    return ["_", *shown, *"§" * (len(word) - 1 - len(shown))]


BOS: dict[str, Callable[[Word], list[Any]]] = {
    "hist_bos": each(lambda w, i: w.count(w[i]) if i else 0),
    "sort_bos": lambda w: [w[0], *sorted(w[1:])],
    "hist2_bos": each(lambda w, i: len({t for t in w[1:] if w.count(t) == w.count(w[i])}) if i else 0),
    "sort_by_most_freq": _most_frequent,
}


@pytest.mark.parametrize("name", list(BOS))
def test_an_example_with_a_beginning_of_sequence_on_every_input_up_to_length_6(name: str) -> None:
    sop = program("a = indices;").library[name]
    for word in words("abc", 5):
        marked = ("_", *word)
        assert list(evaluate(sop, marked).values[sop]) == BOS[name](marked)


def _verdict(prefix: Word, pairs: Sequence[str]) -> str:
    closing = {pair[1]: pair[0] for pair in pairs}
    waiting: list[str] = []
    for token in prefix:
        if token in closing:
            if not waiting or waiting.pop() != closing[token]:
                return "F"
        elif token in closing.values():
            waiting.append(token)
    return "P" if waiting else "T"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pairs", "alphabet", "longest"),
    [
        ("dyck1_ptf", ["()"], "()a", 6),
        ("dyck2_ptf", ["()", "{}"], "(){}", 5),
        ("dyck3_ptf", ["()", "{}", "[]"], "()[]{}", 4),
    ],
)
def test_dyck_on_every_input(name: str, pairs: list[str], alphabet: str, longest: int) -> None:
    sop = program("a = indices;").library[name]
    for word in words(alphabet, longest):
        want = [_verdict(word[: i + 1], pairs) for i in range(len(word))]
        assert list(evaluate(sop, word).values[sop]) == want


HEADS: dict[str, tuple[int, ...]] = {
    "indices": (),
    "tokens[0]": (1,),
    "tokens[-1]": (1, 1),
    '"a" in tokens': (1,),
    "length": (1,),
    "hist_bos": (1,),
    "has_focus(full_s)": (1,),
    'count(tokens, "a")': (1,),
    'contains(tokens, "a")': (1,),
    'shift(tokens, 1, "-")': (1,),
    'mark_last_instance(tokens, "a")': (1,),
    "aggregate(select(length, indices, ==), length)": (1, 1),
    "hist_nobos": (2,),
    "selector_width(full_s)": (2,),
    "reverse": (1, 1),
    "sort_bos": (1, 1),
    "sort(tokens, tokens)": (2, 1),
    "hist2_bos": (2, 1),
    "sort_by_most_freq": (2, 1, 1),
    "dyck1_ptf": (1, 1),
    "dyck2_ptf": (1, 2, 1, 1),
    "dyck3_ptf": (1, 2, 1, 1),
}


@pytest.mark.parametrize("text", list(HEADS))
def test_layers_and_heads_are_those_of_the_authors_interpreter(text: str) -> None:
    made = program(f"answer = {text};")
    assert analyse(made).heads == HEADS[text]


def test_selectors_that_say_the_same_are_merged_into_one_head() -> None:
    made = program(
        "a = aggregate(select(tokens, tokens, ==), indices) + aggregate(select(tokens, tokens, ==), 1) + "
        "aggregate(select(tokens, tokens, <=), 1);"
    )
    assert (analyse(made).heads, analyse(made).merged_heads) == ((3,), (2,))
    assert [len(head.aggregates) for head in analyse(made).layers[0].merged] == [2, 1]


def test_a_program_of_two_thousand_s_ops_is_analysed() -> None:
    text = "a = indices;\n" + "a = aggregate(select(indices, a, ==), a + 1);\n" * 500
    made = program(text)
    assert analyse(made).heads == (1,) * 500


def test_widths_of_selectors_are_known() -> None:
    made = program("same = select(tokens, tokens, ==); a = selector_width(same); b = hist_bos; c = length;")
    call = made.sops["a"].returned
    assert call is not None
    assert (call.function, call.arguments) == ("selector_width", (made.selectors["same"],))
    compared = 0
    for node in needed([*made.sops.values(), *made.library.values()]):
        if node.returned is not None and node.returned.function in WIDTHS:
            (selector,) = node.returned.arguments
            stages = evaluate([node, selector], "(ab)a")
            assert [sum(row) for row in stages.matrices[selector]] == list(stages.values[node])
            compared += 1
    assert compared >= 10
