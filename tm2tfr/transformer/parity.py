"""PARITY by soft attention: the transformer of Chiang and Cholak, *Overcoming a Theoretical Limitation of Self-Attention*.

(ACL 2022; ``parity_exact.py`` of github.com/ndnlp/parity.) Words have k ones, and CLS, called BOS here, is one position
more: the first one, while it is the last one there. The first layer computes k/N and 1/N for N positions by a uniform
head, and then ``[i = k]/N`` by three hidden units. The second has two heads with the scores ``±(-1)^j``: one gives odd
positions more weight, the other even ones. What they bring of ``[j = k]/N`` differs by ``(2/N²)·tanh 1`` for even N,
positive if k is odd and negative if it is even. All numbers are bounded and no weight depends on N, so by Hahn's lemma this
difference has to go to 0; with a layer norm whose ε is 0 it does not matter how small it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.gadgets import Unit, equal, feed_forward, head, stacked
from tm2tfr.transformer.layers import Layer, Norm
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.soft import with_softmax
from tm2tfr.transformer.weights import Decoder

SOURCE = "Chiang and Cholak (2022)"
BOS, BITS = "BOS", ("0", "1")
_FEATURES = ("1", "i/n", "(-1)^i")
_SHARE, _INVERSE, _FOUND, _SIGN, _OPPOSITE = "k/n", "1/n", "[i = k]/n", "parity", "minus parity"


def chiang_cholak(output: str, *, normed: bool = False, provenance: Mapping[str, str] | None = None) -> Decoder:
    """Return the encoder, which answers at every position of a word whether the whole word has an odd number of ones.

    Args:
        output: the name of its output, with the labels F and T; the logit of T is the difference, that of F its negative,
            and 1 more at BOS.
        normed: with a last layer that erases all but the difference, and a layer norm, which make the logits 0 and 1.
    """
    tokens = Subspace("token", (BOS, *BITS))
    layout = Residual((tokens, *map(Subspace, (*_FEATURES, _SHARE, _INVERSE, _FOUND, _SIGN, _OPPOSITE))))
    layers = (_count(layout), _compare(layout), *((_erase(layout),) if normed else ()))
    embedded = [layout.form({at("token", token): 1.0}) for token in (BOS, *BITS)]
    scale, bias = (1 / (2 * math.sqrt(layout.width / 2)), 0.5) if normed else (1.0, 0.0)
    outside: Linear = {} if normed else {at("token", BOS): 1.0}
    return Decoder(
        layout=layout,
        vocabulary=(BOS, *BITS),
        bos=None,
        stop=(),
        features=_FEATURES,
        token_embedding=Matrix.from_columns(embedded, layout.width),
        position_embedding=Matrix.from_columns([layout.form({name: 1.0}) for name in _FEATURES], layout.width),
        layers=layers,
        norm=_whole(layout) if normed else None,
        unembedding=stacked(layout, [{_SIGN: -scale, **outside}, {_SIGN: scale}]),
        unembedding_bias=Matrix.from_entries((2, 1), {(0, 0): bias, (1, 0): bias}),
        outputs=(Output(output, ("F", "T")),),
        provenance=provenance or {},
    )


def _count(layout: Residual) -> Layer:
    """Return the layer that computes [i = k]/N from the means of the ones and of CLS."""
    carries = [({at("token", "1"): 1.0}, {_SHARE: 1.0}), ({at("token", BOS): 1.0}, {_INVERSE: 1.0})]
    counting = head(layout, "count", SOURCE, query=[], key=[], carries=carries, mask="none")
    units = equal("i = k", "i/n", _SHARE, _FOUND, one=_INVERSE)
    return Layer(
        name="count",
        meaning="marks the position whose number is that of the ones",
        source=SOURCE,
        heads=(with_softmax(counting, counting.query.values, "", ""),),
        feed_forward=feed_forward(layout, units),
    )


def _compare(layout: Residual) -> Layer:
    """Return the layer whose heads give odd or even positions more weight."""
    heads = tuple(
        head(
            layout,
            name,
            SOURCE,
            query=[{"1": sign}],
            key=[{"(-1)^i": 1.0}],
            carries=[({_FOUND: 1.0}, {_SIGN: -sign})],
            mask="none",
        )
        for name, sign in (("even positions", 1.0), ("odd positions", -1.0))
    )
    return Layer(
        name="compare",
        meaning="the weight of odd positions at the mark, less that of even ones",
        source=SOURCE,
        heads=tuple(with_softmax(each, each.query.values, "", "") for each in heads),
    )


def _erase(layout: Residual) -> Layer:
    """Return the layer after which the stream is the difference and its negative; at BOS the difference is negative."""
    units: list[Unit] = []
    for direction in layout.directions:
        for sign in (1.0, -1.0):
            writes: Linear = {direction: -sign}
            if direction == _SIGN:
                writes = {_OPPOSITE: -sign}
            elif direction == at("token", BOS):
                writes = {direction: -sign, _SIGN: -sign, _OPPOSITE: sign}
            units.append(Unit(f"{direction}: {sign:+g}", {direction: sign}, writes))
    meaning = "erases all but the difference, beside which it puts its negative"
    return Layer(name="erase", meaning=meaning, source=SOURCE, feed_forward=feed_forward(layout, units))


def _whole(layout: Residual) -> Norm:
    """Return the layer norm of the whole stream, with ε = 0."""
    ones = Matrix.from_entries((layout.width, 1), {(n, 0): 1.0 for n in range(layout.width)})
    return Norm(gain=ones, bias=Matrix.from_entries((layout.width, 1), {}), epsilon=0.0)
