"""What is asked of the playground, checked, and complaints for an editor: places as a browser counts them, and fixes."""

from __future__ import annotations

from typing import Any

import pytest

from tm2tfr.base.errors import CompileError, Diagnostic, Span, UsageError
from tm2tfr.sources.registry import kind_of_text
from tm2tfr.web.playground.answer import MOST, Fix, Marker, answer, of_diagnostics, of_error, said
from tm2tfr.web.playground.query import MOST_INPUT, MOST_SOURCE, Query, shipped, shipped_text


# ── queries of the playground are checked, and its list of shipped sources is true
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
            "epsilon_star, sop, alphabet, max_length, mask, max_values, max_units, unbounded, define, compare, answers, "
            "steep, by",
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


# ── complaints for an editor: places as a browser counts them, and fixes
def told(what: str, text: str, column: int, length: int, line: int = 1) -> Marker:
    lines = text.split("\n")
    span = Span(line=line, column=column, length=length, text=lines[line - 1])
    return of_diagnostics([Diagnostic(what=what, remedy="fix it", span=span)], text)[0]


def test_a_place_counts_utf_16_units_and_the_lines_of_an_editor() -> None:
    found = told("wrong", "𝔘𝔘b c", 4, 2)
    assert (found.line, found.column, found.length) == (1, 6, 2)
    # YAML ends a line at U+2028, an editor does not
    span = Span(line=2, column=1, length=1, text="b")
    (found,) = of_diagnostics([Diagnostic(what="wrong", remedy="fix it", span=span)], "a\u2028b\nc")
    assert (found.line, found.column, found.length) == (1, 3, 1)
    (found,) = of_diagnostics([Diagnostic(what="wrong", remedy="fix it", span=span)], "\ufeffa\r\nb")
    assert (found.line, found.column) == (2, 1)


def test_did_you_mean_is_a_fix() -> None:
    found = told("unknown state 'cary' (did you mean 'carry'?)", "    1: {R: cary}", 12, 4)
    label = "Replace 'cary' with 'carry'"
    assert found.fixes == (Fix(label=label, line=1, column=12, length=4, replacement="carry"),)
    assert found.as_dict()["fixes"][0]["replacement"] == "carry"


@pytest.mark.parametrize(
    ("what", "text", "column", "length", "fixed"),
    [
        ("unknown 'x' (did you mean 'y'?)", '"x"', 1, 3, '"y"'),  # within quotes
        ('unknown "it\'s" (did you mean "its"?)', "it's", 1, 4, "its"),
        ("the gate 'NADN' is unknown (did you mean 'NAND'?)", "y = NADN(a, b)", 5, 10, "y = NAND(a, b)"),
        ("there is no variable 'lenght' (did you mean 'length'?)", "a = lenght + 1;", 5, 6, "a = length + 1;"),
        ("this is unknown (did you mean 'b'?)", "a", 1, 1, "b"),
        ("unknown 'x' (did you mean 'y'?)", "x + x", 1, 5, None),  # which one?
        ("unknown 'x' (did you mean 'y'?)", "xx", 1, 2, None),
        ("unknown 'x' (did you mean 'y'?)", "ax", 1, 2, None),  # a part of a word
        ("unknown 'z' (did you mean 'y'?)", "x", 1, 1, None),
        ("unknown 'x'", "x", 1, 1, None),
        ("unknown 'x' (did you mean y?)", "x", 1, 1, None),
        ("unknown 'x' (did you mean __import__('os')?)", "x", 1, 1, None),
        ("unknown 'x' (did you mean 'a'?) (did you mean 'b'?)", "x", 1, 1, None),
        (f"unknown {'x' * 300!r} (did you mean 'y'?)", "x" * 300, 1, 300, None),
    ],
)
def test_a_fix_replaces_the_name_that_is_marked_and_nothing_else(
    what: str, text: str, column: int, length: int, fixed: str | None
) -> None:
    fixes = told(what, text, column, length).fixes
    if fixed is None:
        assert fixes == ()
        return
    (fix,) = fixes
    assert text[: fix.column - 1] + fix.replacement + text[fix.column - 1 + fix.length :] == fixed


@pytest.mark.parametrize(
    ("name", "format", "right", "wrong"),
    [
        ("binary-increment", "yaml", "{L: carry}", "{L: cary}"),
        ("binary-increment", "yaml", "start state:", "start stat:"),
        ("reverse", "rasp", "length", "lenght"),
        ("since-b", "tl", "since", "sinc"),
        ("full-adder", "yaml", "XOR", "XRO"),
    ],
)
def test_a_fix_that_is_applied_mends_the_source(name: str, format: str, right: str, wrong: str) -> None:
    source = shipped_text(name)
    at = source.rindex(right)
    broken = source[:at] + wrong + source[at + len(right) :]
    found = answer(Query(source=broken, format=format))["diagnostics"]
    fixes = [fix for each in found for fix in each["fixes"]]
    assert fixes, found
    lines = broken.split("\n")
    line, start = lines[fixes[0]["line"] - 1], fixes[0]["column"] - 1
    lines[fixes[0]["line"] - 1] = line[:start] + fixes[0]["replacement"] + line[start + fixes[0]["length"] :]
    assert "\n".join(lines) == source


def test_other_errors_are_told_without_a_place() -> None:
    assert of_error(CompileError("x: it is wrong: mend it"), "") == [said("x: it is wrong: mend it")]
    assert said("x: it is wrong: mend it") == Marker(severity="error", what="x: it is wrong", remedy="mend it")
    assert said("wrong") == Marker(severity="error", what="wrong", remedy="")


@pytest.mark.parametrize(
    ("source", "word", "remedy"),
    [
        ("{}", None, "choose what it is under 'read as': a machine, a circuit (an expression, for example)"),
        ("# alphabet: ab\ny = tokens;", "x", "use a, b, or compile it with another header 'alphabet'"),
        ("# alphabet: ab\ny = tokens;", "", "give at least one token, for example ab"),
        ("# alphabet: ab\n# length: 3\ny = tokens;", "abababab", "header 'length'"),
    ],
)
def test_remedies_are_those_of_a_page(source: str, word: str | None, remedy: str) -> None:
    found = answer(Query(source=source, input=word))
    told = [*found["diagnostics"], found["about_input"]]
    assert remedy in told[0]["remedy"]
    assert "--" not in told[0]["remedy"]


@pytest.mark.parametrize(
    ("source", "what", "header", "whose"),
    [
        ("y = tokens;", "program: the tokens of its inputs are not known", "# alphabet: abc", "program"),
        ("once (position = 2)", "formula: the tokens of its words are not known", "# alphabet: ab", "text"),
    ],
)
def test_a_missing_alphabet_is_added_with_a_click(source: str, what: str, header: str, whose: str) -> None:
    (told,) = answer(Query(source=source))["diagnostics"]
    assert (told["what"], told["remedy"]) == (what, f"add the header '{header}' to the {whose}")
    fix = {"label": f"Add '{header}'", "line": 1, "column": 1, "length": 0, "replacement": f"{header}\n"}
    assert told["fixes"] == [fix]
    assert answer(Query(source=fix["replacement"] + source))["diagnostics"] == []


def test_there_are_not_too_many() -> None:
    many = [Diagnostic(what=f"wrong {n}", remedy="fix it") for n in range(2 * MOST)]
    assert len(of_diagnostics(many, "")) == MOST
