"""Why weights are not certified: the part of the decoder that could not be proved right, and a witness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.errors import visible

PARTS = ("layout", "embedding", "attention", "feed_forward", "unembedding")


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One part of the weights that is wrong, or that the proof does not reach.

    Args:
        layer: from 1; 0 is the embedding (and the layout), one more than the last is the unembedding.
        layer_name: its name in the decoder.
        part: one of `PARTS`.
        what: the claim that fails, with the head, unit or direction.
        witness: the values at which the claim fails, or the entry that the proof does not cover.

    Raises:
        ValueError: for an unknown part, a negative layer, or a refusal without a witness.
    """

    layer: int
    layer_name: str
    part: str
    what: str
    witness: str

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"unknown part {self.part!r}: use one of {', '.join(PARTS)}")
        if self.layer < 0:
            raise ValueError(f"layer {self.layer} is negative: layers count from 1, 0 is the embedding")
        if not self.witness:
            raise ValueError(f"{self.what}: a refusal needs a witness: add the values at which the claim fails")

    def __str__(self) -> str:
        """Return ``layer 4 (read tape), attention: what: witness``."""
        inside = f"layer {self.layer} ({self.layer_name}), {self.part.replace('_', '-')}"
        where = inside if self.part in ("attention", "feed_forward") else self.part
        return visible(f"{where}: {self.what}: {self.witness}")

    def as_dict(self) -> dict[str, Any]:
        """Return the refusal as plain data."""
        return asdict(self)
