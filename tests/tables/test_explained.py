"""The model of a source, as text, Markdown and JSON: ``tm2tfr explain``."""

from __future__ import annotations

import json

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.base.errors import CompileError


@pytest.mark.parametrize("name", ["chapter", "palindromes", "full-adder"])
def test_every_variable_that_weights_hold_is_explained_in_the_order_of_the_layers(name: str) -> None:
    found, decoder = tm2tfr.explain(name), tm2tfr.compile(name)
    stored = [each for each in found.variables if each.stored]
    assert {each.name for each in stored} <= {subspace.holds for subspace in decoder.layout.subspaces}
    assert [each.since[0] for each in stored] == sorted(each.since[0] for each in stored)
    assert all(each.meaning for each in (*found.variables, *found.patterns))


@pytest.mark.parametrize("name", ["chapter", "palindromes", "full-adder"])
def test_every_label_column_of_a_model_is_published(name: str) -> None:
    model = tm2tfr.explain(name).model
    named = {each.column.name for each in (*model.variables, *model.patterns) if each.column is not None}
    assert named == set(model.columns)


def test_a_variable_has_its_equation_its_layer_and_its_readers(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "explain", "full-adder")
    (line,) = [line for line in lines if line.startswith("y ")]
    assert code == 0
    assert lines[0] == "full-adder (circuit): 21 variables, 3 head patterns"
    assert " ".join(line.split()) == "y the answer y = t[x_a x_b x_c] 1 (gate), feed-forward the token answered"


def test_the_same_as_markdown_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "explain", "chapter", "--to", "markdown")
    assert lines[:3] == ["# chapter", "", "| variable | what it is | equation | source | written by | read by |"]
    _, lines = tm2tfr_here(capsys, "explain", "chapter", "--to", "json")
    found = json.loads("\n".join(lines))
    assert found == tm2tfr.explain("chapter").as_dict()
    (head,) = [each for each in found["variables"] if each["name"] == "h/(i+1)"]
    assert (head["formula"], head["since"]) == ("h = Σ_{j≤i} m_{j-1}", {"layer": 1, "part": "attention"})


def test_a_source_without_a_model_is_refused() -> None:
    with pytest.raises(CompileError, match="reverse is a program, and only machines and circuits have a model with equa"):
        tm2tfr.explain("reverse")
