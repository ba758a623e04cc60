"""The recipe for whatever becomes a GPT-2 that generates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.fitting import Options, Requested
from tm2tfr.targets.common.tabled import MOST_POSITIONS, Uncertified
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.prompted import fitted_class
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, span
from tm2tfr.targets.gpt2.tabled import fitted_circuit
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

# ── Weights whose answer is hidden as a GPT-2: nothing is known of their heads but by how much scores differ.
#
# So no score is rewritten as those of machines are (`sharpen`): queries are multiplied by a 1/τ at which the smallest gap
# that is claimed, at the last position, is 64 and more. What rounding leaves of a score that is the same for all keys is
# multiplied by it too, so that runs are right as far as they were compared, and by default short.
USUAL_HIDDEN = 128
"""The positions of such an export, if no other number is asked for."""
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
        return f"not certified in {self.dtype}, since these weights are hidden: it is right where it was run"

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
