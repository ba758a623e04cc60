"""The choices for an export of a program with a position table, such as a circuit: all of its positions."""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.base.errors import ExportError, counted, visible
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.fitting import USUAL, Recipe, Requested, check_dtype
from tm2tfr.transformer.provenance import covered
from tm2tfr.transformer.weights import Decoder

MOST_POSITIONS = 4_096
"""The most positions of such an export: programs that run one make a score for every two positions."""


@dataclass(frozen=True, kw_only=True)
class Tabled(Recipe):
    """The choices.

    Args:
        max_head: nothing: there is no head that moves.
        certified: whether the reference's bits are proved for every input, and no operation rounds anything.
        noun: what the program is called.
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
        return f"not certified in {self.dtype}: it is right where its labels were compared"

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
        raise ExportError(f"{name}: a bound on |h| is about Turing machines, and this is a {noun}: omit it")
    if asked.positions not in (None, there):
        what = f"{name}: a {noun} is exported with all its positions, {there:,}, and not with {asked.positions:,}"
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
