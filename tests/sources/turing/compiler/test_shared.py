"""Machines share what does not depend on δ: the weights are those of a compiler that shares nothing."""

from __future__ import annotations

import pytest

from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.sources.turing.compiler import compile_machine, compiler, layout
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, digest

SHARING = ("unpack", "head_position", "read_input", "read_tape", "symbol")
FAMILIES = (
    Family(2, 2),
    Family(2, 2, tape="one-way", ends="verdict"),
    Family(3, 2, partial=True),
    Family(1, 3, moves=(-1, 0, 1), ends="verdict"),
)


def some(family: Family) -> list[Machine]:
    """Every so many of the machines, and neighbours of each, which have much in common."""
    return [family.machine((n + k) % family.size) for n in range(0, family.size, family.size // 12) for k in (0, 1, 13)]


def alone(machine: Machine, patch: pytest.MonkeyPatch) -> Decoder:
    """Compile a machine with nothing of any other."""
    with patch.context() as patched:
        for name in SHARING:
            patched.setattr(compiler, name, getattr(compiler, name).__wrapped__)
        for module, name in ((compiler, "_ones"), (compiler, "_reading"), (layout, "_stream"), (layout, "_named")):
            patched.setattr(module, name, getattr(module, name).__wrapped__)
        return compile_machine(machine)


@pytest.mark.parametrize("family", FAMILIES, ids=["two-way", "one-way", "partial", "three moves"])
def test_the_weights_are_those_of_a_machine_compiled_alone(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    for machine in some(family):
        shared, own = compile_machine(machine), alone(machine, monkeypatch)
        assert (shared == own, digest(shared) == digest(own), shared.provenance == own.provenance) == (True, True, True)


def test_machines_with_the_same_tokens_share_all_layers_but_the_transition() -> None:
    one, other = (compile_machine(Family(2, 2).machine(n)) for n in (12 * 5, 5))  # the last two rules exchanged
    assert one.vocabulary == other.vocabulary
    assert one.layout is other.layout
    assert [a is b for a, b in zip(one.layers, other.layers, strict=True)] == [True, True, True, True, True, False]
    assert digest(one) != digest(other)
