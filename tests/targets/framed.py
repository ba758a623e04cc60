"""Weights for words of any length between BOS and EOS, made by hand: heads and claims as formulas have them."""

from __future__ import annotations

from typing import Any, Literal

from tests.handmade import turned
from tm2tfr.transformer.claims import Claim, Output, Over
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Layer

BITS = ("F", "T")
FEATURES = ("1", "i", "i^2", "1/(i+1)")


def framed(mask: Literal["future", "none"] = "future", *, claimed: bool = True, extra: tuple[str, ...] = ()) -> Decoder:
    """Tells of the letters a and b so far, or in the whole word: any a, a before this one, how many a, any b.

    Args:
        mask: of all heads; none: fed BOS w1 … wn EOS, otherwise BOS w1 … wn.
        claimed: whether heads claim by how much their best scores are ahead.
        extra: further position features, each the bit of an output of its own.
    """
    tokens = ("BOS", "a", "b", *(("EOS",) if mask == "none" else ()))
    names = ("share", "1/N", "before", "count", "seen", "some", "a before")
    layout = Residual((Subspace("token", tokens), *map(Subspace, (*FEATURES, *extra, *names))))
    a, b, bos = (at("token", token) for token in ("a", "b", "BOS"))
    inverse, share = ("1/(i+1)", "position") if mask == "future" else ("1/N", "length")

    def looking(name: str, query: list[Linear], key: list[Linear], reads: Linear, to: str, gap: float, over: Over) -> Any:
        claim = Claim(attends=name, gap=gap, over=over) if claimed else None
        return head(layout, name, "", query=query, key=key, carries=[(reads, {to: 1.0})], mask=mask, claim=claim)

    place: list[Linear] = [{"i": 1.0}, {"i^2": 1.0}]
    shares: list[tuple[Linear, Linear]] = [({a: 1.0}, {"share": 1.0}), ({bos: 1.0}, {"1/N": 1.0})]
    first = (
        looking("back", [{"i": 2.0, "1": -2.0}, {"1": -1.0}], place, {a: 1.0}, "before", 1.0, "constant"),
        head(layout, "all", "", query=[], key=[], carries=shares, mask=mask, claim=Claim(attends=f"all {mask}", gap=None)),
    )
    marked: list[Linear] = [{b: 1.0, bos: 1.0}, {"i": 1.0}]
    second = (
        looking("count", [{"share": 2.0}, {inverse: -1.0}], place, {"i": 1.0}, "count", 1.0, share),
        looking("latest b", [{"1": 1.0}, {inverse: 0.5}], marked, {b: 1.0}, "seen", 0.5, share),
    )
    units = (
        Unit("one", {"count": 1.0}, {"some": 1.0}),
        Unit("two", {"count": 1.0}, {"some": -1.0}, bias=-1.0),
        Unit("rounded", {"before": 2.0}, {"a before": 1.0}, bias=-0.5),
        Unit("rounded more", {"before": 2.0}, {"a before": -1.0}, bias=-1.5),
    )
    layers = (
        Layer(name="look", meaning="looks around", source="made by hand", heads=first),
        Layer(name="find", meaning="finds", source="made by hand", heads=second, feed_forward=feed_forward(layout, units)),
    )
    logits: list[Linear] = [{"count": 1.0}]
    outputs = [Output("count(Q[a])", None)]
    bits = {"once Q[a]": "some", "prev Q[a]": "a before", "once Q[b]": "seen", **{name: name for name in extra}}
    for n, (name, direction) in enumerate(bits.items()):
        place_of = 2 * n
        logits[place_of:place_of] = [{"1": 1.0, direction: -1.0}, {direction: 1.0}]
        outputs.insert(n, Output(name, BITS))
    embedded: list[Linear] = [{name: 1.0} for name in (*FEATURES, *extra)]
    return Decoder(
        layout=layout,
        vocabulary=tokens,
        bos=None,
        stop=(),
        features=(*FEATURES, *extra),
        token_embedding=turned(stacked(layout, [{at("token", token): 1.0} for token in tokens])),
        position_embedding=turned(stacked(layout, embedded)),
        layers=layers,
        unembedding=stacked(layout, logits),
        unembedding_bias=Matrix.from_entries((len(logits), 1), {}),
        outputs=tuple(outputs),
        provenance={"name": "framed"},
    )


def expected(word: str) -> list[tuple[Any, ...]]:
    """What `framed` says with mask future, at BOS and at each letter of `word`."""

    def bit(value: bool) -> str:
        return BITS[value]

    prefixes = [word[:i] for i in range(len(word) + 1)]
    return [(bit("a" in p), bit(p[-2:-1] == "a"), bit("b" in p), p.count("a")) for p in prefixes]
