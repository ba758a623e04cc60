"""The figure: what is measured of each case, by the length of the words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.lab.softness.needed import Needed, growth, local_exponent
from tm2tfr.lab.softness.temperature import exponent, growth_exponent
from tm2tfr.transformer.soft import any_length, largest_entry
from tm2tfr.transformer.weights import Decoder


# ── What Figure 1 is measured on: a formula or a program for each logic, ours and as printed, and what the paper states.
#
# The figure gives each logic two possibilities: a temperature that falls with the length and bounded position embeddings,
# or a temperature of 1 and position embeddings that grow. The theorems for future-masked transformers have others.
class Printed(NamedTuple):
    """What the paper states: where, τ as a function of the length, and the largest position embedding."""

    source: str
    temperature: str
    embedding: str


@dataclass(frozen=True, kw_only=True)
class MeasuredOn:
    """One row.

    Args:
        section, logic: those of the paper.
        subject: a formula, or the name of a shipped program.
        alphabet: the letters of a formula's words; empty for a program.
        weights: which weights, in a few words; `options`: those that they are compiled with.
        printed: what the paper states of them.
    """

    section: str
    logic: str
    subject: str
    alphabet: str = ""
    weights: str = "ours"
    options: Mapping[str, object] = field(default_factory=dict)
    printed: Printed


SINCE, UNTIL = "(Q[a] | Q[b]) since Q[b]", "(Q[a] | Q[b]) until Q[b]"
PAST = "prev ((prev Q[a]) S (Q[b] & !prev Q[c]))"
COMPARED = "2*count(Q[a]) <= 3*count(Q[b])"
_KINDS: Mapping[str, Mapping[str, object]] = {
    "ours": {},
    "no temperature": {"steep": True},
    "as printed": {"variant": "paper"},
    "sign head": {"compare": "sign"},
}


_THEOREM_26 = ("Theorem 26", "γ/log(n·x/γ)", "any")
CASES: tuple[MeasuredOn, ...] = tuple(
    MeasuredOn(
        section=section,
        logic=logic,
        subject=subject,
        alphabet=alphabet,
        weights=weights,
        options=_KINDS[weights],
        printed=Printed(*printed),
    )
    for section, logic, subject, alphabet, weights, *printed in (
        ("4.1", "TL[⊖, ⊕]", "prev Q[a]", "ab", "ours", "Theorem 12a", "1/n", "1"),
        ("4.1", "TL[⊖, ⊕]", "next Q[a]", "ab", "ours", "Theorem 12a", "1/n", "1"),
        ("4.1", "TL[⊖, ⊕]", "prev Q[a]", "ab", "no temperature", "Theorem 12b", "1", "n"),
        ("4.1", "TL[⊖]", "prev Q[a]", "ab", "as printed", "Theorem 13a", "1/n²", "1"),
        ("4.2", "TL[since, until]", SINCE, "abc", "ours", "Theorem 15a", "1/n", "1"),
        ("4.2", "TL[since, until]", UNTIL, "abc", "ours", "Theorem 15a", "1/n", "1"),
        ("4.2", "TL[since, until]", SINCE, "abc", "no temperature", "Theorem 15b", "1", "n"),
        ("4.2", "TL[since]", SINCE, "abc", "as printed", "Theorem 16a", "1/n²", "1"),
        ("4.3", "past LTL", PAST, "abc", "no temperature", "Corollary 18b", "1", "n²"),
        ("4.4", "TL[#←, #→, +, Mon]", "odd(count(Q[a]))", "ab", "ours", "Theorem 20a", "1/n", "n²"),
        ("4.4", "TL[#←, #→, +, Mon]", COMPARED, "ab", "ours", "Theorem 20a", "1/n", "n²"),
        ("4.4", "TL[#←, +]", COMPARED, "ab", "sign head", "Theorem 21", "1/n", "n²"),
        ("6", "B-RASP", "hop-1", "", "ours", *_THEOREM_26),
        ("6", "B-RASP", "hop-2", "", "ours", *_THEOREM_26),
        ("6", "B-RASP", "hop-3", "", "ours", *_THEOREM_26),
        ("6", "S-RASP", "dyck-1-by-depth", "", "ours", *_THEOREM_26),
        ("6", "S-RASP", "dyck-2-by-depth", "", "ours", *_THEOREM_26),
    )
)
LENGTHS = (8, 16, 32, 64)
"""The lengths of words that exponents are over."""
_FAR = (10**4, 10**8)
"""Between these numbers of positions the exponent of the largest entry is taken: there the largest feature decides."""


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """What is measured of a case.

    Args:
        entries: p, where the largest entry before the first layer grows like n^p with the number of positions.
        features: the position features.
        any_length: whether the local bounds are the same for any length.
        growth: the temperatures by length.
    """

    case: MeasuredOn
    layers: int
    heads: int
    entries: float
    features: tuple[str, ...]
    any_length: bool
    growth: tuple[Needed, ...]

    @property
    def needed(self) -> float | None:
        """The exponent of 1/τ, as needed, in the number of positions."""
        return growth_exponent(self.growth)

    @property
    def local(self) -> float | None:
        """That of the local bounds."""
        return local_exponent(self.growth)

    @property
    def theorem(self) -> float | None:
        """That of Theorem 26."""
        return exponent([(at.positions, at.theorem) for at in self.growth if at.theorem is not None])


@dataclass(frozen=True)
class Figure:
    """The figure, a row for each case."""

    rows: tuple[FigureRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "rows": [asdict(row) | {"needed": row.needed, "local": row.local, "theorem": row.theorem} for row in self.rows]
        }

    def json(self) -> str:
        """Return all of it as JSON, on one line."""
        return json.dumps(self.as_dict(), ensure_ascii=False) + "\n"


def row_of(case: MeasuredOn, decoder: Decoder, labels: ManyLabels, lengths: Sequence[int] = LENGTHS) -> FigureRow:
    """Return what is measured of the weights of a case: labels is what is right.

    Raises:
        EngineError: if the dense engine cannot run the weights.
    """
    near, far = (largest_entry(decoder, n) for n in _FAR)
    return FigureRow(
        case=case,
        layers=len(decoder.layers),
        heads=sum(len(layer.heads) for layer in decoder.layers),
        entries=math.log(far / near) / math.log(_FAR[1] / _FAR[0]),
        features=decoder.features,
        any_length=any_length(decoder),
        growth=growth(decoder, labels, lengths),
    )
