"""What every subspace must hold at every position of a run, and where each head must look: the model on one word.

Computed from what the printed definitions say of the word, and from what weights claim. No weight is read, and nothing is
shared with the compiler or the graph that it lowers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.logic.evaluate import LogicValue
from tm2tfr.sources.logic.evaluate_many import ManyRows
from tm2tfr.sources.logic.model.claims import HeadClaim, SubspaceClaim, head_claim, labelled, means, reads, subspace_claim
from tm2tfr.sources.logic.model.columns import ReferenceColumns
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

_Number = int | Fraction


@dataclass(frozen=True)
class LogicSpecification(ClaimedSpecification):
    """The specification of a run.

    Args:
        word: its tokens, without BOS and EOS.
        nodes: the values of every node at each position of the word, as the printed definitions have them.
        eos: whether there is an EOS.
        layout: the residual stream of the weights, for the claims of its subspaces.
        claims: the claims of the heads; None for a head without a claim.
    """

    word: tuple[str, ...]
    nodes: Mapping[Node, tuple[LogicValue, ...]]
    eos: bool
    layout: Residual
    claims: tuple[str | None, ...]

    @classmethod
    def of(cls, word: Sequence[str], nodes: Mapping[Node, tuple[LogicValue, ...]], decoder: Decoder) -> LogicSpecification:
        """Return the specification of a word for weights: of these their claims, and whether there is an EOS."""
        heads = (head for layer in decoder.layers for head in layer.heads)
        claims = tuple(None if head.claim is None else head.claim.attends for head in heads)
        return cls(tuple(word), nodes, "EOS" in decoder.vocabulary, decoder.layout, claims)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens fed: BOS, the word, and EOS if there is one."""
        return ("BOS", *self.word, *(["EOS"] if self.eos else []))

    def covers(self, layout: Residual) -> bool:
        """Return whether every claim of `layout` can be interpreted, and every head has one that can."""
        heads = (None if claim is None else self._head(claim) for claim in self.claims)
        return all(self._claim(subspace) is not None for subspace in layout.subspaces) and None not in heads

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        head = self._head(where)
        if head is None:
            return ()
        return in_sight(head.mask, i, len(self.tokens)) if head.kind == "all" else (int(self._columns.looked(head)[0, i]),)

    def held(self, subspace: Subspace, i: int) -> _Number | Mapping[str, _Number] | None:
        claim = self._claim(subspace)
        if claim is None:
            return None
        if subspace.labels is None:
            return self._number(claim, i)
        shares = {label: self._number(claim, i, label) for label in subspace.labels}
        return {label: share for label, share in shares.items() if share}

    def _number(self, claim: SubspaceClaim, i: int, label: str | None = None) -> _Number:
        value = self._columns.value(claim, label)[0, i]
        return value if isinstance(value, Fraction) else int(value)

    @cached_property
    def _columns(self) -> ReferenceColumns:
        rows, labels = dict[Node, np.ndarray](), dict[Node, tuple[str, ...]]()
        for node, values in self.nodes.items():
            if node.kind == "label":
                labels[node] = tuple(dict.fromkeys(map(str, values)))
                rows[node] = np.array([[labels[node].index(str(value)) for value in values]])
            else:
                rows[node] = np.array([values])
        vocabulary = tuple(dict.fromkeys(self.tokens))
        tokens = np.array([[vocabulary.index(token) for token in self.tokens]])
        return ReferenceColumns(ManyRows(rows, labels), tokens, vocabulary, eos=self.eos, exact=True)

    # ── claims that say something of this program ───────────────────────────────────────────────────────────
    @cached_property
    def _by_number(self) -> Mapping[int, Node]:
        return {node.number: node for node in self.nodes}

    def _claim(self, subspace: Subspace) -> SubspaceClaim | None:
        key = subspace.holds, subspace.labels is not None
        if key not in self._claims:
            claim = subspace_claim(subspace.holds)
            fits = claim is not None and labelled(claim) == key[1] and means(claim, self._by_number)
            self._claims[key] = claim if fits else None
        return self._claims[key]

    @cached_property
    def _claims(self) -> dict[tuple[str, bool], SubspaceClaim | None]:
        return {}

    def _head(self, text: str) -> HeadClaim | None:
        claim = head_claim(text)
        return claim if claim is not None and reads(claim, self._by_number) else None
