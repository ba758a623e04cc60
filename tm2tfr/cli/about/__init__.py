"""What the commands say of a program: the lines above its summary, its description; one module for each construction."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tm2tfr.base.choices import TURING

if TYPE_CHECKING:
    from tm2tfr.contract.source import Source
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.transformer.weights import Decoder


class Telling(Protocol):
    """What the commands say of the programs of one construction: the functions of a module."""

    def heading(self, program: Any, decoder: Decoder) -> str:
        """Return the lines above a summary."""

    def ended(self, trace: Trace, decoder: Decoder) -> Iterator[str]:
        """Yield how a run ended, by the decoder."""

    def concluded(self, result: Any) -> Iterator[str]:
        """Yield what the reference says of the whole run, beside what `ended` does."""

    def described(self, argument: str, program: Any, *, as_json: bool) -> Iterator[str]:
        """Yield the lines that describe a program, given as `argument`; as JSON, one object."""


def about(construction: Source[Any] | None) -> Telling:
    """Return what says it of the programs of a construction: the module of its name; None: as of a machine."""
    return import_module(f"{__name__}.{TURING if construction is None else construction.name}")
