"""What somebody claims about hidden weights, as JSON, read with complaints that name their places.

    {
      "format": "tm2tfr-claim", "version": "1",
      "heads": {"layers.2.heads.1": "all", "layers.3.heads.0": "nothing"},
      "layers": [4],
      "units": ["layers.2.units.5"],
      "subspaces": {"e_q": [[0.5, 0.0, -0.5], [0.0, 1.0, 0.0]]}
    }

``heads`` gives the roles of heads; null: no claim. ``layers`` and ``units`` are those that do nothing. ``subspaces`` has
vectors in the stream that span where a variable is. Any of them may be missing. ``words`` is for people and is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from tm2tfr.base.errors import Diagnostic, DisguiseError, SpecError
from tm2tfr.base.text.json_nodes import compose_json
from tm2tfr.base.text.nodes import List, Map, Node, Reading, Scalar, kind
from tm2tfr.base.text.shown import json_text
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.lab.hidden.dead_code import DeadCode
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.key import Key
from tm2tfr.lab.hidden.narrow import variables
from tm2tfr.lab.hidden.words import meaning, role_of
from tm2tfr.transformer.weights import Decoder

FORMAT, VERSION = "tm2tfr-claim", "1"
KEYS = ("format", "version", "heads", "layers", "units", "subspaces", "words")
MOST_BYTES = 2**26
MOST_QUOTED = 60
"""The most characters that a complaint quotes: claims are mostly written by programs, on one line."""
_NAME = re.compile(r"\w+")
_LAYER = re.compile(r"\d{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class HiddenClaim:
    """A claim; see this module."""

    heads: Mapping[str, str] = field(default_factory=dict)
    layers: frozenset[int] = frozenset()
    units: frozenset[str] = frozenset()
    subspaces: Mapping[str, Dyadic] = field(default_factory=dict)

    def text(self) -> str:
        """Return it as JSON."""
        document: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "heads": dict(self.heads),
            "layers": sorted(self.layers),
            "units": sorted(self.units),
            "subspaces": {name: np.asarray(vectors).tolist() for name, vectors in self.subspaces.items()},
        }
        return json_text(document)


def template(truth: HiddenTruth) -> str:
    """Return a claim without any content, with the heads that there are and the words for roles and variables."""
    roles = dict(sorted(truth.called.items()))
    document: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "heads": dict.fromkeys(truth.heads),
        "layers": [],
        "units": [],
        "subspaces": {},
        "words": {
            "roles": roles,
            "variables": {name: len(basis) for name, basis in sorted(truth.subspaces.items())},
            "width": truth.width,
        },
    }
    return json_text(document)


def load_claim(path: str | Path, truth: HiddenTruth) -> HiddenClaim:
    """Return the claim in a file.

    Raises:
        DisguiseError: if it cannot be read.
        SpecError: with every complaint about it, at its place.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return decoded_claim(data, truth, file=str(path))


def decoded_claim(data: bytes, truth: HiddenTruth, *, file: str) -> HiddenClaim:
    """Return the claim of a text in UTF-8; file: its name in errors.

    Raises:
        DisguiseError: if it is not JSON, or too long.
        SpecError: with every complaint about it, at its place.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise _unreadable(file, error) from error
    return read_claim(text, truth, file=file)


def _unreadable(path: object, error: Exception) -> DisguiseError:
    why = getattr(error, "strerror", None) or str(error)
    return DisguiseError(f"{path}: it cannot be read ({why}): name a claim in JSON")


def read_claim(text: str, truth: HiddenTruth, *, file: str = "<claim>") -> HiddenClaim:
    """Return the claim of a text. Raises SpecError with every complaint about it, at its place, quoting little of it."""
    source = SourceText(text, file)
    try:
        return _Reader(Log(source), truth).claim(compose_json(source))
    except SpecError as error:
        raise SpecError([_short(each) for each in error.diagnostics]) from None


def _short(found: Diagnostic) -> Diagnostic:
    """Return a complaint that quotes at most `MOST_QUOTED` characters of its line."""
    return found if found.span is None else replace(found, span=replace(found.span, widest=MOST_QUOTED))


def _quoted(text: str) -> str:
    """Return a name in quotes, cut off where it is long."""
    return repr(text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1]}…")


def places(root: Node) -> Iterator[tuple[int, str]]:
    """Yield the id of every node of a document, keys too, with where it is: ``heads["layers.1.heads.0"]``."""
    todo = [(root, "")]
    while todo:
        node, place = todo.pop()
        yield id(node), place
        if isinstance(node, List):
            todo += [(item, f"{place}[{n}]") for n, item in enumerate(node.items)]
        for key, value in node.pairs if isinstance(node, Map) else ():
            name = key.text[:MOST_QUOTED] if isinstance(key, Scalar) else ""
            own = f"{place}.{name}".lstrip(".") if _NAME.fullmatch(name) else f"{place}[{json.dumps(name)}]"
            todo += [(key, own), (value, own)]


class _Reader(Reading):
    """A claim that is being read."""

    def __init__(self, log: Log, truth: HiddenTruth) -> None:
        super().__init__(log)
        self._truth = truth
        self._root: Node | None = None

    @cached_property
    def _places(self) -> dict[int, str]:
        return {} if self._root is None else dict(places(self._root))

    def error(self, node: Node | None, what: str, remedy: str) -> None:
        """Record an error at `node`, which is named by its place in the JSON too."""
        place = self._places.get(id(node), "")
        super().error(node, f"{place}: {what}" if place else what, remedy)

    def claim(self, root: Node | None) -> HiddenClaim:
        found, self._root = HiddenClaim(), root
        if not isinstance(root, Map):
            self.error(root, "a claim is an object", 'write {"format": "tm2tfr-claim", "version": "1", …}')
        else:
            fields = self.fields(root, "a claim", KEYS, f"use {', '.join(KEYS)}", {})
            wrong = [
                (name, wanted, value)
                for name, wanted in (("format", FORMAT), ("version", VERSION))
                if not isinstance(value := fields[name][1] if name in fields else None, Scalar) or value.text != wanted
            ]
            for name, wanted, value in wrong[:1]:
                self.error(
                    value or root, f"the {name} of a claim must be {wanted!r}", "start with 'tm2tfr score KEY --template'"
                )
            parts = {name: value for name, (_, value) in fields.items()}
            found = HiddenClaim(
                heads=self._heads(parts.get("heads")),
                layers=frozenset(self._layers(parts.get("layers"))),
                units=frozenset(self._units(parts.get("units"))),
                subspaces=self._subspaces(parts.get("subspaces")),
            )
        if self.log.found:
            raise self.log.failure()
        return found

    def _heads(self, node: Node | None) -> dict[str, str]:
        found: dict[str, str] = {}
        roles = sorted(set(self._truth.heads.values()) | {"nothing"})
        for key, value in self._pairs(node, "head"):
            if key.text not in self._truth.heads:
                close = self.nearest(key.text, self._truth.heads, {})
                self.error(key, f"there is no head {_quoted(key.text)}{close}", "use paths such as layers.1.heads.0")
            elif isinstance(value, Scalar) and value.null:
                continue
            elif not isinstance(value, Scalar) or value.plain:
                self.error(value, f"the role of a head is text, found {kind(value)}", "write it in quotes, or null")
            elif value.text not in roles:
                close = self.nearest(value.text, roles, {})
                self.error(value, f"no head has the role {_quoted(value.text)}{close}", "use one that the template lists")
            else:
                found[key.text] = value.text
        return found

    def _layers(self, node: Node | None) -> list[int]:
        found = []
        for item in self._items(node):
            number = int(item.text) if isinstance(item, Scalar) and item.plain and _LAYER.fullmatch(item.text) else 0
            if not 1 <= number <= self._truth.layer_count:
                self.error(item, "a layer is given by its number", f"use 1 to {self._truth.layer_count}")
            else:
                found.append(number)
        return found

    def _units(self, node: Node | None) -> list[str]:
        found = []
        for item in self._items(node):
            if not isinstance(item, Scalar) or item.text not in self._truth.unit_paths:
                what = (
                    f"there is no unit {_quoted(item.text)}" if isinstance(item, Scalar) else "a unit is given by its path"
                )
                self.error(item, what, "use paths such as layers.1.units.0")
            else:
                found.append(item.text)
        return found

    def _subspaces(self, node: Node | None) -> dict[str, Dyadic]:
        found: dict[str, Dyadic] = {}
        for key, value in self._pairs(node, "variable"):
            if key.text not in self._truth.subspaces:
                close = self.nearest(key.text, self._truth.subspaces, {})
                self.error(key, f"there is no variable {_quoted(key.text)}{close}", "use one that the template lists")
                continue
            vectors = [self._vector(item) for item in self._items(value)]
            if all(vector is not None for vector in vectors):
                found[key.text] = np.array(vectors, dtype=np.float64).reshape(-1, self._truth.width)
        return found

    def _vector(self, node: Node) -> list[float] | None:
        items = self._items(node)
        if len(items) != self._truth.width:
            self.error(node, f"a vector has {self._truth.width} numbers, found {len(items)}", "give one for each direction")
            return None
        numbers = []
        for item in items:
            if not isinstance(item, Scalar) or not item.plain or not _NUMBER.fullmatch(item.text):
                self.error(item, "a vector consists of numbers", "write for example 0.5")
                return None
            numbers.append(float(item.text))
        if not np.isfinite(numbers).all():
            self.error(node, "a number of this vector is too large", "use smaller ones: only their directions count")
            return None
        return numbers

    def _pairs(self, node: Node | None, noun: str) -> list[tuple[Scalar, Node]]:
        if node is None or isinstance(node, Map):
            return [] if node is None else self.entries(node, noun)
        self.error(node, f"expected an object, found {kind(node)}", "write it in braces")
        return []

    def _items(self, node: Node | None) -> tuple[Node, ...]:
        if node is None or isinstance(node, List):
            return () if node is None else node.items
        self.error(node, f"expected a list, found {kind(node)}", "write it in brackets")
        return ()


# ── What there is to find in hidden weights: the role of every head, what does nothing, and where each variable is.
NOTHING = "nothing"
"""The role of a decoy head: all of them can be taken out together, and the answers stay."""


@dataclass(frozen=True)
class HiddenTruth:
    """The truth about hidden weights.

    Args:
        width: the dimension of the stream.
        heads: path of each head, ``layers.3.heads.0`` -> its role, what its claim says that it attends to; or `NOTHING`.
        called: role -> what heads with it were called; where outputs are renamed, what they attend to.
        layers: the numbers of the layers that do nothing, from 1.
        units: the paths of the units that do nothing, ``layers.3.units.0``.
        layer_count, unit_paths: of those that a claim may be about, how many and which.
        subspaces: variable -> an orthonormal basis of where it is in the stream: (dimensions, width).
        surface: the variables that embedding or unembedding touch, which can be read off these.
        dead: what products of matrices alone find to do nothing; None: nobody looked.
    """

    width: int
    heads: Mapping[str, str]
    called: Mapping[str, str]
    layers: frozenset[int]
    units: frozenset[str]
    layer_count: int
    unit_paths: frozenset[str]
    subspaces: Mapping[str, Dyadic]
    surface: frozenset[str] = frozenset()
    dead: DeadCode | None = None


def answer(key: Key) -> HiddenTruth:
    """Return the truth that a key holds."""
    original = key.original
    heads: dict[str, str] = {}
    called: dict[str, str] = {}
    units, paths, layers = set[str](), set[str](), set[int]()
    for number, layer in enumerate(key.layers, start=1):
        for k, of in enumerate(layer.heads):
            found = None if of is None else original.layers[of[0]].heads[of[1]]
            role, said = (NOTHING, "") if found is None else (role_of(found), found.name)
            if role in key.roles:
                role = key.roles[role]
                said = meaning(role)
            heads[f"layers.{number}.heads.{k}"], called[role] = role, said
        for u, unit in enumerate(layer.units or ()):
            paths.add(path := f"layers.{number}.units.{u}")
            if unit.of is None and unit.pair is None:
                units.add(path)
        if layer.of is None and all(unit.pair is None for unit in layer.units or ()):
            layers.add(number)
    return HiddenTruth(
        width=key.basis.width,
        heads=heads,
        called=called,
        layers=frozenset(layers),
        units=frozenset(units),
        layer_count=len(key.layers),
        unit_paths=frozenset(paths),
        subspaces={key.variables.get(name, name): basis for name, basis in _subspaces(key).items()},
        surface=frozenset(key.variables.get(name, name) for name in surface_of(original)),
        dead=key.dead,
    )


def surface_of(original: Decoder) -> frozenset[str]:
    """Return the variables in whose directions the embedding writes anything, or the unembedding reads it."""
    matrices = [original.token_embedding, original.position_embedding, original.position_table]
    touched = {int(row) for matrix in matrices if matrix is not None for row in matrix.rows}
    touched |= set(map(int, original.unembedding.columns))
    layout, every = original.layout, range(original.layout.width)
    return frozenset(each.holds or each.name for each in layout.subspaces if touched & set(every[layout[each.name]]))


def _subspaces(key: Key) -> dict[str, Dyadic]:
    """Return where each variable of the original is: the directions that are written when it is, orthonormal.

    Where the stream was compressed: the forms that tell of it alone, see `tm2tfr.lab.hidden.narrow.variables`.
    """
    layout, found = key.original.layout, dict[str, Dyadic]()
    shared = variables(key.original, key.kept) if key.kept else {}
    for subspace in layout.subspaces:
        if key.kept:
            forms = np.pad(shared[subspace.name], ((0, 0), (0, key.basis.width - len(key.kept))))
            if len(forms):
                found[subspace.holds or subspace.name] = orthonormal(forms @ key.basis.inverse)
        elif subspace.width:
            found[subspace.holds or subspace.name] = orthonormal(key.basis.matrix[:, layout[subspace.name]].T)
    return found


def orthonormal(vectors: Dyadic) -> Dyadic:
    """Return an orthonormal basis of the span of `vectors`, (n, width): (dimensions, width), whatever their lengths."""
    if not vectors.size or not np.abs(vectors).max():
        return np.zeros((0, vectors.shape[1] if vectors.ndim == 2 else 0))
    given = np.asarray(vectors, dtype=np.float64)[np.abs(vectors).max(axis=1) > 0]
    given = given / np.abs(given).max(axis=1, keepdims=True)  # first, since squares may be too large or too small
    _, sizes, rows = np.linalg.svd(given / np.linalg.norm(given, axis=1, keepdims=True), full_matrices=False)
    basis: Dyadic = rows[sizes > sizes[0] * 1e-9]
    return basis
