"""A machine in other formats: those that can also be read, drawings, and LaTeX; and with a verdict for its halts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tm2tfr.choices import HALT_VERDICTS, PICTURES, WRITABLE, HaltVerdict
from tm2tfr.errors import ConversionError, OutputError, did_you_mean, visible
from tm2tfr.sources.turing.drawing import to_dot, to_mermaid
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.formats.lossless import ACCEPT, Translation, Written, fresh
from tm2tfr.sources.turing.latex import delta_table, tikz
from tm2tfr.sources.turing.spec import Machine, Rule

_PICTURES: Mapping[str, tuple[Callable[[Machine], str], tuple[str, ...]]] = {
    "mermaid": (to_mermaid, (".mmd",)),
    "dot": (to_dot, (".dot", ".gv")),
    "tikz": (tikz, (".tikz",)),
    "latex": (delta_table, (".tex",)),
}
TARGETS = (*WRITABLE, *PICTURES)


def convert(machine: Machine, format: str) -> Written:
    """Return `machine` in a format, with notes for the reader about the translation.

    Raises:
        ConversionError: if there is no such format, or it cannot express the machine: then with the reason.
    """
    if format in _PICTURES:
        return Written(_PICTURES[format][0](machine))
    if format not in TARGETS:
        what = f"machines cannot be written as {format!r}{did_you_mean(str(format), TARGETS)}"
        raise ConversionError(f"{what}: use one of {', '.join(TARGETS)}")
    return registry.write(machine, format)


def with_verdict(machine: Machine, verdict: HaltVerdict) -> Translation:
    """Return `machine` with a verdict for its halts, and a note for the reader; the description says it, too.

    To reject changes no run. To accept, a run has to enter a state: where a rule is missing, it makes one more step, which
    leaves the tape as it is.

    Raises:
        ConversionError: if there is no such verdict, or the machine has verdicts.
    """
    if verdict not in HALT_VERDICTS:
        what = f"{verdict!r} is not a verdict{did_you_mean(str(verdict), HALT_VERDICTS)}"
        raise ConversionError(f"{what}: use one of {', '.join(HALT_VERDICTS)}")
    if machine.decides:
        what = f"{visible(machine.name)}: this machine has verdicts of its own"
        raise ConversionError(f"{what}: omit --verdict, which is for machines that halt without one")
    ends = tuple(q for q in machine.states if q in machine.halting_states)
    said = f"every halt is taken to {verdict}"
    missing = machine.missing_rules if verdict == "accept" else ()
    if missing:
        ends = ends or (ACCEPT if ACCEPT not in machine.states else fresh(ACCEPT, machine.states),)
        said += f"; where a rule is missing, a run makes one more step, into the state {ends[0]!r}"
    examples = (
        replace(e, outcome=verdict, steps=None if missing else e.steps) if e.outcome == "halt" else e
        for e in machine.examples
    )
    found = replace(
        machine,
        transitions={**machine.transitions, **{(q, a): Rule(ends[0], a, 0) for q, a in missing}},
        states=tuple(dict.fromkeys([*machine.states, *ends])),
        accept=ends if verdict == "accept" else (),
        reject=ends if verdict == "reject" else (),
        description=" ".join(filter(None, [machine.description, f"{said[0].upper()}{said[1:]}."])),
        examples=tuple(examples),
        yaml=None,
    )
    return Translation(found, "", (said,))


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none, or several.
    """
    suffix = output.suffix.lower()
    pictures = (name for name, (_, endings) in _PICTURES.items() if suffix in endings)
    known = (f for f in registry.by_extension(output.name) if f in TARGETS and registry.WRITTEN_TO.get(suffix, f) == f)
    found = [*known, *pictures]
    if len(found) != 1:
        which = f"{suffix!r} may be {' or '.join(found)}" if found else f"no format has the extension {suffix!r}"
        raise OutputError(f"{output}: {which}: use --to {', '.join(found or TARGETS)}")
    return found[0]
