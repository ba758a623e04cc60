"""Where specs come from: a path, or the specs shipped with the package."""

from __future__ import annotations

import json
from pathlib import Path

from tm2tfr import shelf
from tm2tfr.dataset.kinds import AnySpec
from tm2tfr.dataset.reader import read
from tm2tfr.sources.circuit.formats.registry import by_ending, recognised
from tm2tfr.sources.circuit.library.registry import GENERATORS
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.rasp.given.library import is_program, load
from tm2tfr.sources.registry import built, loaded
from tm2tfr.sources.turing.library import shipped as machines

MOST_INPUTS = 16
"""All inputs of a circuit with at most so many are taken where no spec says which."""


def shipped_specs() -> tuple[str, ...]:
    """Return the names of the shipped specs, sorted."""
    return shelf.shipped(shelf.SPECS)


def load_spec(where: str | Path) -> AnySpec:
    """Read a spec from a path, or a shipped one by its name; a file of that name takes precedence.

    The name of a shipped circuit, or the file of a circuit, stands for a spec of that circuit: on all inputs, where
    these are at most 2^16, otherwise on 1,000 random ones. That of a RASP program stands for 1,000 random inputs with 1 to
    10 tokens, and with a single token for all of them.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
        ConversionError: if the file of a circuit cannot be read.
    """
    name = str(where)
    if isinstance(where, str) and shelf.on_shelf(shelf.SPECS, name):
        return read(shelf.shipped_text(shelf.SPECS, name), file=f"{name}.yaml")
    if isinstance(where, str) and name in GENERATORS and not Path(name).is_file():
        return _of_circuit(name, built(name, {}).program)
    if _is_circuit_file(name):
        return _of_circuit(name, loaded(where).program)
    if is_program(where) and name not in machines():
        return _of_rasp(name)
    return read(shelf.contents(shelf.SPECS, name), file=shelf.display(name), folder=Path(name).parent)


def _is_circuit_file(name: str) -> bool:
    format = by_ending(name)
    if format is None or not Path(name).is_file():
        return False
    return format.name != "yaml" or recognised(shelf.contents(shelf.SPECS, name)) is format


def _of_circuit(name: str, program: object) -> AnySpec:
    """Return the spec that the name of a circuit, or of its file, stands for."""
    few = isinstance(program, Circuit) and len(program.inputs) <= MOST_INPUTS
    inputs = "{all: true}" if few else "{random: {count: 1000}}"
    return read(f"circuits: [{json.dumps(name)}]\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")


def _of_rasp(name: str) -> AnySpec:
    """Return the spec that the name of a RASP program, or of its file, stands for."""
    several = len(load(name).program.alphabet) > 1
    inputs = "{random: {count: 1000, length: 1 to 10}}" if several else "{up to: 10}"
    return read(f"program: {json.dumps(name)}\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")
