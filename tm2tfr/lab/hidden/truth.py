"""What there is to find in hidden weights: the role of every head, what does nothing, and where each variable is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tm2tfr.lab.hidden.dead_code import DeadCode
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.key import Key
from tm2tfr.lab.hidden.narrow import variables
from tm2tfr.transformer.weights import Head

NOTHING = "nothing"
"""The role of a decoy head: all of them can be taken out together, and the answers stay."""


@dataclass(frozen=True)
class HiddenTruth:
    """The truth about hidden weights.

    Args:
        width: the dimension of the stream.
        heads: path of each head, ``layers.3.heads.0`` -> its role, what its claim says that it attends to; or `NOTHING`.
        called: role -> what heads with it were called.
        layers: the numbers of the layers that do nothing, from 1.
        units: the paths of the units that do nothing, ``layers.3.units.0``.
        layer_count, unit_paths: of those that a claim may be about, how many and which.
        subspaces: variable -> an orthonormal basis of where it is in the stream: (dimensions, width).
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
            heads[f"layers.{number}.heads.{k}"] = role = NOTHING if found is None else role_of(found)
            called[role] = "" if found is None else found.name
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
        subspaces=_subspaces(key),
        dead=key.dead,
    )


def role_of(head: Head) -> str:
    """Return the role of a head in words: the positions that it attends to, by its claim; without one, its name."""
    return head.claim.attends if head.claim is not None and head.claim.attends else head.name


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
    """Return an orthonormal basis of what `vectors`, (n, width), span: (dimensions, width); their lengths do not count."""
    if not vectors.size or not np.abs(vectors).max():
        return np.zeros((0, vectors.shape[1] if vectors.ndim == 2 else 0))
    given = np.asarray(vectors, dtype=np.float64)[np.abs(vectors).max(axis=1) > 0]
    given = given / np.abs(given).max(axis=1, keepdims=True)  # first, since squares may be too large or too small
    _, sizes, rows = np.linalg.svd(given / np.linalg.norm(given, axis=1, keepdims=True), full_matrices=False)
    basis: Dyadic = rows[sizes > sizes[0] * 1e-9]
    return basis
