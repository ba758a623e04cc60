"""Universal decoders in words: the class of machines, and the one in the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted
from tm2tfr.cli.about import turing
from tm2tfr.cli.about.turing import concluded, ended

__all__ = ["concluded", "described", "ended", "heading"]

if TYPE_CHECKING:
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.transformer.weights import Decoder


def heading(universal: Universal, decoder: Decoder) -> str:
    """Return the lines above the summary: the class, and the machine in its prompt."""
    tape = "one-way or two-way" if universal.tape == "both" else universal.tape
    sizes = f"{counted(universal.states, 'state')} with rules and {counted(universal.symbols, 'symbol')}"
    every = f"all machines with at most {sizes}, {tape} tape"
    if universal.machine is None:
        return f"Universal decoder for {every}: the machine is in the prompt (tm2tfr prompt)\n"
    where = f"in the prompt of a universal decoder for {every}: {counted(len(universal.description), 'token')}"
    order = "" if universal.seed is None else f", rules in the order of seed {universal.seed}"
    return "\n".join([*turing.named(universal.machine), f"{where}{order}"]) + "\n"


def described(argument: str, universal: Universal, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe the machine in the prompt, given as `argument`; as JSON, one object."""
    return turing.described(argument, universal.right, as_json=as_json)
