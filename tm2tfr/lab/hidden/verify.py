"""The proof that hidden weights are the original's under a key: rational arithmetic, all inputs, every length.

The hidden stream x is turned back, y = T⁻¹x, which is checked to be inverse exactly. Claim: at every position, after every
layer, the first directions of y are the original's stream, the constants are 1, and the copies are 0 but for what is about
to be rounded, and for what is left in those that are not used again. By induction over the layers, from equalities of
matrices in the basis of y, each of them checked exactly:

- *Embedding*: the rows of the original's directions are the original's; a constant gets 1 from every token and nothing
  else; copies get nothing.
- *Heads of the original*: QᵀK is the original's, but in columns of constants: there it adds the same to all scores of a
  position, which changes no maximum and no softmax. OV has the original's rows, and none of constants and copies.
- *Decoy heads*: OV has no rows of the original's directions, of constants, or of copies; or they come in groups with the
  same QᵀK but in columns of constants, the same mask and weighting, so that they attend alike, and the sum of OV has none.
  None has softmax, or looks ahead, where no head of the original does.
- *Layer norms*: the original's, which allow a basis that keeps means and mixes directions of the same gains alone; added
  layers have none.
- *Units of the original* read the original's form times a power of two s, and write what the original's does, divided by
  s, partly to copies. Others write to nothing that counts; or are silent, since the interval of what they read
  (`tm2tfr.lab.hidden.bounds`) ends at 0 or below; or come in groups that read the same form times powers of two, and whose
  writes, times these, have the sum 0; or come as pairs ReLU(a) - ReLU(-a) = a, whose sum, a linear map, is exactly what
  empties the copies into what they are of.
- *Unembedding*: the original's, with what it reads off constants added to its bias.

Where the stream was compressed (`tm2tfr.lab.hidden.narrow`), which layer norms exclude, the original is first written in
the dimensions that the key keeps; its forms are checked to give all that is read, for whatever can be written.

Nothing else is read by anything that counts, so the logits are the original's, as rational numbers, for every input. Where
tokens and outputs are renamed, they have their own names again before this begins; their order, which decides between equal
logits, was another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tm2tfr.base.errors import ShapeError
from tm2tfr.lab.hidden.bounds import silent_units
from tm2tfr.lab.hidden.build import alike_in_norms
from tm2tfr.lab.hidden.dyadic import Dyadic, added, exponent_of, is_orthogonal, product, shifted, total
from tm2tfr.lab.hidden.key import Key, LayerKey, TurnedBasis, UnitKey, hidden_digest
from tm2tfr.lab.hidden.renaming import restored
from tm2tfr.lab.hidden.wide import Wide, WideHead, WideLayer, WideUnit, turned, widened
from tm2tfr.transformer.weights import Decoder, Layer


@dataclass(frozen=True)
class Proved:
    """The result of a verification.

    Args:
        refusals: what is not as the key says, each with its place; none: it is proved.
        checked: how many equalities of matrices were checked.
    """

    refusals: tuple[str, ...]
    checked: int

    @property
    def proved(self) -> bool:
        """Whether the hidden weights are the original's."""
        return not self.refusals


def verified(hidden: Decoder, key: Key) -> Proved:
    """Return whether `hidden` is the original of `key`, for every input, in exact arithmetic, and the key is its own."""
    if hidden_digest(hidden) != key.digest:
        return Proved(("these are not the weights that this key was made with: their digests differ",), 1)
    return proof_of(hidden, key)


def proof_of(hidden: Decoder, key: Key) -> Proved:
    """Return whether `hidden` is the original of `key`, for every input, in exact arithmetic, whatever its digest is."""
    try:
        found = _Checks(hidden, key)
        return Proved(tuple(found.refusals()), found.checked)
    except ShapeError as error:
        return Proved((f"the key does not fit these weights: {error}",), 0)


class _Checks:
    """The checks, in the order of the computation."""

    def __init__(self, hidden: Decoder, key: Key) -> None:
        self._key, self._original = key, key.narrow
        self._hidden = restored(hidden, key.tokens, key.outputs, key.original) if key.tokens else hidden
        self._own = self._original.layout.width
        self._left: set[int] = set()
        self._silent: list[frozenset[int]] = []
        self.checked = 0

    def refusals(self) -> Iterator[str]:
        """Yield what is wrong; what depends on it is not looked at."""
        first = [*self._outside(), *self._basis(self._key.basis)]
        if first:
            yield from first
            return
        basis = self._key.basis
        wide = turned(widened(self._hidden, basis.width), basis.inverse, basis.matrix)
        right = widened(self._original, basis.width)
        yield from self._embedding(wide, right)
        self._silent = silent_units(wide, self._hidden.features)
        yield from self._layers(wide.layers, right.layers)
        yield from self._unembedding(wide, right)
        yield from self._kinds()

    def _same(self, what: str, found: Dyadic, wanted: Dyadic) -> Iterator[str]:
        self.checked += 1
        if found.shape != wanted.shape:
            yield f"{what}: its shape is {found.shape}, and should be {wanted.shape}"
        elif not np.array_equal(found, wanted):
            place = tuple(int(n) for n in np.argwhere(found != wanted)[0])
            yield f"{what}: entry {place} is {found[place]:g}, and should be {wanted[place]:g}"

    # ── beside the matrices ─────────────────────────────────────────────────────────────────────────────────
    def _outside(self) -> Iterator[str]:
        """Tokens, outputs, position features; and whether the key is about as many layers, heads and units."""
        hidden, right = self._hidden, self._original
        pairs: list[tuple[str, object, object]] = [
            ("vocabulary", hidden.vocabulary, right.vocabulary),
            ("BOS", hidden.bos, right.bos),
            ("stop tokens", hidden.stop, right.stop),
            ("position features", hidden.features, right.features),
            ("outputs", hidden.outputs, right.outputs),
            ("number of positions", hidden.positions, right.positions),
            ("width", hidden.layout.width, self._key.basis.width),
            ("number of layers", len(hidden.layers), len(self._key.layers)),
        ]
        yield from self._equal(pairs)
        if hidden.normed or right.normed:
            yield from self._norms()
        used = [layer.of for layer in self._key.layers if layer.of is not None]
        if used != list(range(len(right.layers))):
            yield "layers: the key does not have each layer of the original once, in their order"
        for number, (layer, said) in enumerate(zip(hidden.layers, self._key.layers, strict=False), start=1):
            yield from self._sizes(f"layer {number}", layer, said)

    def _equal(self, pairs: Iterable[tuple[str, object, object]]) -> Iterator[str]:
        for what, found, wanted in pairs:
            self.checked += 1
            if found != wanted:
                yield f"{what}: it is {found!r}, and should be {wanted!r}"

    def _kinds(self) -> Iterator[str]:
        """Heads are of the original's kinds, even decoys.

        If any head has softmax, all answers are rounded (`tm2tfr.engines.reading`); if any looks ahead, nothing can be
        generated.
        """
        hidden, right = self._hidden, self._original
        yield from self._equal(
            [
                ("whether any head uses softmax", hidden.soft, right.soft),
                ("whether any head looks ahead", hidden.looks_ahead, right.looks_ahead),
                ("whether a temperature depends on the position", (hidden.tempered, right.tempered), (False, False)),
            ]
        )

    def _sizes(self, where: str, layer: Layer, said: LayerKey) -> Iterator[str]:
        units = None if layer.feed_forward is None else len(layer.feed_forward.units)
        told = None if said.units is None else len(said.units)
        if len(layer.heads) != len(said.heads) or units != told:
            has = f"{len(layer.heads)} heads and {units} units"
            yield f"{where}: it has {has}, and the key says {len(said.heads)} and {told}"
            return
        right = None if said.of is None else self._original.layers[said.of]
        heads = sorted(of for of in said.heads if of is not None)
        if heads != ([] if right is None else [(said.of, k) for k in range(len(right.heads))]):
            yield f"{where}: the key does not have each head of the original's layer once"
        due = () if right is None or right.feed_forward is None else range(len(right.feed_forward.units))
        if sorted(unit.of for unit in said.units or () if unit.of is not None) != list(due):
            yield f"{where}: the key does not have each unit of the original's layer once"

    def _norms(self) -> Iterator[str]:
        """Layer norms are kept by a basis at scale 1 that keeps means, and mixes only directions of the same gains.

        With an orthogonal T and T·1 = 1, mean and variance of T·y are those of y; and a gain g that is the same wherever T
        mixes is T·(g ⊙ y) = g ⊙ T·y.
        """
        basis, right = self._key.basis, self._original
        if basis.width != self._own or set(basis.scales) != {1.0}:
            yield "layer norms: they are kept only if the stream is neither widened nor scaled"
        alike = [set(group) for group in alike_in_norms(right)] if right.normed else []
        for rows, turn in basis.blocks:
            ones = np.ones((turn.size, 1))
            if turn.rounds and not np.array_equal(product(turn.matrix, ones), ones):
                yield "layer norms: the basis does not keep the mean"
            if turn.rounds and not any(group.issuperset(rows) for group in alike):
                yield "layer norms: the basis mixes directions of different gains"

    def _basis(self, basis: TurnedBasis) -> Iterator[str]:
        """T⁻¹·T = I; in it, Q·Qᵀ = I for every turn."""
        self.checked += 1
        if basis.width < self._own:
            yield f"basis: it has {basis.width} directions, fewer than the {self._own} that are hidden"
        for number, (_, turn) in enumerate(basis.blocks):
            if turn.rounds and not is_orthogonal(turn.matrix):
                yield f"basis: block {number} is not orthogonal"
        if not np.array_equal(product(basis.matrix, basis.inverse), np.eye(basis.width)):
            yield "basis: its inverse is not its inverse"
        beyond = [*self._key.constants, *self._key.copies]
        if len(set(beyond)) < len(beyond) or any(not self._own <= d < basis.width for d in beyond):
            yield "basis: constants and copies are directions beside those of the original, each once"

    # ── the stream ──────────────────────────────────────────────────────────────────────────────────────────
    def _embedding(self, wide: Wide, right: Wide) -> Iterator[str]:
        n, constants, copies = self._own, list(self._key.constants), list(self._key.copies)
        parts = [("token_embedding", wide.token, right.token), ("position_embedding", wide.position, right.position)]
        if wide.table is not None and right.table is not None:
            parts.append(("position_table", wide.table, right.table))
        for what, found, wanted in parts:
            yield from self._same(what, found[:n], wanted[:n])
            value = 1.0 if what == "token_embedding" else 0.0
            yield from self._same(f"{what}, constants", found[constants], np.full((len(constants), found.shape[1]), value))
            yield from self._same(f"{what}, copies", found[copies], np.zeros((len(copies), found.shape[1])))

    def _layers(self, found: Sequence[WideLayer], right: Sequence[WideLayer]) -> Iterator[str]:
        waiting: dict[int, int] = {}
        for number, (layer, said) in enumerate(zip(found, self._key.layers, strict=True), start=1):
            where, of = f"layers.{number}", said.of
            if of is not None and waiting:
                yield f"{where}: what was to be rounded before it was not"
            original = None if of is None else right[of]
            wrong = self._no_groups(said) or self._no_moves(said)
            if wrong:
                yield f"{where}: {wrong}"
                return
            together = {k for group in said.head_groups for k in group}
            for k, (head, place) in enumerate(zip(layer.heads, said.heads, strict=True)):
                own = None if place is None else right[place[0]].heads[place[1]]
                if k not in together:
                    yield from self._head(f"{where}.heads.{k}", head, own)
            for group in said.head_groups:
                yield from self._alike(f"{where}.heads {_listed(group)}", [layer.heads[k] for k in group])
            for group in said.unit_groups:
                yield from self._cancel(f"{where}.feed_forward, units {_listed(group)}", layer, said, group)
            yield from self._same_norms(where, layer, original)
            if original is not None:
                waiting = dict(said.moved)
                yield from self._units(where, layer, said, original, waiting, self._silent[number - 1])
            else:
                yield from self._linear(where, layer, said, waiting, self._silent[number - 1])
                waiting = {} if any(unit.pair is not None for unit in said.units or ()) else waiting
        if waiting:
            yield "layers: what was to be rounded at the end was not"

    def _no_groups(self, said: LayerKey) -> str:
        """Return what is wrong with the groups of a key; nothing if decoys are in them, each in one at most."""
        units = said.units or ()
        for groups, free in (
            (said.head_groups, [place is None for place in said.heads]),
            (said.unit_groups, [unit.of is None and unit.pair is None for unit in units]),
        ):
            every = [number for group in groups for number in group]
            if len(set(every)) < len(every) or any(not 0 <= number < len(free) or not free[number] for number in every):
                return "the key has a part in a group of decoys that is not a decoy, or is in two groups"
            if not all(groups):
                return "the key has an empty group of decoys"
        return ""

    def _no_moves(self, said: LayerKey) -> str:
        """Return an error message about the directions that a key moves, or an empty text if they may be moved so."""
        moved, copies = dict(said.moved), {copy for _, copy in said.moved}
        if said.of is None and moved:
            return "the key moves something in a layer that is not the original's"
        if len(moved) < len(said.moved) or not set(moved) <= set(range(self._own)):
            return "the key moves a direction that the original does not have, or one direction twice"
        if len(copies) < len(moved) or not copies <= set(self._key.copies):
            return "the key moves to copies that there are not, or twice to one"
        return "the key moves to a copy that was not emptied" if self._left & copies else ""

    def _alike(self, where: str, heads: Sequence[WideHead]) -> Iterator[str]:
        """Heads that attend alike, and whose outputs times values have the sum 0 where anything counts."""
        counts, first = self._counting(), heads[0]
        rest = [d for d in range(self._key.basis.width) if d not in set(self._key.constants)]
        due = product(first.query.T, first.key)[:, rest]
        for head in heads[1:]:
            if (head.mask, head.soft) != (first.mask, first.soft):
                yield f"{where}: their masks or weightings are not the same"
            yield from self._same(f"{where}, query · key", product(head.query.T, head.key)[:, rest], due)
        carried = product(np.hstack([h.output for h in heads]), np.vstack([h.value for h in heads]))
        yield from self._same(f"{where}, sum of output · value", carried[counts], np.zeros((len(counts), carried.shape[1])))

    def _cancel(self, where: str, layer: WideLayer, said: LayerKey, group: Sequence[int]) -> Iterator[str]:
        """Units that are the same but for their scales, and whose writes have the sum 0 where anything counts."""
        counts = self._counting()
        units = [(layer.units or [])[u] for u in group]
        scales = np.array([(said.units or ())[u].scale for u in group])
        powers = [n for n in map(exponent_of, scales) if n is not None]
        if len(powers) < len(scales):
            yield f"{where}: their scales are not powers of two"
            return
        due = shifted(self._read(units[0]), -powers[0])
        for unit, power in zip(units[1:], powers[1:], strict=True):
            yield from self._same(f"{where}, reads", shifted(self._read(unit), -power), due)
        written = product(scales[None, :], np.array([unit.writes for unit in units]))[0]
        yield from self._same(f"{where}, sum of writes", written[counts], np.zeros(len(counts)))

    def _same_norms(self, where: str, layer: WideLayer, original: WideLayer | None) -> Iterator[str]:
        """A layer that is not in the original has none: it could divide by 0."""
        for name in ("attention_norm", "feed_forward_norm"):
            if getattr(layer, name) != getattr(original, name, None):
                yield f"{where}.{name}: it is not the original's"

    def _head(self, where: str, head: WideHead, own: WideHead | None) -> Iterator[str]:
        counts = self._counting()
        carried = product(head.output, head.value)
        if own is None:
            none = np.zeros((len(counts), carried.shape[1]))
            return (yield from self._same(f"{where}, output · value", carried[counts], none))
        if (head.mask, head.soft) != (own.mask, own.soft):
            yield f"{where}: its mask or its weighting is not the original's"
        wanted = product(own.output, own.value)
        yield from self._same(f"{where}, output · value", carried[counts], wanted[counts])
        scores, due = product(head.query.T, head.key), product(own.query.T, own.key)
        rest = [d for d in range(scores.shape[1]) if d not in set(self._key.constants)]
        yield from self._same(f"{where}, query · key", scores[:, rest], due[:, rest])

    def _counting(self) -> list[int]:
        """The directions in which something counts: the original's, constants, copies."""
        return [*range(self._own), *self._key.constants, *self._key.copies]

    def _units(
        self,
        where: str,
        layer: WideLayer,
        said: LayerKey,
        original: WideLayer,
        moved: dict[int, int],
        silent: frozenset[int],
    ) -> Iterator[str]:
        counts, copies = self._counting(), list(self._key.copies)
        place, units = f"{where}.feed_forward", original.units or []
        together = {u for group in said.unit_groups for u in group}
        for u, (unit, told) in enumerate(zip(layer.units or [], said.units or (), strict=True)):
            what = f"{place}, unit {u}"
            if u in together:
                continue
            if told.of is None:
                if u not in silent:
                    yield from self._same(f"{what}, writes", unit.writes[counts], np.zeros(len(counts)))
                continue
            own, power = units[told.of], exponent_of(told.scale)
            if power is None:
                yield f"{what}: its scale {told.scale:g} is not a power of two"
                continue
            yield from self._same(f"{what}, reads", self._read(unit), shifted(np.append(own.reads, own.bias), power))
            gathered = unit.writes.copy()
            for direction, copy in moved.items():
                gathered[direction] = added(gathered[direction], gathered[copy])
                gathered[copy] = 0.0
            yield from self._same(f"{what}, writes", gathered[counts], shifted(own.writes, -power)[counts])
        offset = layer.offset.copy()
        yield from self._same(f"{place}, output_bias", offset[counts], original.offset[counts])
        yield from self._same(f"{place}, output_bias of copies", offset[copies], np.zeros(len(copies)))

    def _read(self, unit: WideUnit) -> Dyadic:
        """Return what a unit reads, and its bias behind it, with what it reads off constants."""
        constants = list(self._key.constants)
        reads = unit.reads.copy()
        bias = total(np.append(reads[constants], unit.bias)[None, :])[0]
        reads[constants] = 0.0
        return np.append(reads, bias)

    def _linear(
        self, where: str, layer: WideLayer, said: LayerKey, waiting: dict[int, int], silent: frozenset[int]
    ) -> Iterator[str]:
        """A layer that is not in the original: its pairs of units are a linear map, which empties the copies."""
        counts, place, width = self._counting(), f"{where}.feed_forward", self._key.basis.width
        sides: dict[int, list[tuple[WideUnit, UnitKey]]] = {}
        together = {u for group in said.unit_groups for u in group}
        for u, (unit, told) in enumerate(zip(layer.units or [], said.units or (), strict=True)):
            if told.pair is not None:
                sides.setdefault(told.pair, []).append((unit, told))
            elif u not in together and u not in silent:
                yield from self._same(f"{place}, unit {u}, writes", unit.writes[counts], np.zeros(len(counts)))
        # one product of matrices, whose last column is what is always added
        writes, reads = [layer.offset], [np.eye(width + 1)[width]]
        for pair, both in sides.items():
            if len(both) != 2:
                yield f"{place}: the key has {len(both)} units in pair {pair}, and not 2"
                return
            (one, _), (other, _) = both
            for what, a, b in (("reads", self._read(one), self._read(other)), ("writes", one.writes, other.writes)):
                yield from self._same(f"{place}, pair {pair}, {what}", a, -b)
            writes.append(one.writes)
            reads.append(self._read(one))
        done = product(np.array(writes).T, np.array(reads))
        wanted = np.zeros_like(done)
        if sides:
            for direction, copy in waiting.items():
                wanted[direction, copy] = 1.0
                if done[copy].any():
                    wanted[copy, copy] = -1.0
                else:
                    self._left.add(copy)
        yield from self._same(f"{place}, all pairs", done[counts], wanted[counts])

    def _unembedding(self, wide: Wide, right: Wide) -> Iterator[str]:
        constants = list(self._key.constants)
        found = wide.unembedding.copy()
        bias = total(np.column_stack([wide.bias, found[:, constants]]))
        found[:, constants] = 0.0
        yield from self._same("unembedding", found, right.unembedding)
        yield from self._same("unembedding_bias", bias, right.bias)
        if wide.norm != right.norm:
            yield "norm: it is not the original's"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
