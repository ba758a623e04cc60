"""The constructions that there are, each imported when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tm2tfr.choices import CIRCUIT, TURING
from tm2tfr.contract import Construction
from tm2tfr.errors import CompileError, did_you_mean

_MODULES = {TURING: "tm2tfr.sources.turing.construction", CIRCUIT: "tm2tfr.sources.circuit.construction"}
"""The name of a construction, as the provenance of weights has it -> the module with its `Construction`."""


def named(name: str | None) -> Construction[Any] | None:
    """Return the construction of weights whose provenance says `name`; without a name, they are a Turing machine's."""
    module = _MODULES.get(TURING if name is None else name)
    return None if module is None else _of(module)


def of_program(program: object) -> Construction[Any] | None:
    """Return the construction whose programs are of this kind; None if there is none."""
    kind = type(program).__module__
    for module in _MODULES.values():
        package = module.rpartition(".")[0]
        if kind.startswith(f"{package}."):
            found = _of(module)
            return found if isinstance(program, found.type) else None
    return next((c for c in map(_of, _MODULES.values()) if isinstance(program, c.type)), None)


def whose(option: str) -> str:
    """Return the words for those to whose programs an option of some construction does not apply.

    Raises:
        CompileError: if no construction has it.
    """
    every = {name: words for module in _MODULES.values() for name, words in _of(module).options.items()}
    if option not in every:
        known = ", ".join(every)
        raise CompileError(f"no construction has an option {option!r}{did_you_mean(option, every)}: use one of {known}")
    return every[option]


@dataclass(frozen=True)
class LoadedProgram:
    """A program that was read from a text, and what its author may not have meant."""

    program: Any
    warnings: tuple[str, ...]


def loaded(given: str | Path, *, format: str | None = None) -> LoadedProgram:
    """Return the program that a name, a path or a text stands for.

    Raises:
        NotFoundError, ReadError, ConversionError, SpecError: if it cannot be loaded.
    """
    from tm2tfr.sources.turing.library import load_with_warnings  # noqa: PLC0415

    found = load_with_warnings(given, format=format)
    return LoadedProgram(found.machine, tuple(map(str, found.warnings)))


def _of(module: str) -> Construction[Any]:
    found: Construction[Any] = import_module(module).CONSTRUCTION
    return found
