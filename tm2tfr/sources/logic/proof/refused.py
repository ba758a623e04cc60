"""Why the weights of a formula are not certified: where, what is wrong, and a witness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.errors import visible


@dataclass(frozen=True, kw_only=True)
class LogicRefusal:
    """One thing that is wrong with the weights, or that the proof does not reach.

    Args:
        part: ``shape``, ``embedding``, ``attention``, ``feed-forward``, ``unembedding``, ``rounding`` or ``words``.
        layer: from 1; 0 if it is about none.
        what: the claim that fails, or is not shown.
        witness: the head, unit, form or word concerned.
    """

    part: str
    layer: int
    what: str
    witness: str

    def __str__(self) -> str:
        """Return ``attention, layer 2: what: witness``."""
        where = f"{self.part}, layer {self.layer}" if self.layer else self.part
        return visible(f"{where}: {self.what}: {self.witness}")

    def as_dict(self) -> dict[str, Any]:
        """Return the refusal as plain data."""
        return asdict(self)


class NotShown(Exception):  # noqa: N818  (it is caught by the proof, and never leaves it)
    """A step of the proof that fails; `refusal` says why."""

    def __init__(self, part: str, what: str, witness: str, layer: int = 0) -> None:
        super().__init__(what)
        self.refusal = LogicRefusal(part=part, layer=layer, what=what, witness=witness)
