"""An automaton in other formats, and as the programs that it is compiled by: B-RASP, a formula, or RASP's scan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tm2tfr.base.errors import CompileError, ConversionError, OutputError, did_you_mean, visible
from tm2tfr.base.text.shown import WrittenSource
from tm2tfr.contract.options import AutomatonOptions
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.drawing import to_dot, to_mermaid
from tm2tfr.sources.automaton.formats import registry
from tm2tfr.sources.automaton.programs import LENGTH, STAR_FREE, decided, formula_of, rasp_way, shown_counter, text_of

_ENDINGS = {
    ".jff": "jflap",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".srasp": "srasp",
    ".tl": "tl",
    ".rasp": "rasp",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
}


_WRITERS: dict[str, Callable[[Automaton], str]] = {
    "yaml": lambda automaton: registry.write(automaton, "yaml"),
    "jflap": lambda automaton: registry.write(automaton, "jflap"),
    "srasp": lambda automaton: text_of(automaton, AutomatonOptions(by=STAR_FREE)),
    "tl": formula_of,
    "rasp": lambda automaton: text_of(automaton, AutomatonOptions(by=rasp_way(automaton))),
    "dot": to_dot,
    "mermaid": to_mermaid,
}
TARGETS: tuple[str, ...] = tuple(_WRITERS)
"""Everything that an automaton is written in."""


def convert(automaton: Automaton, format: str) -> WrittenSource:
    """Return an automaton in a format.

    Raises:
        ConversionError: if there is no such format, it cannot express the automaton, or the automaton is not star-free and
            the format is that of B-RASP or of formulas.
    """
    if format not in TARGETS:
        what = f"{visible(automaton.name)} is an automaton, which is not written as {format!r}"
        raise ConversionError(f"{what}{did_you_mean(format, TARGETS)}: use one of {', '.join(TARGETS)}")
    known = decided(automaton) if format in ("srasp", "tl") else None
    if known is not None and known.cascade is None:
        why = "whether it is star-free is not decided" if known.counter is None else shown_counter(known.counter)
        what = f"{visible(automaton.name)} is not star-free ({why}), and {format} is for languages that are"
        raise ConversionError(f"{what}: use rasp, for words of limited length")
    try:
        text = _WRITERS[format](automaton)
    except CompileError as error:
        raise ConversionError(error.typed) from None
    notes = []
    if known is not None and known.merged:
        notes.append("it is made of the minimal automaton, since the given one counts where it need not")
    if format == "rasp":
        notes.append(f"it is for words of up to {LENGTH} tokens: its header 'length' says so")
    if format == "jflap" and any(len(token) > 1 for token in automaton.alphabet):
        notes.append("JFLAP reads a token of several characters as one character after the other")
    return WrittenSource(text, tuple(notes))


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none.
    """
    found = _ENDINGS.get(output.suffix.lower())
    if found is None:
        what = f"{output}: automata are not written in files with the extension {output.suffix!r}"
        raise OutputError(f"{what}: use --to {', '.join(TARGETS)}")
    return found
