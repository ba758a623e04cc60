"""The sources that are shipped with the package, for the tabs of the playground."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tm2tfr import shelf
from tm2tfr.choices import CIRCUIT, CIRCUIT_TEXTS, LOGIC, MACHINE_TEXTS, RASP, TURING
from tm2tfr.errors import NotFoundError, did_you_mean
from tm2tfr.playground.query import MOST_SOURCE
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.library import registry as circuits
from tm2tfr.sources.turing.library import load_with_warnings
from tm2tfr.text.parts import title_in


@cache
def shipped() -> tuple[dict[str, str], ...]:
    """Return a description of each shipped source: ``kind``, ``name``, ``format`` and ``description``.

    A circuit has its default parameters; one whose text would be longer than a source may be is left out. A program with
    the name of a machine is called by its file, ``parity.rasp``, as everywhere.
    """
    found: dict[str, dict[str, str]] = {}
    for kind, name, format, about in _all():
        unique = f"{name}.{format}" if name in found else name
        found[unique] = {"kind": kind, "name": unique, "format": format, "description": about}
    return tuple(found.values())


def formats() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the formats that are read as text, in groups: of each group its title, of each format its name and title."""
    of_machines = [(f.name, f.title or f.name) for f in MACHINE_TEXTS if f.reads]
    of_circuits = [(f.name, f.title or f.name) for f in CIRCUIT_TEXTS if f.reads and not f.binary]
    both = [found for found in of_machines if found in of_circuits]
    sequences = [(RASP, "RASP"), ("tl", "formula: Q[a] S Q[b]"), ("srasp", "B-RASP, S-RASP")]
    return [
        ("machine or circuit", both),
        ("machine", [found for found in of_machines if found not in both]),
        ("circuit", [found for found in of_circuits if found not in both]),
        ("program or formula", sequences),
    ]


@cache
def shipped_text(name: str) -> str:
    """Return the text of a shipped source.

    Raises:
        NotFoundError: if none is shipped by that name.
    """
    known = {each["name"]: each["kind"] for each in shipped()}
    if name not in known:
        raise NotFoundError(
            f"{name[:60]!r}: no source of this name is shipped{did_you_mean(name[:60], known)}: use the list"
        )
    if known[name] == CIRCUIT:
        return _circuit_text(name.removesuffix(".yaml"))
    shelves = {TURING: (shelf.MACHINES,), RASP: (shelf.PROGRAMS,), LOGIC: (shelf.FORMULAS, shelf.ATTENTION_PROGRAMS)}
    kind = next(each for each in shelves[known[name]] if _stem(name, each) in shelf.shelf(each))
    return shelf.shipped_text(kind, _stem(name, kind))


def _all() -> Iterator[tuple[str, str, str, str]]:
    for name in shelf.shipped(shelf.MACHINES):
        yield TURING, name, "yaml", load_with_warnings(name).machine.description
    for name, generator in circuits.GENERATORS.items():
        if len(_circuit_text(name)) <= MOST_SOURCE:
            yield CIRCUIT, name, "yaml", generator.description
    for name in shelf.shipped(shelf.PROGRAMS):
        yield RASP, name, RASP, title_in(shelf.shipped_text(shelf.PROGRAMS, name))
    for format, kind in (("tl", shelf.FORMULAS), ("srasp", shelf.ATTENTION_PROGRAMS)):
        for name in shelf.shipped(kind):
            yield LOGIC, name, format, title_in(shelf.shipped_text(kind, name))


@cache
def _circuit_text(name: str) -> str:
    return native.write(circuits.load(name))


def _stem(name: str, kind: shelf.Shelf) -> str:
    return name.removesuffix(kind.endings[0])
