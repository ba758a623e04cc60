"""The number of positions of an export: as many as are asked for, if they fit; otherwise how many would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TypedDict

from tm2tfr.base.choices import DTYPES
from tm2tfr.base.errors import ExportError, counted, visible
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.sources.turing.proof.attention import Lookups, Retrieval
from tm2tfr.sources.turing.proof.prove import MachineProof
from tm2tfr.sources.turing.proof.rounding import Condition, largest

USUAL = 1024
"""The default number of positions of an export, if they fit."""


class Options(TypedDict, total=False):
    """The options of an export, as they are given; see `Requested`."""

    positions: int | None
    max_head: int | None
    dtype: str
    stock: bool


@dataclass(frozen=True, kw_only=True)
class Requested:
    """The options of an export.

    Args:
        positions: N, the longest run; None: the usual number, or as many as fit.
        max_head: H, the largest |h|; None: any.
        dtype: ``float64`` or ``float32``; stock: of a GPT-2, its own epsilon and GELU.
    """

    positions: int | None = None
    max_head: int | None = None
    dtype: str = "float64"
    stock: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The choices for an export.

    Args:
        positions: N, the longest run.
        max_head: H, the largest |h| for which the weights must work; at most N - 1, which always holds.
        dtype: ``float64`` or ``float32``.
        scope: the programs that the weights run, if the one that is run is in the prompt, which N then counts.
        certified: whether there are bounds on rounding.

    Raises:
        ExportError: for an unknown dtype, numbers that are too small, or a bound that no run of that length needs.
        TypeError: for numbers that are not whole.
    """

    positions: int
    max_head: int
    dtype: str = "float64"
    scope: str = ""
    certified: bool = True

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        for number in (self.positions, self.max_head):
            index(number)
        if self.positions < 1 or not 0 <= self.max_head < self.positions:
            what = f"{self.positions} positions with |h| ≤ {self.max_head}"
            raise ExportError(f"{what}: use at least 1 position, and a bound on |h| from 0 to one less")

    @property
    def head(self) -> int | None:
        """The bound on |h|, if there is one."""
        return self.max_head

    @property
    def statement(self) -> str:
        """What the bounds on rounding guarantee, in words."""
        head = "" if self.max_head >= self.positions - 1 else f" and |h| ≤ {self.max_head:,}"
        every, prompt = (f"{self.scope}, ", ", the prompt included") if self.scope else ("", "")
        run = f"every input and every run with at most {counted(self.positions, 'position')}{head}{prompt}"
        return f"for {every}{run}, greedy generation in {self.dtype} gives exactly the machine's run"

    @property
    def stated(self) -> str:
        """The statement as a sentence."""
        return f"{self.statement[0].upper()}{self.statement[1:]}."

    def explained(self, judge: str, assumed: str) -> str:
        """Return how far an export with the decoder's own matrices is right, and why.

        Args:
            judge: what says which labels are right; assumed: what is assumed of the program that runs the export.
        """
        return f"""{self.stated}
This is the certificate for tm2tfr's dense engine (`tm2tfr certify`): a proof of the weights in exact arithmetic, with
bounds on rounding errors. It holds here because the arithmetic is that engine's: scores are added up component by
component, the tie-break last, in the order that the exported program itself fixes; a mean is a sum divided by a number;
no other sum depends on its order, and none on whether a product is rounded before it is added (fused multiply-add or
not). {assumed}"""


def check_dtype(dtype: str) -> None:
    """Check that exports can have numbers of this type.

    Raises:
        ExportError: if they cannot.
    """
    if dtype not in DTYPES:
        raise ExportError(f"weights are exported in {' or '.join(DTYPES)}, not in {dtype!r}: use one of them")


def proved(proof: MachineProof) -> tuple[Lookups, Retrieval]:
    """Return what is proved about the heads.

    Raises:
        ExportError: if the weights are not proved right in exact arithmetic.
    """
    if proof.refusals or proof.lookups is None or proof.retrieval is None:
        why = f": {proof.refusals[0]}" if proof.refusals else ""
        raise ExportError(
            f"{visible(proof.machine.name)}: these weights could not be proved right, see tm2tfr certify{why}"
        )
    return proof.lookups, proof.retrieval


def fitting(
    found: Sequence[Condition],
    name: str,
    asked: Requested,
    *,
    kind: str = "",
    ways: Sequence[str] = (),
) -> tuple[int, int]:
    """Return N and H as requested; by default the usual N, or as many as fit.

    Args:
        found: the conditions; name: the machine's name.
        kind, ways: what else restricts them, and what to do about it, for the refusal.

    Raises:
        ExportError: if the request does not fit; it says what would.
    """
    positions, max_head, dtype = asked.positions, asked.max_head, asked.dtype
    most = largest(found, 2 ** DIGITS[dtype], max_head)
    wanted = min(USUAL, max(most, 1)) if positions is None else positions
    head = wanted - 1 if max_head is None else min(max_head, wanted - 1)
    if wanted <= most:
        return wanted, head
    tight = max(found, key=lambda c: c.use(wanted, head))
    do = "does" if wanted == 1 else "do"
    what = f"{visible(name)}: {counted(wanted, 'position')} with |h| ≤ {head:,} {do} not fit into {dtype}{kind}"
    lower = _largest_head(found, wanted, head)
    options = [f"--positions {most}"] if most else []
    options += [f"--max-head {lower}"] if lower is not None else []
    options += ["--dtype float64"] if dtype == "float32" else []
    remedy = ", or ".join([*options, *ways]) or "another machine"
    raise ExportError(f"{what} (layer {tight.layer}, {tight.where}: {tight.formula}): use {remedy}")


def _largest_head(found: Sequence[Condition], positions: int, top: int) -> int | None:
    """Return the largest H that fits with N = `positions`, None if not even 1 does."""
    low, high = 0, top
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if all(c.holds(positions, middle) for c in found) else (low, middle)
    return low or None
