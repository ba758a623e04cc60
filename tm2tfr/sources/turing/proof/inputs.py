"""What a proof about a construction of the chapter's kind has to be told: what its layers can be fed, and must add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from tm2tfr.sources.turing.tokens import Triple

Coordinates = Mapping[str, int]
"""Direction -> integer; 0 if absent."""

V, MV, HV = "1/(i+1)", "m/(i+1)", "h/(i+1)"
FEATURES = (V, "1", "i", "i^2")
"""The position features, Eq. 8.4."""

Manner = Literal["plain", "carried", "scaled", "differences", "questions"]
"""How a feed-forward layer is proved: by its cases alone; with a rounded 1/(i+1), which has to arrive unchanged; with
inputs that all scale with 1/(i+1); as a function of h_{j*-1} - h; by the questions asked of the last layer."""


@dataclass(frozen=True)
class Ray:
    """A `cases.Case` with directions by name."""

    label: str
    at: Coordinates
    wanted: Coordinates
    along: Coordinates
    wanted_along: Coordinates
    low: int | None = 0
    high: int | None = 0
    integers: bool = True
    variable: str = "s"


class Question(NamedTuple):
    """A token, or a state (meaning any triple into it), with the symbol under the head, [h = 0], and the answer.

    Args:
        rule: the answer of the rule that is found in the prompt, if one is; in the universal decoder only.
    """

    token: str | None
    state: str | None
    symbol: str
    at_zero: bool
    answer: str
    rule: str | None = None


class LayerInputs(Protocol):
    """The finitely many cases of each layer, by the names of directions. Layers count from 1."""

    @property
    def layers(self) -> int:
        """The number of layers."""

    @property
    def sigma(self) -> tuple[str, ...]:
        """The input alphabet."""

    @property
    def gamma(self) -> tuple[str, ...]:
        """The tape alphabet."""

    @property
    def two_way(self) -> bool:
        """Whether h can be negative."""

    @property
    def subspaces(self) -> Mapping[str, tuple[str, ...] | None]:
        """Subspace -> the labels that are needed there, or None for a number."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that can be fed."""

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The triples among them."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The tokens that can be answered."""

    def shown(self, direction: str) -> str:
        """Return the name that the weights have for a direction."""

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` can be other than 0 after `part` of `layer`, here from 0."""

    def manner(self, layer: int) -> Manner:
        """Return how the layer is proved."""

    def reads(self, layer: int) -> frozenset[str]:
        """Return the subspaces that the cases of the layer vary; no other may be read."""

    def free(self, layer: int) -> frozenset[str]:
        """Return the subspaces with coordinates that can be any numbers from 0 to 1; a unit may read only one of those."""

    def lines(self, layer: int) -> Iterator[Ray]:
        """Return the cases of the layer, if it is not proved by questions."""

    def questions(self) -> Iterator[Question]:
        """Yield all that can be asked of the last layer."""

    def context(self, question: Question) -> Coordinates:
        """Return what the stream holds before the last layer, beside the token and what is unpacked from it."""

    def asked(self, question: Question, token: str) -> str:
        """Return the question about a token in words."""
