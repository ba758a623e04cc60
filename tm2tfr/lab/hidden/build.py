"""How a disguise is made: pads, decoys, mixed heads, permutations, and at last another basis.

Grade 1 permutes directions, heads and units, scales directions, units and the components of heads by powers of two, and
takes all names away. Grade 2 turns the basis too, mixes the components of every head, and gives uniform heads queries and
keys. Grade 3 adds decoys, and makes the heads of a model alike in sizes, in how many entries are 0, and in norms.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.decoys import Decoys
from tm2tfr.lab.hidden.dyadic import BLOCK, Dyadic, Turn, padded, product, rounds_for
from tm2tfr.lab.hidden.key import LayerKey, TurnedBasis, UnitKey
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit, turned, widened
from tm2tfr.transformer.weights import Decoder

# ── Values rounded on the way: a linear layer that floats use to get rid of noise, and that changes nothing in exact
# numbers.
#
# Units that read 1/(i+1), or a mean, answer bits that are off by what their sums were rounded by. In the original, two
# units cancel to exactly 0 or 1; in a turned basis their products round, and equal scores would no longer be equal. So
# what such units write waits in a direction of its own, a *copy*, and the next layer adds it to where it belongs by
#
# ReLU(y + C) - ReLU(-y - C) - C = y,
#
# which holds for every number y. In floats, y + C is a multiple of C·2^-52: with C = 2^16, of 2^-36, and what is less is
# gone; in float32 of 2^-7. A larger C would remove more noise in float64, but leave float32 no digits for a bit: its
# multiples in the turned basis have up to 5 bits behind the point, so that C = 2^19 is the most. A second pair empties the
# copy, if it is used again.
CENTRE = 2.0**16
"""C."""


def rounding_layer(width: int, moved: dict[int, int], again: Collection[int]) -> WideLayer:
    """Return the layer that adds each copy to the direction that it belongs to.

    Args:
        moved: direction -> its copy.
        again: the copies that are used again, which it empties.
    """
    units: list[WideUnit] = []
    offset = np.zeros(width)
    for direction, copy in moved.items():
        adding, emptying = (CENTRE, direction, 1.0), (0.0, copy, -1.0)
        for centre, target, factor in (adding, emptying) if copy in again else (adding,):
            number = len(units) // 2
            for side in (1.0, -1.0):
                reads, writes = np.zeros(width), np.zeros(width)
                reads[copy], writes[target] = side, factor * side
                units.append(WideUnit(None, reads, side * centre, writes, pair=number))
        offset[direction] -= CENTRE
    return WideLayer(None, [], units, offset)


MOST_ROUNDS = 5
"""Of Hadamard blocks: more would only take digits."""
HEAD_ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Built:
    """The result: the hidden weights in their stream, and the entries of their key."""

    wide: Wide
    room: Room
    basis: TurnedBasis
    layers: tuple[LayerKey, ...]


def built(decoder: Decoder, seen: Profile, grade: int, chance: random.Random, *, rounds: int = MOST_ROUNDS) -> Built:
    """Return the disguise of a decoder.

    Args:
        seen: what its numbers look like.
        grade: 1, 2 or 3.
        chance: all that is drawn.
        rounds: of Hadamard blocks at most; each takes digits.

    Raises:
        ShapeError: if a weight would need more digits than a float64 has.
    """
    room = Room.of(decoder, seen, grade)
    wide = widened(decoder, room.width)
    for pad in room.constants:
        wide.token[pad] = 1.0
    if room.constants and wide.bias.any():
        wide.unembedding[:, room.constants[0]] += wide.bias
        wide.bias = np.zeros_like(wide.bias)
    wide.layers = list(_rounded(wide.layers, decoder, seen, room))
    if grade == 3:
        Decoys(wide, room, seen, decoder, chance).add()
    elif room.constants:
        for layer in wide.layers:
            for head in layer.heads:
                _keyed(head, room, chance)
    for layer in wide.layers:
        _shuffled(layer, chance, scale=not decoder.normed)
        for head in layer.heads:
            _mixed(head, room, grade, chance, rounds)
    if decoder.normed and grade > 1:
        basis = _centred_basis(decoder, chance, rounds)
    else:
        basis = _basis(room, grade, chance, scale=not decoder.normed)
    keys = tuple(map(_key_of, wide.layers))
    return Built(turned(wide, basis.matrix, basis.inverse), room, basis, keys)


def _key_of(layer: WideLayer) -> LayerKey:
    units = None
    if layer.units is not None:
        units = tuple(UnitKey(unit.of, unit.scale, unit.pair) for unit in layer.units)
    return LayerKey(layer.of, tuple(head.of for head in layer.heads), units, tuple(sorted(layer.moved.items())))


def _rounded(layers: Sequence[WideLayer], decoder: Decoder, seen: Profile, room: Room) -> Iterator[WideLayer]:
    """Yield the layers, and behind each the one that rounds what its units answer from numbers that are not exact."""
    for layer in layers:
        layer.moved = _moved(layer, decoder, seen, room)
    for number, layer in enumerate(layers, start=1):
        yield layer
        if layer.moved:
            again = {copy for later in layers[number:] for copy in later.moved.values()}
            yield rounding_layer(room.width, layer.moved, again)


def _moved(layer: WideLayer, decoder: Decoder, seen: Profile, room: Room) -> dict[int, int]:
    """Let units that read what is not exact write to copies, where they write to what is; return direction -> copy."""
    moved: dict[int, int] = {}
    for number in room.noisy_units(layer) if room.copies else ():
        unit = (layer.units or [])[number]
        for direction in np.flatnonzero(unit.writes[: decoder.layout.width]):
            if seen.exact[direction]:
                if int(direction) not in moved:
                    moved[int(direction)] = room.copies[len(moved)]
                copy = moved[int(direction)]
                unit.writes[copy], unit.writes[direction] = unit.writes[direction], 0.0
    return moved


def _keyed(head: WideHead, room: Room, chance: random.Random) -> None:
    """Give a head whose scores are all 0 a query, and keys that read only a constant."""
    if head.scores:
        return
    size = max(2, len(head.query))
    query, key = np.zeros((size, room.width)), np.zeros((size, room.width))
    for component in range(size):
        for direction in chance.sample(room.bounded, min(3, len(room.bounded))):
            query[component, direction] = chance.choice((-2.0, -1.0, 1.0, 2.0))
        key[component, chance.choice(room.constants)] = chance.choice((-1.0, 1.0))
    head.query, head.key = query, key


def _shuffled(layer: WideLayer, chance: random.Random, *, scale: bool) -> None:
    """Permute the heads and the units of a layer, and scale the units by powers of two."""
    chance.shuffle(layer.heads)
    if layer.units is None:
        return
    chance.shuffle(layer.units)
    of_pair: dict[int, float] = {}
    for unit in layer.units:
        factor = 2.0 ** chance.randint(-2, 2) if scale else 1.0
        if unit.pair is not None:
            factor = of_pair.setdefault(unit.pair, factor)
        unit.reads, unit.bias, unit.writes = unit.reads * factor, unit.bias * factor, unit.writes / factor
        unit.scale *= factor


def _mixed(head: WideHead, room: Room, grade: int, chance: random.Random, rounds: int) -> None:
    """Change the components of queries and keys, and of values and outputs, by invertible maps: what they mean stays.

    Components that write to directions which floats hold exactly are mixed among themselves, so that these stay exact.
    """
    head.query, head.key = _pair(head.query, head.key, grade, chance, rounds)
    value, output = head.value, head.output.T
    exactly = [c for c in range(len(value)) if output[c][list(room.exact)].any()]
    loosely = [c for c in range(len(value)) if c not in exactly]
    if grade == 1 or not room.apart:
        exactly, loosely = list(range(len(value))), []
    parts = [_pair(value[part], output[part], grade, chance, rounds) for part in (exactly, loosely) if part]
    head.value = np.concatenate([left for left, _ in parts]) if parts else value
    head.output = (np.concatenate([right for _, right in parts]) if parts else output).T


def _pair(left: Dyadic, right: Dyadic, grade: int, chance: random.Random, rounds: int) -> tuple[Dyadic, Dyadic]:
    """Return two lists of linear forms, changed by A and by the inverse of its transpose: leftᵀ·right is the same."""
    size = len(left)
    if not size:
        return left, right
    if grade == 1:
        order = chance.sample(range(size), size)
        factors = np.array([2.0 ** chance.randint(-1, 1) for _ in order])[:, None]
        return left[order] * factors, right[order] / factors
    full = padded(size)
    turn = Turn.drawn(full, min(HEAD_ROUNDS, rounds), chance).matrix
    factor = 2.0 ** chance.randint(-1, 1)
    left, right = (np.pad(forms, ((0, full - size), (0, 0))) for forms in (left, right))
    return product(turn, left) * factor, product(turn, right) / factor


def _centred_basis(decoder: Decoder, chance: random.Random, rounds: int) -> TurnedBasis:
    """Return a basis that layer norms do not notice: it keeps means, and mixes only coordinates of the same gains."""
    blocks: list[tuple[tuple[int, ...], Turn]] = []
    for group in alike_in_norms(decoder):
        drawn = chance.sample(group, len(group))
        turned_together = len(drawn) // BLOCK * BLOCK
        if turned_together:
            turn = Turn.drawn(turned_together, min(rounds, rounds_for(turned_together)), chance, centred=True)
            blocks.append((tuple(sorted(drawn[:turned_together])), turn))
        if rest := tuple(sorted(drawn[turned_together:])):
            blocks.append((rest, Turn(0, ())))
    width = decoder.layout.width
    return TurnedBasis(tuple(blocks), tuple(chance.sample(range(width), width)), (1.0,) * width)


def alike_in_norms(decoder: Decoder) -> list[list[int]]:
    """Return the directions in groups whose gain is the same in each layer norm."""
    norms = [norm for layer in decoder.layers for norm in (layer.attention_norm, layer.feed_forward_norm)]
    gains = [norm.gain.dense()[:, 0] for norm in (*norms, decoder.norm) if norm is not None]
    groups: dict[tuple[float, ...], list[int]] = {}
    for direction, gain in enumerate(np.array(gains).T.tolist()):
        groups.setdefault(tuple(gain), []).append(direction)
    return list(groups.values())


def _basis(room: Room, grade: int, chance: random.Random, *, scale: bool) -> TurnedBasis:
    order = tuple(chance.sample(range(room.width), room.width))
    if grade == 1:
        scales = tuple(2.0 ** chance.randint(-2, 2) if scale else 1.0 for _ in order)
        return TurnedBasis(((tuple(range(room.width)), Turn(0, ())),), order, scales)
    blocks: Sequence[tuple[int, ...]] = [block for block in (room.exact, room.loose) if block]
    turns = [Turn.drawn(len(block), min(MOST_ROUNDS, rounds_for(len(block))), chance) for block in blocks]
    return TurnedBasis(tuple(zip(blocks, turns, strict=True)), order, (1.0,) * room.width)
