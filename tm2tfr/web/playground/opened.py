"""A source that the page opens with, which it asks the server for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tm2tfr.base import resources
from tm2tfr.base.choices import CIRCUIT
from tm2tfr.base.errors import NotFoundError, ReadError
from tm2tfr.base.files import is_safetensors
from tm2tfr.base.text.source import decoded
from tm2tfr.sources import names
from tm2tfr.sources.circuit.formats.registry import by_ending
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.registry import by_extension
from tm2tfr.web.playground.shipped import shipped, shipped_text


def given(named: str) -> dict[str, Any]:
    """Return what a user names, a file, something shipped, or bbchallenge text, as the page's links carry it.

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
    """Return the name, the format if the ending says it, or it is shipped, and the text."""
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
