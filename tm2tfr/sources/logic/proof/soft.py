"""Softmax at a temperature per position: the most positions at which rounding changes no bit and no number.

The heads are those of the weights with average-hard attention, whose queries are multiplied by a factor f, see
`tm2tfr.transformer.tempered`; so their shapes and gaps are shown on the queries divided by f (`heads`). In exact arithmetic
the best score, over the temperature, is ahead by g = f·γ at every position, and g ≥ ln(margin)·(1 + 1/32). That the margin
is enough for what the head carries is Lemma G of docs/logic-scheme.md: a claim of the construction, verified on short
words.

In floats with unit roundoff u:

- A score is off by less than 1/160 of the lead γ, hence two of them by less than 1/80, with the 2 more roundings of the
  temperature: `heads` shows that for the roundoff 80u in the place of u. Rivals that are m times as far behind are
  behind by m·g·(1 - 1/80) or more, so the lead is at least ln(margin)·(1 + 1/32)·(1 - 1/80) > ln(margin)·1.018.
- e^x is within 4u of its value, relatively, and the sum of N powers within N·u: a weight is off by less than (N + 8)·u
  times itself, and the sum of N values of at most v, times their weights, by less than (2N + 20)·u·v. With 1.8 % more than
  ln(margin), for the margins 3.01 (sign), 4, 7 and 16, less than 0.2459 of the weight is elsewhere in exact arithmetic, and
  a bit is within 1/4 where (2N + 20)·u ≤ 0.004.
- A count is at most N, and C = margin/6 times its error must be at most 1/4: of exact weights it is at most 1.01·C/(6C) <
  0.169, so rounding may add 0.08: C·N·(2N + 20)·u ≤ 0.08.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import product

import numpy as np

from tm2tfr.base.text.words import written
from tm2tfr.certificates.kit import Refused
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.quantities import Fits
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.provenance import words_for_temperature
from tm2tfr.transformer.tempered import INVERSE, factor_of
from tm2tfr.transformer.weights import Decoder, Head, Layer

FINER = 80
"""The factor by which the rounding of scores must be finer than for average-hard attention."""
_BIT, _NUMBER = Fraction(4, 1000), Fraction(8, 100)


def is_per_position(decoder: Decoder) -> bool:
    """Return whether weights state that their temperature is one per position."""
    return decoder.soft and words_for_temperature(decoder.provenance) == "per-position"


def _hard(head: Head, layer: int) -> Head:
    """Return the head with average-hard attention that a soft one was made from.

    Raises:
        Refused: if its temperature is not the one that its claim needs, or its factor does not divide its queries.
    """
    hard = {"weighting": "average-hard", "inverse_temperature": "1"}
    if head.uniform:
        return dataclasses.replace(head, **hard)  # type: ignore[arg-type]
    claim = _margined(head, layer)
    if head.weighting != "softmax" or head.inverse_temperature != INVERSE[claim.over]:
        what = f"{head.name}: 1/τ = {head.inverse_temperature}"
        raise Refused("attention", f"the temperature is not the one of a gap over the {claim.over}", what, layer=layer)
    values = head.query.values / factor_of(claim)
    if not np.array_equal(values * factor_of(claim), head.query.values):
        raise Refused("attention", "the queries are not those of a head times its factor", head.name, layer=layer)
    query = Matrix(head.query.shape, head.query.rows, head.query.columns, values)
    return dataclasses.replace(head, query=query, **hard)  # type: ignore[arg-type]


def hardened(layer: Layer, number: int) -> Layer:
    """Return a layer with the heads with average-hard attention that its own were made from; number: from 1.

    Raises:
        Refused: see `_hard`.
    """
    return dataclasses.replace(layer, heads=tuple(_hard(head, number) for head in layer.heads))


def hardened_decoder(decoder: Decoder) -> Decoder:
    """Return the decoder with average-hard attention that a soft one was made from.

    Raises:
        Refused: see `_hard`.
    """
    layers = tuple(hardened(layer, number) for number, layer in enumerate(decoder.layers, start=1))
    return dataclasses.replace(decoder, layers=layers)


def agree(decoder: Decoder, program: LogicProgram, longest: int) -> None:
    """Compare the answers of the dense engine, with softmax, with the reference's on all words of up to `longest` tokens.

    Raises:
        Refused: if one is wrong.
    """
    for n in range(1, longest + 1):
        for word in product(program.alphabet, repeat=n):
            truth = LogicTruth(program, written(word), decoder)
            passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=Dense())
            found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
            if any(own != truth.values[name] for name, own in zip(truth.values, found, strict=True)):
                raise Refused("words", "an answer with softmax is wrong", f"on the word {' '.join(word)}")


def rounded(head: Head, layer: int) -> Fits:
    """Return whether the values that a soft head carries are close enough to be rounded correctly."""
    if head.uniform:
        return lambda positions, u: True
    larger = Fraction(_margined(head, layer).margin or 1) / 6

    def fits(positions: int, u: Fraction) -> bool:
        off = (2 * positions + 20) * u
        return off <= _BIT and larger * positions * off <= _NUMBER

    return fits


def finer(fits: Fits) -> Fits:
    """Return whether something fits with the roundoff `FINER` times u."""
    return lambda positions, u: fits(positions, FINER * u)


def _margined(head: Head, layer: int) -> Claim:
    claim = head.claim
    if claim is None or claim.margin is None or claim.degree:
        raise Refused("attention", "no margin is claimed of a head with softmax", head.name, layer=layer)
    return claim
