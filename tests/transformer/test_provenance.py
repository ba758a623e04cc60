"""Where weights come from, as far as they say so; and that nobody else spells the keys."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.transformer import provenance

SAID = provenance.stated("turing", source="a: b", name="x", options={"left_boundary": "chapter", "sop": "3"})


def test_what_is_stated_can_be_asked_for() -> None:
    assert {
        "construction": "turing",
        "option.left_boundary": "chapter",
        "option.sop": "3",
        "source": "a: b",
        "name": "x",
        "tm2tfr": tm2tfr.__version__,
    } == SAID
    assert provenance.construction(SAID) == "turing"
    assert provenance.source(SAID) == "a: b"
    assert provenance.name(SAID) == "x"
    assert provenance.option(SAID, "left_boundary") == "chapter"
    assert provenance.options(SAID) == {"left_boundary": "chapter", "sop": "3"}
    assert provenance.temperature(SAID) is None
    soft = provenance.softened(SAID, 0.25)
    assert soft == {**SAID, "attention": "softmax", "temperature": "0.25"}
    assert provenance.temperature(soft) == 0.25


def test_what_is_not_stated_is_nothing() -> None:
    for said in ({}, {"source": ""}):
        assert provenance.source(said) is None
        assert provenance.construction(said) is None
        assert provenance.option(said, "left_boundary") is None
        assert provenance.options(said) == {}
    assert provenance.name({}) == "weights"
    assert provenance.name({}, "decoder") == "decoder"
    assert provenance.temperature({"temperature": "warm"}) is None
    assert provenance.covered(provenance.locally_softened({}, 50)) == 50
    for said in ({"length": "50"}, {"temperature": "local", "length": "-5"}, provenance.locally_softened({}, None)):
        assert provenance.covered(said) is None
    assert provenance.words_for_temperature({"temperature": "local"}) == "local"
    assert provenance.words_for_temperature({"temperature": "warm"}) is None


def test_version_1_is_translated() -> None:
    old = {"construction": "turing", "left_boundary": "chapter", "machine": "a: b", "name": "x", "tm2tfr": "0.1"}
    assert provenance.is_version_1(old)
    assert not provenance.is_version_1(SAID)
    assert provenance.from_version_1(old, ("left_boundary",)) == {
        "construction": "turing",
        "option.left_boundary": "chapter",
        "source": "a: b",
        "name": "x",
        "tm2tfr": "0.1",
    }


@pytest.mark.slow
def test_nobody_else_spells_a_key() -> None:
    """No subscript and no `get` with a text on anything that is called provenance."""
    root = Path(tm2tfr.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path == root / "transformer" / "provenance.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript):
                asked, owner = [node.slice], node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                asked, owner = node.args, node.func.value
            else:
                continue
            if ast.unparse(owner).split(".")[-1].strip("'\"[]") == "provenance":
                texts = [a for a in asked if isinstance(a, ast.Constant)]
                assert not texts, f"{path.name}:{node.lineno}: ask tm2tfr.transformer.provenance"
