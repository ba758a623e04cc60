"""S-ops written in Python with operators: the same values as RASP, and RASP text that says the same."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.interventions.agreeing import agreeing
from tests.sources.rasp.test_naming import kinds
from tm2tfr import rasp
from tm2tfr.base.errors import CompileError
from tm2tfr.rasp import (
    SequenceOp,
    aggregate,
    contained,
    count,
    has_focus,
    indicator,
    indices,
    length,
    maximum,
    program,
    select,
    selector_width,
    sort,
    tokens,
    tokens_int,
    where,
)
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.language import elaborate
from tm2tfr.sources.rasp.language.syntax import MOST_NODES
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read

reverse = aggregate(select(indices, length - 1 - indices, "=="), tokens)
same = select(tokens, tokens, "==")
BOTH: dict[str, tuple[Callable[[], SequenceOp], str]] = {
    "reverse": (lambda: reverse, "aggregate(select(indices, length - 1 - indices, ==), tokens)"),
    "histogram": (lambda: selector_width(same), "selector_width(select(tokens, tokens, ==))"),
    "sort": (lambda: sort(tokens, tokens), "sort(tokens, tokens)"),
    "arithmetic": (lambda: (2 * indices + 1 - indices / 2) ** 2 % 3, "(2 * indices + 1 - indices / 2) ^ 2 % 3"),
    "swapped": (lambda: 1 - 2 / (indices + 1) + 7 % (indices + 1), "1 - 2 / (indices + 1) + (7 % (indices + 1))"),
    "whole quotients": (lambda: (indices - 3) // 2 + 7 // (indices + 1), "(indices - 3) // 2 + 7 // (indices + 1)"),
    "absolute values": (lambda: abs(indices - 2), "max(indices - 2, -(indices - 2))"),
    "float": (lambda: indices * 0.1, "indices * 0.1"),
    "round": (lambda: round(indices / 2), "round(indices / 2)"),
    "logic": (
        lambda: (indices > 1) & ~(tokens == "l") | (indices >= 4),
        '((indices > 1) and not (tokens == "l")) or (indices >= 4)',
    ),
    "not equal": (lambda: tokens != "l", 'not (tokens == "l")'),
    "where": (lambda: where(tokens == "l", -indices, 7), '-indices if tokens == "l" else 7'),
    "isin": (lambda: tokens.isin(["l", "o"]), 'tokens in ["l", "o"]'),
    "table": (lambda: indices.table({k: k * k for k in range(9)}), "{k: k * k for k in range(9)}[indices]"),
    "position": (lambda: tokens[-1] + tokens[0], "tokens[-1] + tokens[0]"),
    "anywhere": (lambda: contained("h", tokens), '"h" in tokens'),
    "selectors": (
        lambda: aggregate(same & ~select(indices, indices, "<=") | select(indices, 0, "=="), indices, -1),
        "aggregate((select(tokens, tokens, ==) and not select(indices, indices, <=)) or select(indices, 0, ==),"
        " indices, -1)",
    ),
    "library": (
        lambda: count(tokens, "l") + maximum(indices, 2) + indicator(has_focus(same)) + length,
        'count(tokens, "l") + max(indices, 2) + indicator(has_focus(select(tokens, tokens, ==))) + length',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BOTH))
def test_python_says_what_rasp_says(name: str) -> None:
    made, text = BOTH[name]
    ours = program("answer", made(), alphabet="helo")
    theirs = read(f"answer = {text};", file="x.rasp").program
    again = read(ours.text, file="x.rasp").program
    for word in ("hello", "h", "oleh"):
        want = evaluate(theirs, word).values[theirs.sop]
        assert evaluate(ours, word).values[ours.sop] == want
        assert evaluate(again, word).values[again.sop] == want
    assert analyse(ours).heads == analyse(theirs).heads == analyse(again).heads


@pytest.mark.parametrize(
    ("key", "query", "relation"),
    [
        (indices, indices, lambda k, q: (k + q) % 3 == 1),
        (tokens, tokens, lambda k, q: k + q in ("he", "lo", "ll")),
        (indices // 2, 2, lambda k, q: k * k < q),
        (1, indices, lambda k, q: k in (q, q * q)),
        (indices, indices, lambda k, q: False),
    ],
)
def test_a_relation_may_be_any_function(key: Any, query: Any, relation: Callable[[Any, Any], bool]) -> None:
    values = "helo" if key is tokens else range(6)
    made = program("width", {
        "keys": key + indices * 0 if isinstance(key, int) else key,
        "queries": query + indices * 0 if isinstance(query, int) else query,
        "width": selector_width(select(key, query, relation, values=values)),
    })  # fmt: skip
    again = read(made.text, file="x.rasp").program
    for word in ("hello", "h", "oleh"):
        found = evaluate(list(made.sops.values()), word).values
        keys, queries, widths = (found[made.sops[name]] for name in ("keys", "queries", "width"))
        assert list(widths) == [sum(relation(k, q) for k in keys) for q in queries]
        assert evaluate(again, word).values[again.sop] == widths


@pytest.mark.parametrize("name", list(BOTH))
def test_the_weights_have_the_same_names(name: str) -> None:
    made, text = BOTH[name]
    ours = tm2tfr.compile(program("answer", made(), alphabet="helo"), max_length=3)
    theirs = tm2tfr.compile(read(f"# alphabet: helo\nanswer = {text};", file="x.rasp").program, max_length=3)
    assert kinds(ours) == kinds(theirs)


def test_so_do_the_heads_and_equations_of_a_width() -> None:
    earlier = same & select(indices, indices, "<")
    made = program("first", {"earlier": earlier, "first": selector_width(earlier) == 0}, alphabet="ab")
    text = (
        "# alphabet: ab\nearlier = select(tokens, tokens, ==) and select(indices, indices, <);\n"
        "first = selector_width(earlier) == 0;"
    )
    ours, theirs = (tm2tfr.compile(each, max_length=4) for each in (made, read(text, file="first.rasp").program))
    assert kinds(ours)["heads"] == ["width of earlier", "earlier at 0"]
    assert tm2tfr.explain(ours).as_dict() == tm2tfr.explain(theirs).as_dict()


@pytest.mark.slow
def test_a_program_does_not_depend_on_those_made_before() -> None:
    programs = [program("hist", {"same": same, "hist": selector_width(same)}, alphabet="ab") for _ in range(2)]
    assert [made.sop.number for made in programs] == [programs[0].sop.number] * 2
    program("other", {"renamed": same, "other": aggregate(same, indices)}, alphabet="ab")
    assert "renamed" not in program("hist", selector_width(same)).text
    report = tm2tfr.check(programs[1], tm2tfr.Plan(all_up_to=3))
    assert "the residual stream after every sublayer" in str(report)
    assert tm2tfr.intervene(programs[1], "aba", {("tokens", 0): "b"}).agrees


def test_a_program_that_is_the_length_leaves_that_name_to_the_library() -> None:
    assert program("mine", length).text == "mine = length;\n"
    assert program("other", length + 1).text == "other = length + 1;\n"


# ── equal selectors
def _shared(relation: Any, **options: Any) -> Program:
    first, second = (select(tokens, tokens, relation, **options) for _ in range(2))
    named = {"mean": aggregate(first, indices), "second": second}
    return program("x", {**named, "x": aggregate(second, indices) * 2 + aggregate(second, 1)}, alphabet="abc")


@pytest.mark.parametrize(
    "made",
    [
        lambda: _shared("=="),
        lambda: _shared(lambda k, q: k <= q, values="abc"),
        lambda: (
            read(
                "# alphabet: abc\nmean = aggregate(select(tokens, tokens, ==), indices);\n"
                "second = select(tokens, tokens, ==);\n"
                "x = aggregate(second, indices) * 2 + aggregate(select(tokens, tokens, ==), 1);",
                file="x.rasp",
            ).program
        ),
    ],
)
def test_equal_selectors_share_a_head(made: Callable[[], Program]) -> None:
    decoder = tm2tfr.compile(made(), max_length=4)
    assert kinds(decoder)["heads"] == ["second"]
    report = tm2tfr.check(decoder, tm2tfr.Plan(all_up_to=4))
    assert report.passed, report


def test_equal_selectors_have_the_first_name_and_equal_s_ops_the_name_of_the_answer() -> None:
    first, second = select(tokens, tokens, "=="), select(tokens, tokens, "==")
    share = aggregate(first, indicator(tokens == "a"))
    again = aggregate(second, indicator(share > 0.5))
    named = {"s": first, "t": second, "share": share, "again": again, "last": again}
    decoder = tm2tfr.compile(program("x", named, alphabet="ab"), max_length=3)
    assert kinds(decoder)["heads"] == ["s", "s (depth 2)"]
    assert kinds(decoder)["subspaces"][1:5] == ["mean share", "steps of share", "mean last", "steps of last"]
    assert tm2tfr.explain(decoder).by_name["t"].meaning == "a selector: the heads s, s (depth 2)"


def test_a_shared_head_is_labelled_set_and_drawn() -> None:
    made = program("x", {
        "same": select(tokens, tokens, "==") & select(indices, indices, "<"),
        "before": aggregate(select(tokens, tokens, "==") & select(indices, indices, "<"), tokens, "-"),
        "x": has_focus(select(tokens, tokens, "==") & select(indices, indices, "<")),
    }, alphabet="ab")  # fmt: skip
    decoder = tm2tfr.compile(made, max_length=4)
    assert kinds(decoder)["heads"] == ["same"]
    unnamed = program(
        "x", {"x": aggregate(select(tokens, tokens, "==") & select(indices, indices, "<"), tokens, "-")}, alphabet="ab"
    )
    assert kinds(tm2tfr.compile(unnamed, max_length=4))["heads"] == ["x.(select(tokens, … ==) and select(…))"]
    assert "attention of the weights" in tm2tfr.draw_run(made, "abab", attention=True)
    assert agreeing(decoder, 30).agrees


def test_values_that_are_not_listed_select_nothing() -> None:
    near = select(indices, indices, lambda k, q: abs(k - q) <= 1, values=range(3))
    made = program("near", selector_width(near), alphabet="ab")
    assert tm2tfr.check(made, "ababa").result.values == ("2", "3", "2", "0", "0")


def test_a_program_has_the_text_of_what_was_written() -> None:
    opposite = length - 1 - indices
    made = program("backwards", {"opposite": opposite, "backwards": aggregate(select(indices, opposite, "=="), tokens)})
    assert made.chosen == "backwards"


def test_selectors_have_names_too() -> None:
    earlier = select(indices, indices, "<")
    made = program("places", {"seen": aggregate(earlier, indices), "earlier": earlier}, alphabet="ab")
    assert made.text == ("# alphabet: ab\n\nearlier = select(indices, indices, <);\nseen = aggregate(earlier, indices);\n")
    assert made.chosen == "seen"
    assert [head.name for layer in tm2tfr.compile(made).layers for head in layer.heads] == ["earlier"]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: indices + np.int64(3), "indices + 3"),
        (lambda: np.int64(3) + indices, "3 + indices"),
        (lambda: indices * np.float64(0.1), "indices * 0.1"),
        (lambda: np.float64(0.5) - indices, "0.5 - indices"),
        (lambda: np.int64(3) > indices, "indices < 3"),
        (lambda: (indices == 1) == np.bool_(True), "(indices == 1) == True"),
        (lambda: tokens.table({"a": np.int64(2), "b": np.float64(0.5)}), '{"a": 2, "b": 0.5}[tokens_str]'),
        (lambda: aggregate(same, indices, np.int64(-1)), "aggregate(select(tokens_str, tokens_str, ==), indices, (-1))"),
        (lambda: aggregate(select(indices, np.int64(0), "=="), tokens), "aggregate(select(indices, 0, ==), tokens_str)"),
        (lambda: tokens[np.int64(1)], "aggregate(select(indices, 1, ==), tokens_str)"),
    ],
)
def test_numbers_of_numpy_are_numbers(made: Callable[[], SequenceOp], text: str) -> None:
    assert program("x", made()).text == f"x = {text};\n"


def test_nodes_are_counted_for_each_program(monkeypatch: pytest.MonkeyPatch) -> None:
    rasp._MAKE.made += MOST_NODES  # as after many programs
    assert program("next", indices + 1).text == "next = indices + 1;\n"
    monkeypatch.setattr(rasp, "MOST_NODES", 4)
    remedy = "use shorter lists, or fewer calls"
    with pytest.raises(CompileError, match=f"^many: the program has more than 100,000 s-ops and selectors: {remedy}$"):
        program("many", indices + 1 + 1)


def test_each_call_of_the_library_may_take_as_many_steps_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elaborate, "MOST_STEPS", 100)
    for _ in range(3):
        assert isinstance(sort(tokens, tokens), SequenceOp)


def test_an_alphabet_is_written_as_everywhere() -> None:
    assert program("x", indices, alphabet='["if", 3]').alphabet == ("if", 3)
    assert program("x", indices, alphabet="a ").alphabet == ("a", " ")
    assert program("x", indices, alphabet=np.arange(2)).alphabet == (0, 1)


def test_a_name_is_given_to_the_program() -> None:
    remedy = r"use program\('name', \{'n': s-op or selector\}, alphabet='ab'\)"
    for each in (indices, select(tokens, tokens, "==")):
        with pytest.raises(CompileError, match=f"^names are given to 'program': {remedy}$"):
            each.named("n")


def test_tokens_as_numbers() -> None:
    made = program("half", tokens_int / 2)
    assert evaluate(made, [1, 2]).values[made.sop] == (Fraction(1, 2), 1)
