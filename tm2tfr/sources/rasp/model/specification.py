"""What every subspace must hold at every position of a run, and where each head must look.

Worked out from the program, the input and what weights claim: the interpreter has the values of s-ops and the matrices of
selectors, and a claim says what is made of them. No weight is read, and nothing is shared with the compiler.

A subspace may be claimed to hold

- ``token``, ``position`` as one-hot vectors, ``1``, ``i`` as numbers;
- ``value s12``: the value of an s-op; ``value keys C of s3,s4``, ``value queries C of s3``: the label with which the
  subspace's groups pair the text of these values, nothing if there is none;
- ``picked s12``: of an aggregate, the mean of the one-hot vectors of its values over the positions that its head attends
  to; ``mean s12 K L``: the mean of ``K (value - L)`` over them;
- ``steps s12``: for each label ``a..b`` where the number x of ``mean s12 K L`` stands between a and b, from 0 to 1;
- ``share c7 C of s3,s4``: over the positions that the head of a selector attends to, the mean of the 0/1 vectors of the
  labels with which groups pair the text of these values there; ``found c7``: 1 iff the selector selects a position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.evaluate import Stages
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

# ── what weights claim of a RASP program, read: which values of it a subspace holds, and where a head looks
# Nodes are named by their numbers, s-ops as ``s12``, selectors as ``c12``; ``s`` alone is the token.
Literals = tuple[tuple[int, bool], ...]
"""Numbers of selectors, each with whether it has to be true: all of them at once."""


@dataclass(frozen=True)
class Gaze:
    """Where a head looks: at the visible positions that satisfy the most clusters.

    Args:
        selector: the number of the selector that it computes.
        ahead: whether positions after its own are visible.
        clusters: each a conjunction.
    """

    selector: int
    ahead: bool
    clusters: tuple[Literals, ...]


@lru_cache(maxsize=4096)
def look(claim: str) -> Gaze | None:
    """Return where a head with this claim looks: ``c7 none c5,!c6|c4``; None if it says no such thing."""
    head, *rest = claim.split(" ")
    if _SELECTOR.fullmatch(head) is None or len(rest) not in (1, 2) or rest[0] not in ("none", "future"):
        return None
    found = clusters(rest[1]) if len(rest) == 2 else ()
    return None if found is None else Gaze(int(head[1:]), rest[0] == "none", found)


def clusters(text: str) -> tuple[Literals, ...] | None:
    """Return clusters of selectors from text: ``c5,!c6|c4``; None if it is none."""
    found = []
    for cluster in text.split("|"):
        literals = cluster.split(",")
        if not all(_LITERAL.fullmatch(literal) for literal in literals):
            return None
        found.append(tuple((int(literal.lstrip("!")[1:]), not literal.startswith("!")) for literal in literals))
    return tuple(found)


def s_ops(text: str) -> tuple[int | None, ...] | None:
    """Return the numbers of s-ops listed in a text, ``s1,s12``, None in place of the token; None if it is no list."""
    if not text:
        return ()
    names = text.split(",")
    if not all(_SOP.fullmatch(name) for name in names):
        return None
    return tuple(int(name[1:]) if name != "s" else None for name in names)


_SELECTOR, _LITERAL, _SOP = re.compile("c[0-9]{1,9}"), re.compile("!?c[0-9]{1,9}"), re.compile("s[0-9]{0,9}")


# ── values as labels have them ──────────────────────────────────────────────────────────────────────────────
def shown_value(value: rasp.Atom, numeric: bool) -> str:
    """Return a value as labels have it; a truth value among numbers is 0 or 1."""
    return str(int(value)) if numeric and isinstance(value, bool) else shown_atom(value)


def kinds(sop: rasp.SOp, known: Mapping[rasp.SOp, frozenset[str]]) -> frozenset[str]:
    """Return of which kinds the values of an s-op may be by its type: ``bool``, ``number``, ``text``.

    Args:
        known: those of the s-ops that it is made of.
    """
    if isinstance(sop, rasp.Tokens):
        return frozenset([{"int": "number", "float": "number", "bool": "bool"}.get(sop.conversion, "text")])
    if isinstance(sop, rasp.Constant):
        return frozenset([_kind(sop.value)])
    if isinstance(sop, rasp.Aggregate):
        return known[sop.values] | {_kind(sop.default)}
    return _kinds_of_function(sop, known) if isinstance(sop, rasp.Elementwise) else frozenset(["number"])


def _kinds_of_function(sop: rasp.Elementwise, known: Mapping[rasp.SOp, frozenset[str]]) -> frozenset[str]:
    if sop.operator == "if":
        return known[sop.arguments[0]] | known[sop.arguments[-1]]
    if sop.operator == "table":
        return frozenset(_kind(value) for _, value in sop.entries)
    if sop.operator == "+":
        return frozenset[str]().union(*(known[a] for a in sop.arguments)) - {"bool"} or frozenset(["number"])
    return frozenset(["bool" if sop.operator in _TRUTHS else "number"])


def numeric(sops: Iterable[rasp.SOp]) -> dict[rasp.SOp, bool]:
    """Return for each of some s-ops, with all that they are made of, whether its truth values count as numbers."""
    known: dict[rasp.SOp, frozenset[str]] = {}
    for node in sorted(sops, key=lambda each: each.number):
        known[node] = kinds(node, known)
    return {node: {"bool", "number"} <= found for node, found in known.items()}


_TRUTHS = frozenset(["==", "<=", ">=", "<", ">", "and", "or", "not", "in"])


def _kind(value: rasp.Atom) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def number(value: rasp.Atom) -> Fraction:
    """Return a value that is no text as a number.

    Raises:
        ValueError: for a text.
    """
    if isinstance(value, str):
        raise ValueError(f"{value!r} is no number")
    return Fraction(int(value) if isinstance(value, bool) else value)


Holding = str | int | Fraction | None | Mapping[str, Any]
"""A number, the label of a one-hot vector, None for the zero vector, or the coordinates that are not 0, by label."""

_ZERO, _ONE = Fraction(0), Fraction(1)


class _Unknown(Exception):  # noqa: N818  (it is caught where it arises)
    """A claim that says nothing of this program."""


@dataclass(frozen=True)
class RaspSpecification(ClaimedSpecification):
    """The specification of a run.

    Args:
        stages: what the interpreter says.
        layout: the residual stream of the weights, for what its subspaces are claimed to hold.
        claims: what the heads are claimed to attend to.
    """

    stages: Stages
    layout: Residual
    claims: tuple[str, ...]

    @classmethod
    def of(cls, stages: Stages, decoder: Decoder) -> RaspSpecification:
        """Return the specification for weights: their claims, and nothing else of them."""
        heads = (head for layer in decoder.layers for head in layer.heads)
        return cls(stages, decoder.layout, tuple(head.claim.attends for head in heads if head.claim is not None))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the input."""
        return tuple(map(shown_atom, self.stages.word))

    def covers(self, layout: Residual) -> bool:
        """Return whether every claim of `layout` can be interpreted, and every head has one."""
        try:
            for subspace in layout.subspaces:
                self._value(subspace, 0)
        except _Unknown:
            return False
        return all(look(claim) is not None and self._known(claim) for claim in self.claims)

    def _known(self, claim: str) -> bool:
        there, found = self._selectors, look(claim)
        return found is not None and all(n in there for cluster in found.clusters for n, _ in cluster)

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        found = look(where)
        return self._looked(found, i) if found is not None and self._known(where) else ()

    # ── what a subspace holds ───────────────────────────────────────────────────────────────────────────────
    def held(self, subspace: Subspace, i: int) -> Holding:
        key = subspace.name, i
        if key not in self._memory:
            try:
                self._memory[key] = self._value(subspace, i)
            except _Unknown:
                self._memory[key] = None
        return self._memory[key]

    @cached_property
    def _memory(self) -> dict[tuple[str, int], Holding]:
        return {}

    def _value(self, subspace: Subspace, i: int) -> Holding:
        """Return what a subspace holds at position `i`; raise `_Unknown` if its claim says nothing of this program."""
        kind, _, rest = subspace.holds.partition(" ")
        if kind in _GIVEN and not rest:
            if (subspace.labels is None) != (kind in ("1", "i", "i^2")):
                raise _Unknown
            given: dict[str, Holding] = {"token": self.tokens[i], "position": str(i), "1": 1, "i": i, "i^2": i * i}
            return given[kind]
        if kind not in self._readers or (subspace.labels is None) != (kind in _NUMBERS):
            raise _Unknown
        found: Holding = self._readers[kind](rest, subspace, i)
        return found

    @cached_property
    def _readers(self) -> Mapping[str, Callable[[str, Subspace, int], Holding]]:
        return {
            "value": self._labelled,
            "picked": self._picked,
            "mean": self._mean,
            "steps": self._steps,
            "share": self._share,
            "found": self._found,
        }

    def _labelled(self, rest: str, subspace: Subspace, i: int) -> Holding:
        side, _, of = rest.partition(" ")
        if side not in ("keys", "queries"):
            return self._shown(self._sop(rest), i)
        _, _, names = of.partition(" of ")
        text = self._text(names, i)
        return next((label for value, label in subspace.groups if value == text), None)

    def _picked(self, rest: str, subspace: Subspace, i: int) -> Holding:
        node = self._aggregate(rest)
        places = self._seen_by(node.selector, i)
        found: dict[str, Fraction] = {}
        for j in places:
            label = self._shown(node.values, j)
            found[label] = found.get(label, _ZERO) + Fraction(1, len(places))
        return found

    def _mean(self, rest: str, subspace: Subspace, i: int) -> Holding:
        name, *numbers = rest.split(" ")
        node = self._aggregate(name)
        try:
            scale, least = map(Fraction, numbers)
            offered = [number(value) for value in self.stages.values[node.values]]
        except ValueError:
            raise _Unknown from None
        places = self._seen_by(node.selector, i)
        return sum((scale * (offered[j] - least) for j in places), _ZERO) / len(places)

    def _steps(self, rest: str, subspace: Subspace, i: int) -> Holding:
        mean = next((each for each in self.layout.subspaces if each.holds.startswith(f"mean {rest} ")), None)
        x = None if mean is None else self._value(mean, i)
        if not isinstance(x, int | Fraction):
            raise _Unknown
        found: dict[str, Fraction] = {}
        for label in subspace.labels or ():
            try:
                start, end = map(Fraction, label.split(".."))
                found[label] = min(max((x - start) / (end - start), _ZERO), _ONE)
            except (ValueError, ZeroDivisionError):
                raise _Unknown from None
        return found

    def _share(self, rest: str, subspace: Subspace, i: int) -> Holding:
        name, _, of = rest.partition(" ")
        _, said, names = of.partition(" of ")
        if not said and not of.endswith(" of"):
            raise _Unknown
        places = self._seen_by(self._selector(name), i)
        found: dict[str, Fraction] = {}
        for j in places:
            text = self._text(names, j)
            for value, label in subspace.groups:
                if value == text:
                    found[label] = found.get(label, _ZERO) + Fraction(1, len(places))
        return found

    def _found(self, rest: str, subspace: Subspace, i: int) -> Holding:
        selector = self._selector(rest)
        row, seen = self.stages.matrices[selector][i], self._visible(self._head(selector), i)
        return int(any(row[j] for j in seen))

    # ── s-ops and selectors by number ───────────────────────────────────────────────────────────────────────
    @cached_property
    def _sops(self) -> Mapping[int, rasp.SOp]:
        return {node.number: node for node in self.stages.values}

    @cached_property
    def _selectors(self) -> Mapping[int, rasp.Selector]:
        return {node.number: node for node in self.stages.matrices}

    @cached_property
    def _numeric(self) -> Mapping[rasp.SOp, bool]:
        """For each s-op whether its truth values are numbers."""
        return numeric(self.stages.values)

    def _sop(self, name: str) -> rasp.SOp:
        numbers = s_ops(name)
        found = self._sops.get(numbers[0]) if numbers is not None and len(numbers) == 1 and numbers[0] is not None else None
        if found is None:
            raise _Unknown
        return found

    def _aggregate(self, name: str) -> rasp.Aggregate:
        found = self._sop(name)
        if not isinstance(found, rasp.Aggregate):
            raise _Unknown
        return found

    def _selector(self, name: str) -> rasp.Selector:
        found = self._selectors.get(int(name[1:])) if name[:1] == "c" and name[1:].isdecimal() else None
        if found is None:
            raise _Unknown
        return found

    def _shown(self, sop: rasp.SOp, i: int) -> str:
        return shown_value(self.stages.values[sop][i], self._numeric[sop])

    def _text(self, names: str, i: int) -> str:
        """Return the values of listed s-ops at position `i` as text, separated by commas."""
        numbers = s_ops(names)
        if numbers is None or any(n is not None and n not in self._sops for n in numbers):
            raise _Unknown
        return ",".join(self.tokens[i] if n is None else self._shown(self._sops[n], i) for n in numbers)

    # ── where heads look ────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _heads(self) -> Mapping[int, Gaze]:
        found = [look(claim) for claim in self.claims if self._known(claim)]
        return {each.selector: each for each in found if each is not None}

    def _head(self, selector: rasp.Selector) -> Gaze:
        if selector.number not in self._heads:
            raise _Unknown
        return self._heads[selector.number]

    def _seen_by(self, selector: rasp.Selector, i: int) -> tuple[int, ...]:
        return self._looked(self._head(selector), i)

    def _visible(self, head: Gaze, i: int) -> range:
        return range(len(self.stages.word) if head.ahead else i + 1)

    def _looked(self, head: Gaze, i: int) -> tuple[int, ...]:
        """Return the visible positions that satisfy the most clusters at position `i`."""
        rows = [[(self.stages.matrices[self._selectors[n]][i], wanted) for n, wanted in each] for each in head.clusters]
        counts = [sum(all(row[j] == true for row, true in each) for each in rows) for j in self._visible(head, i)]
        most = max(counts)
        return tuple(j for j, count in enumerate(counts) if count == most)


_GIVEN = ("token", "position", "1", "i", "i^2")
_NUMBERS = ("mean", "found")
