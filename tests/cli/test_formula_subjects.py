"""Every function and command takes a formula or a program of temporal logic in every form, with one meaning."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tm2tfr.base.errors import NotFoundError
from tm2tfr.cli import main

NAMES = ("since-b", "hop-1")
"""A formula and a program, each over a, b, c."""
WORD = "abcab"
FORMS = ("name", "name with ending", "path", "standard input", "weight file", "program", "decoder", "subject")
TAKEN: dict[str, Callable[[Any, Path], Any]] = {
    "activations": lambda s, _: tm2tfr.activations(s, WORD, 3),
    "attention_of": lambda s, _: tm2tfr.attention_of(s, WORD).text(),
    "check": lambda s, _: tm2tfr.check(s, WORD),
    "compile": lambda s, _: tm2tfr.compile(s),
    "convert": lambda s, _: tm2tfr.convert(s, "paper"),
    "default_input": lambda s, _: tm2tfr.default_input(s),
    "listing": lambda s, _: tm2tfr.listing(s),
    "run": lambda s, _: tm2tfr.run(s, WORD),
    "summary": lambda s, _: tm2tfr.summary(s),
    "to_graph": lambda s, _: sorted(tm2tfr.to_graph(s).edges(keys=True)),
}
COMMANDS = {
    "trace": ["--input", WORD],
    "table": ["--input", WORD, "--format", "latex"],
    "check": ["--all-up-to", "3"],
    "compile": [],
    "graph": [],
    "convert": ["--to", "paper"],
}


def given(name: str, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what is given in a form."""
    program = tm2tfr.load(name)
    path = folder / f"{name}.{program.language}"
    path.write_text(program.text, encoding="utf-8")
    weights = folder / "w.safetensors"
    if form == "weight file":
        tm2tfr.save_weights(program, weights)
    if form == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program.text.encode())))
    forms = {
        "name": name,
        "name with ending": path.name,
        "path": str(path),
        "standard input": "-",
        "weight file": str(weights),
        "program": program,
        "decoder": tm2tfr.compile(program) if form == "decoder" else None,
        "subject": tm2tfr.Subject.of(program),
    }
    return forms[form]


def without_name(result: Any) -> Any:
    """Return a result in which the name of what came from standard input is that of the program."""
    return repr(result).replace("stdin", "NAME").replace(NAMES[0], "NAME").replace(NAMES[1], "NAME")


@pytest.mark.slow
@pytest.mark.parametrize("function", TAKEN)
@pytest.mark.parametrize("name", NAMES)
def test_every_function_takes_every_form(name: str, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    due = without_name(TAKEN[function](name, tmp_path))
    for form in FORMS[1:]:
        assert without_name(TAKEN[function](given(name, form, tmp_path, monkeypatch), tmp_path)) == due, form


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_every_form(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = set()
    for form in FORMS[:5]:
        with pytest.raises(SystemExit) as end:
            main([command, given(name, form, tmp_path, monkeypatch), *COMMANDS[command]])
        out, err = capsys.readouterr()
        assert (end.value.code, err) == (0, ""), form
        shown.add(out.replace("stdin", name).replace('"', ""))
    assert len(shown) == 1


def test_a_file_comes_before_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "since-b.tl").write_text("once Q[z]", encoding="utf-8")
    assert tm2tfr.load("since-b.tl").alphabet == ("z",)
    assert tm2tfr.load("since-b").alphabet == ("a", "b", "c")


def test_a_name_that_nothing_has_is_told_with_what_may_be_meant() -> None:
    with pytest.raises(NotFoundError, match=r"no machine, circuit, program or formula of that name is shipped \(did you"):
        tm2tfr.load("flip-flopz")


def test_an_alphabet_and_a_definition_are_options_of_compiling() -> None:
    wider = tm2tfr.compile("hop-1", alphabet="abcd", define="before")
    assert wider.outputs[0].name == "before"
    assert tm2tfr.check(wider, "dcd").result.values == ("?", "d", "c")
    assert tm2tfr.Subject.of(wider).right.alphabet == ("a", "b", "c", "d")
