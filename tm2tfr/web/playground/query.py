"""Queries of the playground, checked: a source, an input, and options; and the shipped sources that it offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, Self

from tm2tfr.base import resources
from tm2tfr.base.choices import AUTOMATON, CIRCUIT, CIRCUIT_TEXTS, LOGIC, MACHINE_TEXTS, RASP, TURING
from tm2tfr.base.errors import NotFoundError, ReadError, UsageError, counted, did_you_mean
from tm2tfr.base.files import is_safetensors
from tm2tfr.base.text.source import decoded
from tm2tfr.base.text.words import title_in
from tm2tfr.contract.options import everything
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources import names
from tm2tfr.sources.automaton import library as automata
from tm2tfr.sources.circuit import library as circuits
from tm2tfr.sources.circuit.formats import native
from tm2tfr.sources.circuit.formats.registry import by_ending
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.registry import by_extension
from tm2tfr.sources.turing.library import load_with_warnings

MOST_SOURCE = 1 << 20
"""The longest source, in characters."""
MOST_INPUT = 10_000
"""The longest input, in characters."""
STEPS = 300
"""The steps of a machine that are run where none are asked for: a run while one types."""
GATES = 2_000
"""The gates of a circuit that are run where no number of steps is asked for."""
MOST_STEPS = 5_000
"""The most steps that can be asked for."""
EXPORTS: tuple[str, ...] = ("weights", "latex", "csv", "page", "source")
"""The exports."""

_KINDS = {name: known[0].kind for name, known in everything().items() if not known[0].about.aside | known[0].about.hidden}
_KNOWN = ("max_steps", *_KINDS)
_FIELDS = ("source", "format", "input", "options", "name", "what", "to")
_LONGEST = 1_000
_NAME = re.compile(r"[^\w-]+")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A source with an input and options.

    Args:
        source: the text.
        format: its format, if it is not to be guessed; empty: it is.
        input: the input; None: the source's own.
        options: those of its compiler, such as ``left_boundary``, and ``max_steps``; None in place of a value: the default.
        name: that of the source, where its text does not say it.

    Raises:
        UsageError: if one of them is of another type, too long, or unknown.
    """

    source: str
    format: str = ""
    input: str | None = None
    options: PlainData = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        _check_text("source", self.source, MOST_SOURCE)
        _check_text("format", self.format, _LONGEST)
        _check_text("name", self.name, _LONGEST)
        if self.input is not None:
            _check_text("input", self.input, MOST_INPUT)
        if not isinstance(self.options, Mapping):
            raise UsageError(f"options must be an object, not {_shown(self.options)}: use {{}} for none")
        for name, value in self.options.items():
            _check_option(name, value)
        object.__setattr__(self, "name", _NAME.sub("-", self.name)[:60].strip("-"))
        object.__setattr__(self, "options", {n: v for n, v in self.options.items() if v is not None})

    @classmethod
    def of(cls, given: object) -> Self:
        """Return the request that JSON describes.

        Raises:
            UsageError: if it does not describe one.
        """
        if not isinstance(given, Mapping):
            raise UsageError(f'a request must be an object, not {_shown(given)}: send {{"source": …}}')
        for name in given:
            if name not in _FIELDS:
                raise UsageError(
                    f"unknown field {_shown(name)}{did_you_mean(str(name), _FIELDS)}: use {', '.join(_FIELDS)}"
                )
        if "source" not in given:
            raise UsageError('a request must have a source: send {"source": …}')
        return cls(
            source=given["source"],
            format=given.get("format") or "",
            input=given.get("input"),
            options=given.get("options") or {},
            name=given.get("name") or "",
        )

    @property
    def compiling(self) -> PlainData:
        """The options of the compiler."""
        return {name: value for name, value in self.options.items() if name != "max_steps"}

    def steps(self, default: int) -> int:
        """Return the most steps of the run, `default` if none are asked for."""
        return int(self.options.get("max_steps", default))


def _check_text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be text, not {_shown(value)}: put it in quotes")
    if len(value) > most:
        raise UsageError(f"{name} has {counted(len(value), 'character')}: use at most {most:,}")


def _check_option(name: object, value: object) -> None:
    if name not in _KNOWN:
        raise UsageError(f"unknown option {_shown(name)}{did_you_mean(str(name), _KNOWN)}: use {', '.join(_KNOWN)}")
    if value is None:
        return
    kind = _KINDS.get(str(name), "count")
    if kind == "flag":
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false, not {_shown(value)}: omit it, or send true")
    elif kind != "count":
        _check_text(str(name), value, _LONGEST)
    elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_STEPS:
        called = "the step limit" if name == "max_steps" else name
        raise UsageError(
            f"{called} must be a whole number from 0 to {MOST_STEPS:,}, not {_shown(value)}: use for example {STEPS}"
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


# ── Shipped sources, for the tabs of the playground, and the source that the page opens with.
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
    sequences.append(("regex", "regular expression: (ab)*"))
    return [
        ("machine or circuit", both),
        ("machine", [found for found in of_machines if found not in both]),
        ("circuit", [found for found in of_circuits if found not in both]),
        ("program, formula or automaton", sequences),
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
    for name in resources.shipped(resources.AUTOMATA):
        text = partial(resources.shipped_text, resources.AUTOMATA, name)
        yield AUTOMATON, name, "jflap", automata.load(f"{name}.jff").program.title, text


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
    """Return the name, the format if the ending or the registry of shipped files determines it, and the text."""
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
    if ending in (".rasp", ".tl", ".srasp", ".regex"):
        return path.stem, ending.removeprefix("."), text
    formats = by_extension(given)
    circuit = by_ending(given)
    if circuit is not None and circuit.name not in ("yaml", "aig"):
        return path.stem, circuit.name, text
    return path.stem, formats[0] if len(formats) == 1 and formats[0] != "yaml" else None, text


def _of_kind(kind: str, name: str) -> tuple[str, str, str]:
    """Return the name in the page's list, the format and the text of the source ``kind:name``."""
    known = {text_kind for _, text_kind in names.TEXTS[kind]} or {(CIRCUIT, "yaml")}
    for each in shipped():
        if (each["kind"], each["format"]) in known and each["name"] in (name, f"{name}.{each['format']}"):
            return each["name"], each["format"], shipped_text(each["name"])
    raise ReadError(f"{kind}:{name}: its text is longer than a source of the playground may be: use the command line")
