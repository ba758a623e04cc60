"""Attention heads, from their matrices: the positions they attend to in exact arithmetic, and what they carry.

Query and key are linear forms of what the stream must hold; their product is a polynomial in the head position h,
the key and v = 1/(i+1), which must be exactly the following.

Sum of moves (Eq. 8.6). No component has entries in both the query and the key: all scores are 0.

Lookup of t (Eqs. 8.8, 8.11). Key components i and i^2; the score of j is B·v·(2tj - j²) = B·v·(t² - (t-j)²) with
B > 0: for 0 ≤ t ≤ i it is maximal at j = t alone, by at least B·v. Here t is h or h_{i-1}, or on a two-way tape the
positive or negative part of one. |h_i| ≤ i, since h_0 = 0 and no move is longer than 1, and |h_{i-1}| ≤ i - 1 or 0.

Latest write (Eq. 8.15). Key components k = h_{j-1}, k² and j; the score is B·(2hk - k²) + T·v·j with 0 < T ≤ B.
Scores of different k differ by a multiple of B or more, tie-breaks by less than T·v·(i+1) = T: the nearest key wins,
and of several positions with that key the last. *Written cell*: j* has k = h, and e_b is its symbol (none if the
key is the 0 of a prompt position: e_b is 0 there). *Unwritten cell*: the keys are {0, h_0, …, h_{i-1}}, a set
without gaps, as moves are at most 1 and h_0 = 0; if h_i is not among them, it is just above the largest or just
below the smallest, so the nearest key is unique, h_i - 1 or h_i + 1, all others lie further on the same side, and
h_{j*-1} ≠ h_i: the flag of layer 4 is 0. (With keys on both sides a tie could average to h_i itself; there are none.)

In all heads each row of the value and output matrices has one entry, a power of two: values arrive unrounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, product

from tm2tfr.base.errors import counted
from tm2tfr.certificates.kit import Refusal
from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.cases import HV, MV, LayerInputs, V
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.feed_forward import power_of_two
from tm2tfr.transformer.attention import exact_scores
from tm2tfr.transformer.matrix import Matrix, Rational, rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder, Head

# ── A concrete position at which a wrong head attends elsewhere, found by trying short runs.
ExactStream = Mapping[str, Rational]
"""A stream by the names of directions; 0 where a name is absent."""
WALKS = ((1,), (1, -1), (1, 1, -1), (1, 1, 0, -1, -1), (0, 1), (1, 1, 1, -1, -1, -1), (-1,), (-1, -1, 1), (1, -1, -1, 1, 0))
LENGTH = 9
"""The number of positions of each run that is tried."""


def lookup_witness(decoder: Decoder, domain: Domain, head: Head, target: str) -> str | None:
    """Return, in words, a position from which `head` does not attend to `target` alone; None if no run has one."""
    names = _held(decoder, domain, 3)
    for told, run in _runs(domain):
        for i in range(len(run)):
            values = {"h": run[i]["h"], "h_{i-1}": run[i]["h_{i-1}"]}
            value = values[target.rstrip("+-")] if target[-1] in "+-" else values[target]
            right = max(-value if target.endswith("-") else value, 0)
            found = _looked(names, head, run[: i + 1], int(right))
            if found is not None:
                return f"{told}, i = {i}, h = {run[i]['h']}: {found}"
    return None


def latest_witness(decoder: Decoder, domain: Domain, head: Head) -> str | None:
    """Return, in words, a position from which `head` does not attend to the latest write; None if no run has one."""
    names = _held(decoder, domain, 4)
    for told, run in _runs(domain):
        for i in range(len(run)):
            h = run[i]["h"]
            right = min((abs(run[j]["h_{i-1}"] - h), -j) for j in range(i + 1))[1]
            found = _looked(names, head, run[: i + 1], -int(right))
            if found is not None:
                return f"{told}, i = {i}, h = {h}: {found}"
    return None


def _looked(names: Sequence[str], head: Head, run: Sequence[ExactStream], right: int) -> str | None:
    streams = [[stream.get(name, 0) for name in names] for stream in run]
    scores = exact_scores(head, streams[-1], streams)
    wrong = next((j for j, score in enumerate(scores) if score >= scores[right] and j != right), None)
    if wrong is None:
        return None
    return (
        f"position {wrong} scores {nearest(scores[wrong]):g}, the right position {right} scores {nearest(scores[right]):g}"
    )


def _held(decoder: Decoder, domain: Domain, layer: int) -> list[str]:
    """Return the name of each direction, empty for those that are still 0 before `layer`."""
    held = (domain.holds(s.holds, layer - 2, "feed_forward") for s in decoder.layout.subspaces)
    return [d if h else "" for s, h in zip(decoder.layout.subspaces, held, strict=True) for d in s.directions]


def _runs(domain: Domain) -> Iterator[tuple[str, list[ExactStream]]]:
    """Yield streams as runs of a machine like this one could have them: moves in a repeated pattern, any tokens."""
    triples = domain.triples
    fed = [*domain.sigma, *(triples[:1] and [triples[0].token]), *(t.token for t in triples[1:4])] or ["BOS"]
    for walk, token, early in product(WALKS, fed, (False, True)):
        steps = [0, *(walk[n % len(walk)] for n in range(LENGTH - 1))]
        places = list(accumulate(steps))
        if not domain.two_way:
            places = [abs(h) for h in places]
        stretch = []
        for i, h in enumerate(places):
            before = places[i - 1] if i else 0
            stretch.append(_stream(domain, i, h, before, token if (i % 2 == 0) == early else fed[0]))
        yield f"repeated moves {', '.join(f'{m:+d}' for m in walk)}, tokens {token}, {fed[0]}", stretch


def _stream(domain: Domain, i: int, h: int, before: int, token: str) -> ExactStream:
    v, m = Fraction(1, i + 1), h - before
    stream: dict[str, Rational] = {at("e_x", token): 1, V: v, "1": 1, "i": i, "i^2": i * i, "m": m, MV: m * v, HV: h * v}
    for triple in domain.triples:
        if triple.token == token:
            stream |= {at("e_q", triple.state): 1, at("e_b", triple.symbol): 1}
    for name, value in (("h", h), ("h_{i-1}", before)):
        stream |= {f"{name}+/(i+1)": max(value, 0) * v, f"{name}-/(i+1)": max(-value, 0) * v}
        stream |= {name: value, f"{name}^2": value * value}
    return {**stream, "h-": max(-h, 0), "[h=0]": int(h == 0)}


ExactForm = dict[str, Rational]
"""A linear form by the names of directions."""
Carried = dict[tuple[str, str], Rational]
"""(direction written, direction read) -> weight."""


@dataclass(frozen=True)
class Retrieval:
    """The proof about the head of layer 4: `ratio` = T/B, a power of two, at most 1; `head`: its index."""

    name: str
    head: int
    ratio: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= 1:
            raise ValueError(f"head {self.name!r}: the tie-break must be positive and at most the gap between two keys")


@dataclass(frozen=True)
class Lookups:
    """The proof about the heads of layers 2 and 3: the names of the head that sums moves, and of those that look up h
    and h_{i-1}.
    """

    moves: str
    here: str
    before: str


WritingHeads = list[tuple[int, Head]]
"""The heads of a layer that write something, with their indices."""
PRESENT, PAST = ("h", "h+", "h-"), ("h_{i-1}", "h_{i-1}+", "h_{i-1}-")
"""The lookups of h and of h_{i-1}."""
MOVES: Carried = {(HV, "m"): 1}
"""The values that the sum of moves carries."""


class HeadProof:
    """The proof of all heads: refusals, and the data for the bounds on rounding. Subclasses have `checks` and `targets`."""

    one_hot: tuple[str, ...] = ()
    """The subspaces of which a component of a value may be a sum of directions, since at most one of them is not 0."""

    def __init__(self, decoder: Decoder, domain: LayerInputs) -> None:
        self._decoder, self._domain = decoder, domain
        self._names = decoder.layout.directions
        self._moves: str | None = None
        self._served: dict[str, str] = {}
        self.lookups: Lookups | None = None
        self.retrieval: Retrieval | None = None
        self.refusals: tuple[Refusal, ...] = tuple(self._layers())

    def _layers(self) -> Iterator[Refusal]:
        for n, layer in enumerate(self._decoder.layers, start=1):
            heads = [(k, head) for k, head in enumerate(layer.heads) if head.output.nonzero and head.value.nonzero]
            found = next(chain(self._hard(n, layer.heads), self._plain(n, heads)), None)
            if found is None:
                found = next(self.checks().get(n, self._none)(n, heads), None)
            if found is not None:
                yield found

    def checks(self) -> Mapping[int, Callable[[int, WritingHeads], Iterator[Refusal]]]:
        """Return the check of each layer that has heads."""
        return {3: self._lookups, 4: self._latest}

    def targets(self) -> Mapping[str, tuple[ExactForm, Carried]]:
        """Return the lookups of layer 3: t -> (t/(i+1) as a linear form, the values carried from position t)."""
        return {}

    def looked(self, head: Head, target: str) -> str | None:
        """Return, in words, a position from which a lookup goes wrong, if one is known."""
        return None

    def retrieved(self, head: Head) -> str | None:
        """Return, in words, a position from which the latest write is not found, if one is known."""
        return None

    def _hard(self, n: int, heads: Iterable[Head]) -> Iterator[Refusal]:
        """Refuse any other kind of attention, even in heads that write nothing: not every engine runs it."""
        for head in heads:
            if (head.mask, head.weighting) != ("future", "average-hard"):
                text = f"mask {head.mask!r}, weighting {head.weighting!r}"
                if head.weighting == "softmax":
                    text += ", about which nothing is proved here (tm2tfr soften measures it)"
                yield self._refuse(n, f"head {head.name!r} is not future-masked average-hard attention", text)

    def _plain(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        """Refuse a head whose values or outputs would be rounded."""
        one_hot = {d for name in self.one_hot for d in self._decoder.layout.subspace(name).directions}
        for _, head in heads:
            for name, matrix in (("value", head.value), ("output", head.output)):
                for row, entries in enumerate(matrix.by_row()):
                    apart = name == "value" and one_hot.issuperset(self._names[d] for d in entries)
                    if (len(entries) > 1 and not apart) or not all(power_of_two(rational(w)) for w in entries.values()):
                        where = self._domain.shown(self._names[row]) if name == "output" else f"component {row}"
                        text = f"{where} has the weights {', '.join(f'{w:g}' for w in entries.values())}"
                        yield self._refuse(
                            n, f"head {head.name!r}: a row of its {name} matrix is not a single power of two", text
                        )

    def _none(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        for _, head in heads:
            yield self._refuse(n, f"head {head.name!r} is not part of the construction", f"it writes {self._target(head)}")

    # ── layer 3 ─────────────────────────────────────────────────────────────────────────────────────────────
    def _lookups(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        targets, served = self.targets(), self._served
        for _, head in heads:
            carried = self._carried(head)
            sought = next((t for t, (form, _) in targets.items() if self._looks_up(head, form)), None)
            meant = next((t for t, (_, wanted) in targets.items() if carried == wanted), None)
            if sought is None:
                claimed = head.claim.attends if head.claim is not None else ""
                aim = meant or (claimed if claimed in targets else next(iter(targets)))
                text = self.looked(head, aim) or self._score(head)
                yield self._refuse(n, f"head {head.name!r} is not a lookup of {aim}, v·(2tj - j²) up to a factor", text)
            elif meant != sought:
                yield from self._compared(n, f"head {head.name!r}", carried, targets[sought][1])
            elif sought in served:
                yield self._refuse(n, f"{sought} is looked up twice", f"by {served[sought]!r} and {head.name!r}")
            else:
                served[sought] = head.name
        for target, (_, wanted) in targets.items():
            if target not in served:
                (row, _), _ = next(iter(wanted.items()))
                yield self._refuse(n, f"no head looks up {target}", f"{self._domain.shown(row)} stays 0")
        here, before = ([served[t] for t in served if t in named] for named in (PRESENT, PAST))
        if self._moves is not None and here and before:
            self.lookups = Lookups(self._moves, here[0], before[0])

    def _looks_up(self, head: Head, form: ExactForm) -> bool:
        parts = self._components(head)
        if len(parts) != 2 or not powers(parts):
            return False
        by_key = {name: (query, weight) for query, key in parts for name, weight in key.items() if len(key) == 1}
        if set(by_key) != {"i", "i^2"}:
            return False
        (linear, k1), (square, k2) = by_key["i"], by_key["i^2"]
        factor = -k2 * square.get(V, 0)
        wanted = {name: 2 * factor * c for name, c in form.items()}
        return set(square) == {V} and factor > 0 and {name: k1 * w for name, w in linear.items()} == wanted

    # ── layer 4 ─────────────────────────────────────────────────────────────────────────────────────────────
    def _latest(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        written = {(at("e_b(j*-1)", b), at("e_b", b)): 1 for b in self._domain.gamma}
        wanted: Carried = {("h_{j*-1}", "h_{i-1}"): 1, **written}
        if len(heads) != 1:
            yield self._refuse(
                n, "exactly one head must find the latest write", f"{counted(len(heads), 'head')} write something"
            )
        for k, head in heads:
            ratio = self._ratio(head)
            if ratio is None:
                text = self.retrieved(head) or self._score(head)
                problem = f"head {head.name!r} is not the latest write, B·(2hk - k²) + T·v·j with 0 < T ≤ B"
                yield self._refuse(n, problem, text)
            else:
                self.retrieval = Retrieval(head.name, k, ratio)
                yield from self._compared(n, f"head {head.name!r}", self._carried(head), wanted)

    def _ratio(self, head: Head) -> Fraction | None:
        """Return T/B if the head's score has the required form, with its tie-break summed last."""
        parts = self._components(head)
        keys = [next(iter(key)) for _, key in parts if len(key) == 1]
        if len(parts) != 3 or not powers(parts) or keys[2:] != ["i"] or set(keys[:2]) != {"h_{i-1}", "h_{i-1}^2"}:
            return None
        score = {name: {d: w * key[name] for d, w in query.items()} for query, key in parts for name in key}
        gap = -score["h_{i-1}^2"].get("1", 0)
        ratio = Fraction(score["i"].get(V, 0)) / gap if gap > 0 else Fraction(0)
        right = {"h_{i-1}": {"h": 2 * gap}, "h_{i-1}^2": {"1": -gap}, "i": {V: gap * ratio}}
        return ratio if score == right and 0 < ratio <= 1 else None

    # ── matrices by name ────────────────────────────────────────────────────────────────────────────────────
    def _components(self, head: Head) -> list[tuple[ExactForm, ExactForm]]:
        """Return (query, key) as linear forms for each component that both have, in order."""
        pairs = zip(self._forms(head.query), self._forms(head.key), strict=True)
        return [(query, key) for query, key in pairs if query and key]

    def _forms(self, matrix: Matrix) -> list[ExactForm]:
        return [{d: rational(w) for d, w in self._decoder.layout.named(row).items()} for row in matrix.by_row()]

    def _carried(self, head: Head) -> Carried:
        values, found = self._forms(head.value), Carried()
        for row, component, weight in head.output.entries():
            for name, w in values[component].items():
                place = (self._names[row], name)
                found[place] = found.get(place, 0) + rational(weight) * w
        return {place: w for place, w in found.items() if w}

    def _target(self, head: Head) -> str:
        return self._domain.shown(self._names[int(head.output.rows[0])])

    def _score(self, head: Head) -> str:
        terms = " + ".join(f"({self._shown(query)})·({self._shown(key)})" for query, key in self._components(head))
        return f"its score is {terms or '0'}, which does not have the form that this proof covers"

    def _shown(self, form: ExactForm) -> str:
        return " + ".join(f"{nearest(w):g}·{self._domain.shown(name)}" for name, w in form.items())

    # ── wording ─────────────────────────────────────────────────────────────────────────────────────────────
    def _compared(self, n: int, who: str, found: Carried, wanted: Carried) -> Iterator[Refusal]:
        for place in sorted({*found, *wanted}):
            if found.get(place, 0) != wanted.get(place, 0):
                written, read = map(self._domain.shown, place)
                text = f"it adds {nearest(found.get(place, 0)):g} times {read} to {written} but should add "
                yield self._refuse(
                    n, f"{who} does not carry what it should", text + f"{nearest(wanted.get(place, 0)):g} times"
                )

    def _refuse(self, n: int, what: str, witness: str) -> Refusal:
        name = self._decoder.layers[n - 1].name
        return Refusal(layer=n, layer_name=name, part="attention", what=what, witness=witness)


class AttentionProof(HeadProof):
    """The proof of the heads of a single machine's decoder."""

    def __init__(self, decoder: Decoder, domain: Domain) -> None:
        self._machine = domain
        super().__init__(decoder, domain)

    def checks(self) -> Mapping[int, Callable[[int, WritingHeads], Iterator[Refusal]]]:
        return {2: self._sum_of_moves, **super().checks()}

    def looked(self, head: Head, target: str) -> str | None:
        return lookup_witness(self._decoder, self._machine, head, target)

    def retrieved(self, head: Head) -> str | None:
        return latest_witness(self._decoder, self._machine, head)

    def targets(self) -> Mapping[str, tuple[ExactForm, Carried]]:
        cell = "e_x(h+)" if self._machine.two_way else "e_x(h)"
        word: Carried = {(at(cell, a), at("e_x", a)): 1 for a in self._machine.sigma}
        return lookups(word, two_way=self._machine.two_way)

    def _sum_of_moves(self, n: int, heads: WritingHeads) -> Iterator[Refusal]:
        for _, head in heads:
            if parts := self._components(head):
                text = f"its score has the term ({self._shown(parts[0][0])})·({self._shown(parts[0][1])})"
                yield self._refuse(n, f"head {head.name!r} does not attend to all positions alike", text)
            yield from self._compared(n, f"head {head.name!r}", self._carried(head), MOVES)
        if len(heads) != 1:
            yield self._refuse(n, "exactly one head must sum the moves", f"{counted(len(heads), 'head')} write something")
        else:
            self._moves = heads[0][1].name


def powers(parts: list[tuple[ExactForm, ExactForm]]) -> bool:
    """Return whether every weight is a power of two: products with it are exact."""
    return all(power_of_two(w) for pair in parts for form in pair for w in form.values())


def number(name: str, sign: int = 1) -> Carried:
    """Return what brings a position's number and its square to `name` and its square."""
    return {(name, "i"): sign, (f"{name}^2", "i^2"): 1}


def lookups(word: Carried, *, two_way: bool) -> dict[str, tuple[ExactForm, Carried]]:
    """Return the lookups of h and h_{i-1}, see `HeadProof.targets`; word: the values carried from cell h beside its number.

    On a two-way tape each number is looked up as its positive and its negative part, of which one is 0.
    """
    if not two_way:
        return {"h": ({HV: 1}, {**number("h"), **word}), "h_{i-1}": ({HV: 1, MV: -1}, number("h_{i-1}"))}
    return {
        "h+": ({"h+/(i+1)": 1}, {**number("h"), **word}),
        "h-": ({"h-/(i+1)": 1}, {**number("h", -1), ("h-", "i"): 1}),
        "h_{i-1}+": ({"h_{i-1}+/(i+1)": 1}, number("h_{i-1}")),
        "h_{i-1}-": ({"h_{i-1}-/(i+1)": 1}, number("h_{i-1}", -1)),
    }
