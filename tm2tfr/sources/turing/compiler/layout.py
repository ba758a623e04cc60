"""The residual stream of the construction: the chapter's activation vectors (8.4)-(8.19), by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from tm2tfr.sources.turing.compiler.vocabulary import Boundary
from tm2tfr.sources.turing.spec import TapeKind
from tm2tfr.transformer.residual import Residual, Subspace

FEATURES = ("1/(i+1)", "1", "i", "i^2")


class Alphabets(Protocol):
    """What the layers between the first and the last have to know of a machine, whose names these are."""

    @property
    def states(self) -> tuple[str, ...]:
        """Q"""

    @property
    def input_alphabet(self) -> tuple[str, ...] | None:
        """Σ"""

    @property
    def tape_alphabet(self) -> tuple[str, ...]:
        """Γ"""

    @property
    def blank(self) -> str:
        """The blank symbol."""

    @property
    def tape(self) -> TapeKind:
        """The kind of tape."""


def layout(machine: Alphabets, tokens: Sequence[str], boundary: Boundary) -> Residual:
    """Return the residual stream for `machine`; subspaces are in the order of the chapter's vectors.

    Beside the chapter's: ``m/(i+1)`` (repair 2), ``[h=0]`` (repair 4), positive and negative parts of head
    positions on a two-way tape (repair 5), ``[h_{j*-1}=h]`` (repair 9), and ``e_y``, the answer.
    """
    gamma, sigma = machine.tape_alphabet, machine.input_alphabet
    two_way = machine.tape == "two-way"
    halves = ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)")
    shares = ("1/(i+1)", "m/(i+1)", "h/(i+1)", *halves)
    subspaces = (
        Subspace("e_x", tuple(tokens)),
        *map(Subspace, FEATURES),
        Subspace("e_q", machine.states),
        Subspace("e_b", gamma),
        Subspace("m"),
        Subspace("m/(i+1)"),
        Subspace("h/(i+1)"),
        *map(Subspace, halves if two_way else ()),
        Subspace("h"),
        Subspace("h^2"),
        *((Subspace("h-"), Subspace("e_x(h+)", sigma)) if two_way else ()),
        Subspace("e_x(h)", sigma),
        *((Subspace("[h=0]"),) if boundary == "repaired" else ()),
        Subspace("h_{i-1}"),
        Subspace("h_{i-1}^2"),
        Subspace("h_{j*-1}"),
        Subspace("e_b(j*-1)", gamma),
        Subspace("[h_{j*-1}=h]"),
        Subspace("e_a", gamma),
        Subspace("e_y", tuple(tokens)),
    )
    return Residual(tuple(replace(s, holds=s.name, share=s.name in shares) for s in subspaces))
