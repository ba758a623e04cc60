"""What labels words, in words: who says it of which construction."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tm2tfr.choices import LOGIC, RASP

if TYPE_CHECKING:
    from tm2tfr.contract import Source
    from tm2tfr.transformer.weights import Decoder

_MODULES = {RASP: "tm2tfr.cli.rasp.about", LOGIC: "tm2tfr.cli.logic.about"}


class Telling(Protocol):
    """What the commands say of the programs of one construction: the functions of a module."""

    def heading(self, program: Any, decoder: Decoder) -> str:
        """Return the lines above a summary."""

    def described(self, argument: str, program: Any, *, as_json: bool) -> Iterator[str]:
        """Yield the lines that describe a program, given as `argument`; as JSON, one object."""


def about(construction: Source[Any]) -> Telling:
    """Return what says it of the programs of a construction that labels words."""
    return import_module(_MODULES[construction.name])
