"""Decoders made by hand, from `tm2tfr.transformer` alone: none of them has anything to do with a Turing machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from tm2tfr.transformer.gadgets import Unit, feed_forward, head, mean, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Layer, Norm

TOKENS = ("0", "1", "<s>", "end")


def decoder(
    layout: Residual,
    tokens: Sequence[Linear],
    layers: Sequence[Layer],
    logits: Sequence[Linear],
    *,
    vocabulary: tuple[str, ...] = TOKENS,
    places: Mapping[str, Linear] | None = None,
    bias: Sequence[float] = (),
    provenance: Mapping[str, str] | None = None,
) -> Decoder:
    """A decoder from linear forms: what each token and each position feature adds, and each token's logit."""
    places = places or {}
    return Decoder(
        layout=layout,
        vocabulary=vocabulary,
        bos="<s>" if "<s>" in vocabulary else None,
        stop=("end",) if "end" in vocabulary else (),
        features=tuple(places),
        token_embedding=turned(stacked(layout, tokens)),
        position_embedding=turned(stacked(layout, list(places.values()))),
        layers=tuple(layers),
        unembedding=stacked(layout, logits),
        unembedding_bias=Matrix.from_entries((len(vocabulary), 1), {(n, 0): b for n, b in enumerate(bias)}),
        provenance=provenance or {},
    )


def turned(matrix: Matrix) -> Matrix:
    return Matrix((matrix.shape[1], matrix.shape[0]), matrix.columns, matrix.rows, matrix.values)


def majority() -> Decoder:
    """Answers the prompt's most frequent bit, 0 at a tie, and then ``end``: one layer, one head, labels and a number."""
    subspaces = (
        Subspace("token", TOKENS),
        Subspace("one"),
        Subspace("share of 1s"),
        Subspace("verdict", ("more", "no more")),
    )
    layout = Residual(subspaces)
    lead: Linear = {"share of 1s": 4096.0}  # at BOS a multiple of 1/(n+1), so that this is at least 1 or at most 0
    won, lost = at("verdict", "more"), at("verdict", "no more")
    units = (
        Unit("ahead", lead, {won: 1.0, lost: -1.0}),
        Unit("ahead by more than is needed", lead, {won: -1.0, lost: 1.0}, bias=-1.0),
        Unit("always", {"one": 1.0}, {lost: 1.0}),
    )
    layer = Layer(
        name="count",
        meaning="compares the numbers of 0s and of 1s",
        source="made by hand",
        heads=(mean(layout, "average", "a", [({at("token", "1"): 1.0, at("token", "0"): -1.0}, {"share of 1s": 1.0})]),),
        feed_forward=feed_forward(layout, units),
    )
    bit: Linear = {at("token", "0"): 2.0, at("token", "1"): 2.0}
    return decoder(
        layout,
        [{at("token", token): 1.0} for token in TOKENS],
        [layer],
        [{lost: 1.0}, {won: 1.0}, {}, bit],
        bias=(0.0, 0.0, -1.0, 0.0),
        places={"1": {"one": 1.0}},
        provenance={"name": "majority"},
    )


def shifted() -> Decoder:
    """Answers with the bit before the token that it was given, and never ends: a hard head, no feed-forward layer."""
    layout = Residual((Subspace("token", TOKENS), *map(Subspace, ("one", "place", "square")), Subspace("before", TOKENS)))
    carries = [({at("token", token): 1.0}, {at("before", token): 1.0}) for token in TOKENS]
    query: list[Linear] = [{"place": 2.0, "one": -2.0}, {"one": -1.0}]
    previous = head(layout, "previous", "", query=query, key=[{"place": 1.0}, {"square": 1.0}], carries=carries)
    return decoder(
        layout,
        [{at("token", token): 1.0} for token in TOKENS],
        [Layer(name="shift", meaning="", source="", heads=(previous,))],
        [{at("before", "0"): 1.0}, {at("before", "1"): 1.0}, {}, {}],
        places={"1": {"one": 1.0}, "i": {"place": 1.0}, "i^2": {"square": 1.0}},
    )


def clashing() -> Decoder:
    """Counts its way to the end: no labels, no position features, no provenance, no name that Python would take.

    Its first layer has no heads, the second no feed-forward layer, the third neither.
    """
    names = ("a b", "a-b", "x", "i", "class", "y", "_", "x (stream)")
    layout = Residual(tuple(map(Subspace, names)))
    units = (Unit("", {"a b": 1.0}, {"class": 2.0}), Unit("", {"a-b": 1.0}, {"class": -1.0}, bias=0.5))
    layers = [
        Layer(name="", meaning="", source="", feed_forward=feed_forward(layout, units)),
        Layer(name="", meaning="", source="", heads=(mean(layout, "", "", [({"class": 1.0}, {"y": 1.0})]),)),
        Layer(name="", meaning="", source=""),
    ]
    tokens: list[Linear] = [{"a b": 1.0, "x": -1.0}, {"a-b": 1.0, "i": 0.5}, {"a b": 1.0, "_": 3.0}, {}]
    return decoder(layout, tokens, layers, [{"x": 1.0}, {"_": 1.0}, {}, {"i": 4.0}], bias=(0.0, 0.0, -9.0, 0.0))


def hollow() -> Decoder:
    """Answers a with b and b with a: everything that may be empty is, and names are those that JavaScript has taken."""
    vocabulary = ("a", "b", "<s>")
    subspaces = (
        Subspace("constructor", vocabulary),
        Subspace("none", ()),
        Subspace("__proto__"),
        Subspace(""),
        Subspace("tape"),
    )
    layout = Residual(subspaces)
    blind = head(layout, "", "", query=[], key=[], carries=[({"__proto__": 1.0}, {"": 1.0})])
    mute = head(layout, "", "", query=[{"__proto__": 1.0}], key=[{"tape": 1.0}], carries=[])
    neither = head(layout, "", "", query=[], key=[], carries=[])
    units = (Unit("", {}, {"tape": 1.0}, bias=1.0), Unit("", {"": 1.0}, {}))
    layers = [
        Layer(name="l", meaning="m", source="s", heads=(blind, mute, neither), feed_forward=feed_forward(layout, [])),
        Layer(name="l", meaning="", source="", feed_forward=feed_forward(layout, units)),
    ]
    tokens: list[Linear] = [{at("constructor", t): 1.0, "__proto__": 0.5} for t in vocabulary]
    logits: list[Linear] = [{at("constructor", "b"): 1.0}, {at("constructor", "a"): 1.0, at("constructor", "<s>"): 1.0}, {}]
    return decoder(layout, tokens, layers, logits, vocabulary=vocabulary, bias=(0.0, 0.0, -1.0))


def nothing() -> Decoder:
    """Answers with the first token of its vocabulary: its residual stream has no directions."""
    return decoder(Residual(()), [{}, {}], [], [{}, {}], vocabulary=("a", "<s>"))


def bigrams() -> Decoder:
    """Each token answers with the next one: no layers at all."""
    vocabulary = ("a", "=b", "<s>", "end")
    layout = Residual((Subspace("token", vocabulary),))
    after = {"<s>": "a", "a": "=b", "=b": "end", "end": "end"}
    logits: list[Linear] = [{at("token", t): 1.0 for t in vocabulary if after[t] == answer} for answer in vocabulary]
    tokens: list[Linear] = [{at("token", t): 1.0} for t in vocabulary]
    return decoder(layout, tokens, [], logits, vocabulary=vocabulary)


HANDMADE: dict[str, tuple[Callable[[], Decoder], str, list[str]]] = {
    "majority": (majority, "10110", ["1", "end"]),
    "shifted": (shifted, "1101", ["1", "0", "1", "0", "1", "0", "1", "0"]),
    "clashing": (clashing, "10", ["1", "end"]),
    "hollow": (hollow, "ba", ["b", "a", "b", "a", "b", "a", "b", "a"]),
    "nothing": (nothing, "", ["a"] * 8),
    "bigrams": (bigrams, "a", ["a", "=b", "end"]),
}
"""Name -> the decoder, a prompt for it, and what it answers from BOS on, at most 8 tokens."""


def tabled(width: int = 3) -> Decoder:
    """Answers with the bit that the table has for the position, turned round if the token fed is 1; no BOS, no end.

    At position i the table has bit i of ``0110…``, of `width` positions; a head adds the bit before.
    """
    layout = Residual((Subspace("token", ("0", "1")), Subspace("bit"), Subspace("one"), Subspace("before")))
    blind = mean(layout, "average", "", [({at("token", "1"): 1.0}, {"before": 1.0})])
    units = (Unit("other", {"bit": 1.0, at("token", "1"): -1.0}, {"one": 1.0}),)
    units += (Unit("one", {"bit": -1.0, at("token", "1"): 1.0}, {"one": 1.0}),)
    layer = Layer(name="differ", meaning="", source="", heads=(blind,), feed_forward=feed_forward(layout, units))
    tokens = [{at("token", t): 1.0} for t in ("0", "1")]
    made = decoder(layout, tokens, [layer], [{}, {"one": 2.0}], vocabulary=("0", "1"), bias=(1.0, 0.0))
    bits = {(layout.index("bit"), i): 1.0 for i in range(width) if i % 4 in (1, 2)}
    return dataclasses.replace(made, position_table=Matrix.from_entries((layout.width, width), bits))


def normed(epsilon: float = 0.0) -> Decoder:
    """`majority` with a layer norm in each place where one can be."""
    made = majority()
    width = made.layout.width
    gain = Matrix.from_entries((width, 1), {(n, 0): 1.0 + n for n in range(width)})
    norm = Norm(gain=gain, bias=Matrix.from_entries((width, 1), {(0, 0): 0.5}), epsilon=epsilon)
    layers = [dataclasses.replace(layer, attention_norm=norm, feed_forward_norm=norm) for layer in made.layers]
    return dataclasses.replace(made, layers=tuple(layers), norm=norm)
