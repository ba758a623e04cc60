"""Names of what is shipped: which kinds have one of a name, and ``kind:name``, which is the one of that kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tm2tfr.base.choices import AUTOMATON as AUTOMATA_SOURCE
from tm2tfr.base.choices import LOGIC, RASP, TURING
from tm2tfr.base.errors import NotFoundError, did_you_mean, plural
from tm2tfr.base.resources import (
    ATTENTION_PROGRAMS,
    AUTOMATA,
    FORMULAS,
    MACHINES,
    PROGRAMS,
    ResourceKind,
    display,
    is_file,
    shipped,
    shipped_text,
)

if TYPE_CHECKING:
    from tm2tfr.sources.circuit.library import Generator

MACHINE, CIRCUIT, PROGRAM, FORMULA, AUTOMATON = KINDS = ("machine", "circuit", "program", "formula", "automaton")
"""The kinds, in the order in which a name alone is looked for."""
PLURALS = {kind: plural(kind) for kind in KINDS}
"""A kind -> several of them, as 'tm2tfr list' calls them."""
TEXTS: dict[str, tuple[tuple[ResourceKind, tuple[str, str]], ...]] = {
    MACHINE: ((MACHINES, (TURING, "yaml")),),
    CIRCUIT: (),
    PROGRAM: ((PROGRAMS, (RASP, RASP)), (ATTENTION_PROGRAMS, (LOGIC, "srasp"))),
    FORMULA: ((FORMULAS, (LOGIC, "tl")),),
    AUTOMATON: ((AUTOMATA, (AUTOMATA_SOURCE, "jflap")),),
}
"""A kind -> where the texts of its shipped ones are, with their construction and their format; circuits are generated."""
_PREFIXED = re.compile(r"(?!regex:)([A-Za-z]{2,}):([\w.-]+)")  # regex:ab is a regular expression


def of_kind(kind: str) -> tuple[str, ...]:
    """Return the names of the shipped ones of a kind."""
    if kind == CIRCUIT:
        from tm2tfr.sources.circuit.library import GENERATORS  # noqa: PLC0415

        return tuple(GENERATORS)
    return tuple(name for resources, _ in TEXTS[kind] for name in shipped(resources))


def every() -> tuple[str, ...]:
    """Return all names, each once, those of a kind after each other."""
    return tuple(dict.fromkeys(name for kind in KINDS for name in of_kind(kind)))


def kind_of(given: object) -> str | None:
    """Return the kind of the shipped thing that a name alone stands for; None for a file, and for what is not shipped."""
    if not isinstance(given, str) or is_file(given):
        return None
    return next((kind for kind in KINDS if given in of_kind(kind)), None)


def homonyms(name: str) -> tuple[str, ...]:
    """Return what a name stands for where that is several shipped things, as ``kind:name``, the one that is taken first.

    A file of that name comes before all of them; then, and where there is only one, nothing is returned.
    """
    found = tuple(f"{kind}:{name}" for kind in KINDS if name in of_kind(kind))
    return found if len(found) > 1 and not is_file(name) else ()


def file_of(kind: str, name: str) -> str:
    """Return the name of the file that a shipped machine, program or formula is in."""
    return f"{name}{_place(kind, name)[0].endings[0]}"


def text_of(kind: str, name: str) -> tuple[str, tuple[str, str]]:
    """Return the text of a shipped machine, program or formula, with its construction and its format."""
    resources, text_kind = _place(kind, name)
    return shipped_text(resources, name), text_kind


def _place(kind: str, name: str) -> tuple[ResourceKind, tuple[str, str]]:
    return next(place for place in TEXTS[kind] if name in shipped(place[0]))


def split(given: object) -> tuple[str, str] | None:
    """Return the kind and the name of ``kind:name``; None for anything else, and for a file that is called so.

    Raises:
        NotFoundError: if there is no such kind, or nothing of that kind and name is shipped.
    """
    found = _PREFIXED.fullmatch(given) if isinstance(given, str) else None
    if found is None or is_file(found[0]):
        return None
    kind, name = found.groups()
    if kind not in KINDS:
        known = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
        problem = f"{display(found[0])}: there is no such file, and {kind!r} is not a kind of what is shipped"
        raise NotFoundError(f"{problem}{did_you_mean(kind, KINDS)}: use {known}, as in machine:parity")
    if name not in of_kind(kind):
        problem = f"{found[0]}: no {kind} of this name is shipped{did_you_mean(found[0], _near(kind, name))}"
        raise NotFoundError(
            f"{problem}: use a name that 'tm2tfr list {PLURALS[kind]}' lists, without {kind + ':'!r} for a file"
        )
    return kind, name


def _near(kind: str, name: str) -> Iterable[str]:
    """Return the nearest names: this name of another kind, otherwise other names of this kind."""
    others = [f"{other}:{name}" for other in KINDS if name in of_kind(other)]
    return others or [f"{kind}:{other}" for other in of_kind(kind)]


# ── shipped circuits, which take parameters ─────────────────────────────────────────────────────────────────
def is_circuit(name: str) -> bool:
    """Return whether `name` is that of a shipped circuit.

    A file and a shipped machine of the same name come first; with parameters, a circuit is meant, see `built`.
    """
    if name in shipped(MACHINES) or is_file(name):
        return False
    return generator_named(name) is not None


def generator_named(name: str) -> Generator | None:
    """Return the shipped circuit that ``parity`` or ``circuit:parity`` names, whatever else has the name; None: none."""
    from tm2tfr.sources.circuit.library import GENERATORS  # noqa: PLC0415

    kind, name = split(name) or (CIRCUIT, name)
    return GENERATORS.get(name) if kind == CIRCUIT else None


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the names of the parameters of a shipped circuit; of anything else none."""
    found = generator_named(name)
    return () if found is None else tuple(parameter.name for parameter in found.parameters)
