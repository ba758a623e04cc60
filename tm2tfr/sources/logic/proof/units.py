"""That values are exact: what is embedded, carried by heads, and computed by units, up to a number of positions.

A sum of products of weights and whole numbers is exact if all of its partial sums are, which are multiples of one power of
two that the dtype has. Means of bits are one division; a unit that reads shares writes a share, or whether the position is
0 or 1.

A direction is written in one part of one layer, the one after which it is claimed to hold something: before it is 0, and
after it nobody adds anything, not even terms that cancel. In this part a whole number may be the sum of what several heads
or units write, whose absolute values all count; what is divided has one writer, with the weight 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tm2tfr.sources.logic.proof.heads import Fits, NotShown
from tm2tfr.sources.logic.proof.quantities import MatrixRow, Quantity, size_of
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

Directed = list[Quantity | None]
MOST_BELOW = 2**6
"""The largest denominator of a bias of a unit that tells positions 0 and 1 from others."""


def rows_of(matrix: Matrix) -> dict[int, dict[int, Fraction]]:
    """Return the rows of a matrix that are not 0, exactly."""
    found: dict[int, dict[int, Fraction]] = {}
    for row, column, value in matrix.entries():
        found.setdefault(row, {})[column] = Fraction(value)
    return found


def embedded(decoder: Decoder, known: Directed) -> Iterator[Fits]:
    """Yield what has to fit of the embedding.

    Raises:
        NotShown: if it has weights that are not whole, or a share that is not the position feature alone.
    """
    if decoder.position_table is not None:
        raise NotShown("shape", "the proof knows no position table", f"{decoder.positions} positions")
    tokens, place = rows_of(decoder.token_embedding), rows_of(decoder.position_embedding)
    for at in {**tokens, **place}:
        names = [decoder.features[column] for column in place.get(at, {})]
        weights = [*tokens.get(at, {}).values(), *place.get(at, {}).values()]
        written = _written(known[at], "embedding", ", ".join(names) or "token_embedding")
        if any(weight.denominator != 1 for weight in weights):
            raise NotShown("embedding", "a weight is not whole", written.name)
        divided = written.kind != "whole"
        if ("1/(i+1)" in names) != divided or (divided and (names != ["1/(i+1)"] or weights != [1])):
            raise NotShown("embedding", "1/(i+1) is not what its direction is claimed to hold", written.name)

    def fits(positions: int, u: Fraction) -> bool:
        features = map(feature, decoder.features)
        largest = [Fraction(1) if each.bounded else Fraction(*each(positions - 1)) for each in features]
        of_tokens = {at: max(map(abs, row.values())) for at, row in tokens.items()}
        of_place = {at: sum((abs(w) * largest[n] for n, w in row.items()), Fraction(0)) for at, row in place.items()}
        sums = [of_tokens.get(at, 0) + of_place.get(at, 0) for at in {**tokens, **place}]
        return max([*sums, positions**2]) * u <= 1

    yield fits


def carried(heads: Sequence[Head], before: Directed, after: Directed, layer: int) -> Iterator[Fits]:
    """Yield what has to fit of what the heads of a layer carry.

    Raises:
        NotShown: if one carries anything but whole numbers, with whole weights; a mean that is written with another weight
            than 1, or beside anything else; or where nothing is claimed to be written.
    """
    matrices = [(rows_of(head.value), rows_of(head.output)) for head in heads]
    writers: dict[int, list[Head]] = {}
    for head, (values, outputs) in zip(heads, matrices, strict=True):
        for row in values.values():
            if any(before[at] is None or getattr(before[at], "kind", "") != "whole" for at in row):
                raise NotShown("attention", "a head carries what is not known to be whole", head.name, layer)
        weights = [weight for rows in (values, outputs) for row in rows.values() for weight in row.values()]
        if any(weight.denominator != 1 for weight in weights):
            raise NotShown("attention", "a head carries with weights that are not whole", head.name, layer)
        if head.uniform and any(len(row) > 1 or set(row.values()) != {1} for row in outputs.values()):
            raise NotShown("attention", "a mean is written with other weights than 1", head.name, layer)
        for at in outputs:
            writers.setdefault(at, []).append(head)
    for at, own in writers.items():
        target = _written(after[at] if before[at] is None else None, "attention", own[-1].name, layer)
        means = [head for head in own if head.uniform]
        if (target.kind == "whole" and means) or (target.kind != "whole" and (len(own) > 1 or not means)):
            raise NotShown("attention", "what is divided is not one mean, written alone", target.name, layer)

    def fits(positions: int, u: Fraction) -> bool:
        added: dict[int, Fraction] = {}
        for head, (values, outputs) in zip(heads, matrices, strict=True):
            sizes = {row: size_of(terms, before, positions) for row, terms in values.items()}
            for at, row in outputs.items():
                own = sum((abs(w) * sizes.get(each, 0) for each, w in row.items()), Fraction(0))
                added[at] = added.get(at, Fraction(0)) + own * (positions if head.uniform else 1)
        return max(added.values(), default=Fraction(0)) * u <= 1

    yield fits


def computed(part: FeedForward, before: Directed, after: Directed, layer: int) -> Iterator[Fits]:
    """Yield what has to fit of a feed-forward part.

    Raises:
        NotShown: if a unit reads what is not known, or shares but for the two purposes above; if a share is written beside
            anything else; or if something is written where nothing is claimed to be.
    """
    inputs, outputs = rows_of(part.input), rows_of(part.output)
    biases = {row: terms[0] for row, terms in rows_of(part.input_bias).items()}
    if rows_of(part.output_bias):
        raise NotShown("feed-forward", "something is written at every position", "output_bias", layer)
    exact: dict[int, MatrixRow] = {}
    for unit, name in enumerate(part.units):
        row, written = inputs.get(unit, {}), [at for at, terms in outputs.items() if unit in terms]
        if any(before[at] is None for at in row):
            raise NotShown("feed-forward", "a unit reads what is not known there", name, layer)
        if all(getattr(before[at], "kind", "") == "whole" for at in row):
            exact[unit] = row
        elif not _shares(row, biases.get(unit, Fraction(0)), before, [after[at] for at in written]):
            raise NotShown("feed-forward", "a unit reads a number that is rounded", name, layer)
    for at, row in outputs.items():
        target = _written(after[at] if before[at] is None else None, "feed-forward", part.units[max(row)], layer)
        if target.kind != "whole" and (set(row.values()) != {1} or len(row) > 1 or not exact.keys().isdisjoint(row)):
            raise NotShown("feed-forward", "what is divided is not one share, written alone", target.name, layer)
    numbers = [*biases.values(), *(w for rows in (inputs, outputs) for row in rows.values() for w in row.values())]
    grain = _grain(numbers)

    def fits(positions: int, u: Fraction) -> bool:
        sizes = {unit: size_of(row, before, positions) + abs(biases.get(unit, Fraction(0))) for unit, row in exact.items()}
        sums = [sum((abs(w) * sizes.get(unit, 1) for unit, w in row.items()), Fraction(0)) for row in outputs.values()]
        return max([*sizes.values(), *sums], default=Fraction(0)) * u <= grain

    yield fits


def answers(decoder: Decoder, known: Directed) -> Iterator[Fits]:
    """Yield what has to fit of the unembedding.

    Raises:
        NotShown: if it reads what is not known to be whole.
    """
    rows, biases = rows_of(decoder.unembedding), rows_of(decoder.unembedding_bias)
    for row, terms in rows.items():
        if any(known[at] is None or getattr(known[at], "kind", "") != "whole" for at in terms):
            raise NotShown("unembedding", "an answer reads what is not known to be whole", decoder.answered[row])
    grain = _grain([w for found in (rows, biases) for terms in found.values() for w in terms.values()])

    def fits(positions: int, u: Fraction) -> bool:
        sizes = [size_of(terms, known, positions) + abs(biases.get(n, {}).get(0, Fraction(0))) for n, terms in rows.items()]
        return max(sizes, default=Fraction(0)) * u <= grain

    yield fits


def _written(target: Quantity | None, part: str, writer: str, layer: int = 0) -> Quantity:
    """Return what the direction is claimed to hold that is written, None if nothing, or something already.

    Raises:
        NotShown: if it is None.
    """
    if target is None:
        raise NotShown(part, "something is written where the stream is not claimed to change", writer, layer)
    return target


def _shares(row: MatrixRow, bias: Fraction, before: Directed, after: Sequence[Quantity | None]) -> bool:
    """Return whether a unit that reads 1/(i+1) writes a share, of a bit, or whether the position is 0 or 1.

    Beside 1/(i+1) it reads bits alone: the errors of other shares would add up from layer to layer.
    """
    names = {before[at].name: weight for at, weight in row.items()}  # type: ignore[union-attr]
    wanted = {each.name if each is not None else "" for each in after}
    inverse = names.pop("1/(i+1)", None)
    kinds = [getattr(before[at], "kind", "") for at in row]
    if inverse is None or kinds.count("whole") != len(names) or any(getattr(before[at], "power", 1) for at in row):
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
