"""The keywords of functions that take options, for editors: of `tm2tfr.compile`, and parameters of shipped circuits."""

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
