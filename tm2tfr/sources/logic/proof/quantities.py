"""What kind of number each direction of the stream is, by what it is claimed to hold, how large it can get; and that values
are exact: what is embedded, carried by heads, and computed by units, up to a number of positions.

With N positions, a direction is a *whole* number of absolute value at most f·N^p, or a whole number divided by the number
of positions in sight: by i + 1 (a *share*), by N - i (a *rest*), or it is 1/N.

A sum of products of weights and whole numbers is exact if all of its partial sums are, which are multiples of one power of
two that the dtype has. Means of bits are one division; a unit that reads shares writes a share, or whether the position is
0 or 1.

A direction is written in one part of one layer, the one after which it is claimed to hold something: before it is 0, and
after it nobody adds anything, not even terms that cancel. In this part a whole number may be the sum of what several heads
or units write, whose absolute values all count; what is divided has one writer, with the weight 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from tm2tfr.certificates.kit import Refused
from tm2tfr.contract.specification import written
from tm2tfr.sources.logic.model import claims
from tm2tfr.sources.logic.nodes import Node, Sum
from tm2tfr.sources.logic.theta import rule
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

MOST_BELOW = 2**6
"""The largest denominator of a bias of a unit that tells positions 0 and 1 from others."""
Fits = Callable[[int, Fraction], bool]
"""(N, u) -> whether what is computed of words with N positions is right with unit roundoff u."""
Whole = Literal["whole", "share", "rest", "1/N"]


@dataclass(frozen=True)
class Quantity:
    """A direction.

    Args:
        name: its claimed content, with its symbol; unique within a stream.
        kind: whole, or divided: a share, a rest, 1/N; see the module's docstring.
        factor, power: it is at most ``factor · N^power``; 1 for a share.
    """

    name: str
    kind: Whole
    factor: int = 1
    power: int = 0

    def size(self, positions: int) -> int:
        """Return how large it can get with this many positions."""
        return self.factor * int(positions**self.power)


Directed = list[Quantity | None]
"""The kind of each direction, by number; None: unknown to the proof, or not written yet."""


def kind_of(known: Directed, at: int) -> str:
    """Return the kind of a direction; empty if the proof does not know it."""
    quantity = known[at]
    return "" if quantity is None else quantity.kind


@dataclass(frozen=True)
class Directions:
    """The directions of a decoder, by number: the kind of each, and the stage that writes it; None: unknown."""

    decoder: Decoder
    nodes: Mapping[int, Node]

    def at(self, layer: int, part: str) -> Directed:
        """Return the kinds of the directions after `part` of `layer`; None before they are written, too."""
        found: Directed = []
        for subspace, known in self._known:
            found += known if written(subspace, layer, part) else [None] * subspace.width
        return found

    @cached_property
    def _known(self) -> list[tuple[Subspace, Directed]]:
        """Each subspace with the kinds of its directions.

        Where two subspaces have the same claim, which is equal in exact arithmetic, but need not be rounded alike, the
        second one has a name of its own: the products of a score that are added up by names are those of one direction.
        """
        found: dict[str, tuple[Subspace, Directed]] = {}
        for subspace in self.decoder.layout.subspaces:
            name = subspace.holds if subspace.holds not in found else f"{subspace.holds} ({subspace.name})"
            found[name] = subspace, self._of(subspace, name)
        return list(found.values())

    def _of(self, subspace: Subspace, name: str) -> Directed:
        claim = claims.subspace_claim(subspace.holds)
        kind = None if claim is None else self._kind(claim)
        if kind is None:
            return [None] * subspace.width
        labels = [f"[{label}]" for label in subspace.labels] if subspace.labels is not None else [""]
        return [Quantity(name + label, *kind) for label in labels]

    def _kind(self, claim: claims.SubspaceClaim) -> tuple[Whole, int, int] | None:
        found: tuple[Whole, int, int] | None = ("whole", 1, 0)
        match claim:
            case claims.GivenClaim("1/(i+1)"):
                found = ("share", 1, 0)
            case claims.GivenClaim():
                # A rule that compares something is 0 or 1; of another, such as i/n, the proof knows nothing.
                written = claims.is_rule(claim.what) and claim.what not in claims.FEATURES
                found = ("whole", 1, {"i": 1, "i^2": 2}.get(claim.what, 0))
                found = None if written and not rule(claim.what).truth else found
            case claims.NodeClaim() | claims.DividedClaim():
                found = self._of_node(claim)
            case claims.InsideClaim():
                found = self._kind(claim.of)
            case claims.ShareClaim():
                found = ("share", 1, 0) if self._kind(claim.of) == ("whole", 1, 0) else None
            case claims.MeanClaim():
                found = self._mean(claim)
        return found

    def _of_node(self, claim: claims.NodeClaim | claims.DividedClaim) -> tuple[Whole, int, int] | None:
        if claim.what in ("label", "found", "reaches"):
            return ("whole", 1, 0)
        node = self.nodes.get(claim.node)
        if node is None:
            return None
        factor = largest(node)
        return ("whole", factor * factor, 2) if claim.what.endswith("square") else ("whole", factor, 1)

    def _mean(self, claim: claims.MeanClaim) -> tuple[Whole, int, int] | None:
        inner = self._kind(claim.of)
        if claim.head.kind != "all":  # of one position
            return inner if inner is not None and inner[0] == "whole" else None
        if inner != ("whole", 1, 0):
            return None
        kinds: Mapping[str, Whole] = {"future": "share", "past": "rest"}
        if claim.head.mask == "none":
            return ("1/N", 1, 0) if claim.of == claims.GivenClaim("bos") else None
        return (kinds[claim.head.mask], 1, 0)


def largest(node: Node) -> int:
    """Return a factor f with which a number is at most f·N with N positions: positions and counts are at most N."""
    if not isinstance(node, Sum):
        return 1
    return abs(node.constant) + sum(abs(factor) * largest(term) for factor, term in node.terms)


MatrixRow = Mapping[int, Fraction]
"""A row of a matrix: direction -> weight."""


def size_of(row: MatrixRow, known: Directed, positions: int) -> Fraction:
    """Return how large the sum of the absolute values of the terms of a row can get."""
    found = ((weight, known[at]) for at, weight in row.items())
    return sum((abs(weight) * each.size(positions) for weight, each in found if each is not None), Fraction(0))


# ── that values are exact ────────────────────────────────────────────────────────────────────────────────────
def rows_of(matrix: Matrix) -> dict[int, dict[int, Fraction]]:
    """Return the rows of a matrix that are not 0, exactly."""
    found: dict[int, dict[int, Fraction]] = {}
    for row, column, value in matrix.entries():
        found.setdefault(row, {})[column] = Fraction(value)
    return found


def embedded(decoder: Decoder, known: Directed) -> Iterator[Fits]:
    """Yield the quantities of the embedding that must fit.

    Raises:
        Refused: if it has weights that are not whole, or a share that is not the position feature alone.
    """
    if decoder.position_table is not None:
        raise Refused("shape", "the proof knows no position table", f"{decoder.positions} positions")
    tokens, place = rows_of(decoder.token_embedding), rows_of(decoder.position_embedding)
    unknown = [name for name in decoder.features if claims.is_rule(name) and name not in claims.FEATURES]
    if unknown := [name for name in unknown if not rule(name).truth]:
        raise Refused("embedding", f"the proof does not know the position feature {unknown[0]}", "position_embedding")
    for at in {**tokens, **place}:
        names = [decoder.features[column] for column in place.get(at, {})]
        weights = [*tokens.get(at, {}).values(), *place.get(at, {}).values()]
        target = _target(known[at], "embedding", ", ".join(names) or "token_embedding")
        if any(weight.denominator != 1 for weight in weights):
            raise Refused("embedding", "a weight is not whole", target.name)
        divided = target.kind != "whole"
        if ("1/(i+1)" in names) != divided or (divided and (names != ["1/(i+1)"] or weights != [1])):
            raise Refused("embedding", "1/(i+1) is not what its direction is claimed to hold", target.name)

    def fits(positions: int, u: Fraction) -> bool:
        features = map(feature, decoder.features)
        largest = [Fraction(each.largest(positions)) for each in features]
        of_tokens = {at: max(map(abs, row.values())) for at, row in tokens.items()}
        of_place = {at: sum((abs(w) * largest[n] for n, w in row.items()), Fraction(0)) for at, row in place.items()}
        # Whole numbers up to 1/u are exact in the dtype. N² is among them for i², from which scores are computed.
        sums = [of_tokens.get(at, 0) + of_place.get(at, 0) for at in {**tokens, **place}]
        return max([*sums, positions**2]) * u <= 1

    yield fits


def carried(heads: Sequence[Head], before: Directed, after: Directed, layer: int) -> Iterator[Fits]:
    """Yield the quantities that the heads of a layer carry and that must fit.

    Raises:
        Refused: if one carries anything but whole numbers, with whole weights; a mean that is written with another weight
            than 1, or beside anything else; or where nothing is claimed to be written.
    """
    matrices = [(rows_of(head.value), rows_of(head.output)) for head in heads]
    writers: dict[int, list[Head]] = {}
    for head, (values, outputs) in zip(heads, matrices, strict=True):
        for row in values.values():
            if any(kind_of(before, at) != "whole" for at in row):
                raise Refused("attention", "a head carries what is not known to be whole", head.name, layer=layer)
        weights = [weight for rows in (values, outputs) for row in rows.values() for weight in row.values()]
        if any(weight.denominator != 1 for weight in weights):
            raise Refused("attention", "a head carries with weights that are not whole", head.name, layer=layer)
        if head.uniform and any(len(row) > 1 or set(row.values()) != {1} for row in outputs.values()):
            raise Refused("attention", "a mean is written with other weights than 1", head.name, layer=layer)
        for at in outputs:
            writers.setdefault(at, []).append(head)
    for at, own in writers.items():
        target = _target(after[at] if before[at] is None else None, "attention", own[-1].name, layer)
        means = [head for head in own if head.uniform]
        if (target.kind == "whole" and means) or (target.kind != "whole" and (len(own) > 1 or not means)):
            raise Refused("attention", "what is divided is not one mean, written alone", target.name, layer=layer)

    def fits(positions: int, u: Fraction) -> bool:
        added: dict[int, Fraction] = {}
        for head, (values, outputs) in zip(heads, matrices, strict=True):
            sizes = {row: size_of(terms, before, positions) for row, terms in values.items()}
            for at, row in outputs.items():
                own = sum((abs(w) * sizes.get(each, 0) for each, w in row.items()), Fraction(0))
                # A mean is a sum of up to N terms, which must be exact, and one division after it.
                added[at] = added.get(at, Fraction(0)) + own * (positions if head.uniform else 1)
        return max(added.values(), default=Fraction(0)) * u <= 1

    yield fits


def computed(part: FeedForward, before: Directed, after: Directed, layer: int) -> Iterator[Fits]:
    """Yield the quantities of a feed-forward part that must fit.

    Raises:
        Refused: if a unit reads what is not known, or shares but for the two purposes above; if a share is written beside
            anything else; or if something is written where nothing is claimed to be.
    """
    inputs, outputs = rows_of(part.input), rows_of(part.output)
    biases = {row: terms[0] for row, terms in rows_of(part.input_bias).items()}
    if rows_of(part.output_bias):
        raise Refused("feed-forward", "something is written at every position", "output_bias", layer=layer)
    exact: dict[int, MatrixRow] = {}
    for unit, name in enumerate(part.units):
        row, targets = inputs.get(unit, {}), [at for at, terms in outputs.items() if unit in terms]
        if any(before[at] is None for at in row):
            raise Refused("feed-forward", "a unit reads what is not known there", name, layer=layer)
        if all(kind_of(before, at) == "whole" for at in row):
            exact[unit] = row
        elif not _shares(row, biases.get(unit, Fraction(0)), before, [after[at] for at in targets]):
            raise Refused("feed-forward", "a unit reads a number that is rounded", name, layer=layer)
    for at, row in outputs.items():
        target = _target(after[at] if before[at] is None else None, "feed-forward", part.units[max(row)], layer)
        if target.kind != "whole" and (set(row.values()) != {1} or len(row) > 1 or not exact.keys().isdisjoint(row)):
            raise Refused("feed-forward", "what is divided is not one share, written alone", target.name, layer=layer)
    numbers = [*biases.values(), *(w for rows in (inputs, outputs) for row in rows.values() for w in row.values())]
    grain = _grain(numbers)

    def fits(positions: int, u: Fraction) -> bool:
        sizes = {unit: size_of(row, before, positions) + abs(biases.get(unit, Fraction(0))) for unit, row in exact.items()}
        sums = [sum((abs(w) * sizes.get(unit, 1) for unit, w in row.items()), Fraction(0)) for row in outputs.values()]
        # All partial sums are multiples of `grain`: such a number is exact up to grain/u, whatever the order of adding.
        return max([*sizes.values(), *sums], default=Fraction(0)) * u <= grain

    yield fits


def answers(decoder: Decoder, known: Directed) -> Iterator[Fits]:
    """Yield the quantities of the unembedding that must fit.

    Raises:
        Refused: if it reads what is not known to be whole.
    """
    rows, biases = rows_of(decoder.unembedding), rows_of(decoder.unembedding_bias)
    for row, terms in rows.items():
        if any(kind_of(known, at) != "whole" for at in terms):
            raise Refused("unembedding", "an answer reads what is not known to be whole", decoder.answered[row])
    grain = _grain([w for found in (rows, biases) for terms in found.values() for w in terms.values()])

    def fits(positions: int, u: Fraction) -> bool:
        sizes = [size_of(terms, known, positions) + abs(biases.get(n, {}).get(0, Fraction(0))) for n, terms in rows.items()]
        return max(sizes, default=Fraction(0)) * u <= grain

    yield fits


def _target(target: Quantity | None, part: str, writer: str, layer: int = 0) -> Quantity:
    """Return the claimed content of a written direction; `target`: None without a claim, or if it was written before.

    Raises:
        Refused: if it is None.
    """
    if target is None:
        raise Refused(part, "something is written where the stream is not claimed to change", writer, layer=layer)
    return target


def _shares(row: MatrixRow, bias: Fraction, before: Directed, after: Sequence[Quantity | None]) -> bool:
    """Return whether a unit that reads 1/(i+1) writes a share, of a bit, or whether the position is 0 or 1.

    Beside 1/(i+1) it reads bits alone: the errors of other shares would add up from layer to layer.
    """
    read = [(quantity, weight) for at, weight in row.items() if (quantity := before[at]) is not None]
    names = {quantity.name: weight for quantity, weight in read}
    wanted = {target.name if target is not None else "" for target in after}
    inverse, bits = names.pop("1/(i+1)", None), sum(quantity.kind == "whole" for quantity, _ in read)
    if inverse is None or bits != len(names) or any(quantity.power for quantity, _ in read):
        return False
    if wanted == {"early"}:  # exact at 0 and 1, and 0 from 2 on, where 1/(i+1) is at most 1/3, rounded
        return not names and inverse == 1 and bias <= -Fraction(11, 32) and bias.denominator <= MOST_BELOW
    whole = all(weight.denominator == 1 and abs(weight) == 1 for weight in names.values())
    return (
        inverse == 1 and whole and bias == -1 and len(names) <= 4 and all(each.startswith("over i+1: ") for each in wanted)
    )


def _grain(numbers: Sequence[Fraction]) -> Fraction:
    """Return a number of which every product of three of `numbers`, with powers of two as denominators, is a multiple."""
    below = max((number.denominator for number in numbers), default=1)
    return Fraction(1, below**3)
