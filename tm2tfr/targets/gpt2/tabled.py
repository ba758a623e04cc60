"""Circuits as GPT-2s: the position table is a term of GPT-2's own, and average-hard heads are sharpened as for machines.

Scores of a lookup, 2pj - j², differ by 1 at least, scores of one-hot positions too; both are made of whole numbers. What
`tm2tfr.targets.gpt2.limits` proves of rounding is about machines, so that here nothing is claimed but what was run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp
from typing import Any

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.fitting import Requested
from tm2tfr.targets.common.tabled import fitted_to_table
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, norms, replaced


@dataclass(frozen=True, kw_only=True)
class Gpt2Tabled(Gpt2Recipe):
    """How the decoder of a circuit becomes a GPT-2; max_head: the largest address that a position can have."""

    certified: bool = False

    @property
    def statement(self) -> str:
        return f"no bounds on GPT-2's rounding are proved for circuits: in {self.dtype} it is right where it was run"

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
    chosen: dict[str, Any] = {"positions": found.positions, "max_head": last, "dtype": found.dtype}
    if decoder.normed:
        return Gpt2Normed(**chosen, own=next(norms(decoder))[1].epsilon)
    return Gpt2Tabled(**chosen)


def without_bias(decoder: Decoder) -> Decoder:
    """Return the same function without a bias of the logits, if a direction of the stream is a power of two there."""
    bias = decoder.unembedding_bias
    rows = enumerate(decoder.position_embedding.by_row())
    one, size = next(((row, size) for row, entries in rows if (size := _one(decoder, entries))), (None, 1.0))
    if not bias.nonzero or one is None:
        return decoder
    entries = {(row, column): value for row, column, value in decoder.unembedding.entries()}
    for row, _, value in bias.entries():
        entries[row, one] = entries.get((row, one), 0.0) + value / size
    changed = {
        "unembedding": Matrix.from_entries(decoder.unembedding.shape, entries),
        "unembedding_bias": Matrix.from_entries(bias.shape, {}),
    }
    return replaced(decoder, changed)


def _one(decoder: Decoder, entries: dict[int, float]) -> float:
    """Return the power of two that a direction is at every position; 0 if it is none."""
    found = {decoder.features[column]: value for column, value in entries.items()}
    return found["1"] if set(found) == {"1"} and abs(frexp(found["1"])[0]) == 0.5 else 0.0
