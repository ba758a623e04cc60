"""What every subspace must hold at every position of a run, and where each head must look.

Computed from the program, the input and what weights claim (see `tm2tfr.sources.rasp.model.claims`): the interpreter has
the values of s-ops and the matrices of selectors, and a claim says what is made of them. No weight is read, and nothing is
shared with the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.evaluate import Stages
from tm2tfr.sources.rasp.model.claims import Gaze, look, s_ops
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.values import number, numeric, shown_value
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

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
