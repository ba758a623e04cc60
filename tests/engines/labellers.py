"""Decoders that label a whole sequence, made by hand and at random: heads that look ahead, outputs by name."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from tests.handmade import turned
from tm2tfr.base.choices import Weighting
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.contract.specification import vector
from tm2tfr.transformer.claims import Claim, Output
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.weights import MASKS, Decoder, FeedForward, Head, Layer

LETTERS = ("a", "b", "c")
SINCE = dict.fromkeys(("token", "i", "i^2", "1"), (-1, "embedding"))
SINCE |= dict.fromkeys(("next", "before", "share"), (0, "attention")) | {"same": (1, "feed_forward")}
OUTPUTS = (Output("next", LETTERS), Output("share", None), Output("same", ("yes", "no")))


def labeller() -> Decoder:
    """Tells the next token (at the end: the last), the share of a's in the whole sequence, and whether both are alike.

    Its heads have the three masks: one looks at the next position, one everywhere, one at the position before.
    """
    names = ("i", "i^2", "1", "share")
    spaces = (
        Subspace("token", LETTERS),
        *map(Subspace, names),
        Subspace("next", LETTERS),
        Subspace("before", LETTERS),
        Subspace("same", ("yes", "no")),
    )
    spaces = tuple(dataclasses.replace(space, holds=space.name, since=SINCE[space.name]) for space in spaces)
    layout = Residual(spaces)
    tokens: list[Linear] = [{at("token", letter): 1.0} for letter in LETTERS]

    def carried(to: str) -> list[tuple[Linear, Linear]]:
        return [({at("token", letter): 1.0}, {at(to, letter): 1.0}) for letter in LETTERS]

    def neighbour(step: float) -> list[Linear]:
        return [{"i": 2.0, "1": 2.0 * step}, {"1": -1.0}]

    place: list[Linear] = [{"i": 1.0}, {"i^2": 1.0}]
    shared: list[tuple[Linear, Linear]] = [({at("token", "a"): 1.0}, {"share": 1.0})]
    near = {name: Claim(attends=name, gap=1.0, over="constant") for name in ("next", "before")}
    everywhere = Claim(attends="all", gap=None)
    heads = (
        head(layout, "next", "", query=neighbour(1.0), key=place, carries=carried("next"), mask="past", claim=near["next"]),
        head(layout, "all", "", query=[], key=[], carries=shared, mask="none", claim=everywhere),
        head(layout, "before", "", query=neighbour(-1.0), key=place, carries=carried("before"), claim=near["before"]),
    )
    yes, no = at("same", "yes"), at("same", "no")
    units = [Unit(x, {at("token", x): 1.0, at("next", x): 1.0}, {yes: 1.0, no: -1.0}, bias=-1.0) for x in LETTERS]
    units += [Unit("one", {"1": 1.0}, {no: 1.0})]
    layers = (
        Layer(name="look", meaning="looks around", source="made by hand", heads=heads),
        Layer(name="compare", meaning="compares", source="made by hand", feed_forward=feed_forward(layout, units)),
    )
    logits: list[Linear] = [{at("next", letter): 1.0} for letter in LETTERS]
    places: dict[str, Linear] = {name: {name: 1.0} for name in ("1", "i", "i^2")}
    return Decoder(
        layout=layout,
        vocabulary=LETTERS,
        bos=None,
        stop=(),
        features=tuple(places),
        token_embedding=turned(stacked(layout, tokens)),
        position_embedding=turned(stacked(layout, list(places.values()))),
        layers=layers,
        unembedding=stacked(layout, [*logits, {"share": 1.0}, {yes: 1.0}, {no: 1.0}]),
        unembedding_bias=Matrix.from_entries((6, 1), {}),
        outputs=OUTPUTS,
        provenance={"name": "labeller"},
    )


def expected(word: str) -> list[tuple[str, tuple[int, int], str]]:
    """What `labeller` has to say of `word`: the next letter, the share of a's, whether both letters are alike."""
    after = word[1:] + word[-1]
    share = (word.count("a"), len(word))
    return [(y, share, "yes" if x == y else "no") for x, y in zip(word, after, strict=True)]


@dataclasses.dataclass(frozen=True)
class Told:
    """A run of `expected` on one word, as a truth and as its specification."""

    input: str
    noun: ClassVar[str] = "program"
    reference: ClassVar[str] = "evaluator"
    name: ClassVar[str] = "labeller"
    blank: ClassVar[str] = ""
    outcome: ClassVar[str] = "labelled"
    own: ClassVar[Mapping[str, Any]] = {}

    @property
    def prompt(self) -> Sequence[str]:
        return tuple(self.input)

    tokens = prompt

    def refuse(self, layout: Residual) -> None:
        pass

    def rows(self, columns: tuple[Column, ...]) -> Iterator[AnyRow]:
        for i, (token, (a, n), same) in enumerate(expected(self.input)):
            answers = {"next": token, "share": Fraction(a, n), "same": same}
            yield i, self.input[i], *(answers[column.holds] for column in columns[2:])

    def result(self) -> Told:
        return self

    def specification(self, upto: int) -> Told:
        if upto != len(self.input) - 1:
            raise ValueError(f"a specification up to {upto} of {len(self.input)} positions")
        return self

    def ending(self, decoder: Decoder) -> None:
        return None

    def covers(self, layout: Residual) -> bool:
        return all(space.holds in self.values(0) for space in layout.subspaces)

    def holds(self, what: str, layer: int, part: str) -> bool:
        stages = [(-1, "embedding"), (0, "attention"), (0, "feed_forward"), (1, "attention"), (1, "feed_forward")]
        return stages.index((layer, part)) >= stages.index(SINCE[what])

    def values(self, i: int) -> dict[str, Any]:
        token, (a, n), same = expected(self.input)[i]
        values: dict[str, Any] = {"token": self.input[i], "i": i, "i^2": i * i, "1": 1}
        return values | {
            "share": Fraction(a, n),
            "next": {token: 1},
            "before": self.input[max(i - 1, 0)],
            "same": {"yes": int(same == "yes"), "no": int(same == "no")},
        }

    def stream(self, layout: Residual, i: int, layer: int, part: str) -> list[Any]:
        values = self.values(i)
        there = [values[space.holds] if self.holds(space.holds, layer, part) else None for space in layout.subspaces]
        return [v for space, value in zip(layout.subspaces, there, strict=True) for v in vector(space, value)]

    def attended(self, where: str, i: int) -> Sequence[int]:
        last = len(self.input) - 1
        return {"next": [min(i + 1, last)], "all": range(last + 1), "before": [max(i - 1, 0)]}.get(where, ())

    def remark(self, what: str, i: int) -> str | None:
        return None

    def about(self, i: int) -> str | None:
        return f"this is letter {i + 1} of {self.input}"


def causal() -> Decoder:
    """`labeller` with every head future-masked: each looks at what there has been so far."""
    made = labeller()
    return with_heads(made, lambda head: dataclasses.replace(head, mask="future"))


def soft(decoder: Decoder) -> Decoder:
    """The same weights with softmax."""
    return with_heads(decoder, lambda head: dataclasses.replace(head, weighting="softmax"))


def with_heads(decoder: Decoder, change: object) -> Decoder:
    """A decoder with every head changed."""
    layers = (dataclasses.replace(layer, heads=tuple(map(change, layer.heads))) for layer in decoder.layers)  # type: ignore[call-overload]
    return dataclasses.replace(decoder, layers=tuple(layers))


def scrambled(
    seed: int, *, integers: bool = False, positions: int | None = None, weighting: Weighting = "average-hard"
) -> Decoder:
    """A decoder with random weights, masks and outputs, about which nothing is right: engines have to agree about it."""
    made = random.Random(seed)

    def number() -> float:
        return float(made.randint(-3, 3)) if integers else made.choice([-1, 1]) * made.random() * 2 ** made.randint(-3, 3)

    def matrix(rows: int, columns: int, density: float = 0.5) -> Matrix:
        places = [(r, c) for r in range(rows) for c in range(columns) if made.random() < density]
        return Matrix.from_entries((rows, columns), {place: number() for place in places})

    width, vocabulary = made.randint(3, 9), made.randint(1, 4)
    layout = Residual(tuple(Subspace(f"x{n}") for n in range(width)))

    def one_head(n: int) -> Head:
        keys, values = made.randint(0, 12), made.randint(0, 4)
        return Head(
            name=f"h{n}",
            source="",
            query=matrix(keys, width, 0.4),
            key=matrix(keys, width, 0.4),
            value=matrix(values, width),
            output=matrix(width, values),
            mask=made.choice(MASKS),
            weighting=weighting,
        )

    def one_layer(n: int) -> Layer:
        hidden = made.randint(0, 6)
        part = FeedForward(
            input=matrix(hidden, width),
            input_bias=matrix(hidden, 1),
            output=matrix(width, hidden),
            output_bias=matrix(width, 1),
            units=tuple(map(str, range(hidden))),
        )
        heads = tuple(one_head(k) for k in range(made.randint(0, 3)))
        return Layer(name=f"l{n}", meaning="", source="", heads=heads, feed_forward=part if made.random() < 0.8 else None)

    outputs = (Output("y", ("p", "q")), Output("n", None), Output("z", ("only",)))
    features = ("1", "i", "1/(i+1)") if made.random() < 0.7 else ()
    return Decoder(
        layout=layout,
        vocabulary=tuple(map(str, range(vocabulary))),
        bos=None,
        stop=(),
        features=features,
        token_embedding=matrix(width, vocabulary),
        position_embedding=matrix(width, len(features)),
        position_table=None if positions is None else matrix(width, positions),
        layers=tuple(one_layer(n) for n in range(made.randint(1, 3))),
        unembedding=matrix(4, width),
        unembedding_bias=matrix(4, 1),
        outputs=outputs,
    )
