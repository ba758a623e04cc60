"""The options for readers: keywords of `tm2tfr.compile` and parameters of shipped circuits for editors, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from tm2tfr.base.choices import (
    AutomatonWay,
    Basis,
    CircuitVariant,
    LeftBoundary,
    LogicAnswers,
    LogicCompare,
    LogicVariant,
    RaspMask,
)
from tm2tfr.contract.options import EVERY, fields_of


class CircuitParameters(TypedDict, total=False):
    """The keywords of `tm2tfr.load`, for editors: the parameters of shipped circuits."""

    bits: int
    order: str
    select: int
    number: int
    inputs: int
    gates: int
    seed: int | None
    kinds: str


class CompileOptions(CircuitParameters, total=False):
    """The keywords of `tm2tfr.compile` and `Subject.of`, for editors: every option, and parameters of shipped circuits."""

    left_boundary: LeftBoundary | None
    universal: Any
    tape: str | None
    variant: CircuitVariant | LogicVariant | None
    basis: Basis | None
    epsilon: float | None
    epsilon_star: float | None
    sop: str | None
    alphabet: str | Sequence[str | bool | int] | None
    max_length: int | None
    mask: RaspMask | None
    max_values: int | None
    max_units: int | None
    unbounded: bool | None
    define: str | None
    by: AutomatonWay | None
    compare: LogicCompare | None
    answers: LogicAnswers | None
    steep: bool | None


def table() -> str:
    """Return all options as a table in Markdown: the option, what it is for, its values, what it does."""
    lines = ["| option | of | values | |", "|---|---|---|---|"]
    for what, kind in EVERY.items():
        for name, known in fields_of(kind).items():
            values = ", ".join(f"`{word}`" for word in known.words) or {"any": "see `tm2tfr.compile`"}.get(
                known.kind, known.kind
            )
            lines.append(f"| `{name}` | {what} | {values} | {known.about.help or known.about.whose} |")
    return "\n".join(lines)
