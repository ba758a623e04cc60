"""Feed-forward layers, verified exhaustively on the actual matrices, and when their floats are exact.

For each layer the values that its inputs can take are finitely many cases (`LayerInputs`), some with one free number, in
which everything is piecewise linear (`cases`). A unit that reads anything else is refused.

Floats. Outside layer 2 and the units of layer 1 that read 1/(i+1), all inputs are integers and all weights multiples
of 2^-g: every product and every partial sum, in whatever order, is a multiple of 2^-g, and exact as long as
Σ|w||x| ≤ 2^(p-g) (`Sums`). The others: see `_carried` and `_scaled`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tm2tfr.base.errors import listing
from tm2tfr.certificates.kit import Refusal
from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.cases import HV, MV, Case, Coordinates, LayerInputs, Miss, Neurons, V, Woken
from tm2tfr.transformer.matrix import Rational, rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder, FeedForward

GROWING = frozenset({"h", "h-", "h_{j*-1}"})
"""The directions read by feed-forward layers that are bounded by the largest |h|; all others are bounded by 1."""
SHARES = frozenset((V, MV, HV, "k/(i+1)", "h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)"))
"""The directions with multiples of 1/(i+1)."""
UNWRITTEN = SHARES | {"i", "i^2", "h", "h^2", "h-", "h_{i-1}", "h_{i-1}^2", "h_{j*-1}", "r*_q", "r*_a", "out"}
"""The subspaces with numbers of many digits: shares, numbers that grow, and means. From layer 3 on no layer has to write
there.
"""
OFTEN = 8
"""The inputs that more units than this read are added up once for all questions that share them (`Woken`), all others
anew for each question."""
_Kind = tuple[str | None, str | None]
"""A token or a state, as in `Question`."""


@dataclass(frozen=True)
class Sums:
    """A layer's sums: exact in floats of p digits while ``constant + slope · H ≤ 2^p``, in units of 2^-g.

    Raises:
        ValueError: if a bound is negative.
    """

    layer: int
    part: str
    constant: int
    slope: int
    where: str

    def __post_init__(self) -> None:
        if min(self.constant, self.slope) < 0:
            raise ValueError(f"layer {self.layer}: a bound on absolute values cannot be negative")


def power_of_two(value: Rational) -> bool:
    """Return whether multiplying by `value` is exact in binary floats: ±2^k with |k| ≤ 16."""
    top, bottom = abs(Fraction(value)).as_integer_ratio()
    return top > 0 and (top & (top - 1)) == 0 and bottom & (bottom - 1) == 0 and max(top, bottom) <= 2**16


class FeedForwardProof:
    """The proof of one layer (from 1): its refusals and, if there are none, its `sums`."""

    def __init__(self, decoder: Decoder, domain: LayerInputs, layer: int) -> None:
        self._layout, self._domain, self._layer = decoder.layout, domain, layer
        self._name, self._manner = decoder.layers[layer - 1].name, domain.manner(layer)
        self._ffn = decoder.layers[layer - 1].feed_forward
        self._neurons = Neurons(self._ffn)
        self._index = {name: n for n, name in enumerate(decoder.layout.directions)}
        found = self._refusal()
        self.refusals: tuple[Refusal, ...] = () if found is None else (found,)
        self.sums: Sums | None = None if found is not None or self._ffn is None else self._sums(self._ffn)

    def _refusal(self) -> Refusal | None:
        """Return the first fault: concrete cases come first, since their witnesses say most."""
        for check in (self._cases, self._strangers, self._form, self._apart, self._kept):
            found = check()
            if found is not None:
                return found
        return None

    # ── the cases ───────────────────────────────────────────────────────────────────────────────────────────
    def _cases(self) -> Refusal | None:
        if self._manner == "questions":
            return self._questions()
        for line in self._domain.lines(self._layer):
            at_, wanted, along, more = map(self._sparse, (line.at, line.wanted, line.along, line.wanted_along))
            case = Case(line.label, at_, wanted, along, more, line.low, line.high, line.integers, line.variable)
            lines = self._neurons.lines(case.at, case.along)
            missed = self._neurons.miss(case, lines)
            if missed is not None:
                return self._missed(missed)
            if self._manner == "carried" and (found := self._carried(case, lines)) is not None:
                return found
        return None

    def _sparse(self, named: Mapping[str, Rational]) -> dict[int, Rational]:
        return {self._index[name]: value for name, value in named.items() if value}

    def _questions(self) -> Refusal | None:
        """The last layer, step 4: every token, as the layer sees it, in every context."""
        woken: dict[tuple[tuple[int, Rational], ...], Woken] = {}
        seen, readers = self._seen(), self._neurons.readers
        often = {column for column, units in readers.items() if len(units) > OFTEN}
        for question in self._domain.questions():
            context = self._sparse(self._domain.context(question))
            shared = {column: x for column, x in context.items() if column in often}
            own = {column: x for column, x in context.items() if column not in often}
            key = tuple(shared.items())
            if key not in woken:
                woken[key] = Woken(self._neurons, shared)
            for token, stream in seen[question.token, question.state]:
                lines = woken[key].lines(own, stream)
                wanted = {self._index[at("e_y", question.answer)]: 1}
                missed = self._neurons.miss(Case(self._domain.asked(question, token), {}, wanted), lines)
                if missed is not None:
                    return self._missed(missed)
        return None

    def _seen(self) -> dict[_Kind, list[tuple[str, dict[int, Rational]]]]:
        """Return, for each token or state, the different inputs that this layer can see for it, each with a token."""
        found: dict[_Kind, dict[tuple[int, ...], tuple[str, dict[int, Rational]]]] = {}
        readers = self._neurons.readers

        def see(kind: _Kind, token: str, named: Coordinates) -> None:
            stream = {n: value for n, value in self._sparse(named).items() if n in readers}
            key = tuple(sorted((*stream, *(-n for n, value in stream.items() if value < 0))))
            found.setdefault(kind, {}).setdefault(key, (token, stream))

        for token in self._domain.tokens:
            see((token, None), token, {at("e_x", token): 1})
        for triple in self._domain.triples:
            named = {at("e_x", triple.token): 1, at("e_q", triple.state): 1, at("e_b", triple.symbol): 1, "m": triple.move}
            see((None, triple.state), triple.token, named)
        return {kind: list(streams.values()) for kind, streams in found.items()}

    # ── beyond the cases ────────────────────────────────────────────────────────────────────────────────────
    def _strangers(self) -> Refusal | None:
        """Refuse a unit that reads a direction that can be non-zero here but that no case varies."""
        if self._ffn is None:
            return None
        silent = set[int]()
        for subspace in self._layout.subspaces:
            allowed = subspace.holds in self._domain.reads(self._layer)
            if allowed or not self._domain.holds(subspace.holds, self._layer - 1, "attention"):
                place = self._layout[subspace.name]
                silent |= set(range(place.start, place.stop))
        writing = set(self._ffn.output.columns.tolist())
        for unit, column, value in self._ffn.input.entries():
            if column not in silent and unit in writing:
                entry = f"it reads {self._direction(column)} with weight {value:g}"
                return self._refuse(
                    f"unit {self._ffn.units[unit]!r} depends on a direction that this layer must not read", entry
                )
        return None

    def _form(self) -> Refusal | None:
        if self._manner == "scaled":
            return self._scaled()
        if self._manner == "differences":
            return self._differences()
        return None

    def _apart(self) -> Refusal | None:
        """Refuse a unit that reads two coordinates that can be any numbers from 0 to 1.

        Otherwise the layer adds a sum of functions of one such coordinate each, so that the cases in which only one of
        them is not 0 settle all others.
        """
        free = self._columns(*(d for name in self._domain.free(self._layer) for d in self._directions(name)))
        for n, read in enumerate(self._ffn.input.by_row() if self._ffn and free else ()):
            if len(both := [self._direction(column) for column in read if column in free]) > 1:
                problem = f"unit {self._unit(n)!r} must not read two numbers that are neither 0 nor 1"
                return self._refuse(problem, f"it reads {listing(both, most=3)}")
        return None

    def _kept(self) -> Refusal | None:
        """Refuse a sum of 0 that is added to a number of many digits: units and biases are added to it one after the other.

        So it would be rounded between them. In layer 1 the stream holds no such number but those of the position.
        """
        if self._ffn is None or self._manner == "scaled":
            return None
        held = {V, "i", "i^2"} if self._manner == "carried" else UNWRITTEN
        rows = self._columns(*(d for name in held if name in self._layout for d in self._directions(name)))
        for matrix in (self._ffn.output, self._ffn.output_bias):
            if written := rows & set(matrix.rows.tolist()):
                problem = f"{self._direction(min(written))} must not be written by this layer"
                return self._refuse(problem, "what is added to it cancels out, but only in exact arithmetic")
        return None

    def _differences(self) -> Refusal | None:
        """Layer 4: every unit reads c·(h_{j*-1} - h), so that the cases of one h are those of every h."""
        here, there = self._index["h"], self._index["h_{j*-1}"]
        for n, read in enumerate(self._ffn.input.by_row() if self._ffn else ()):
            if rational(read.get(here, 0.0)) != -rational(read.get(there, 0.0)):
                h, key = self._direction(here), self._direction(there)
                text = f"it reads {read.get(there, 0.0):g}·{key} {read.get(here, 0.0):+g}·{h}"
                return self._refuse(f"unit {self._unit(n)!r} is not a function of the difference {key} - {h}", text)
        return None

    def _scaled(self) -> Refusal | None:
        """Layer 2: units of h/(i+1) and m/(i+1) with powers of two, one for each direction written, no biases.

        Without biases the layer is positively homogeneous, so that the cases with 1/(i+1) = 1 are those of all i. A
        direction with a single unit is `h` or `h - m` up to a factor, by the cases. In floats a product with a power
        of two is exact and a unit sums at most two of them: no rounding for h, one for h - m (see `rounding`).
        """
        ffn = self._ffn
        if ffn is None:
            return None
        for row, value in self._neurons.offset.items():
            problem = f"{self._direction(row)} must scale with 1/(i+1)"
            return self._refuse(problem, f"it has the output bias {nearest(value):g}")
        for n, read in enumerate(ffn.input.by_row()):
            strange = [w for c, w in read.items() if c in self._columns(HV, MV) and not power_of_two(rational(w))]
            if self._neurons.bias[n] != 0 or strange:
                bias = f"bias {nearest(self._neurons.bias[n]):g}, weights {[f'{w:g}' for w in read.values()]}"
                problem = f"unit {self._unit(n)!r} must scale with 1/(i+1) and have powers of two as weights"
                return self._refuse(problem, bias)
        for row, writers in enumerate(ffn.output.by_row()):
            if len(writers) > 1 or not all(power_of_two(rational(w)) for w in writers.values()):
                text = f"{len(writers)} units write it: {', '.join(ffn.units[n] for n in writers)}"
                problem = f"{self._direction(row)} must be written by one unit, with a power of two"
                return self._refuse(problem, text)
        return None

    def _carried(self, case: Case[int], lines: Mapping[int, list[Rational]]) -> Refusal | None:
        """Layer 1 in floats: the rounded 1/(i+1) must arrive unchanged.

        A unit that reads b/(i+1) and has one more term w (an input or its bias) computes fl(w + fl(b·v)). Where
        w + b·v ≤ 0 for all v in [0, 1], so is the rounded value: rounding is monotone and w is a float. Without such
        a term and with b a power of two it is b·v, unrounded. The proof covers nothing else. Nothing else may write a
        direction that such a unit writes in the same case.
        """
        writers: dict[int, list[int]] = {}
        for unit, (a, b) in lines.items():
            for row, _ in self._neurons.writes.get(unit, ()) if a > 0 or a + b > 0 else ():
                writers.setdefault(row, []).append(unit)
        for unit, (a, b) in lines.items():
            writes = self._neurons.writes.get(unit, ())
            if b == 0 or not writes:
                continue
            read = self._neurons.readers
            terms = sum(1 for column in case.at for u, _ in read.get(column, ()) if u == unit)
            biased = self._neurons.bias[unit] != 0
            still = terms + biased <= 1 and a <= 0 and a + b <= 0
            plain = terms + biased == 0 and power_of_two(b)
            plain = plain and all(power_of_two(w) and len(writers.get(row, ())) == 1 for row, w in writes)
            plain = plain and not any(row in self._neurons.offset for row, _ in writes)
            if not (still or plain):
                value = f"for {case.label} it computes {nearest(a):g} {nearest(b):+g}/(i+1)"
                return self._refuse(f"unit {self._unit(unit)!r} would round 1/(i+1)", value)
        return None

    # ── floats ──────────────────────────────────────────────────────────────────────────────────────────────
    def _sums(self, ffn: FeedForward) -> Sums | None:
        """Return the bound under which every sum of integers in this layer is exact."""
        if self._manner == "scaled":
            return None
        bounds, offset = self._bounds(ffn), self._neurons.offset
        worst = max(bounds, key=sum, default=[Fraction(0), Fraction(0)])
        where = ffn.units[bounds.index(worst)] if bounds else "-"
        constant, slope = (max((b[k] for b in bounds), default=Fraction(0)) for k in (0, 1))
        for row, writers in enumerate(ffn.output.by_row()):
            total = [abs(Fraction(offset.get(row, 0))), Fraction(0)]
            for n, weight in writers.items():
                total = [old + abs(Fraction(weight)) * bound for old, bound in zip(total, bounds[n], strict=True)]
            if sum(total) > sum(worst):
                worst, where = total, self._direction(row)
            constant, slope = max(constant, total[0]), max(slope, total[1])
        matrices = (ffn.input, ffn.input_bias, ffn.output, ffn.output_bias)
        unit = max((Fraction(w).denominator for m in matrices for w in set(m.values.tolist())), default=1)
        scale = unit * unit  # an output is a sum of products of two weights
        return Sums(self._layer, "feed_forward", int(constant * scale), int(slope * scale), where)

    def _bounds(self, ffn: FeedForward) -> list[list[Fraction]]:
        """Return [c, s] for each unit: its sum of absolute values is at most c + s·H, ignoring 1/(i+1) in layer 1."""
        grow = self._columns(*GROWING & self._domain.reads(self._layer) & set(self._layout.directions))
        scaled = self._columns(V) if self._manner == "carried" else set[int]()
        bounds = [[abs(Fraction(bias)), Fraction(0)] for bias in self._neurons.bias]
        for n, column, weight in ffn.input.entries():
            if column not in scaled:
                bounds[n][column in grow] += abs(Fraction(weight))
        return bounds

    # ── wording ─────────────────────────────────────────────────────────────────────────────────────────────
    def _columns(self, *names: str) -> set[int]:
        return {self._index[name] for name in names}

    def _directions(self, name: str) -> tuple[str, ...]:
        return self._layout.subspace(name).directions

    def _direction(self, n: int) -> str:
        return self._domain.shown(self._layout.directions[n])

    def _unit(self, n: int) -> str:
        return self._ffn.units[n] if self._ffn is not None else "-"

    def _missed(self, missed: Miss) -> Refusal:
        case, row = missed.case, self._direction(missed.row)
        where = f"{case.label}, {case.variable} = {missed.s}" if case.along else case.label
        text = f"for {where} the layer adds {nearest(missed.found):g} but should add {nearest(missed.wanted):g}"
        return self._refuse(f"{row} is not what it should be", text)

    def _refuse(self, what: str, witness: str) -> Refusal:
        name = self._name
        return Refusal(layer=self._layer, layer_name=name, part="feed_forward", what=what, witness=witness)


def feed_forwards(decoder: Decoder, domain: LayerInputs) -> Iterator[FeedForwardProof]:
    """Yield the proof of each layer, in order."""
    for layer in range(1, len(decoder.layers) + 1):
        yield FeedForwardProof(decoder, domain, layer)
