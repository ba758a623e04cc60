"""The origin of weights, as they state it. Only this module spells the keys of `Decoder.provenance`.

The keys: ``construction``, ``source`` (the text of the program), ``name``, ``option.NAME`` for each option of the
construction, ``tm2tfr`` (the version that compiled it), ``notes`` (remarks about the weights, one per line) and,
once attention is soft, ``attention`` and ``temperature``: a number, ``local`` where each head has its own, for runs of
at most ``length`` positions, ``none`` where they hold for any length, ``per-position`` or ``paper, 1/τ = n`` where it is a
function of the position or the length.
Version 1 of weight files and exports said ``machine`` for ``source``, and ``left_boundary`` without ``option.``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tm2tfr._version import __version__

Provenance = Mapping[str, str]
"""The type of `Decoder.provenance`, which weight files and exports store."""

CONSTRUCTION, SOURCE, NAME, TM2TFR = "construction", "source", "name", "tm2tfr"
NOTES = "notes"
ATTENTION, TEMPERATURE, LENGTH = "attention", "temperature", "length"
OPTION = "option."
HIDDEN = "hidden"
"""The construction of hidden weights."""
_VERSION_1 = "machine"


def stated(construction: str, *, source: str, name: str, options: Mapping[str, str]) -> Provenance:
    """Return the provenance of weights that this version of tm2tfr has just compiled; source: the text of the program."""
    chosen = {OPTION + option: value for option, value in options.items()}
    return {CONSTRUCTION: construction, **chosen, SOURCE: source, NAME: name, TM2TFR: __version__}


def noted(provenance: Provenance, notes: Sequence[str]) -> dict[str, str]:
    """Return the provenance with these remarks about the weights, in place of earlier ones."""
    rest = {key: value for key, value in provenance.items() if key != NOTES}
    return {**rest, NOTES: "\n".join(notes)} if notes else rest


def notes(provenance: Provenance) -> tuple[str, ...]:
    """Return the remarks about the weights, one sentence each."""
    return tuple(provenance.get(NOTES, "").splitlines())


def without_effect(provenance: Provenance) -> tuple[str, ...]:
    """Return the notes on options without effect, which begin with ``--``."""
    return tuple(note for note in notes(provenance) if note.startswith("--"))


def softened(provenance: Provenance, temperature: float) -> dict[str, str]:
    """Return the provenance of the same weights with softmax attention."""
    return {**provenance, ATTENTION: "softmax", TEMPERATURE: repr(float(temperature))}


def locally_softened(provenance: Provenance, length: int | None) -> dict[str, str]:
    """Return the provenance of the same weights with softmax attention, each head by its own bound.

    Args:
        length: the most positions for which the bounds hold; None: any number, without a temperature.
    """
    said = {**provenance, ATTENTION: "softmax", TEMPERATURE: "none" if length is None else "local"}
    return said if length is None else {**said, LENGTH: str(length)}


def tempered(provenance: Provenance, word: str) -> dict[str, str]:
    """Return the provenance of the same weights with softmax attention, at a temperature that depends on the position.

    Args:
        word: ``per-position``, or ``paper, 1/τ = …``.
    """
    return {**provenance, ATTENTION: "softmax", TEMPERATURE: word}


def is_softened(provenance: Provenance) -> bool:
    """Return whether weights were made from weights with average-hard attention."""
    return TEMPERATURE in provenance


def hidden() -> dict[str, str]:
    """Return the provenance of hidden weights."""
    return {CONSTRUCTION: HIDDEN, NAME: HIDDEN}


def is_hidden(provenance: Provenance) -> bool:
    """Return whether weights state that they are hidden."""
    return provenance.get(CONSTRUCTION) == HIDDEN


def construction(provenance: Provenance) -> str | None:
    """Return the construction that compiled the weights."""
    return provenance.get(CONSTRUCTION)


def source(provenance: Provenance) -> str | None:
    """Return the text of the program that was compiled; None if there is none."""
    return provenance.get(SOURCE) or None


def name(provenance: Provenance, otherwise: str = "weights") -> str:
    """Return the name of the program that was compiled, `otherwise` if it is not stated."""
    return provenance.get(NAME, otherwise)


def option(provenance: Provenance, what: str) -> str | None:
    """Return the value of an option of the construction; None if it is not stated."""
    return provenance.get(OPTION + what)


def options(provenance: Provenance) -> dict[str, str]:
    """Return the options of the construction, by name."""
    return {key.removeprefix(OPTION): value for key, value in provenance.items() if key.startswith(OPTION)}


def temperature(provenance: Provenance) -> float | None:
    """Return the temperature by which queries were divided; None if it is not stated, or not a number for all heads."""
    try:
        return float(provenance[TEMPERATURE])
    except (KeyError, ValueError):
        return None


def covered(provenance: Provenance) -> int | None:
    """Return the most positions for which softmax is proved right; None if not stated."""
    text = provenance.get(LENGTH, "")
    return int(text) if text.isascii() and text.isdecimal() and is_softened(provenance) else None


def words_for_temperature(provenance: Provenance) -> str | None:
    """Return the words in place of a temperature, such as ``local, for at most 50 positions``; None if there are none."""
    word = provenance.get(TEMPERATURE)
    if word == "local" and (most := covered(provenance)) is not None:
        return f"{word}, for at most {most:,} positions"
    return word if word is not None and word.partition(",")[0] in ("local", "none", "per-position", "paper") else None


def is_version_1(provenance: Provenance) -> bool:
    """Return whether a file of version 1 stated this."""
    return _VERSION_1 in provenance


def from_version_1(provenance: Provenance, options: tuple[str, ...]) -> dict[str, str]:
    """Return the provenance of a file of version 1 in today's keys; `options`: the options of its construction."""
    renamed = {_VERSION_1: SOURCE, **{option: OPTION + option for option in options}}
    return {renamed.get(key, key): value for key, value in provenance.items()}
