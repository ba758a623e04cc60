"""The number of positions of an export with a decoder's own matrices: as many as are certified for the dense engine."""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.certificate import prove
from tm2tfr.certificate.certificate import checked
from tm2tfr.errors import ExportError, visible
from tm2tfr.machine.spec import Machine
from tm2tfr.targets.common.card import name_of
from tm2tfr.targets.common.fitting import USUAL, check_bounds, fitting, proved, statement
from tm2tfr.transformer.weights import Decoder

UNCERTIFIED = "not certified: no machine is stored with these weights"
LARGEST = 2**31
"""The largest size of all matrices in bytes; a larger export is refused, since it would not fit into an ONNX file."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The choices for an export.

    Args:
        positions: N, the longest run.
        max_head: H, the largest |h| of a run; at most N - 1, which always holds. None: nothing is certified, since no
            machine is stored with the weights.
        dtype: ``float64`` or ``float32``.

    Raises:
        ExportError: for an unknown dtype, or numbers that are too small.
        TypeError: for numbers that are not whole.
    """

    positions: int
    max_head: int | None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.dtype not in ("float64", "float32"):
            raise ExportError(f"weights are exported in float64 or float32, not in {self.dtype!r}: use one of them")
        check_bounds(self.positions, 0 if self.max_head is None else self.max_head)

    @property
    def certified(self) -> bool:
        """Whether there is a certificate."""
        return self.max_head is not None

    @property
    def statement(self) -> str:
        """What is certified."""
        if self.max_head is None:
            return UNCERTIFIED
        return statement(self.positions, self.max_head, self.dtype)


def fitted(
    decoder: Decoder,
    machine: Machine | None,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
) -> Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Without a machine nothing is proved, and any number of positions fits.

    Raises:
        ExportError: if the request does not fit (it says what would), or `decoder` could not be proved to be `machine`.
    """
    size = decoder.parameters * (4 if dtype == "float32" else 8)
    if size > LARGEST:
        what = f"{visible(name_of(machine or decoder))}: its matrices would have {size / 2**30:,.1f} GiB with their zeros"
        raise ExportError(f"{what}, but at most {LARGEST / 2**30:.0f} GiB are allowed: export a smaller machine")
    if dtype not in ("float64", "float32"):
        raise ExportError(f"weights are exported in float64 or float32, not in {dtype!r}: use one of them")
    if machine is None:
        if max_head is not None:
            raise ExportError(
                "a bound on |h| is about Turing machines, and no machine is stored with these weights: omit it"
            )
        if decoder.soft:
            raise ExportError("these weights have softmax attention: export the weights that they were made from")
        return Recipe(positions=USUAL if positions is None else positions, max_head=None, dtype=dtype)
    proof = prove(decoder, machine)
    proved(proof)
    found = proof.conditions("dense", checked("dense", dtype))
    wanted, head = fitting(found, machine.name, positions, max_head, dtype)
    return Recipe(positions=wanted, max_head=head, dtype=dtype)
