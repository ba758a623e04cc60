"""The heads of the universal decoder, from their matrices: where they look for every machine of a class, what they carry.

The sum of moves, the lookups of h and h_{i-1} and the latest write are those of a single machine, see
`tm2tfr.sources.turing.proof.attention`. A description of k tokens stands before the input; there h = 0, no token moves the
head or writes, and |h_i| ≤ i remains true.

Description. All scores are 0: the mean of ``[rule]`` is k/(i+1), and 1 within the description.

Last key. The score of j is B·[key] + T·v·j with 0 < T ≤ B: of the positions with a key, the last one; i itself where there
is none, and e_x is no key there. So at a value, e_q(key) and e_a(key) are those of the key before it.

Tape. The score is B·v·(2tj - j²) with t = -1: at most 0, and 0 at j = 0 alone, after rounding too.

Input symbol. B·v·(2tj - j²) with t = h⁺ + k, from the sum of two means. Within the description nothing that is carried is
there at any position. After it t ≤ i: of the i + 1 - k positions behind the description, input symbols, BOS and the
first triple do not move the head, so that h ≤ i - k.

Rule. The score is B·([r_q = q] + [r_a = a]). Where a rule for (q, a) ends, it is 2B, there alone, since a machine is
deterministic. See `feed_forward` for what is carried where there is none. Scores are B times 0, 1 or 2: never rounded.

A component of a value may be a sum of directions of ``e_x``, which is one-hot: it arrives unrounded as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tm2tfr.certificates.kit import Refusal
from tm2tfr.sources.turing.proof.attention import MOVES, Carried, ExactForm, HeadProof, WritingHeads, lookups, powers
from tm2tfr.sources.turing.proof.cases import HV, V
from tm2tfr.sources.turing.universal.names import key_token
from tm2tfr.sources.turing.universal.proof.domain import ClassDomain
from tm2tfr.transformer.matrix import Rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder, Head

COUNT: Carried = {("k/(i+1)", "[rule]"): 1}
"""What the mean over the description carries."""
FORMS = {
    "moves": "does not attend to all positions alike",
    "description": "does not attend to all positions alike",
    "last key": "is not the last key, B·[key] + T·v·j with 0 < T ≤ B",
    "tape": "does not look at position 0, v·(2tj - j²) with t = -1 up to a factor",
}
"""What a head of layer 2 is for -> what is wrong with its scores."""


@dataclass(frozen=True)
class Description:
    """What is proved about the heads that read a machine's description: their names, and T/B of the last key.

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
        """What is proved about the heads that read the description; None if one is refused."""
        if self._last_key is None or self._rule_head is None:
            return None
        return Description(*self._last_key, self._served.get("h+k"), self._rule_head)

    # ── layer 2 ─────────────────────────────────────────────────────────────────────────────────────────────
    def _roles(self) -> Mapping[str, Carried]:
        """Return what each head of layer 2 is for, and what it carries."""
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
                what = f"{self._domain.shown(row)} is written twice"
                yield self._refuse(n, what, f"by the heads {served[role]!r} and {head.name!r}")
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
                what = f"head {head.name!r} does not find the rule, B·([r_q = q] + [r_a = a]) up to a factor"
                yield self._refuse(n, what, wrong)
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
