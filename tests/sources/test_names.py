"""Names that several shipped things have, and ``kind:name``, in the library, at the command line and in the playground."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.base.errors import NotFoundError, Tm2tfrError
from tm2tfr.lab.datasets.make import load_spec
from tm2tfr.sources import names
from tm2tfr.web.playground import query
from tm2tfr.web.playground.query import shipped_text

PARITY = ("machine:parity", "circuit:parity", "program:parity")


def test_the_names_of_several_things() -> None:
    found = {name: names.homonyms(name) for name in names.every() if names.homonyms(name)}
    of_both = ("binary-addition", "divisible-by-3", "doubled-word", "same-ends")
    assert found == {
        **{name: (f"machine:{name}", f"program:{name}") for name in of_both},
        "parity": PARITY,
        "majority": ("circuit:majority", "program:majority"),
    }


@pytest.mark.slow
def test_each_can_be_loaded_and_a_name_alone_is_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = [tm2tfr.load(each) for each in PARITY]
    assert [type(each).__name__ for each in found] == ["Machine", "Circuit", "Program"]
    assert [each.name for each in found] == ["parity"] * 3
    assert tm2tfr.load("parity") == found[0]
    assert str(tm2tfr.load("majority")) == str(tm2tfr.load("circuit:majority"))
    assert found[2].text == tm2tfr.load("parity.rasp").text
    assert tm2tfr.load("formula:since-b").text == tm2tfr.load("since-b").text
    assert tm2tfr.load("program:successor").text == tm2tfr.load("successor").text
    assert len(tm2tfr.load("circuit:parity", bits=3).inputs) == 3
    (tmp_path / "parity").write_text(shipped_text("chapter"), encoding="utf-8")
    assert tm2tfr.load("parity").name == "chapter"  # a file comes first
    assert tm2tfr.load("machine:parity").name == "parity"
    assert names.homonyms("parity") == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "prog:parity",
            "prog:parity: there is no such file, and 'prog' is not a kind of what is shipped (did you mean 'program'?): "
            "use machine, circuit, program, formula or automaton, as in machine:parity",
        ),
        (
            "program:pairity",
            "program:pairity: no program of this name is shipped (did you mean 'program:parity'?): "
            "use a name that 'tm2tfr list programs' lists, without 'program:' for a file",
        ),
        (
            "formula:parity",
            "formula:parity: no formula of this name is shipped (did you mean 'program:parity'?): "
            "use a name that 'tm2tfr list formulas' lists, without 'formula:' for a file",
        ),
    ],
)
def test_what_is_not_shipped_is_told_with_what_may_be_meant(given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        tm2tfr.load(given)
    assert str(caught.value) == said
    done = command("trace", given, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said}\n")


@pytest.mark.slow
def test_commands_say_which_was_taken_and_list_shows_all(tmp_path: Path) -> None:
    done = command("convert", "parity", cwd=tmp_path)
    said = "note: 'parity' names 3 shipped things, and this is machine:parity"
    assert done.stderr == f"{said}: use circuit:parity or program:parity for another\n"
    assert done.stdout == command("convert", "machine:parity", cwd=tmp_path).stdout
    for each in (*PARITY, "chapter"):
        assert command("graph", each, cwd=tmp_path).stderr == ""
    assert command("graph", "parity", "--bits", "3", cwd=tmp_path).stderr == ""  # which only a circuit has
    listed = command("list", "parity", cwd=tmp_path).stdout.split("\n")
    assert [line for line in listed if line in PARITY] == list(PARITY)
    assert "  tm2tfr trace program:parity --input 0110" in listed
    facts = command("list", "parity", "--format", "json", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line).get("kind", "machine") for line in facts] == ["machine", "circuit", "program"]
    (tmp_path / "parity").write_text(shipped_text("chapter"), encoding="utf-8")
    assert command("convert", "parity", cwd=tmp_path).stderr == ""


@pytest.mark.slow
def test_a_spec_can_be_made_of_them(tmp_path: Path) -> None:
    assert str(load_spec("program:parity")) == str(load_spec("parity.rasp"))
    assert str(load_spec("circuit:full-adder")) == str(load_spec("full-adder"))
    with pytest.raises(Tm2tfrError) as caught:
        load_spec("machine:parity")
    assert str(caught.value) == (
        "machine:parity: a machine does not stand for a spec: write one that has 'machines: [parity]'"
    )


@pytest.mark.slow
def test_the_playground_opens_each() -> None:
    found = {each: query.opening_source(each) for each in (*PARITY, "formula:since-b")}
    assert {each: (given["name"], given["format"]) for each, given in found.items()} == {
        "machine:parity": ("parity", "yaml"),
        "circuit:parity": ("parity.yaml", "yaml"),
        "program:parity": ("parity.rasp", "rasp"),
        "formula:since-b": ("since-b", "tl"),
    }
    assert found["program:parity"]["source"] == shipped_text("parity.rasp")
    with pytest.raises(Tm2tfrError, match="^circuit:sha256: its text is longer than a source of the playground may be: "):
        query.opening_source("circuit:sha256")
