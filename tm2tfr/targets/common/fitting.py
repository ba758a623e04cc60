"""The recipe of an export: its dtype, and the number of positions requested; if that does not fit, one that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TypedDict

from tm2tfr.base.choices import DTYPES
from tm2tfr.base.errors import ExportError, a_or_an, counted, visible
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.turing.proof.attention import Lookups, Retrieval
from tm2tfr.sources.turing.proof.prove import MachineProof
from tm2tfr.sources.turing.proof.rounding import Condition, largest
from tm2tfr.transformer.provenance import covered
from tm2tfr.transformer.weights import Decoder

USUAL = 1024
"""The default number of positions of an export, if they fit."""


class Options(TypedDict, total=False):
    """The options of an export as keywords; see `Requested`."""

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
        """The guarantee that follows from the bounds on rounding, in words."""
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
            judge: the reference of labels, in words; assumed: the assumptions about the program that runs the export.
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
    """Return the proof about the heads.

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


MOST_POSITIONS = 4_096
"""The most positions of such an export: programs that run one make a score for every two positions."""


@dataclass(frozen=True, kw_only=True)
class Tabled(Recipe):
    """The choices.

    Args:
        max_head: nothing: there is no head that moves.
        certified: whether the reference's bits are proved for every input, and no operation rounds anything.
        noun: the noun for the program.
    """

    max_head: int = 0
    noun: str = "program"

    @property
    def head(self) -> int | None:
        return None

    @property
    def statement(self) -> str:
        if self.certified:
            return f"for every input of the {self.noun}, greedy generation in {self.dtype} gives exactly the right tokens"
        return f"not certified in {self.dtype}, since softmax and layer norms round in every program in its own way"

    def explained(self, judge: str, assumed: str) -> str:
        if not self.certified:
            return f"""{self.stated}
The weights are certified for tm2tfr's own engine, with bounds on its rounding (`tm2tfr certify`). Unless it is given
`--no-verify`, `tm2tfr export` runs an export before it is written, on all inputs if they are few and otherwise on random
ones, and compares every token with that of the reference. {assumed}"""
        return f"""{self.stated}
This is the certificate for tm2tfr's dense engine (`tm2tfr certify`): a proof of the weights for all inputs. It holds here,
since with these weights all numbers at the positions that matter are whole numbers, or halves, which no sum rounds, in
whatever order it is added up. {assumed}"""


@dataclass(frozen=True, kw_only=True)
class Uncertified(Recipe):
    """The choices for an export of weights without a machine: there is no head, and any number of positions fits."""

    max_head: int = 0
    certified: bool = False

    @property
    def head(self) -> int | None:
        return None

    @property
    def statement(self) -> str:
        return "not certified: no machine is stored with these weights"

    def explained(self, judge: str, assumed: str) -> str:
        return f"""Nothing is certified, since no machine is stored with these weights.
Unless it is given `--no-verify`, `tm2tfr export` runs an export before it is written, on prompts made from the vocabulary,
and compares every token with that of tm2tfr's dense engine. On other prompts the tokens may differ, where sums are rounded
in another order. {assumed}"""


@dataclass(frozen=True, kw_only=True)
class Labelled(Uncertified):
    """The choices for an export of weights that label a sequence; positions: the most tokens of a sequence."""

    @property
    def statement(self) -> str:
        return f"not certified in {self.dtype}: only the compared labels are known to be right"

    def explained(self, judge: str, assumed: str) -> str:
        return f"""{self.stated}
Unless it is given `--no-verify`, `tm2tfr export` runs an export before it is written, on all inputs up to some length and
on random ones of any, and compares every label at every position with those of {judge}.
{assumed}"""


def fitted_to_labels(decoder: Decoder, name: str, asked: Requested) -> Labelled:
    """Return the recipe for weights that label a sequence: with all their positions, if these have an end.

    Raises:
        ExportError: for options that do not apply, or too many positions.
    """
    check_dtype(asked.dtype)
    name, there, positions = visible(name), decoder.positions, asked.positions
    if asked.max_head is not None:
        raise ExportError(f"{name}: a bound on |h| is about Turing machines, and these weights label a sequence: omit it")
    if there is not None and positions not in (None, there):
        what = f"{name}: these weights are exported with all their positions, {there:,}, and not with {positions:,}"
        raise ExportError(f"{what}: omit the number of positions")
    most = covered(decoder.provenance) or max(USUAL, positions or 1)
    wanted = positions or there or min(USUAL, most)
    if wanted > most:
        what = f"{name}: softmax is right for at most {counted(most, 'position')} with these weights, and not {wanted:,}"
        raise ExportError(f"{what}: use --positions {most}, or soften them with a greater --length")
    if wanted > MOST_POSITIONS:
        what = f"{name}: exports have at most {MOST_POSITIONS:,} positions, not {wanted:,}"
        raise ExportError(f"{what}: run these weights with tm2tfr, or compile them for shorter inputs")
    return Labelled(positions=wanted, dtype=asked.dtype)


def fitted_to_table(decoder: Decoder, right: ExportReference, asked: Requested) -> Tabled:
    """Return the recipe, if the program's own certificate allows the dtype.

    What is certified for the dense engine is certified here where no operation rounds: with average-hard heads whose
    numbers are all whole, in whatever order a program adds. Softmax and layer norms are right as far as they were run.

    Raises:
        ExportError: for options that do not apply, too many positions, or weights that are not certified.
    """
    check_dtype(asked.dtype)
    name, noun, there, dtype = visible(right.named()), right.noun, decoder.positions, asked.dtype
    if there is None:
        raise ExportError(f"{name}: these weights have no position table: compile the {noun} again")
    if asked.max_head is not None:
        raise ExportError(f"{name}: a bound on |h| is about Turing machines, and this is {a_or_an(noun)}: omit it")
    if asked.positions not in (None, there):
        what = f"{name}: {a_or_an(noun)} is exported with all its positions, {there:,}, and not with {asked.positions:,}"
        raise ExportError(f"{what}: omit the number of positions")
    if there > MOST_POSITIONS:
        what = f"{name}: it has {counted(there, 'position')}, and exports have at most {MOST_POSITIONS:,}"
        raise ExportError(f"{what}: run it with tm2tfr, or export a smaller {noun}")
    found = right.prove().certificate("dense", dtype)
    if not found.granted:
        more = " --dtype float64, or" if dtype == "float32" else ""
        raise ExportError(
            f"{name}: these weights are not certified in {dtype} ({found.refusals[0]}): use{more} another {noun}"
        )
    return Tabled(positions=there, dtype=dtype, certified=not (decoder.soft or decoder.normed), noun=noun)
