"""The residual stream of the universal decoder: the chapter's activation vectors, and those that find a rule."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.sources.turing.universal.names import MachineNames
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.residual import Residual, Subspace

FEATURES = ("1/(i+1)", "1", "i", "i^2")


def layout(universal: Universal, names: MachineNames) -> Residual:
    """Return the residual stream of the decoder of a class, with labels by `names`.

    Beside the chapter's vectors (see `tm2tfr.sources.turing.compiler.layout`): ``[rule]``, ``[key]`` and ``[value]`` say
    what part of the machine's description a token is, and ``k/(i+1)`` counts them. ``e_q(key)`` and ``e_a(key)`` are of
    the last key, ``r_q`` and ``r_a`` those of the rule that ends here; ``r*_q``, ``r*_a`` and ``out`` are of the rule that
    is found, and ``[r*_q=q]`` and ``[r*_a=a]`` say whether it is the right one.
    """
    tokens, gamma, sigma = names.vocabulary(universal.tapes), names.symbols, names.symbols[1:]
    halves = ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)")
    shares = ("1/(i+1)", "m/(i+1)", "h/(i+1)", "k/(i+1)", *halves)
    subspaces = (
        Subspace("e_x", tokens),
        *map(Subspace, FEATURES),
        Subspace("e_q", names.states),
        Subspace("e_b", gamma),
        Subspace("m"),
        Subspace("m/(i+1)"),
        *map(Subspace, ("[rule]", "[key]", "[value]")),
        Subspace("h/(i+1)"),
        Subspace("k/(i+1)"),
        Subspace("e_q(key)", names.ruled),
        Subspace("e_a(key)", gamma),
        *((Subspace("[one-way]"),) if universal.tapes else ()),
        *map(Subspace, halves if universal.two_way else ()),
        Subspace("r_q", names.ruled),
        Subspace("r_a", gamma),
        Subspace("h"),
        Subspace("h^2"),
        *((Subspace("h-"), Subspace("e_x(h+)", sigma)) if universal.two_way else ()),
        Subspace("e_x(h)", sigma),
        *((Subspace("[left end]"),) if universal.walled else ()),
        Subspace("h_{i-1}"),
        Subspace("h_{i-1}^2"),
        Subspace("h_{j*-1}"),
        Subspace("e_b(j*-1)", gamma),
        Subspace("[h_{j*-1}=h]"),
        Subspace("e_a", gamma),
        Subspace("r*_q", names.ruled),
        Subspace("r*_a", gamma),
        Subspace("out", names.values),
        Subspace("[r*_q=q]"),
        Subspace("[r*_a=a]"),
        Subspace("e_y", tokens),
    )
    return Residual(tuple(replace(s, holds=s.name, share=s.name in shares) for s in subspaces))
