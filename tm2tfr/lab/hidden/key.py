"""The key of a disguise: which original, in which basis, and what became of each head, unit and layer. JSON, in one file.

Layers count from 1 and heads and units from 0, as in the paths of weights: ``layers.3.heads.0``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tm2tfr.base.errors import DisguiseError, ShapeError, Tm2tfrError
from tm2tfr.base.files import write_text
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.hidden.dead_code import DeadCode
from tm2tfr.lab.hidden.dyadic import Dyadic, Turn
from tm2tfr.lab.hidden.narrow import Forms, narrowed
from tm2tfr.lab.hidden.words import neutral_roles, neutral_variables
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, digest

FORMAT, VERSION = "tm2tfr-key", "1"
MOST_BYTES = 2**28
"""The largest key that is read."""
_INFLATED = 2**30


@dataclass(frozen=True)
class TurnedBasis:
    """How the stream is turned: x = matrix · y, y the original's stream with what was added to it.

    Args:
        blocks: the coordinates of y that are turned together, and the turn; together they are all coordinates.
        order: coordinate k of x is entry order[k] of the blocks, one after the other.
        scales: and it is multiplied by scales[k], a power of two.

    Raises:
        ShapeError: if these do not fit together.
    """

    blocks: tuple[tuple[tuple[int, ...], Turn], ...]
    order: tuple[int, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        every = sorted(row for rows, _ in self.blocks for row in rows)
        if every != list(range(len(self.order))) or sorted(self.order) != every or len(self.scales) != len(every):
            raise ShapeError("the blocks, the order and the scales of a basis are about the same coordinates, each once")
        if any(len(rows) != turn.size and turn.rounds for rows, turn in self.blocks):
            raise ShapeError("each block of a basis has as many coordinates as its turn")
        if any(not 0 < scale < np.inf or np.frexp(scale)[0] != 0.5 for scale in self.scales):
            raise ShapeError("the scales of a basis are powers of two")

    @property
    def width(self) -> int:
        """The dimension of the stream."""
        return len(self.order)

    @cached_property
    def matrix(self) -> Dyadic:
        """(width, width), y → x."""
        found: Dyadic = self._stacked()[list(self.order)] * np.array(self.scales)[:, None]
        return found

    @cached_property
    def inverse(self) -> Dyadic:
        """(width, width), x → y."""
        found: Dyadic = (self._stacked()[list(self.order)] / np.array(self.scales)[:, None]).T
        return found

    def _stacked(self) -> Dyadic:
        found, start = np.zeros((self.width, self.width)), 0
        for rows, turn in self.blocks:
            block = turn.matrix if turn.rounds else np.eye(len(rows))
            found[start : start + len(rows), list(rows)] = block
            start += len(rows)
        return found


@dataclass(frozen=True)
class UnitKey:
    """What a unit is, see `tm2tfr.lab.hidden.wide.WideUnit`."""

    of: int | None
    scale: float = 1.0
    pair: int | None = None


@dataclass(frozen=True)
class LayerKey:
    """What a layer is.

    Args:
        of: the layer of the original, from 0; None: none.
        heads: (layer, head) of each, from 0; None of a decoy.
        units: what they are; None: there is no feed-forward part.
        moved: (direction, copy) of what is to be rounded in the next layer.
        head_groups, unit_groups: the numbers of decoys whose sum is 0, together.
    """

    of: int | None
    heads: tuple[tuple[int, int] | None, ...]
    units: tuple[UnitKey, ...] | None
    moved: tuple[tuple[int, int], ...] = ()
    head_groups: tuple[tuple[int, ...], ...] = ()
    unit_groups: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Key:
    """What opens a disguise.

    Args:
        name: what the original is called.
        grade, seed: how it was disguised.
        digest: that of the hidden weights.
        original: the weights that are hidden.
        basis: how the stream is turned.
        constants, copies: coordinates of y, see `tm2tfr.lab.hidden.wide`.
        layers: one for each layer of the hidden weights.
        tokens: token of the original -> its name in the hidden weights, where tokens are renamed; otherwise empty.
        outputs: those of the original, with their names and labels in the hidden weights, where tokens are renamed;
            otherwise empty.
        equal: how far the two were compared in floats, as plain data.
        dead: what of the hidden weights is dead code; None: nobody looked.
        kept: the sums of the original's directions that are kept, for fewer dimensions; empty: all directions.
    """

    name: str
    grade: int
    seed: int
    digest: str
    original: Decoder
    basis: TurnedBasis
    constants: tuple[int, ...]
    copies: tuple[int, ...]
    layers: tuple[LayerKey, ...]
    tokens: Mapping[str, str]
    equal: PlainData
    dead: DeadCode | None = None
    kept: Forms = ()
    outputs: tuple[Output, ...] = ()

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """Role of the original -> its word in claims, where outputs are renamed; otherwise empty: it is called as it is."""
        return neutral_roles(self.original) if self.outputs else {}

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """Variable of the original -> its word in claims, if that is another one: where outputs are renamed."""
        return neutral_variables(self.original) if self.outputs else {}

    @cached_property
    def narrow(self) -> Decoder:
        """The original in the dimensions that are kept: what was hidden. Raises ShapeError if it is not the same."""
        return narrowed(self.original, self.kept) if self.kept else self.original

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        packed = base64.b64encode(zlib.compress(dumps(self.original), 9)).decode("ascii")
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "grade": self.grade,
            "seed": self.seed,
            "digest": self.digest,
            "equal": dict(self.equal),
            "tokens": dict(self.tokens),
            **({"outputs": [[each.name, each.labels, each.whole] for each in self.outputs]} if self.outputs else {}),
            **({"words": {"roles": dict(self.roles), "variables": dict(self.variables)}} if self.outputs else {}),
            "dead": None if self.dead is None else self.dead.as_dict(),
            "layers": [_layer_as_dict(layer) for layer in self.layers],
            "basis": {
                "blocks": [
                    {
                        "coordinates": list(rows),
                        "rounds": [[list(order), list(signs)] for order, signs in turn.rounds],
                        **({"centred": True} if turn.centred else {}),
                    }
                    for rows, turn in self.basis.blocks
                ],
                "order": list(self.basis.order),
                "scales": list(self.basis.scales),
                "constants": list(self.constants),
                "copies": list(self.copies),
            },
            **({"kept": [[list(entry) for entry in form] for form in self.kept]} if self.kept else {}),
            "original": packed,
        }

    def text(self) -> str:
        """Return it as JSON, always the same."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=None, separators=(",", ":")) + "\n"

    def save(self, path: str | Path) -> None:
        """Write it to a file. Raises OutputError if that cannot be written."""
        write_text(path, self.text())


def _layer_as_dict(layer: LayerKey) -> dict[str, object]:
    heads = [None if of is None else f"layers.{of[0] + 1}.heads.{of[1]}" for of in layer.heads]
    units = None if layer.units is None else [[unit.of, unit.scale, unit.pair] for unit in layer.units]
    own: dict[str, object] = {"of": None if layer.of is None else layer.of + 1, "heads": heads, "units": units}
    lists = {"moved": layer.moved, "head_groups": layer.head_groups, "unit_groups": layer.unit_groups}
    return {**own, **{name: [list(each) for each in found] for name, found in lists.items() if found}}


def load_key(path: str | Path) -> Key:
    """Return the key in a file.

    Raises:
        DisguiseError: if it cannot be read, is not a key, or is damaged.
    """
    return of_dict(load_document(path), str(path))


def load_document(path: str | Path) -> object:
    """Return the JSON of a key's file. Raises DisguiseError if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why, remedy = getattr(error, "strerror", None) or str(error), "name a key made by 'tm2tfr disguise'"
        if isinstance(error, OSError) and (first := Path(path, "keys", "01.json")).is_file():
            why, remedy = "it is a folder", f"for one claim name {first}"
        raise DisguiseError(f"{path}: it cannot be read ({why}): {remedy}") from error
    if len(data) > MOST_BYTES:
        raise DisguiseError(f"{path}: it has more than {MOST_BYTES:,} bytes: name a key made by 'tm2tfr disguise'")
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DisguiseError(f"{path}: it is not JSON ({error}): name a key made by 'tm2tfr disguise'") from error
    return found


def of_dict(found: object, file: str = "<key>") -> Key:
    """Return a key from plain data; file: its name in errors.

    Raises:
        DisguiseError: if it is not a key, or is damaged.
    """
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DisguiseError(f"{file}: it is not a key of hidden weights: name one made by 'tm2tfr disguise'")
    if found.get("version") != VERSION:
        what = f"{file}: it is a key of version {found.get('version')!r}, and this tm2tfr reads version {VERSION}"
        raise DisguiseError(f"{what}: make it again")
    try:
        basis = found["basis"]
        blocks = tuple((_wholes(block["coordinates"]), _turn(block)) for block in basis["blocks"])
        return _placed(
            Key(
                name=str(found["name"]),
                grade=int(found["grade"]),
                seed=int(found["seed"]),
                digest=str(found["digest"]),
                original=unpacked(found["original"], file),
                basis=TurnedBasis(blocks, _wholes(basis["order"]), tuple(map(float, basis["scales"]))),
                constants=_wholes(basis["constants"]),
                copies=_wholes(basis["copies"]),
                layers=tuple(map(_layer_of, found["layers"])),
                tokens={str(a): str(b) for a, b in found["tokens"].items()},
                equal=dict(found["equal"]),
                dead=None if found.get("dead") is None else DeadCode.from_dict(found["dead"]),
                kept=tuple(tuple((int(row), float(entry)) for row, entry in form) for form in found.get("kept", ())),
                outputs=tuple(map(_output_of, found.get("outputs", ()))),
            )
        )
    except DisguiseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, Tm2tfrError) as error:
        said = f"{type(error).__name__}: {error}"
        raise DisguiseError(f"{file}: this key is damaged ({said}): make it again with 'tm2tfr disguise'") from error


def _placed(key: Key) -> Key:
    """Return it; raise ShapeError if it names a layer, head or unit that the original does not have, or an empty group."""
    layers = key.original.layers
    for number, layer in enumerate(key.layers, start=1):
        where, own = f"layer {number} of the key", layer.of
        if own is not None and own not in range(len(layers)):
            raise ShapeError(f"{where} is layer {own + 1} of the original, which has {len(layers)}")
        for at, head in (place for place in layer.heads if place is not None):
            if at not in range(len(layers)) or head not in range(len(layers[at].heads)):
                raise ShapeError(f"{where} has the head layers.{at + 1}.heads.{head}, which the original does not have")
        part = None if own is None else layers[own].feed_forward
        most = 0 if part is None else len(part.units)
        for unit in (unit.of for unit in layer.units or () if unit.of is not None):
            if unit not in range(most):
                raise ShapeError(f"{where} has unit {unit}, and that of the original has {most} units")
        if not all((*layer.head_groups, *layer.unit_groups)):
            raise ShapeError(f"{where} has an empty group")
    return key


def _wholes(items: object) -> tuple[int, ...]:
    if not isinstance(items, list) or any(type(item) is not int for item in items):
        raise TypeError("expected a list of whole numbers")
    return tuple(items)


def _number(item: object) -> int | None:
    return None if item is None else _wholes([item])[0]


def _turn(block: PlainData) -> Turn:
    rounds = tuple((_wholes(order), _wholes(signs)) for order, signs in block["rounds"])
    return Turn(len(block["coordinates"]) if rounds else 0, rounds, block.get("centred") is True)


def _output_of(item: PlainData) -> Output:
    name, labels, whole = item
    return Output(str(name), None if labels is None else tuple(map(str, labels)), bool(whole))


def _layer_of(item: PlainData) -> LayerKey:
    units = item["units"]
    return LayerKey(
        of=None if item["of"] is None else int(item["of"]) - 1,
        heads=tuple(None if of is None else _place(of) for of in item["heads"]),
        units=None
        if units is None
        else tuple(UnitKey(_number(of), float(scale), _number(pair)) for of, scale, pair in units),
        moved=tuple((int(row), int(copy)) for row, copy in item.get("moved", ())),
        head_groups=tuple(map(_wholes, item.get("head_groups", ()))),
        unit_groups=tuple(map(_wholes, item.get("unit_groups", ()))),
    )


def _place(path: str) -> tuple[int, int]:
    word, layer, part, head = path.split(".")
    if (word, part) != ("layers", "heads"):
        raise ValueError(f"{path!r} is not the path of a head")
    return int(layer) - 1, int(head)


def unpacked(text: str, file: str) -> Decoder:
    """Return the original weights in a key; file: the name of the key in errors."""
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(text, validate=True), _INFLATED)
    except (binascii.Error, zlib.error) as error:
        raise DisguiseError(f"{file}: the original weights in this key are damaged ({error}): make it again") from error
    return loads(data, file=f"{file}, original")


def hidden_digest(decoder: Decoder) -> str:
    """Return the digest by which a key knows its weights; what it does not cover is compared by the proof."""
    return digest(decoder)
