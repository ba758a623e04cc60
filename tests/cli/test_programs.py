"""RASP programs on the command line: compiled, traced, tabled, checked, listed; what makes no sense is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.cli import main
from tm2tfr.transformer.weights import matrices, replaced


def printed(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    shown = capsys.readouterr()
    assert (end.value.code, shown.err) == (code, ""), shown
    return shown.out


COMPILE = "compile reverse --max-length 4"
COMPILED = """\
Program reverse: s-op reverse of the tokens a, b, c
RASP: depth 2 with 1 + 1 heads
here: 2 attention sublayers with 1 + 1 heads, N feed-forward sublayers: s f s (N layers)
inputs: of up to 4 tokens, from 'a', 'b', 'c'
largest set of values: 4 (position)
"""
CHECKED = """\
ok    reverse(abc) = cba: 6 cells agree
ok    reverse(aab) = baa: 6 cells agree
ok    all 120 inputs of up to 4 tokens: 426 cells compared with the interpreter, all agree
ok    the residual stream after every sublayer, 120 inputs of up to 4 tokens: N numbers, all agree
proved for all inputs of up to 4 tokens
"""


def test_compile_prints_the_analysis(capsys: pytest.CaptureFixture[str]) -> None:
    """But for how many feed-forward sublayers there are: how tables are laid out is the compiler's own affair."""
    shown = re.sub(
        r"1 feed-forward sublayer|\d feed-forward sublayers", "N feed-forward sublayers", printed(capsys, COMPILE)
    )
    assert re.sub(r"(s|f)( f)+ s \(\d layer", "s f s (N layer", shown).startswith(COMPILED)


def test_trace_prints_a_column_for_each_s_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "trace sort --input bca --max-length 4") == (
        "i  x  sorted  target\n────────────────────\n0  b  a            1\n1  c  b            2\n2  a  c            0\n\n"
        "sorted = abc\nengine: dense, float64, 3 positions\n"
        "check: 9 cells compared with the interpreter, all agree\n"
    )


def test_table_has_columns_of_s_ops(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "table reverse --format csv --input abb") == "i,x,reverse\n0,a,b\n1,b,b\n2,b,a\n"


@pytest.mark.slow
def test_check_goes_through_examples_then_all_inputs_and_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.sub(r"[\d,]+ numbers", "N numbers", printed(capsys, "check reverse --max-length 4")) == CHECKED


def test_check_as_json_and_of_random_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(printed(capsys, "check reverse --random 5 --seed 3 --max-length 5 --format json"))
    assert plain == {
        "program": "reverse",
        "runs": 5,
        "cells": 15,
        "undefined": 0,
        "agrees": True,
        "engine": "dense",
        "dtype": "float64",
        "inputs": "5 random inputs of 1 to 5 tokens, seed 3",
    }


def test_few_random_inputs_reach_from_the_shortest_to_the_longest(capsys: pytest.CaptureFixture[str]) -> None:
    for count, cells in ((1, 40), (2, 1 + 40), (3, 1 + 21 + 40)):
        assert f": {cells} cells" in printed(capsys, f"check reverse --max-length 40 --random {count}")


def test_inputs_on_which_a_program_is_undefined_are_counted_and_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "check sort-unique --alphabet ab --all-up-to 3 --max-length 3").splitlines()
    assert lines[0] == (
        "ok    all 14 inputs of up to 3 tokens: 12 cells compared with the interpreter, all agree, 10 inputs undefined, "
        "not compared"
    )
    assert lines[-1] == "proved for the 4 of 14 inputs of up to 3 tokens on which it is defined"


UNDEFINED = '{headers}\nleft = count(tokens, "a") - length + count(tokens, "b");\nx = 1 / {left};\n'
"""With ``left`` itself undefined on every input of a and b, which no set of values tells."""
NOTHING = (
    "nothing is compared, since the program is undefined on all of these inputs: check it on inputs on which it is defined"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        (["--all-up-to", "3"], "all 14 inputs of up to 3 tokens"),
        ([], "all 14 inputs of up to 3 tokens"),
        (["--random", "2"], "2 random inputs of 1 to 3 tokens, seed 0"),
    ],
)
def test_a_check_that_compares_nothing_fails(
    options: list[str], inputs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "never.rasp"
    path.write_text(UNDEFINED.format(headers="# alphabet: ab\n# length: 3\n# example: a -> error", left="left"))
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), *options])
    *lines, last = capsys.readouterr().out.splitlines()
    example = [] if options else ["ok    x(a) = undefined: as the interpreter says"]
    note = f"note: {inputs}: the program is undefined on every one of them, so nothing is compared"
    assert (end.value.code, lines, last) == (1, [*example, note], f"FAIL  {NOTHING}")
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), *options, "--format", "json"])
    shown = capsys.readouterr()
    assert (end.value.code, f"FAIL  {NOTHING}\n" in shown.err) == (1, True)
    assert json.loads(shown.out.splitlines()[-1])["agrees"] is False


@pytest.mark.slow
def test_a_stream_of_which_nothing_is_compared_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two letters the streams of inputs of up to six tokens are compared, and this one has a value from seven on."""
    path = tmp_path / "later.rasp"
    path.write_text(UNDEFINED.format(headers="# alphabet: ab\n# length: 7", left="(left + indicator(length > 6))"))
    with pytest.raises(SystemExit) as end:
        main(["check", str(path), "--all-up-to", "7"])
    assert end.value.code == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok    all 254 inputs of up to 7 tokens: 1,792 cells compared with the interpreter, all agree, 126 inputs "
        "undefined, not compared",
        "note: the residual stream is not compared, since the program is undefined on all inputs of up to 6 tokens",
        "proved for the 128 of 254 inputs of up to 7 tokens on which it is defined",
    ]


def test_a_wrong_weight_is_named_with_its_layer_from_the_weight_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decoder = tm2tfr.compile("reverse", max_length=4)
    last = len(decoder.layers)
    name = f"layers.{last}.heads.0.value"
    right = matrices(decoder)[name]
    row, column, value = next(right.entries())
    path = tmp_path / "wrong.safetensors"
    tm2tfr.save_weights(replaced(decoder, {name: right.with_entry(row, column, 2 * value)}), path)
    shown = printed(capsys, f"check {path} --all-up-to 3", 1)
    assert shown.splitlines()[1:3] == [
        "      a: position 0: reverse should be a, is ⟨2·a⟩",
        f"      cause: layer {last} (attention), attention at position 0: picked reverse should be a, is ⟨2·a⟩",
    ]


def test_a_wrong_weight_that_no_output_shows_is_found_in_the_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decoder = tm2tfr.compile("reverse", max_length=3, alphabet="ab")
    matrix = matrices(decoder)["position_embedding"]
    unseen = None
    for row, column, value in matrix.entries():
        unseen = replaced(decoder, {"position_embedding": matrix.with_entry(row, column, value * 1.0000001)})
    assert unseen is not None
    path = tmp_path / "unseen.safetensors"
    tm2tfr.save_weights(unseen, path)
    shown = printed(capsys, f"check {path} --all-up-to 3", 1)
    assert "cause: embedding at position" in shown


def test_an_example_that_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "same.rasp"
    path.write_text("# alphabet: ab\n# length: 2\n# example: ab -> ba\n# example: a -> error\nsame = tokens;\n")
    shown = printed(capsys, f"check {path}", 1)
    assert shown.splitlines()[:2] == [
        "FAIL  same(ab) = ba, says the author; the interpreter says ab",
        "FAIL  same(a) = undefined, says the author; the interpreter says a",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", ["ab ", " ab", '["a", "b", " "]', ' ["a", "b", " "]\n'])
@pytest.mark.parametrize("source", ["elementwise", "-f Q[a] S Q[b]"])
def test_a_blank_is_a_token_as_well_where_weights_are_read_again(
    source: str, alphabet: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, weights = source.split(" ", 1), str(tmp_path / "weights.safetensors")
    for line in (
        ["check", *given, "--alphabet", alphabet, "--all-up-to", "2"],
        ["compile", *given, "--alphabet", alphabet, "-o", weights],
        ["check", weights, "--all-up-to", "2"],
    ):
        with pytest.raises(SystemExit) as end:
            main(line)
        shown = capsys.readouterr().out
        assert (end.value.code, line[0] == "compile" or "ok    all 12 inputs of up to 2 tokens" in shown) == (0, True)
    assert sorted(tm2tfr.load_weights(weights).numbers)[:2] == [" ", "BOS" if source[0] == "-" else "a"]


def test_a_blank_that_a_formula_names_is_read_again_from_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = tmp_path / "weights.safetensors"
    tm2tfr.save_weights(tm2tfr.compile(tm2tfr.formula('Q[b] S Q[" "]')), weights)
    assert printed(capsys, f"check {weights} --random 2").startswith("ok    2 random inputs of 1 to 40 tokens")


@pytest.mark.slow
def test_programs_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed(capsys, "list programs").splitlines()
    assert "reverse                       program  Reverse: each position reads the one across" in listed
    assert printed(capsys, "list reverse").splitlines()[:5] == [
        "Program reverse: s-op reverse of the tokens a, b, c",
        "Reverse: each position reads the one across",
        "",
        "s-ops:  reverse",
        "RASP:   depth 2 with 1 + 1 heads",
    ]


def test_what_is_suggested_for_a_program_without_an_alphabet_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "next.rasp").write_text("next = indices + 1;\n")
    monkeypatch.chdir(tmp_path)
    tried = printed(capsys, "list next.rasp").partition("Try\n")[2].splitlines()
    assert tried == [
        "  tm2tfr trace next.rasp --input abc --alphabet abc",
        "  tm2tfr check next.rasp --alphabet abc",
        "  tm2tfr compile next.rasp --alphabet abc",
    ]
    assert "next = 123" in printed(capsys, tried[0].split(maxsplit=1)[1])
