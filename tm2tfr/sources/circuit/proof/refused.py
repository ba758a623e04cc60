"""Why a decoder is not certified: the gate, what is wrong, and a witness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.errors import visible


@dataclass(frozen=True, kw_only=True)
class CircuitRefusal:
    """One thing that is wrong with the weights, or that the proof does not reach.

    Args:
        part: ``shape``, ``embedding``, ``attention``, ``gate`` or ``rounding``.
        net: the net of the gate that it is about; empty if it is about the whole.
        what: the claim that fails.
        witness: the values at which it fails: positions, operand values, numbers.
    """

    part: str
    net: str
    what: str
    witness: str

    def __str__(self) -> str:
        """Return ``attention, gate s1: what: witness``."""
        where = f"{self.part}, gate {self.net}" if self.net else self.part
        return visible(f"{where}: {self.what}: {self.witness}")

    def as_dict(self) -> dict[str, Any]:
        """Return the refusal as plain data."""
        return asdict(self)


class Refused(Exception):  # noqa: N818  (it is caught by `prove`, and never leaves it)
    """A step of the proof that fails; `refusal` says why."""

    def __init__(self, part: str, what: str, witness: str, net: str = "") -> None:
        super().__init__(what)
        self.refusal = CircuitRefusal(part=part, net=net, what=what, witness=witness)
