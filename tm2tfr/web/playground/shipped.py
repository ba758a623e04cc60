"""Shipped sources, for the tabs of the playground, and the source that the page opens with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from tm2tfr.base import resources
from tm2tfr.base.choices import CIRCUIT, CIRCUIT_TEXTS, LOGIC, MACHINE_TEXTS, RASP, TURING
from tm2tfr.base.errors import NotFoundError, ReadError, did_you_mean
from tm2tfr.base.files import is_safetensors
from tm2tfr.base.text.source import decoded
from tm2tfr.base.text.words import title_in
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources import names
from tm2tfr.sources.circuit import library as circuits
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.formats.registry import by_ending
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.registry import by_extension
from tm2tfr.sources.turing.library import load_with_warnings
from tm2tfr.web.playground.query import MOST_SOURCE


class _Shipped(NamedTuple):
    """A shipped source: what describes it, and the function that returns its text."""

    about: dict[str, str]
    text: Callable[[], str]


def shipped() -> tuple[dict[str, str], ...]:
    """Return a description of each shipped source: ``kind``, ``name``, ``format`` and ``description``.

    A circuit has its default parameters; one whose text would be longer than a source may be is left out. A program with
    the name of a machine is called by its file, ``parity.rasp``, as everywhere.
    """
    return tuple(each.about for each in _by_name().values())


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


def shipped_text(name: str) -> str:
    """Return the text of a shipped source.

    Raises:
        NotFoundError: if none is shipped by that name.
    """
    known = _by_name()
    if name not in known:
        close = did_you_mean(name[:60], known)
        raise NotFoundError(f"{name[:60]!r}: no source of this name is shipped{close}: use the list")
    return known[name].text()


@cache
def _by_name() -> dict[str, _Shipped]:
    found: dict[str, _Shipped] = {}
    for kind, name, format, description, text in _all():
        unique = f"{name}.{format}" if name in found else name
        about = {"kind": kind, "name": unique, "format": format, "description": description}
        found[unique] = _Shipped(about, text)
    return found


def _all() -> Iterator[tuple[str, str, str, str, Callable[[], str]]]:
    """Yield the kind of each, its name, its format, its description, and the function that returns its text."""
    for name in resources.shipped(resources.MACHINES):
        about = load_with_warnings(name).machine.description
        yield TURING, name, "yaml", about, partial(resources.shipped_text, resources.MACHINES, name)
    for name, generator in circuits.GENERATORS.items():
        if len(_circuit_text(name)) <= MOST_SOURCE:
            yield CIRCUIT, name, "yaml", generator.description, partial(_circuit_text, name)
    shelves = (
        (RASP, RASP, resources.PROGRAMS),
        (LOGIC, "tl", resources.FORMULAS),
        (LOGIC, "srasp", resources.ATTENTION_PROGRAMS),
    )
    for kind, format, of in shelves:
        for name in resources.shipped(of):
            text = partial(resources.shipped_text, of, name)
            yield kind, name, format, title_in(text()), text


@cache
def _circuit_text(name: str) -> str:
    return native.write(circuits.load(name))


def opening_source(named: str) -> PlainData:
    """Return the source that a user names (a file, a shipped source or bbchallenge text) in the form of the page's links.

    The file is read here, once; the page never does.

    Returns:
        ``v``, 1; ``name``, ``source``, ``format`` (None: it is to be recognised), ``input`` and ``options``.

    Raises:
        NotFoundError, ReadError: if there is no such thing, or it cannot be read.
        SpecError: if it is not text, or too long for a source.
    """
    name, format, text = _text(named)
    return {"v": 1, "name": name, "source": text, "format": format, "input": None, "options": {}}


def _text(given: str) -> tuple[str, str | None, str]:
    """Return the name, the format if the ending or the shelf says it, and the text."""
    path = Path(given)
    if (chosen := names.split(given)) is not None:
        return _of_kind(*chosen)
    known = {each["name"]: each["format"] for each in shipped()}
    if given in known and not path.is_file():
        return given, known[given], shipped_text(given)
    if bbchallenge.is_argument(given) and not path.exists():
        return given[:40], "bbchallenge", given
    try:
        data = resources.contents(resources.MACHINES, given)
    except NotFoundError:
        remedy = "name a file, or what 'tm2tfr list' lists"
        raise NotFoundError(
            f"{resources.display(given)}: there is no such file, and nothing of that name is shipped: {remedy}"
        ) from None
    if is_safetensors(data[:9], len(data)):
        raise ReadError(
            f"{resources.display(given)}: this is a weight file, and the playground takes a source: name the file of that"
        )
    text = decoded(data, file=resources.display(given), noun="source").text
    ending = path.suffix.lower()
    if ending in (".rasp", ".tl", ".srasp"):
        return path.stem, ending.removeprefix("."), text
    formats = by_extension(given)
    circuit = by_ending(given)
    if circuit is not None and circuit.name not in ("yaml", "aig"):
        return path.stem, circuit.name, text
    return path.stem, formats[0] if len(formats) == 1 and formats[0] != "yaml" else None, text


def _of_kind(kind: str, name: str) -> tuple[str, str, str]:
    """Return the name in the page's list, the format and the text of what ``kind:name`` stands for."""
    known = {text_kind for _, text_kind in names.TEXTS[kind]} or {(CIRCUIT, "yaml")}
    for each in shipped():
        if (each["kind"], each["format"]) in known and each["name"] in (name, f"{name}.{each['format']}"):
            return each["name"], each["format"], shipped_text(each["name"])
    raise ReadError(f"{kind}:{name}: its text is longer than a source of the playground may be: use the command line")
