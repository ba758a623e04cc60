"""Names for people of what the weights of formulas have: subspaces, heads and hidden units, after the program's own names.

Within the compiler, everything goes by its claim, in which nodes are keys such as ``s3``. What a node is held by gets the
name of the node; what the compiler adds gets its role and that name: ``square of as``, ``found by out``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tm2tfr.sources.sequence.compiler.stream import TOKEN
from tm2tfr.sources.sequence.naming import MOST, ended, role, shortened, unique
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Layer

_KEY = r"(s\d+)"
_ITSELF = re.compile(rf"(?:is|label|number) {_KEY}")
_ROLES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (rf"square {_KEY}", "square of"),
        (rf"positive {_KEY}", "positive part of"),
        (rf"negative {_KEY}", "negative part of"),
        (rf"positive square {_KEY}", "squared positive part of"),
        (rf"negative square {_KEY}", "squared negative part of"),
        (rf"found {_KEY}", "found by"),
        (rf"at least (-?\d+) {_KEY}", r"difference >= \1 in"),
        (rf"quotient (\d+) \+ {_KEY}", r"quotient by \1 of"),
        (rf"quotient (\d+) - {_KEY}", r"quotient by \1 of -"),
        (rf"quotient square (\d+) \+ {_KEY}", r"squared quotient by \1 of"),
        (rf"quotient square (\d+) - {_KEY}", r"squared quotient by \1 of -"),
        (rf"reaches (\d+) \+ {_KEY}", r"remainder by \1 of"),
        (rf"reaches (\d+) - {_KEY}", r"remainder by \1 of -"),
    )
)
"""What a subspace holds of a node, which is named last -> the words of the role."""
_MEANS = {"all future": "mean of", "all past": "mean from here on of", "all none": "mean everywhere of"}
_PLACES = {
    "back": " at i-1",
    "ahead": " at i+1",
    "parity 0": " at latest even j",
    "parity 1": " at latest odd j",
    "parity 0 ahead": " at earliest even j",
    "parity 1 ahead": " at earliest odd j",
}
_HEADS = {
    "all future": "mean of j ≤ i",
    "all past": "mean of j ≥ i",
    "all none": "mean of all j",
    "back": "j = i-1",
    "ahead": "j = i+1",
    "parity 0": "latest even j",
    "parity 1": "latest odd j",
    "parity 0 ahead": "earliest even j",
    "parity 1 ahead": "earliest odd j",
}
_LOOKS = {"since": "decision of", "until": "decision of", "latest": "▶", "earliest": "◀", "sign": "sign of"}
_LITERAL = re.compile(r'(!?)(s\d+)(?:=("(?:[^"\\]|\\.)*"))?')
INSIDE, NEVER = "inside the word", "never"


class FramedNames:
    """Names by claims.

    Args:
        names: the key of each node that has one -> its name, no two of which are equal.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def named(self, decoder: Decoder, own: Mapping[str, str]) -> Decoder:
        """Return weights with names for people; they compute the same.

        Args:
            own: subspace, as it was called so far -> the name of the node whose truth it is, though its claim says it
                in other words.
        """
        free, spaces = set(self._names.values()), list[Subspace]()
        given = {TOKEN, *decoder.features}
        taken = free | given
        free -= given
        for space in decoder.layout.subspaces:
            name = space.name
            if name not in given:
                itself = _ITSELF.fullmatch(space.holds)
                name = (
                    self._names.get(itself[1], "") if itself else own.get(name, "") if space.holds.startswith("is ") else ""
                )
                name = name if name in free else unique(self.space(space.holds), taken)
            free.discard(name)
            taken.add(name)
            spaces.append(replace(space, name=name))
        layout = Residual(tuple(spaces))
        heads, units = set[str](), set[str]()
        layers = tuple(self._layer(layer, layout.directions, heads, units) for layer in decoder.layers)
        return replace(decoder, layout=layout, layers=layers)

    def _layer(self, layer: Layer, directions: Sequence[str], heads: set[str], units: set[str]) -> Layer:
        found = []
        for head in layer.heads:
            name = unique(self.head("" if head.claim is None else head.claim.attends), heads)
            heads.add(name)
            found.append(replace(head, name=name))
        _, _, after = layer.meaning.partition("; ")
        meaning = f"attend by {', '.join(head.name for head in found)}{f'; {after}' if after else ''}"
        part = layer.feed_forward
        if part is not None:
            part = replace(part, units=tuple(_units(part, directions, units)))
        return replace(layer, heads=tuple(found), feed_forward=part, meaning=meaning if found else layer.meaning)

    # ── subspaces
    def space(self, claim: str) -> str:  # noqa: PLR0911
        """Return the name of a subspace by what it holds: at most 40 characters, which others may have as well."""
        for start, end in (("within rounded ", ", rounded"), ("rounded ", ", rounded"), ("within ", ", inside")):
            if claim.startswith(start):
                return ended(self.space(claim.removeprefix(start)), end)
        if claim.startswith("over i+1: "):
            return ended(self.space(claim.removeprefix("over i+1: ")), " / (i+1)")
        if claim.startswith("at ") and ": " in claim:
            return self._brought(*claim.removeprefix("at ").split(": ", 1))
        if claim == "is" or claim.startswith("is "):
            return shortened({"is": INSIDE, "is never": NEVER}.get(claim) or "".join(self._literals(claim[3:])))
        if claim.startswith("equal "):
            return role("equal numbers in", self._of(claim.split(" ")[1]))
        if (itself := _ITSELF.fullmatch(claim)) is not None:
            return shortened(self._of(itself[1]))
        for pattern, words in _ROLES:
            if (found := pattern.fullmatch(claim)) is not None:
                return role(found.expand(words), self._of(found[found.re.groups]))
        return shortened(claim)

    def _brought(self, head: str, what: str) -> str:
        inner = self.space(what)
        if head in _MEANS:
            return role(_MEANS[head], inner)
        if head in _PLACES:
            return ended(inner, _PLACES[head])
        start = ", seen by "
        by = shortened(self._looked_for(head), max(MOST - len(inner) - len(start), MOST // 4))
        return f"{shortened(inner, MOST - len(start) - len(by))}{start}{by}"

    def _literals(self, text: str) -> Iterator[str]:
        """Yield the alternatives that a claim says, in pieces."""
        at = 0
        for found in _LITERAL.finditer(text):
            if found.start() >= at:  # not within the label of another one
                yield {"": "", " ": " & "}.get(text[at : found.start()], text[at : found.start()])
                at = found.end()
                name = self._of(found[2])
                if found[3] is not None:
                    yield f"{name} {'!=' if found[1] else '='} {json.loads(found[3])!r}"
                else:
                    yield f"!({name})" if found[1] and " " in name else f"{found[1]}{name}"

    # ── heads
    def head(self, claim: str) -> str:
        """Return the name of a head by where it looks: at most 40 characters, which others may have as well."""
        kind = claim.partition(" ")[0]
        if claim in _HEADS:
            return _HEADS[claim]
        if kind == "lookup":
            return role("look up", self._looked_for(claim))
        key = re.search(_KEY, claim)
        return shortened(claim) if kind not in _LOOKS or key is None else role(_LOOKS[kind], self._of(key[1]))

    def _looked_for(self, claim: str) -> str:
        if claim.startswith("lookup "):
            return self.space(claim.split(" ", 2)[2])
        key = re.search(_KEY, claim)
        return claim if key is None else self._of(key[1])

    def _of(self, key: str) -> str:
        return self._names.get(key, key)


def _units(part: FeedForward, directions: Sequence[str], taken: set[str]) -> Iterator[str]:
    """Yield the name of each hidden unit: the first direction that it writes to, with a number if it is one of several."""
    writes = _first_rows(part.output)
    found = [directions[writes[unit]] if unit in writes else "nothing" for unit in range(len(part.units))]
    many = {name: found.count(name) for name in found}
    numbers = dict.fromkeys(found, 0)
    for name in found:
        numbers[name] += 1
        own = unique(name if many[name] == 1 else ended(name, f" #{numbers[name]}"), taken)
        taken.add(own)
        yield own


def _first_rows(matrix: Matrix) -> dict[int, int]:
    rows: dict[int, int] = {}
    for row, column, _ in matrix.entries():
        rows.setdefault(column, row)
    return rows
