"""The exact engine: rational numbers, no rounding anywhere. It is slow, and has the last word on what weights mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.decode import NO_PATCHES, Passed, Patch, Watch, check_patches, patched, refuse_ahead
from tm2tfr.engines.overflow import beyond_the_table
from tm2tfr.transformer.attention import chosen, in_sight
from tm2tfr.transformer.layers import MOST_PASSES, endless
from tm2tfr.transformer.matrix import Matrix, Rational, rational
from tm2tfr.transformer.parts import AHEAD, LENGTH, LOOPS, NO_BOS, OUTPUTS, TABLE, TEMPERED, UNIQUE, WRITTEN, refuse_parts
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, Head

SparseRow = list[tuple[int, Rational]]
"""The non-zero entries of one row of a matrix: (column, value)."""


@dataclass(frozen=True)
class Exact:
    """The engine."""

    dtype: Literal["rational"] = "rational"
    name: str = "exact"

    def start(self, decoder: Decoder) -> ExactSession:
        """Return a fresh session at position 0.

        Raises:
            EngineError: if a head looks ahead.
        """
        refuse_ahead(decoder)
        return ExactSession(decoder)

    def whole(
        self,
        decoder: Decoder,
        tokens: Sequence[int],
        watches: Mapping[int, Watch],
        patches: Mapping[int, Sequence[Patch]] = NO_PATCHES,
    ) -> list[Passed]:
        """Run a whole sequence at once, see `tm2tfr.engines.decode.run_whole`."""
        return ExactSession(decoder).run(tokens, watches, patches)


def _rows(matrix: Matrix) -> list[SparseRow]:
    return [[(c, rational(v)) for c, v in row.items()] for row in matrix.by_row()]


def _columns(matrix: Matrix) -> list[SparseRow]:
    return _rows(matrix.transposed)


def _some_rows(matrix: Matrix) -> dict[int, SparseRow]:
    """Return the rows that have entries: many more may be empty."""
    rows: dict[int, SparseRow] = {}
    for row, column, value in matrix.entries():
        rows.setdefault(row, []).append((column, rational(value)))
    return rows


def _times(row: SparseRow, x: Sequence[Rational]) -> Rational:
    total: Rational = 0
    for c, v in row:
        if x[c]:
            total += v * x[c]
    return total


class _Head:
    """A head with its cache of keys and values."""

    def __init__(self, head: Head) -> None:
        if head.weighting == "softmax":
            problem = f"head {head.name!r}: the exact engine runs hard attention only"
            raise EngineError(f"{problem}, and softmax weights are not rational: use the dense engine")
        query, key, value = _some_rows(head.query), _some_rows(head.key), _some_rows(head.value)
        output = _some_rows(head.output.transposed)
        # A component that is 0 in every query or every key adds 0 to every score; values that are not read add nothing.
        self._query, self._key = ([table[c] for c in query if c in key] for table in (query, key))
        self._value, self._output = ([table[c] for c in value if c in output] for table in (value, output))
        self._keys: list[list[Rational]] = []
        self._values: list[list[Rational]] = []
        self._mask, self._weighting = head.mask, head.weighting

    def forget(self) -> None:
        """Drop the keys and values so far: those of an earlier pass of a loop."""
        self._keys.clear()
        self._values.clear()

    def take(self, x: Sequence[Rational]) -> None:
        """Keep the key and the value of the next position, whose stream is x."""
        self._keys.append([_times(row, x) for row in self._key])
        self._values.append([_times(row, x) for row in self._value])

    def look(self, x: Sequence[Rational], position: int, length: int) -> tuple[SparseRow, list[Rational], list[int]]:
        """Return the head's output, the scores of the positions that it sees, and the positions attended to."""
        positions = in_sight(self._mask, position, length)
        query = [(c, q) for c, q in enumerate(_times(row, x) for row in self._query) if q]
        scores = [sum(q * self._keys[j][c] for c, q in query) for j in positions]
        best = max(scores)
        attended = chosen(self._weighting, [j for j, score in zip(positions, scores, strict=True) if score == best])
        added: dict[int, Rational] = {}
        for component, column in enumerate(self._output):
            mean = Fraction(sum(self._values[j][component] for j in attended), len(attended))
            for row, weight in column if mean else ():
                added[row] = added.get(row, 0) + weight * mean
        return list(added.items()), scores, attended


class ExactSession:
    """A decoder with rationals as weights, in the middle of a sequence.

    Raises:
        EngineError: for softmax and layer norms, whose numbers are not rational.
    """

    def __init__(self, decoder: Decoder) -> None:
        known = (TABLE, NO_BOS, AHEAD, OUTPUTS, LOOPS, LENGTH, WRITTEN, TEMPERED, UNIQUE)  # heads refuse softmax
        refuse_parts(decoder, "the exact engine", "square roots are not rational: use the dense engine", known=known)
        self._width, self._position = decoder.layout.width, 0
        self.residual: Sequence[Rational] = ()
        self.logits: Sequence[Rational] = ()
        self._features = [feature(name) for name in decoder.features]
        self._tokens, self._place = _columns(decoder.token_embedding), _columns(decoder.position_embedding)
        self._table = None if decoder.position_table is None else _columns(decoder.position_table)
        self._layers = []
        for layer in decoder.layers:
            ffn, units = layer.feed_forward, None
            if ffn is not None:
                bias = [_times(row, (1,)) for row in _rows(ffn.input_bias)]
                offset = [(r, rational(v)) for r, _, v in ffn.output_bias.entries()]
                units = (list(zip(_rows(ffn.input), bias, _columns(ffn.output), strict=True)), offset)
            self._layers.append(([_Head(head) for head in layer.heads], units))
        self._loops = decoder.loops
        self._until = [None if loop.until is None else _rows(loop.until)[0] for loop in decoder.loops]
        self._unembedding = _rows(decoder.unembedding)
        self._bias = [_times(row, (1,)) for row in _rows(decoder.unembedding_bias)]

    def feed(self, token: int, watch: Watch | None = None, patches: Sequence[Patch] = ()) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Args:
            patches: what is overwritten in the stream on the way; the watch sees it overwritten.

        Raises:
            EngineError: see `run`. The session cannot be used after that.
        """
        at = self._position
        ((self.residual, self.logits),) = self.run([token], {} if watch is None else {at: watch}, {at: patches})
        return self.logits.index(max(self.logits))

    def run(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]]
    ) -> list[Passed]:
        """Run the next positions on `tokens`, layer by layer; heads see all of them that their masks let them.

        Raises:
            EngineError: if there are more tokens than positions in the position table, and for a patch that does not fit.
        """
        first, end = self._position, self._position + len(tokens)
        for own in patches.values():
            check_patches(own, len(self._layers), self._width)

        def stage(i: int, x: list[Rational], layer: int, part: str) -> None:
            patched(x, patches.get(i, ()), layer, part)
            if i in watches:
                watches[i].stage(layer, part, x.copy())

        streams = [self._embedded(token, i, end) for i, token in enumerate(tokens, first)]
        for i, x in enumerate(streams, first):
            stage(i, x, -1, "embedding")

        def layer(n: int) -> None:
            heads, units = self._layers[n]
            for x in streams:
                for head in heads:
                    head.take(x)
            answers = [[head.look(x, i, end) for head in heads] for i, x in enumerate(streams, first)]
            for (i, x), looked in zip(enumerate(streams, first), answers, strict=True):
                for k, (added, scores, attended) in enumerate(looked):
                    _add(x, added)
                    if i in watches:
                        watches[i].head(n, k, scores, attended)
                stage(i, x, n, "attention")
                if units is not None:
                    _feed_forward(x, *units)
                stage(i, x, n, "feed_forward")

        self._through(layer, streams)
        self._position = end
        rows = list(zip(self._unembedding, self._bias, strict=True))
        return [Passed(x, [_times(row, x) + bias for row, bias in rows]) for x in streams]

    def _through(self, layer: Callable[[int], None], streams: Sequence[Sequence[Rational]]) -> None:
        """Call `layer` for each layer in the order of the computation: those of a loop pass after pass, until it ends."""
        done = 0
        for loop, until in zip(self._loops, self._until, strict=True):
            for n in range(done, loop.first - 1):
                layer(n)
            for number in range(loop.most):
                for n in range(loop.first - 1, loop.last):
                    for head in self._layers[n][0]:
                        head.forget()
                    layer(n)
                if until is not None and all(2 * _times(until, x) >= 1 for x in streams):
                    break
                if number + 1 == MOST_PASSES and loop.times is None:
                    raise endless(loop)
            done = loop.last
        for n in range(done, len(self._layers)):
            layer(n)

    def _embedded(self, token: int, position: int, length: int) -> list[Rational]:
        x: list[Rational] = [0] * self._width
        _add(x, self._tokens[token])
        for number_at, column in zip(self._features, self._place, strict=True):
            number = Fraction(*number_at(position, length))
            _add(x, [(row, weight * number) for row, weight in column])
        if self._table is not None:
            if position >= len(self._table):
                raise beyond_the_table(position)
            _add(x, self._table[position])
        return x


def _feed_forward(x: list[Rational], units: list[tuple[SparseRow, Rational, SparseRow]], offset: SparseRow) -> None:
    """Add the answer of a feed-forward layer to x; units: (input row, bias, output column) of each."""
    hidden = [(_times(row, x) + bias, column) for row, bias, column in units]
    for value, column in hidden:
        if value > 0:
            _add(x, [(row, weight * value) for row, weight in column])
    _add(x, offset)


def _add(x: list[Rational], entries: SparseRow) -> None:
    for row, value in entries:
        total = x[row] + value
        x[row] = total.numerator if total.denominator == 1 else total
