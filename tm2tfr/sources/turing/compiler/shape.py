"""What the weights depend on besides δ: the sizes and names of a machine. What follows from these alone is made once.

Machines of one shape have the same matrices up to what is made of their tokens (`unpack`) and of δ (`transition`), and the
same subspaces, but for those that are labelled by tokens. Parts that are shared are frozen: whoever changes a weight makes
a new part (`tm2tfr.transformer.weights.replaced`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tm2tfr.sources.turing.compiler.head_position import head_position
from tm2tfr.sources.turing.compiler.layout import FEATURES, Boundary, layout
from tm2tfr.sources.turing.compiler.read_input import read_input
from tm2tfr.sources.turing.compiler.read_tape import read_tape
from tm2tfr.sources.turing.compiler.symbol import symbol
from tm2tfr.sources.turing.compiler.transition import Responses, transition
from tm2tfr.sources.turing.compiler.unpack import unpack
from tm2tfr.sources.turing.spec import Machine, TapeKind
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.transformer.gadgets import stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import Layer

SMALL = 64
"""Machines with more tokens share nothing: few of them have the same shape, and their parts are large."""


@dataclass(frozen=True)
class MachineShape:
    """The shape of a machine, with the number of its tokens; the names are as those of `Machine`."""

    tokens: int
    states: tuple[str, ...]
    input_alphabet: tuple[str, ...]
    tape_alphabet: tuple[str, ...]
    blank: str
    tape: TapeKind
    boundary: Boundary

    @classmethod
    def of(cls, machine: Machine, boundary: Boundary, tokens: int) -> MachineShape:
        """Return the shape of `machine`."""
        sigma = machine.input_alphabet or ()
        return cls(tokens, machine.states, sigma, machine.tape_alphabet, machine.blank, machine.tape, boundary)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names for the tokens: those of the input alphabet and BOS have their own, which come first in any vocabulary."""
        known = (*self.input_alphabet, BOS)
        return (*known, *(f"token {n}" for n in range(len(known), self.tokens)))

    def stream(self, tokens: Sequence[str]) -> Residual:
        """Return the residual stream of a machine of this shape with these tokens."""
        first, *between, last = _subspaces(self) if self.tokens <= SMALL else _subspaces.__wrapped__(self)
        labels = tuple(tokens)
        return Residual((replace(first, labels=labels), *between, replace(last, labels=labels)))

    def parts(self) -> Parts:
        """Return what all machines of this shape share."""
        return _parts(self) if self.tokens <= SMALL else _parts.__wrapped__(self)

    def unpacking(self, tokens: Sequence[str]) -> Layer:
        """Return the first layer of a machine of this shape with these tokens."""
        named = _named(self) if self.tokens <= SMALL else _named.__wrapped__(self)
        return unpack(named, tokens, self.names)

    def answering(self, responses: Responses) -> Layer:
        """Return the last layer of a machine of this shape; responses: with the tokens of `names`."""
        return _answering(self, responses) if self.tokens <= SMALL else _answering.__wrapped__(self, responses)


@dataclass(frozen=True)
class Parts:
    """The parts of a decoder that follow from the shape; `between` are the layers after the first and before the last."""

    token_embedding: Matrix
    position_embedding: Matrix
    between: tuple[Layer, ...]
    unembedding: Matrix
    unembedding_bias: Matrix


@lru_cache(maxsize=256)
def _subspaces(shape: MachineShape) -> tuple[Subspace, ...]:
    return layout(shape, shape.names, shape.boundary).subspaces


@lru_cache(maxsize=256)
def _named(shape: MachineShape) -> Residual:
    """Return the residual stream of the machines of a shape, with the tokens of `names`."""
    return shape.stream(shape.names)


@lru_cache(maxsize=256)
def _parts(shape: MachineShape) -> Parts:
    stream, tokens = shape.stream(shape.names), shape.names
    return Parts(
        token_embedding=_embedding(stream, [at("e_x", token) for token in tokens]),
        position_embedding=_embedding(stream, FEATURES),
        between=(
            head_position(stream, shape),
            read_input(stream, shape, shape.boundary),
            read_tape(stream, shape),
            symbol(stream, shape),
        ),
        unembedding=stacked(stream, [{at("e_y", token): 1.0} for token in tokens]),
        unembedding_bias=Matrix.from_entries((len(tokens), 1), {}),
    )


@lru_cache(maxsize=4096)
def _answering(shape: MachineShape, responses: Responses) -> Layer:
    return transition(shape.stream(shape.names), responses)


def _embedding(stream: Residual, directions: Sequence[str]) -> Matrix:
    """Return the matrix that has a 1 in each of these directions (Eq. 8.4): (width, directions)."""
    entries = {(stream.index(direction), n): 1.0 for n, direction in enumerate(directions)}
    return Matrix.from_entries((stream.width, len(directions)), entries)
