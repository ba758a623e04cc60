"""The options of the constructions are stated once: everything that has them has them from there."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

import tm2tfr
from tests.cli.lines import params
from tm2tfr.cli.asked import PARAMETERS
from tm2tfr.contract.keywords import CircuitParameters, CompileOptions, table
from tm2tfr.contract.options import (
    EVERY,
    LogicOptions,
    RaspOptions,
    everything,
    fields_of,
    read_options,
)
from tm2tfr.sources.registry import _MODULES, _of
from tm2tfr.web.playground.query import Query

HIDDEN = {"epsilon"}
"""What only the library has."""


def test_editors_know_every_option_and_no_other() -> None:
    assert set(get_type_hints(CompileOptions)) == {*everything(), *PARAMETERS}
    assert set(get_type_hints(CircuitParameters)) == {*PARAMETERS}


def test_a_subject_takes_the_same_options_as_keywords_and_as_a_dictionary() -> None:
    one, other = tm2tfr.Subject.of("parity", bits=5, variant="lookup"), tm2tfr.Subject.of("parity", options={"bits": 5})
    assert one.decoder.positions == other.decoder.positions == tm2tfr.compile("parity", bits=5).positions
    assert one.options == {"variant": "lookup"}
    assert tm2tfr.Subject.of("length", unbounded=False).options == {}


def test_the_constructions_have_the_classes_of_the_table() -> None:
    classes = {_of(module).options for module in _MODULES.values()}
    assert set(EVERY.values()) < classes
    assert {name for kind in classes for name in fields_of(kind)} == set(everything())


@pytest.mark.parametrize("command", ["trace", "check", "compile", "export"])
def test_the_command_line_has_every_option(command: str) -> None:
    shown = {str(param.name) for param in params(command)}
    assert set(everything()) - HIDDEN <= shown


def test_the_documentation_lists_every_option() -> None:
    rows = [line.split("|")[1].strip() for line in table().splitlines()[2:]]
    assert [row.strip("`") for row in rows] == [name for kind in EVERY.values() for name in fields_of(kind)]
    page = Path(__file__).parents[2].joinpath("docs/reference/options.md").read_text(encoding="utf-8")
    assert "<!-- options -->" in page


def test_every_option_says_whose_it_is_and_every_shown_one_what_it_does() -> None:
    for name, known in everything().items():
        assert all(each.about.whose for each in known), name
        assert all(each.about.help for each in known if not (each.about.hidden or each.about.aside)), name


def test_options_are_read_as_weights_state_them() -> None:
    assert read_options(RaspOptions, {"max_length": "12", "unbounded": "False"}) == RaspOptions(max_length=12)
    assert read_options(LogicOptions, {"steep": "True", "define": None, "unknown": 1}) == LogicOptions(steep=True)


def test_the_playground_is_asked_for_flags() -> None:
    assert Query(source="", options={"steep": True}).compiling == {"steep": True}


def test_the_library_takes_them_as_keywords() -> None:
    assert list(inspect.signature(tm2tfr.compile).parameters) == ["subject", "options"]
    assert tm2tfr.compile("parity", bits=3).positions == tm2tfr.compile("parity", bits=3, variant=None).positions
