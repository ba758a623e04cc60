"""The layers of the universal decoder, verified on the actual matrices for all machines of a class: heads and feed-forward.

The sum of moves, the lookups of h and h_{i-1} and the latest write are those of a single machine, see
`tm2tfr.sources.turing.proof.attention`. A description of k tokens stands before the input; there h = 0, no token moves the
head or writes, and |h_i| ≤ i remains true.

Description. All scores are 0: the mean of ``[rule]`` is k/(i+1), and 1 within the description.

Last key. The score of j is B·[key] + T·v·j with 0 < T ≤ B: of the positions with a key, the last one; i itself where there
is none, and e_x is not a key there. So at a value, e_q(key) and e_a(key) are those of the key before it.

Tape. The score is B·v·(2tj - j²) with t = -1: at most 0, and 0 at j = 0 alone, after rounding too.

Input symbol. B·v·(2tj - j²) with t = h⁺ + k, from the sum of two means. Within the description nothing that is carried is
there at any position. After it t ≤ i: of the i + 1 - k positions behind the description, input symbols, BOS and the
first triple do not move the head, so that h ≤ i - k.

Rule. The score is B·([r_q = q] + [r_a = a]). Where a rule for (q, a) ends, it is 2B, there alone, since a machine is
deterministic. See below for what is carried where there is none. Scores are B times 0, 1 or 2: never rounded.

A component of a value may be a sum of directions of ``e_x``, which is one-hot: it arrives unrounded as well.

Layer 2 does two things that have nothing in common: units that read the head's position scale with 1/(i+1) (`moving`), all
others read bits. They are proved apart, and write different directions.

Layer 7 without a rule. Let the head of layer 6 attend to n positions, at none of which there is a rule for (q, a). The
flags and ``out`` are means: mq = p/n, ma = p'/n, and out[v] = p''/n where a value v stands at p'' of the n. A position with
r_q = q has r_a ≠ a, so that p + p' ≤ n: mq + ma ≤ 1. So the input of a unit that reads them is at most its value at 0
plus max(0, wq, wa) + Σ max(0, w[v]), which has to be ≤ 0: all such units are 0, and the answer is the one at 0, which is
among the cases. On tokens of the prompt e_q = 0, hence mq = 0 and the same holds.

In floats rounded means may add up to a little more than 1: see `rounding` for what that can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.certificates.kit import Refusal, roundoff
from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.attention import MOVES, Carried, ExactForm, HeadProof, WritingHeads, lookups, powers
from tm2tfr.sources.turing.proof.cases import HV, MV, LayerInputs, V
from tm2tfr.sources.turing.proof.feed_forward import FeedForwardProof
from tm2tfr.sources.turing.proof.prove import lead
from tm2tfr.sources.turing.proof.rounding import Condition, different_keys_use, equal_keys_use, lookup_use
from tm2tfr.sources.turing.universal.names import key_token
from tm2tfr.sources.turing.universal.proof.domain import FOUND, ClassDomain
from tm2tfr.transformer.matrix import Matrix, Rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

COUNT: Carried = {("k/(i+1)", "[rule]"): 1}
"""The values that the mean over the description carries."""
FORMS = {
    "moves": "does not attend to all positions alike",
    "description": "does not attend to all positions alike",
    "last key": "is not the last key, B·[key] + T·v·j with 0 < T ≤ B",
    "tape": "does not look at position 0, v·(2tj - j²) with t = -1 up to a factor",
}
"""The purpose of a head of layer 2 -> the error in its scores."""


@dataclass(frozen=True)
class Description:
    """The proof about the heads that read a machine's description: their names, and T/B of the last key.

    Args:
        given: the head that reads the input; None if there are no input symbols.

    Raises:
        ValueError: for a tie-break that is not a positive part of the gap.
    """

    last_key: str
    ratio: Fraction
    given: str | None
    rule: str

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= 1:
            raise ValueError(f"head {self.last_key!r}: the tie-break must be positive and at most the gap between two keys")


class ClassHeadProof(HeadProof):
    """The proof of all heads."""

    one_hot = ("e_x",)

    def __init__(self, decoder: Decoder, domain: ClassDomain) -> None:
        self._class = domain
        self._last_key: tuple[str, Fraction] | None = None
        self._rule_head: str | None = None
        super().__init__(decoder, domain)

    def checks(self) -> Mapping[int, Callable[[int, WritingHeads], Iterator[Refusal]]]:
        return {2: self._read, **super().checks(), 6: self._rule}

    @property
    def description(self) -> Description | None:
        """The proof about the heads that read the description; None if one is refused."""
        if self._last_key is None or self._rule_head is None:
            return None
        return Description(*self._last_key, self._served.get("h+k"), self._rule_head)

    # ── layer 2 ─────────────────────────────────────────────────────────────────────────────────────────────
    def _roles(self) -> Mapping[str, Carried]:
        """Return the purpose of each head of layer 2, and the values that it carries."""
        names = self._class.names
        keys: Carried = {}
        for q in names.ruled:
            for a in names.symbols:
                key = at("e_x", key_token(q, a))
                keys |= {(at("e_q(key)", q), key): 1, (at("e_a(key)", a), key): 1}
        tape: Carried = {("[one-way]", at("e_x", "one-way")): 1}
        return {"moves": MOVES, "description": COUNT, "last key": keys, **({"tape": tape} if self._class.tapes else {})}

    def _read(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        roles, served = self._roles(), dict[str, str]()
        for _, head in heads:
            found = self._carried(head)
            written = {row for row, _ in found}
            role = max(roles, key=lambda r: (len(found.keys() & roles[r]), len(written & {row for row, _ in roles[r]})))
            if not self._plays(role, head):
                yield self._refuse(n, f"head {head.name!r} {FORMS[role]}", self._score(head))
            yield from self._compared(n, f"head {head.name!r}", found, roles[role])
            if role in served:
                (row, _), _ = next(iter(roles[role].items()))
                problem = f"{self._domain.shown(row)} is written twice"
                yield self._refuse(n, problem, f"by the heads {served[role]!r} and {head.name!r}")
            served[role] = head.name
        for role, wanted in roles.items():
            if role not in served:
                row = next(iter(wanted))[0]
                yield self._refuse(n, f"no head writes {self._domain.shown(row)}", "it stays 0")
        self._moves = served.get("moves")

    def _plays(self, role: str, head: Head) -> bool:
        if role == "last key":
            ratio = self._last(head)
            self._last_key = None if ratio is None else (head.name, ratio)
            return ratio is not None
        return self._looks_up(head, {V: -1}) if role == "tape" else not self._components(head)

    def _last(self, head: Head) -> Fraction | None:
        """Return T/B if the score is 2B·[key] - B·[key] + T·v·j, summed in this order, as in `gadgets.latest`."""
        parts = self._components(head)
        keys = [next(iter(key)) for _, key in parts if len(key) == 1]
        if len(parts) != 3 or not powers(parts) or keys != ["[key]", "[key]", "i"]:
            return None
        scores = [{d: w * key[name] for d, w in query.items()} for (query, key), name in zip(parts, keys, strict=True)]
        gap = sum((score.get("1", 0) for score in scores[:2]), Fraction(0))
        ratio = Fraction(scores[2].get(V, 0)) / gap if gap > 0 else Fraction(0)
        right: list[dict[str, Rational]] = [{"1": 2 * gap}, {"1": -gap}, {V: gap * ratio}]
        same = scores[2] == right[2] and (scores[:2] == right[:2] or scores[1::-1] == right[:2])
        return ratio if same and 0 < ratio <= 1 else None

    # ── layer 3 ─────────────────────────────────────────────────────────────────────────────────────────────
    def targets(self) -> Mapping[str, tuple[ExactForm, Carried]]:
        two_way, sigma = self._class.two_way, self._class.sigma
        cell, here = ("e_x(h+)", "h+/(i+1)") if two_way else ("e_x(h)", HV)
        word: Carried = {(at(cell, a), at("e_x", a)): 1 for a in sigma}
        return {**lookups({}, two_way=two_way), **({"h+k": ({here: 1, "k/(i+1)": 1}, word)} if word else {})}

    # ── layer 6 ─────────────────────────────────────────────────────────────────────────────────────────────
    def _rule(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        names = self._class.names
        labelled = (("r*_q", "r_q", "e_q", names.ruled), ("r*_a", "r_a", "e_a", names.symbols))
        wanted: Carried = {(at("out", v), at("e_x", v)): 1 for v in names.values}
        wanted |= {(at(found, label), at(own, label)): 1 for found, own, _, labels in labelled for label in labels}
        alike = {(at(asked, label), at(own, label)) for _, own, asked, labels in labelled for label in labels}
        if len(heads) != 1:
            yield self._refuse(n, "exactly one head must find the rule", f"{len(heads)} heads write something")
        for _, head in heads:
            if (wrong := self._unlike(head, alike)) is not None:
                problem = f"head {head.name!r} does not find the rule, B·([r_q = q] + [r_a = a]) up to a factor"
                yield self._refuse(n, problem, wrong)
            yield from self._compared(n, f"head {head.name!r}", self._carried(head), wanted)
            self._rule_head = head.name

    def _unlike(self, head: Head, alike: set[tuple[str, str]]) -> str | None:
        """Return in what the score is not B times the number of agreements of these pairs (query, key); None if it is."""
        found: dict[tuple[str, str], Rational] = {}
        parts = self._components(head)
        for query, key in parts:
            if len(query) != 1 or len(key) != 1 or not powers([(query, key)]):
                return f"its score has the term ({self._shown(query)})·({self._shown(key)})"
            (asked, w), (own, v) = *query.items(), *key.items()
            if (asked, own) not in alike or (asked, own) in found:
                return f"its score has the term ({self._shown(query)})·({self._shown(key)}), which must not be there"
            found[asked, own] = w * v
        if not found:
            return "all its scores are 0"
        for asked, own in sorted(alike):
            if (weight := found.get((asked, own), 0)) != max(found.values()) or weight <= 0:
                shown = " times ".join(map(self._domain.shown, (asked, own)))
                return f"its score has {weight} times {shown}, but {max(found.values())} times other agreements"
        return None


SECOND = 2
"""The layer with two kinds of units."""


class AnswerProof(FeedForwardProof):
    """The proof of layer 7."""

    def _cases(self) -> Refusal | None:
        return super()._cases() or self._silent()

    def _silent(self) -> Refusal | None:
        """Refuse a unit that could be other than 0 where there is no rule: see "Layer 7 without a rule" above."""
        neurons, flags = self._neurons, self._columns(*FOUND)
        out = self._columns(*self._directions("out"))
        most: dict[int, Rational] = {}
        for columns, gather in ((out, sum), (flags, max)):
            found: dict[int, list[Rational]] = {}
            for column in columns:
                for unit, weight in neurons.readers.get(column, ()):
                    found.setdefault(unit, [0]).append(max(weight, 0))
            for unit, weights in found.items():
                most[unit] = most.get(unit, 0) + gather(weights)
        loud = [unit for unit in most if neurons.writes.get(unit)]
        read = {column for column, units in neurons.readers.items() if any(unit in most for unit, _ in units)}
        known: set[frozenset[tuple[int, Rational]]] = set()
        seen = self._seen()
        for question in self._domain.questions():
            if question.rule is not None:
                continue
            shared = self._sparse(self._domain.context(question))
            for token, stream in seen[question.token, question.state]:
                inputs = {n: x for n, x in {**shared, **stream}.items() if n in read}
                if (key := frozenset(inputs.items())) in known:
                    continue
                known.add(key)
                for unit in loud:
                    value = neurons.bias[unit] + most[unit]
                    value += sum(w * inputs[c] for c, w in self._rows[unit] if c in inputs)
                    if value > 0:
                        problem = f"unit {self._unit(unit)!r} must be 0 where there is no rule"
                        text = f"for {self._domain.asked(question, token)} it can be {nearest(value):g}"
                        return self._refuse(problem, text)
        return None

    @cached_property
    def _rows(self) -> dict[int, list[tuple[int, Rational]]]:
        """Unit -> the coordinates that it reads, with their weights."""
        found: dict[int, list[tuple[int, Rational]]] = {}
        for column, units in self._neurons.readers.items():
            for unit, weight in units:
                found.setdefault(unit, []).append((column, weight))
        return found


def class_feed_forwards(decoder: Decoder, domain: ClassDomain) -> Iterator[FeedForwardProof]:
    """Yield the proofs of all layers, two of layer 2."""
    for layer in range(1, len(decoder.layers) + 1):
        yield from of_layer(decoder, domain, layer)


def of_layer(decoder: Decoder, domain: ClassDomain, layer: int) -> Iterator[FeedForwardProof]:
    """Yield the proofs of one layer, from 1."""
    if layer == SECOND:
        yield from _second(decoder, domain)
    else:
        yield (AnswerProof if layer == domain.layers else FeedForwardProof)(decoder, domain, layer)


def _second(decoder: Decoder, domain: ClassDomain) -> Iterator[FeedForwardProof]:
    part = decoder.layers[SECOND - 1].feed_forward
    if part is None:
        yield FeedForwardProof(decoder, domain, SECOND)
        return
    scaled = [decoder.layout.index(name) for name in (V, MV, HV)]
    moving = np.zeros(len(part.units), dtype=bool)
    moving[part.input.rows[np.isin(part.input.columns, scaled)]] = True
    for chosen, of in ((~moving, domain), (moving, domain.of_moves)):
        layers = list(decoder.layers)
        layers[SECOND - 1] = replace(layers[SECOND - 1], feed_forward=_some(part, chosen, offset=of is domain))
        yield FeedForwardProof(replace(decoder, layers=tuple(layers)), of, SECOND)


def _some(part: FeedForward, chosen: NDArray[np.bool_], *, offset: bool) -> FeedForward:
    """Return the layer with these units alone; chosen: (hidden,)."""
    number = np.cumsum(chosen) - 1
    size = int(chosen.sum())

    def rows(matrix: Matrix) -> Matrix:
        keep = chosen[matrix.rows]
        return Matrix((size, matrix.shape[1]), number[matrix.rows[keep]], matrix.columns[keep], matrix.values[keep])

    return FeedForward(
        input=rows(part.input),
        input_bias=rows(part.input_bias),
        output=rows(part.output.transposed).transposed,
        output_bias=part.output_bias if offset else Matrix.from_entries(part.output_bias.shape, {}),
        units=tuple(name for name, kept in zip(part.units, chosen.tolist(), strict=True) if kept),
    )


# ── How far floats carry the proof of the universal decoder, beside the conditions of a single machine's.
#
# Everything that `tm2tfr.sources.turing.proof.rounding` shows holds here as well: it is about the same heads. What
# follows is about the others, in its notation. L is the length of the longest description, 2·S·K and the tape.
#
# **Counts.** The mean of ``[rule]`` is k̂ = fl(k/(i+1)) = kv(1 + δ): one division of integers.
#
# **Last key** (layer 2). The latest write with keys 0 and 1: A = 2B[key] - B[key] is exact, and H = 1 in the conditions
# for different and for equal keys. So e_q(key) and e_a(key) are one-hot, or 0, at every position.
#
# **Tape** (layer 2). The score of j = 0 is 0, that of any other the sum of two negative numbers: no condition.
#
# **Input symbol** (layer 3). q̂/2 = fl(ĥ + k̂), with ĥ = h⁺v(1 + δ₁) and k̂ = kv(1 + δ₂): off from tv, t = h⁺ + k, by at
# most
#
# E(t)·v, E(t) = t((1 + u)² - 1) = t(2u + u²).
#
# So the score of position t is the highest if g(t, E(t)) < 1, with the lookup's g; t ≤ H + L, and t ≤ N - 1, since t ≤ i
# wherever anything can be carried.
#
# **Rule** (layer 6). Scores are B times 0, 1 or 2; sums of what is carried are integers up to N. Where there is a rule,
# everything after that is integers. Where there is none, r*_q, r*_a and out are fl(p/n), off by at most u.
#
# **Flags and answer** (layers 6 and 7) where there is no rule. A sum of T products, in any order, is off by at most 2(T +
# 1)u·Σ|w||x| while that factor is at most 1, and what is read may be off itself; ReLU does not enlarge errors. So, from
# row to row with the actual weights, there is a bound e on the error of every logit of layer 7. In exact arithmetic the
# logit of the right answer is ahead of all others by G or more, also from the weights: it stays ahead if 2e < G.
MEANS = ("r*_q", "r*_a", "out")
"""The values that the last head carries: means, where there is no rule."""


def class_conditions(
    decoder: Decoder, domain: LayerInputs, dtype: str, description: Description, longest: int
) -> Iterator[Condition]:
    """Yield the conditions for floats of `dtype`, in the order of the layers.

    Args:
        decoder: with its subspaces named after their contents.
        longest: L.
    """
    u, ratio, key = roundoff(dtype), description.ratio, description.last_key
    claim, text = "no tie-break lifts another token to the score of a key", f"2·u < 1 - {ratio}"
    least = different_keys_use(1, ratio, u)
    yield Condition(2, "attention", key, claim, text, lambda _n, _h: least, strict=True)
    claim, text = "the last key scores highest after rounding", f"2·u·N·(1 + {ratio}) < {ratio}"
    yield Condition(2, "attention", key, claim, text, lambda n, _: equal_keys_use(n, 1, ratio, u), strict=True)

    def given(n: int, h: int) -> Fraction:
        t = min(h + longest, max(n - 1, 0))
        return lookup_use(t, t * (2 * u + u * u), u)

    claim, text = "the score of position h + k is the highest after rounding", f"about 20·(H + {longest})²·u < 1"
    if description.given is not None:
        yield Condition(3, "attention", description.given, claim, text, given, strict=True)
    error, gap = noise(decoder, u), lead(decoder, domain)
    share = 2 * error / gap if gap > 0 else Fraction(2)
    claim, text = "where there is no rule, the answer still has the largest logit", f"{float(share / u):,.0f}·u < 1"
    last = len(decoder.layers)
    yield Condition(last, "feed_forward", "logits", claim, text, lambda _n, _h: share, strict=True)


def noise(decoder: Decoder, u: Fraction) -> Fraction:
    """Return e: by how much a logit can be off where there is no rule."""
    off = {d: u for name in MEANS for d in decoder.layout.subspace(name).directions}
    columns = {decoder.layout.index(d): error for d, error in off.items()}
    for layer in decoder.layers[-2:]:
        if layer.feed_forward is not None:
            columns = columns | _through(layer.feed_forward, columns, u)
    found = _rows(decoder.unembedding, decoder.unembedding_bias, columns, u)
    return max((error for error, _ in found.values()), default=Fraction(0))


def _through(part: FeedForward, off: Mapping[int, Fraction], u: Fraction) -> dict[int, Fraction]:
    """Return the errors of what a layer writes: direction -> error; of what it reads, `off`."""
    hidden = _rows(part.input, part.input_bias, off, u)
    units = {unit: error for unit, (error, _) in hidden.items()}
    sizes = {unit: size for unit, (_, size) in hidden.items()}
    return {row: error for row, (error, _) in _rows(part.output, part.output_bias, units, u, sizes).items()}


def _rows(
    matrix: Matrix, bias: Matrix, off: Mapping[int, Fraction], u: Fraction, sizes: Mapping[int, Fraction] | None = None
) -> dict[int, tuple[Fraction, Fraction]]:
    """Return for each row the error of its sum and a bound on its size; `sizes`: those of what is read, else 1."""
    biases = {row: abs(Fraction(value)) for row, _, value in bias.entries()}
    found: dict[int, tuple[Fraction, Fraction]] = {row: (Fraction(0), size) for row, size in biases.items()}
    terms: dict[int, int] = dict.fromkeys(biases, 1)
    for row, column, value in matrix.entries():
        weight, error = abs(Fraction(value)), off.get(column, Fraction(0))
        size = error + (1 if sizes is None else sizes.get(column, Fraction(0)))
        before = found.get(row, (Fraction(0), Fraction(0)))
        found[row] = (before[0] + weight * error, before[1] + weight * size)
        terms[row] = terms.get(row, 0) + 1
    return {row: (error + _sum(terms[row], size, u), size) for row, (error, size) in found.items()}


def _sum(terms: int, size: Fraction, u: Fraction) -> Fraction:
    """Return by how much rounding changes a sum of products; 2^64 where there are too many of them."""
    off = 2 * (terms + 1) * u
    return off * size if off <= 1 else Fraction(2**64)
