"""Finite automata on the command line: in every form, and by the commands that every source has."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_formulas import printed
from tm2tfr.sources.automaton.library import shipped

TRACED = """\
i  x    accepts  level_1      before_2     set_2  level_2  state
────────────────────────────────────────────────────────────────
0  BOS  F        ⊥            ⊥            ⊥      ⊥        ⊥
1  a    F        {odd,trap}   {even,trap}  -      #1       odd
2  b    T        {even,trap}  {odd,trap}   -      #1       even

accept: the state after the word is even
engine: dense, float64, 3 positions
check: 21 cells compared with the automaton, all agree
"""
FILES = {
    "alternating.jff": lambda: tm2tfr.convert("alternating", "jflap"),
    "alternating.yaml": lambda: tm2tfr.convert("alternating", "yaml"),
    "alternating": lambda: tm2tfr.convert("alternating", "jflap"),
}


def test_the_forms_of_an_automaton(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alternating", "alternating.jff", "automaton:alternating"):
        assert printed(capsys, "trace", name, "--input", "ab") == TRACED, name
    for name, text in FILES.items():
        path = tmp_path / name
        path.write_text(text(), encoding="utf-8")
        assert printed(capsys, "trace", str(path), "--input", "ab") == TRACED, name
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        assert printed(capsys, "trace", "-", "--input", "ab") == TRACED, name
    weights = str(tmp_path / "alternating.safetensors")
    tm2tfr.save_weights("alternating", weights)
    assert printed(capsys, "trace", weights, "--input", "ab") == TRACED
    heading = "Automaton alternating over a, b: 3 states, of which 'trap' was added for missing transitions\n"
    assert printed(capsys, "list", "alternating").startswith(heading)
    counts = "not star-free: the word '0' leads from 1 to 2 and back to 1\n"
    assert counts in printed(capsys, "list", "mod-3")


def test_an_expression_as_text_and_as_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "end.regex"
    path.write_text("# title: words that end in ab\n(a|b)* ab\n", encoding="utf-8")
    for given in ("regex:(a|b)*ab", str(path)):
        out = printed(capsys, "trace", given, "--input", "aab")
        assert "accept: the state after the word is q2" in out
    assert (
        printed(
            capsys,
            "trace",
            "regex:(ab",
            code=2,
            warned="<regex>:1:1: this '(' is never closed: add ')', or write '\\(' for the token\n  (ab\n  ^\n",
        )
        == ""
    )


def test_an_expression_is_no_name_of_a_kind_or_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    for text, word in (("a", "a"), ("ab_c", "ab_c"), ("a.b", "aab"), ("a" * 300, "a")):
        assert "all agree" in printed(capsys, "trace", f"regex:{text}", "--input", word), text


def test_what_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list", "automata").splitlines()
    assert [line.split()[0] for line in lines] == list(shipped())
    found = [json.loads(line) for line in printed(capsys, "list", "automata", "--format", "json").splitlines()]
    assert [each["name"] for each in found] == list(shipped())
    about = json.loads(printed(capsys, "list", "alternating", "--format", "json"))
    assert (about["start"], about["accepting"], about["star_free"]) == ("even", ["even"], True)
    assert json.loads(printed(capsys, "list", "parity-fa", "--format", "json"))["star_free"] is False


def test_what_is_converted_is_read_back_as_the_program_in_between(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B-RASP, the formula and RASP accept what the automaton accepts."""
    for subject, ending in (("alternating", "srasp"), ("alternating", "tl"), ("parity-fa", "rasp")):
        path = tmp_path / f"x.{ending}"
        path.write_text(tm2tfr.convert(subject, ending), encoding="utf-8")
        for word in ("abab" if ending != "rasp" else "1011", "aba" if ending != "rasp" else "11"):
            ours = tm2tfr.check(subject, word)
            theirs = tm2tfr.check(str(path), word)
            assert theirs.agrees
            assert ours.rows[-1][2] == theirs.rows[-1][2]


def test_its_model_is_that_of_the_program_in_between(tmp_path: Path) -> None:
    found = tm2tfr.explain("ends-with-abb")
    assert found.as_dict()["kind"] == "automaton"
    assert any("latest_j" in variable.formula or "at i-1" in variable.formula for variable in found.by_name.values())
    graph = tm2tfr.to_graph("mod-3")
    assert sorted(graph.edges(keys=True)) == [
        ("0", "0", "0"), ("0", "1", "1"), ("1", "0", "1"), ("1", "2", "0"), ("2", "1", "0"), ("2", "2", "1"),
    ]  # fmt: skip
    made = tm2tfr.make_labels("no-two-as", tmp_path / "labels", inputs=["abab", "aab"], workers=1)
    assert (made.folder / "labels" / "00000-of-00001.parquet").is_file()


@pytest.mark.slow
def test_a_variable_is_set() -> None:
    """A level that is changed changes the state: the same in the model and in the weights."""
    assert "before_2" in str(tm2tfr.causal_variables("ends-with-abb", "abb"))
    found = tm2tfr.intervene("ends-with-abb", "abb", {("before_2", 3): "a"})
    assert found.agrees
    assert tm2tfr.certify("ends-with-abb").certificate("dense", "float64").granted
