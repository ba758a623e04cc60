"""``--to gpt2``: the recipe for whatever becomes a GPT-2, a language model or a token classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.classifier import GPT2, classifier_by
from tm2tfr.targets.common.fitting import MOST_POSITIONS, Options, Requested, Uncertified, fitted_to_table
from tm2tfr.targets.common.verdict import Verdict
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2.documents import FORMAT, documents
from tm2tfr.targets.gpt2.export import described
from tm2tfr.targets.gpt2.export import verified as compared
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, span
from tm2tfr.targets.gpt2.running import Gpt2Running, required
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import fitted_class, translated
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder, norms


# ── Circuits as GPT-2s: the position table is a term of GPT-2's own, and average-hard heads are sharpened as for machines.
#
# Scores of a lookup, 2pj - j², differ by 1 at least, scores of one-hot positions too; both are made of whole numbers. What
# `tm2tfr.targets.gpt2.limits` proves of rounding is about machines: here nothing is claimed but what was run.
@dataclass(frozen=True, kw_only=True)
class Gpt2Tabled(Gpt2Recipe):
    """How the decoder of a circuit becomes a GPT-2; max_head: the largest address that a position can have."""

    certified: bool = False

    @property
    def statement(self) -> str:
        what = "no bounds on GPT-2's rounding are proved for circuits"
        return f"{what}: in {self.dtype} only the compared runs are known to be right"

    def assured(self, beyond: str) -> str:
        return f"""**How far it is right.** {self.stated}
The weights themselves are certified for tm2tfr's own engine (`tm2tfr certify`). Unless it is given `--no-verify`,
`tm2tfr export` runs a model before it is written, on all inputs if they are few and otherwise on random ones, and compares
every token with that of the reference. There is no position beyond: {beyond}."""


@dataclass(frozen=True, kw_only=True)
class Gpt2Normed(Gpt2Tabled):
    """How weights with layer norms of their own become a GPT-2: as they are; own: the epsilon of their norms."""

    own: float

    @property
    def epsilon(self) -> float:
        return self.own


def fitted_circuit(decoder: Decoder, right: ExportReference, asked: Requested) -> Gpt2Tabled:
    """Return the recipe, if the program's own certificate allows the dtype.

    Raises:
        ExportError: for weights with softmax or layer norms, for options that do not apply; see `fitted_to_table`.
    """
    name = visible(right.named())
    if decoder.soft and not decoder.normed:
        what = f"{name}: these weights have softmax of their own, and an export to GPT-2 makes its own"
        raise ExportError(f"{what}: export them with average-hard attention, or --to torch or onnx")
    if asked.stock:
        raise ExportError(f"{name}: --stock is about the bounds for Turing machines: omit it")
    last = (decoder.positions or 1) - 1
    found = fitted_to_table(decoder, right, replace(asked, max_head=None) if asked.max_head == last else asked)
    chosen: PlainData = {"positions": found.positions, "max_head": last, "dtype": found.dtype}
    if decoder.normed:
        return Gpt2Normed(**chosen, own=next(norms(decoder))[1].epsilon)
    return Gpt2Tabled(**chosen)


# ── Weights whose answer is hidden as a GPT-2: nothing is known of their heads but by how much scores differ.
#
# So no score is rewritten as those of machines are (`recipe`): queries are multiplied by a 1/τ at which the smallest gap
# that is claimed, at the last position, is 64 and more. What rounding leaves of a score that is the same for all keys is
# multiplied by it too, so that runs are right as far as they were compared, and by default short.
USUAL_HIDDEN = 128
"""The positions of such an export, by default."""
LEAD = 64
"""By how much the best score is ahead of the next at least: e^-64 is nothing beside 1."""


@dataclass(frozen=True, kw_only=True)
class HiddenGpt2Recipe(Uncertified, Gpt2Recipe):
    """How hidden weights become a GPT-2.

    Args:
        sharpness: 1/τ.
    """

    sharpness: float

    @property
    def temperature(self) -> float:
        return self.sharpness

    @property
    def statement(self) -> str:
        return (
            f"not certified in {self.dtype}, since these weights are hidden: only the compared runs are known to be right"
        )

    def assured(self, beyond: str) -> str:
        return f"""**How far it is right.** {self.stated}
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on prompts made from the vocabulary,
and compares every token with that of tm2tfr's dense engine. There is no position beyond: {beyond}."""


def fitted_hidden(decoder: Decoder, asked: Requested) -> HiddenGpt2Recipe:
    """Return the recipe.

    Raises:
        ExportError: for softmax or layer norms of its own, or options that do not apply.
    """
    there, positions, max_head = decoder.positions, asked.positions, asked.max_head
    if decoder.soft or decoder.normed:
        what = "these hidden weights have softmax or layer norms of their own"
        raise ExportError(f"{what}, and this export makes its own softmax: use --to torch or onnx")
    if asked.stock:
        raise ExportError("--stock is about the bounds for Turing machines, and these weights are hidden: omit it")
    if max_head not in (None, 0) and max_head != ((there or positions or USUAL_HIDDEN) - 1):
        raise ExportError("a bound on |h| is about Turing machines, and these weights are hidden: omit it")
    if there is not None and positions not in (None, there):
        raise ExportError(f"these weights are exported with all their positions, {there:,}: omit the number of positions")
    many = there or positions or USUAL_HIDDEN
    if many > MOST_POSITIONS:
        raise ExportError(f"hidden weights are exported with at most {MOST_POSITIONS:,} positions: use fewer")
    gaps = (h.claim.smallest_gap(many) for layer in decoder.layers for h in layer.heads if h.claim is not None)
    least = min([1.0, *(gap for gap in gaps if gap is not None)])
    sharpness = float(span(int(LEAD / least) + 1))
    return HiddenGpt2Recipe(positions=many, max_head=many - 1, dtype=asked.dtype, sharpness=sharpness)


# ── The recipe for whatever becomes a GPT-2: a machine, all machines of a size, or a circuit.
def chosen(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2Recipe:
    """Return the recipe; see `fitted`, `fitted_class` and `fitted_circuit`, for errors too."""
    if right.program is not None and not right.bounded:
        return fitted_circuit(decoder, right, Requested(**options))
    if right.in_prompt:
        return fitted_class(decoder, right, Requested(**options))
    if right.bounded:
        return fitted(decoder, right, **options)
    if is_hidden(decoder.provenance):
        return fitted_hidden(decoder, Requested(**options))
    raise ExportError("an export to GPT-2 has bounds for programs alone: name the program of these weights")


def made(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2:
    """Return `decoder` as a GPT-2. Raises ExportError if it cannot be one, or the options do not fit."""
    return translated(decoder, chosen(right.decoder, right, **options))


LANGUAGE = by_gpt2.ByGpt2(
    title="GPT-2",
    format=FORMAT,
    required=required,
    made=made,
    documents=documents,
    described=described,
    load=Gpt2Running,
    streams=False,
)
LABELS = classifier_by(GPT2)


def _program(decoder: Decoder) -> by_gpt2.ByGpt2[Any]:
    return LABELS if decoder.labeller else LANGUAGE


def export(
    decoder: Decoder, machine: object, folder: str | Path, *, verify: bool = True, **options: Unpack[Options]
) -> by_gpt2.Gpt2Exported:
    """Write `decoder` as a GPT-2; see `tm2tfr.export_gpt2`.

    Raises:
        ExportError, OutputError: see there.
    """
    if decoder.labeller and options.get("stock"):
        raise ExportError("--stock is about the bounds for Turing machines, and these weights label a sequence: omit it")
    return by_gpt2.export(_program(decoder), decoder, machine, folder, verify=verify, **options)


def verified(folder: str | Path, decoder: Decoder, machine: object, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`; see `tm2tfr.targets.gpt2.export.verified`."""
    return compared(_program(decoder), folder, decoder, machine, word)
