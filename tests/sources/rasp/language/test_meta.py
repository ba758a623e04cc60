"""What runs while a program is read: values, functions, loops, and the precedence of operators."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.sources.rasp.language.running import on, variables
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.rasp import read as reading
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.language.syntax import Maker
from tm2tfr.sources.rasp.read import read

F = Fraction
VALUES: dict[str, Any] = {
    # the traps: what the authors' interpreter gives, not what Python does
    "not 1==2": False,
    "not (1==2)": True,
    "True or False and False": False,
    "-2^2": 4,
    "2^3^2": 64,
    "1<2<3": True,
    "3>2>1": False,
    "7 % 2 * 3": 1,
    "1 if True else 2 if False else 3": 3,
    "round(2.5)": 2,
    "round(0.5)": 0,
    "round(1.5)": 2,
    "2 if True else 3 in [2]": True,
    # values
    "0.1 + 0.2 == 0.3": True,
    "1 / 3": F(1, 3),
    "4 / 2": F(2),
    "2 ^ (-1)": F(1, 2),
    "4 ^ 0.5": F(2),
    "(9 / 4) ^ 1.5": F(27, 8),
    "2 ^ 10": 1024,
    "True + True": 2,
    "-True": -1,
    "round(True)": 1,
    "7 % 3": 1,
    "(-7) % 3": 2,
    "5.5 % 2": F(3, 2),
    '"a" + "b"': "ab",
    '"ab" * 2': "abab",
    '"a" < "b"': True,
    '"1" == 1': False,
    "1 == 1.0": True,
    "True == 1": True,
    "3 and 0": 0,
    "0 or 5": 5,
    '"" or "x"': "x",
    "not []": True,
    # lists, dictionaries, comprehensions
    "[1, 2] + [3]": [1, 2, 3],
    "[1] * 2": [1, 1],
    "[1, 2] == [1, 2]": True,
    "range(3)": [0, 1, 2],
    "range(1, 7, 2)": [1, 3, 5],
    'zip([1, 2], ["a", "b"])': [[1, "a"], [2, "b"]],
    "len([1, 2])": 2,
    "[x * x for x in range(3)]": [0, 1, 4],
    "[a + b for a, b in zip([1, 2], [3, 4])]": [4, 6],
    '[b + a for a, b in ["()", "{}"]]': [")(", "}{"],
    '{k: k + "!" for k in ["a", "b"]}': {"a": "a!", "b": "b!"},
    '[k for k in {"a": 1, "b": 2}]': ["a", "b"],
    "[5, 6, 7][-1]": 7,
    '"abc"[1]': "b",
    '{"a": 1, 2: 3}[2]': 3,
    "{1: 2, 1.0: 3}[True]": 3,
    "2 in [1, 2]": True,
    "1 in [1.0]": True,
    "{}": {},
}


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=list(VALUES))
def test_the_value_of_an_expression(text: str, value: Any) -> None:
    got = variables(f"answer = {text};")["answer"]
    assert (got, type(got)) == (value, type(value))


def test_functions_see_later_assignments_and_loops_leak() -> None:
    text = """
    x = 1;
    def f() { return x; }
    x = 2;
    a = f();
    for i, j in [[1, 2], [3, 4]] { last = i * j; }
    def g(n) { def h(m) { return m + n; } return h(1), h(2); }
    b, c = g(10);
    d = g(20);
    e = 1, 2;
    for k in range(0) { never = 1; }
    k = [i for i in range(7)];
    """
    got = variables(text)
    assert {name: got[name] for name in ("a", "i", "j", "last", "b", "c", "d", "e")} == {
        "a": 2, "i": 3, "j": 4, "last": 12, "b": 11, "c": 12, "d": [21, 22], "e": [1, 2],
    }  # fmt: skip
    assert "never" not in got


def test_out_is_the_last_value_and_several_statements_share_a_line() -> None:
    assert variables("a = 3 + 4; b = out; indices + 1; c = out;")["b"] == 7
    assert on("indices * 3; c = out;") == [0, 3, 6, 9, 12]


def test_recursion_is_lazy_on_atoms_and_goes_a_thousand_deep() -> None:
    text = "def f(n) { return 1 if n == 0 else n * f(n - 1); } a = f(5);"
    text += "def g(n) { return 0 if n == 0 else g(n - 1) + 1; } b = g(999);"
    assert (variables(text)["a"], variables(text)["b"]) == (120, 999)


def test_names_of_the_library_can_be_parameters_but_no_variables() -> None:
    assert on("def f(length) { return length + 1; } a = f(indices);") == [1, 2, 3, 4, 5]
    assert on("hist_bos = indices; reverse = hist_bos;") == [0, 1, 2, 3, 4]


def test_tokens_is_a_variable_and_its_change_is_not_retroactive() -> None:
    text = "a = tokens; tokens = tokens_int; b = tokens + 1; c = a;"
    assert on(text, "123") == ["1", "2", "3"]
    assert on(text + "d = b;", "123") == [2, 3, 4]


def test_lines_for_the_interpreter_need_no_semicolon() -> None:
    text = """
    set example "abc"
    set s-op example [1, 2]
    set selector example "x"
    show example
    show s-op example
    examples off
    s-op examples on
    selector examples off
    full seq display on
    a = indices + 1;
    reverse("abc");
    draw(a);
    draw(a, "xyz"); # and a comment
    full_s("ab");
    exit
    b = nothing;
    """
    found = read(text, file="x.rasp")
    assert list(found.program.sops) == ["a"]
    assert [(request.word, request.drawn) for request in found.requests] == [
        (("a", "b", "c"), False), ((1, 2), True), (("x", "y", "z"), True), (("a", "b"), False),
    ]  # fmt: skip
    assert [request.word for request in found.draws] == [(1, 2), ("x", "y", "z")]


def test_an_example_may_go_over_lines() -> None:
    found = read("set example [1,\n  2]\na = indices;\ndraw(a);", file="x.rasp")
    assert found.requests[0].word == (1, 2)


def test_load_imports_what_is_not_private_from_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.rasp").write_text('load "sub/b";\n_mine = 1;\nfrom_a = from_b + _mine;\ntokens = tokens_int;\n')
    (tmp_path / "sub" / "b.rasp").write_text('load "c";\nfrom_b = from_c + 1;\nwhole = tokens;\n')
    (tmp_path / "sub" / "c.rasp").write_text("from_c = indices;\nexit\nnever = nothing;\n")
    found = read('load "a";\nanswer = from_a + 1;', file="x.rasp", folder=tmp_path).program
    assert list(found.sops) == ["from_c", "from_b", "whole", "from_a", "tokens", "answer"]
    with pytest.raises(SpecError, match="there is no variable '_mine'"):
        read('load "a";\nanswer = _mine;', file="x.rasp", folder=tmp_path)
    (tmp_path / "bad.rasp").write_text("b = 1 +;\nlength = 3;\n")
    with pytest.raises(SpecError) as raised:
        read('load "bad";\nanswer = b;', file="x.rasp", folder=tmp_path)
    files = {(Path(d.file or "").name, d.span and d.span.line) for d in raised.value.diagnostics}
    assert files == {("bad.rasp", 1), ("bad.rasp", 2)}
    (tmp_path / "loop.rasp").write_text('load "loop";\n')
    with pytest.raises(SpecError, match="'loop' is being loaded already"):
        read('load "loop";', file="x.rasp", folder=tmp_path)


def test_a_loaded_file_loads_as_well_from_beside_the_program_and_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The authors' interpreter looks in the current folder alone, whatever file says ``load``."""
    program, here = tmp_path / "program", tmp_path / "here"
    for folder, value in ((program / "lib", 1), (program, 2), (here, 3)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"c{value}.rasp").write_text(f"value = indices + {value};\n")
    (program / "lib" / "c2.rasp").write_text("value = indices;\n")
    monkeypatch.chdir(here)
    for name, value in (("c1", 1), ("c2", 0), ("c3", 3), ("lib/c1", 1)):
        (program / "lib" / "a.rasp").write_text(f'load "{name}";\nmade = value;\n')
        made = read('load "lib/a";\nanswer = made + 0;', file="x.rasp", folder=program).program
        assert evaluate(made, "a").values[made.sop] == (value,)
    (program / "lib" / "a.rasp").write_text('load "c4";\n')
    why = (
        "there is no file 'c4.rasp' beside this one or the program, or in the current folder: fix the name, or add the file"
    )
    with pytest.raises(SpecError, match=re.escape(why)):
        read('load "lib/a";', file="x.rasp", folder=program)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a = [x for x in range(800)]; b = [[y for y in a] for x in a];", "evaluates more than 500,000 expressions"),
        ("a = range(10000000);", "more than 1,000,000 items"),
        ('a = "a" * 10000000;', "more than 1,048,576 characters"),
        ("a = [indices + x for x in range(60000)]; b = [c + x for c in a];", "more than 100,000 s-ops and selectors"),
        ("a = " + "(" * 60000 + "1" + ")" * 60000 + ";", "nested too deeply"),
    ],
)
@pytest.mark.slow
def test_what_would_never_end_is_refused(text: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        variables(text)


def test_too_many_nodes_are_told_at_their_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "Maker", partial(Maker, most=500))
    what = r"^x\.rasp:3:1: the program has more than 100,000 s-ops and selectors: use shorter lists, or fewer calls\n"
    with pytest.raises(SpecError, match=what):
        read("a = indices;\n\nfor i in range(1000) { a = a + i; }", file="x.rasp")
