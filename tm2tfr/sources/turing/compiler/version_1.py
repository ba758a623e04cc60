"""Weight files of version 1 stated no claims: these are the claims of that version, by its names.

Nothing else reads a name. These names are those of version 1, whatever the compiler calls its heads and layers today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tm2tfr.base.choices import TURING
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer

OPTIONS = ("left_boundary",)

_CELLS = ("h", "h_{i-1}", "h+", "h-", "h_{i-1}+", "h_{i-1}-")
_CLAIMS: Mapping[str, Claim] = {
    "sum of moves": Claim(attends="all", gap=None),
    **{f"cell {cell}": Claim(attends=cell, gap=1.0, lookup=True) for cell in _CELLS},
    "latest write": Claim(attends="j*", gap=0.5),
}
"""The name of a head -> the claim about it."""

_EQUATIONS: Mapping[str, str] = {
    "unpack": "x_i = (q, b, m)",
    "head position": "h/(i+1) = 1/(i+1) · Σ_{j≤i} m_{j-1}",
    "read input": "h = argmax_j (2h·j − j^2)/(i+1)",
    "read tape": "j* = argmax_j 2h·h_{j-1} − h_{j-1}^2 + j/(2(i+1))",
    "symbol": "a = b_{j*-1} if h_{j*-1} = h, else x_h, else blank",
    "transition": "y = δ(q, a)",
}
"""The name of a layer -> its equation."""

_HELD = frozenset(
    (
        *("e_x", "1/(i+1)", "1", "i", "i^2", "e_q", "e_b", "m", "m/(i+1)", "h/(i+1)"),
        *("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)", "h", "h^2", "h-", "e_x(h+)", "e_x(h)", "[h=0]"),
        *("h_{i-1}", "h_{i-1}^2", "h_{j*-1}", "e_b(j*-1)", "[h_{j*-1}=h]", "e_a", "e_y"),
    )
)
"""The subspaces, each of which was claimed to hold what it was called."""
_SHARE = "/(i+1)"
"""The end of the names of those that hold multiples of 1/(i+1)."""


def completed(decoder: Decoder) -> Decoder:
    """Return `decoder` with the claims of this construction if a file of version 1 said that it is from here.

    Any other decoder is returned as it is.
    """
    said = decoder.provenance
    claims = any(s.holds for s in decoder.layout.subspaces) or any(h.claim for layer in decoder.layers for h in layer.heads)
    if claims or not provenance.is_version_1(said) or provenance.construction(said) != TURING:
        return decoder
    today = provenance.from_version_1(said, OPTIONS)
    chosen = {key: value for key, value in today.items() if value != "none" or not key.startswith(provenance.OPTION)}
    return replace(
        decoder,
        layout=Residual(tuple(map(_subspace, decoder.layout.subspaces))),
        layers=tuple(map(_layer, decoder.layers)),
        provenance=chosen,
    )


def load(path: str | Path) -> Decoder:
    """Return the decoder of a weight file of any version, completed.

    Raises:
        WeightFileError: see `tm2tfr.transformer.storage.load`.
    """
    from tm2tfr.transformer.storage import load as stored  # noqa: PLC0415 - a run does without files of weights

    return completed(stored(path))


def _subspace(subspace: Subspace) -> Subspace:
    if subspace.name not in _HELD:
        return subspace
    return replace(subspace, holds=subspace.name, share=subspace.name.endswith(_SHARE))


def _layer(layer: Layer) -> Layer:
    heads = tuple(replace(head, claim=_CLAIMS.get(head.name)) for head in layer.heads)
    return replace(layer, heads=heads, equation=_EQUATIONS.get(layer.name, ""))
