"""The shipped circuits by name, their parameters, and the words of each refusal."""

from __future__ import annotations

import re

import pytest

from tm2tfr.base.errors import NotFoundError, UsageError
from tm2tfr.sources.circuit.library.registry import GENERATORS, load


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_every_circuit_is_built_with_its_defaults(name: str) -> None:
    circuit, generator = load(name), GENERATORS[name]
    assert (circuit.name, circuit.description, circuit.source) == (name, generator.description, generator.source)
    assert generator.description
    assert circuit.warnings == ()
    defaults = {parameter.name: str(parameter.default) for parameter in generator.parameters}
    assert load(name, **defaults) == circuit


def bounds() -> list[tuple[str, str, int]]:
    numbers = ((g.name, p) for g in GENERATORS.values() for p in g.parameters if not p.choices)
    return [(name, p.name, bound) for name, p in numbers for bound in (p.least, min(p.most, 70))]


@pytest.mark.parametrize(("name", "parameter", "bound"), bounds())
def test_bounds_are_possible(name: str, parameter: str, bound: int) -> None:
    assert load(name, **{parameter: bound}).gates


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "sha265",
            "'sha265': no circuit of this name is shipped (did you mean 'sha256'?): name one of half-adder, full-adder, ",
        ),
        ("zebra", "'zebra': no circuit of this name is shipped: name one of half-adder, "),
    ],
)
def test_an_unknown_name(name: str, message: str) -> None:
    with pytest.raises(NotFoundError, match=f"^{re.escape(message)}"):
        load(name)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("binary-adder", {"bit": 8}, "unknown parameter --bit (did you mean 'bits'?): use --bits, --order"),
        ("c17", {"bits": 8}, "unknown parameter --bits: omit it, this circuit has no parameters"),
        ("binary-adder", {"bits": 0}, "--bits: '0' is not possible: use a whole number from 1 to 4096"),
        ("binary-adder", {"bits": "4097"}, "--bits: '4097' is not possible: use a whole number from 1 to 4096"),
        ("binary-adder", {"bits": "-1"}, "--bits: '-1' is not possible: use a whole number from 1 to 4096"),
        ("binary-adder", {"bits": "٣"}, "--bits: '٣' is not possible: use a whole number from 1 to 4096"),
        ("binary-adder", {"bits": 2.5}, "--bits: '2.5' is not possible: use a whole number from 1 to 4096"),
        ("binary-adder", {"bits": "9" * 9999}, f"--bits: '{'9' * 40}' is not possible: use a whole number from 1 to 4096"),
        (
            "binary-adder",
            {"order": "paper-3"},
            "--order: 'paper-3' is not a value (did you mean 'paper-2'?): use one of paper-1, paper-2",
        ),
        ("random", {"kinds": ""}, "--kinds: '' is not a value: use one of any, two, paper, nor"),
    ],
)
def test_a_parameter_that_is_not_possible(name: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(f'{name}: {message}')}$"):
        load(name, **given)
