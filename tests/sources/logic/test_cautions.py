"""Warnings that depend on the options: tokens outside the alphabet that is given, definitions that are asked for."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.base.errors import SpecError, SpecWarning
from tm2tfr.cli import main


def warned(text: str, alphabet: str) -> list[str]:
    """Return the warnings about a formula over an alphabet, each without the line of the text below it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tm2tfr.formula(text, alphabet=alphabet)
    assert all(each.category is SpecWarning and each.filename == __file__ for each in found)
    return [str(each.message).splitlines()[0] for each in found]


def test_a_token_outside_the_alphabet_that_is_given_is_warned_of_once_where_it_is_named_first() -> None:
    assert not warned("once Q[a]", "ab")


def test_every_function_that_takes_an_alphabet_warns() -> None:
    with pytest.warns(SpecWarning, match="'c' is not in the alphabet: use"):
        tm2tfr.compile(tm2tfr.formula("once Q[c]"), alphabet="ab")


def test_the_commands_warn_with_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^0$"):
        main(["check", "-f", "once Q[A]", "--alphabet", "ab", "--input", "ab"])
    assert capsys.readouterr().err == (
        "<formula>:1:6: warning: 'A' is not in the alphabet (did you mean 'a'?): "
        "use a token of the alphabet, or add this one to it\n  once Q[A]\n       ^~~~\n"
    )


def test_a_definition_that_is_asked_for_is_not_said_to_be_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.tl"
    path.write_text("x := Q[a]\ny := Q[b]\nz := once y\nonce x\n", encoding="utf-8")
    for define, heads in ((None, ["d.tl:3:1: warning: 'z'"]), ("z", []), ("y", ["d.tl:3:1: warning: 'z'"])):
        chosen = [] if define is None else ["--define", define]
        with pytest.raises(SystemExit, match="^0$"):
            main(["check", str(path), "--input", "ab", *chosen])
        said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
        assert said == [
            f"{path.parent}/{head} is defined and never used: use it, remove it, or begin its name with '_'"
            for head in heads
        ]


def test_brackets_are_an_alphabet() -> None:
    assert tm2tfr.formula("once Q['[']", alphabet="[](){}").alphabet == ("[", "]", "(", ")", "{", "}")


def test_steep_queries_are_offered_only_where_nothing_counts_or_looks_ahead() -> None:
    past = tm2tfr.formula("Q[a] S Q[b]")
    assert tm2tfr.soften(tm2tfr.compile(past, steep=True), temperature="none").soft


def test_a_word_with_brackets_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.tl"
    path.write_text("# alphabet: ()\n# example: x()() -> F\n# example: x(() -> T\n\nx := once Q['(']\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="^0$"):
        main(["list", str(path)])
    assert "\n  x(')(') = … F\n  x('(') = T\n" in capsys.readouterr().out


def test_definitions_of_programs_have_their_position_in_the_signs_of_the_paper() -> None:
    assert tm2tfr.convert("hop-1", "paper").splitlines()[-1].startswith("hop_1(i) := ")


def test_a_text_is_read_in_the_language_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ever.txt"
    path.write_text("once Q[a]\n", encoding="utf-8")
    assert tm2tfr.load(path, format="tl").language == "tl"
    with pytest.raises(SystemExit, match="^0$"):
        main(["convert", str(path), "--from", "tl", "--to", "paper"])
    assert capsys.readouterr().out == "⊤ since Q_a\n"
    path.write_text("x(i) = Q_a(i)\n", encoding="utf-8")
    assert tm2tfr.load(path, format="srasp").language == "srasp"
    with pytest.raises(SpecError, match="formulas are written without positions"):
        tm2tfr.load(path, format="tl")
