"""From the exported GPT-2 to a native model of TransformerLens, which needs neither mirror nor scales nor layer norm.

The GPT-2 (`tm2tfr.targets.gpt2.tensors`) holds every value v twice, as v/s and -v/s, reads half their difference, and has a
layer norm that is the identity. TransformerLens builds a model without layer norm. So the second copy goes, its weights
are added to those of the first, and s is multiplied in: the stream holds v itself, one coordinate a direction. Halving,
adding a number to itself and powers of two round nothing, so the bounds of `tm2tfr.targets.gpt2.limits` hold here as well.
Nothing there rests on the order in which TransformerLens's kernels add, and so nothing here does: its einsums fix none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tm2tfr.targets.common.settings import Array
from tm2tfr.targets.gpt2.tensors import Gpt2

PARTS = ("q", "k", "v")
"""The parts of GPT-2's joined projection, in its order."""


@dataclass(frozen=True)
class Native:
    """A GPT-2 by the non-stock recipe as a native model of TransformerLens: (out, in) matrices, no layer norm."""

    gpt2: Gpt2

    @property
    def width(self) -> int:
        """The dimension of the stream, d_model: one coordinate for each named direction."""
        return len(self.gpt2.directions)

    @cached_property
    def heads(self) -> int:
        """The attention heads of each layer, those without a task included."""
        return max(1, *(len(layer.heads) for layer in self.gpt2.decoder.layers))

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that TransformerLens gives them."""
        t, across = self.gpt2.tensors(), self.heads * self.gpt2.head_size
        found = {
            "embed.weight": self._writes(t["transformer.wte.weight"]),
            "pos_embed.weight": self._writes(t["transformer.wpe.weight"]),
            "unembed.weight": self._reads(t["lm_head.weight"].T).T,
            "unembed.bias": t.get("lm_head.bias", np.zeros(len(self.gpt2.vocabulary), dtype=self.gpt2.recipe.dtype)),
        }
        for n in range(len(self.gpt2.decoder.layers)):
            own, theirs = f"blocks.{n}.", f"transformer.h.{n}."
            for k, part in enumerate(PARTS):
                columns = slice(k * self.gpt2.width, k * self.gpt2.width + across)
                found[f"{own}attn.{part}.weight"] = self._reads(t[theirs + "attn.c_attn.weight"][:, columns]).T
                found[f"{own}attn.{part}.bias"] = t[theirs + "attn.c_attn.bias"][columns]
            found[own + "attn.o.weight"] = self._writes(t[theirs + "attn.c_proj.weight"][:across]).T
            found[own + "attn.o.bias"] = self._writes(t[theirs + "attn.c_proj.bias"])
            found[own + "mlp.in.weight"] = self._reads(t[theirs + "mlp.c_fc.weight"]).T
            found[own + "mlp.in.bias"] = t[theirs + "mlp.c_fc.bias"]
            found[own + "mlp.out.weight"] = self._writes(t[theirs + "mlp.c_proj.weight"]).T
            found[own + "mlp.out.bias"] = self._writes(t[theirs + "mlp.c_proj.bias"])
        return {name: np.ascontiguousarray(tensor) for name, tensor in found.items()}

    def reads(self) -> Callable[[Array], Array]:
        """Return the function that reads the values of the decoder's own directions off a stream (width,)."""
        return lambda x: x[: self.gpt2.decoder.layout.width]

    @cached_property
    def _scale(self) -> Array:
        return np.array([self.gpt2.scales[name] for name in self.gpt2.directions], dtype=self.gpt2.recipe.dtype)

    def _reads(self, columns: Array) -> Array:
        """Return what reads values themselves, (width, n), of what reads both scaled copies, (GPT-2's width, n)."""
        mirror = self.gpt2.mirror
        return (columns[: self.width] - columns[mirror : mirror + self.width]) / self._scale[:, None]

    def _writes(self, rows: Array) -> Array:
        """Return what writes values themselves, (…, width), of what writes both scaled copies, (…, GPT-2's width)."""
        return rows[..., : self.width] * self._scale

    # ── the same weight in GPT-2 ────────────────────────────────────────────────────────────────────────────
    def origin(self, name: str, at: Sequence[int]) -> tuple[str, tuple[int, ...]]:
        """Return the name and place in the GPT-2 of the weight at `at` in tensor `name`: there it is known what it does."""
        top = {"embed": "transformer.wte", "pos_embed": "transformer.wpe", "unembed": "lm_head"}
        parts = name.split(".")
        if parts[0] in top:
            return f"{top[parts[0]]}.weight", tuple(at)
        _, layer, block, part, kind = parts
        inner = {"attn": {"o": "c_proj"}, "mlp": {"in": "c_fc", "out": "c_proj"}}[block].get(part, "c_attn")
        place = tuple(reversed(at))
        if inner == "c_attn":
            place = (*place[:-1], place[-1] + PARTS.index(part) * self.gpt2.width)
        return f"transformer.h.{layer}.{block}.{inner}.{kind}", place
