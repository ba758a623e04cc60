"""The shipped circuits by name, their parameters, and the words of each refusal."""

from __future__ import annotations

import pytest

from tm2tfr.sources.circuit.library import GENERATORS, load


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
