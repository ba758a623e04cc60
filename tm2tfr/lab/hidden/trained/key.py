"""The key of trained weights: where each variable is, and how well the weights keep to that, as measured.

    {
      "format": "tm2tfr-key", "version": "1", "grade": 4, "name": "since-b", "seed": 7, "digest": "…",
      "recipe": {"seed": 7, "noise": 0.3, …},
      "measured": {"answers": [92, 92], "interchange": [998, 1000], "effective": […], "between": […], "rest": […],
                   "moved": 0.31},
      "variables": {"token": {"places": ["token"], "interchange": [310, 310], "alone": [215, 215]}, …},
      "places": {"token": {"layer": 0, "part": "embedding", "set": true, "labels": […], "basis": […], "scale": […],
                           "offset": […], "error": {"mean": 0.01, "largest": 0.05}}, …},
      "heads": {"layers.2.heads.0": "layers.2.heads.0"},
      "made_on": {…}, "original": "…"
    }

Layers count from 1, 0 for the embedding. A pair is how many are right, and of how many; alone: of interchanges of this
variable only that change an answer. A place that is not set belongs to no variable: no interchange measures it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tm2tfr.base.errors import DisguiseError, ShapeError, Tm2tfrError
from tm2tfr.base.files import write_text
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.hidden.claim import HiddenTruth, orthonormal, surface_of
from tm2tfr.lab.hidden.key import FORMAT, VERSION, unpacked
from tm2tfr.lab.hidden.trained.draws import stages_of
from tm2tfr.lab.hidden.trained.measure import Quality, RightShare
from tm2tfr.lab.hidden.trained.start import TrainedPlace
from tm2tfr.lab.hidden.trained.values import DecodingError
from tm2tfr.lab.hidden.words import role_of
from tm2tfr.runs.plan import is_count
from tm2tfr.transformer import provenance
from tm2tfr.transformer.storage import dumps
from tm2tfr.transformer.weights import Decoder, Head

GRADE = 4
MOST = {"seed": 10**18, "steps": 10**6, "longest": 32, "interchanges": 20_000, "measured": 20_000}
"""The most that a recipe may ask for: a key from elsewhere must not keep a computer busy for days."""
MOST_NOISE = 100
UNIT = 1e-6
"""How far the vectors of a key may be from orthonormal."""


@dataclass(frozen=True)
class TrainingRecipe:
    """What decides trained weights, beside their source, the platform and the versions of torch and numpy.

    Args:
        seed: of all that is drawn.
        noise: the standard deviation of what is added to each entry, as a share of the root mean square of its matrix.
        steps, lr: those of training.
        longest: the most letters of an input.
        interchanges: the number of those that training draws from; measured: of those that measuring takes.
    """

    seed: int = 0
    noise: float = 0.3
    steps: int = 1200
    lr: float = 0.01
    longest: int = 6
    interchanges: int = 1500
    measured: int = 1000

    def __post_init__(self) -> None:
        for name in ("noise", "lr"):
            own = getattr(self, name)
            if isinstance(own, bool) or not isinstance(own, int | float) or not 0 < own <= MOST_NOISE:
                least = f"use a number of more than 0, at most {MOST_NOISE}"
                raise DisguiseError(f"{name} cannot be {own!r}: {least}, for example {getattr(TrainingRecipe, name)}")
        for name, most in MOST.items():
            number, fewest = getattr(self, name), 0 if name == "seed" else 1
            if not is_count(number, fewest) or number > most:
                raise DisguiseError(f"{name} cannot be {shortened(number)}: use a whole number from {fewest} to {most:,}")


@dataclass(frozen=True)
class TrainedKey:
    """What opens trained weights; see the module.

    Args:
        name: what the original is called.
        digest: that of the weights.
        original: the compiled weights, from which training started.
        places: subspace of the original -> where it is; those that are the same for all inputs are left out.
        variables: variable -> its subspaces.
        heads: path of each head -> that of the original's head it started as.
        quality: what was measured.
        moved: the norm of what was changed, divided by that of what training started from.
        made_on: the platform, the processor and the versions.
    """

    name: str
    recipe: TrainingRecipe
    digest: str
    original: Decoder
    places: Mapping[str, TrainedPlace]
    variables: Mapping[str, Sequence[str]]
    heads: Mapping[str, str]
    quality: Quality
    moved: float
    made_on: Mapping[str, str]
    grade: int = GRADE

    @cached_property
    def truth(self) -> HiddenTruth:
        """What there is to find in the weights."""
        layout, width = self.original.layout, next(iter(self.places.values())).basis.shape[1]
        held = {name: layout.subspace(name).holds or name for name in self.places if name in self.settable}
        heads = {path: self._head(of) for path, of in self.heads.items()}
        surface = surface_of(self.original)
        return HiddenTruth(
            width=width,
            heads={path: role_of(head) for path, head in heads.items()},
            called={role_of(head): head.name for head in heads.values()},
            layers=frozenset(),
            units=frozenset(),
            layer_count=len(self.original.layers),
            unit_paths=frozenset(
                f"layers.{number}.units.{unit}"
                for number, layer in enumerate(self.original.layers, start=1)
                for unit in range(0 if layer.feed_forward is None else len(layer.feed_forward.units))
            ),
            subspaces={called: orthonormal(self.places[name].basis) for name, called in held.items()},
            surface=frozenset(name for name in held.values() if name in surface),
        )

    def _head(self, path: str) -> Head:
        _, layer, _, head = path.split(".")
        return self.original.layers[int(layer) - 1].heads[int(head)]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        quality = self.quality
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "grade": self.grade,
            "seed": self.recipe.seed,
            "digest": self.digest,
            "recipe": asdict(self.recipe),
            "measured": {**{name: getattr(quality, name).as_list() for name in FIGURES}, "moved": self.moved},
            "variables": {
                name: {
                    "places": list(held),
                    "interchange": quality.variables[name].as_list() if name in quality.variables else None,
                    "alone": quality.alone.get(name, RightShare()).as_list(),
                }
                for name, held in self.variables.items()
            },
            "places": {name: self._place(name, place) for name, place in self.places.items()},
            "heads": dict(self.heads),
            "made_on": dict(self.made_on),
            "original": base64.b64encode(zlib.compress(dumps(self.original), 9)).decode("ascii"),
        }

    def _place(self, name: str, place: TrainedPlace) -> dict[str, object]:
        layer, part = place.since or (-1, "embedding")
        labels = self.original.layout.subspace(name).labels
        numbers = {"basis": place.basis, "scale": place.scale, "offset": place.offset}
        plain = {"layer": layer + 1, "part": part, "set": name in self.settable}
        plain["labels"] = None if labels is None else list(labels)
        error = {"error": self.quality.decoding[name].as_dict()}
        return plain | {what: found.tolist() for what, found in numbers.items()} | error

    @property
    def settable(self) -> frozenset[str]:
        """The places of variables: what interchanges measure, and what there is to find."""
        return frozenset(name for held in self.variables.values() for name in held)

    def text(self) -> str:
        """Return it as JSON, always the same."""
        return json.dumps(self.as_dict(), ensure_ascii=False, separators=(",", ":")) + "\n"

    def save(self, path: str | Path) -> None:
        """Write it to a file. Raises OutputError if that cannot be written."""
        write_text(path, self.text())


_COUNTED, _QUOTED = 10**9, 60
FIGURES = ("answers", "interchange", "effective", "between", "rest")
"""What is measured of the whole, see `tm2tfr.lab.hidden.trained.measure.Quality`."""


def trained_key(found: PlainData, file: str = "<key>") -> TrainedKey:
    """Return a key from plain data; file: its name in errors.

    Raises:
        DisguiseError: if it is damaged.
    """
    try:
        measured, variables = found["measured"], found["variables"]
        if found["seed"] != found["recipe"]["seed"]:
            raise ShapeError(
                f"its seed is {shortened(found['seed'])}, and that of its recipe {shortened(found['recipe']['seed'])}"
            )
        known = {str(name): each["interchange"] for name, each in variables.items() if each["interchange"] is not None}
        alone = {str(name): _share(each["alone"]) for name, each in variables.items()}
        answers, interchange, effective, between, rest = (_share(measured[name]) for name in FIGURES)
        quality = Quality(
            answers,
            interchange,
            effective,
            between,
            rest,
            variables={name: _share(pair) for name, pair in known.items()},
            alone={name: share for name, share in alone.items() if share.of},
            decoding={str(name): _read_error(each["error"]) for name, each in found["places"].items()},
        )
        held = {name for each in variables.values() for name in each["places"]}
        original = unpacked(found["original"], file)
        for name, place in found["places"].items():
            labels = original.layout.subspace(name).labels
            if place["labels"] != (None if labels is None else list(labels)):
                raise ShapeError(f"the labels of {name!r} are not those of the original")
            if place["set"] is not (name in held):
                raise ShapeError(f"{name!r} is {'' if name in held else 'not '}a place of a variable, and says otherwise")
        return _checked(
            TrainedKey(
                name=str(found["name"]),
                recipe=_read_recipe(found["recipe"]),
                digest=str(found["digest"]),
                original=original,
                places={str(name): _read_place(each) for name, each in found["places"].items()},
                variables={str(name): tuple(map(str, each["places"])) for name, each in variables.items()},
                heads={str(path): str(of) for path, of in found["heads"].items()},
                quality=quality,
                moved=_read_number(measured["moved"]),
                made_on={str(name): str(each) for name, each in found["made_on"].items()},
            )
        )
    except DisguiseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, Tm2tfrError) as error:
        said = str(error) if isinstance(error, Tm2tfrError) else f"{type(error).__name__}: {error}"
        raise DisguiseError(f"{file}: this key is damaged ({said}): make it again with 'tm2tfr disguise'") from error


def _checked(key: TrainedKey) -> TrainedKey:
    """Return it; raise ShapeError if its places or heads do not fit each other or the original."""
    layout, widths = key.original.layout, {place.basis.shape[1] for place in key.places.values()}
    stages, called = stages_of(key.original), provenance.name(key.original.provenance)
    if key.name != called:
        raise ShapeError(f"its name is {shortened(key.name)}, and that of the original {called!r}")
    if len(widths) != 1:
        raise ShapeError("the places of a key are vectors of one width")
    for name, place in key.places.items():
        own = layout.subspace(name).width
        if place.basis.shape[0] != own or place.scale.shape != (own,) or place.offset.shape != (own,):
            raise ShapeError(f"the place of {name!r} has {place.basis.shape[0]} dimensions, and the original has {own}")
        if place.since not in stages:
            layer, part = place.since or (-1, "")
            raise ShapeError(f"{name!r} is after {part!r} of layer {layer + 1}, which the original does not have")
        if not place.scale.all():
            raise ShapeError(f"{name!r} has a scale of 0, which loses its values")
    every = np.concatenate([place.basis for place in key.places.values()])
    if np.abs(every).max(initial=0.0) > 2 or not np.allclose(every @ every.T, np.eye(len(every)), atol=UNIT):
        raise ShapeError("the bases of its places are not orthonormal, each and together")
    for name in (name for held in key.variables.values() for name in held):
        if name not in key.places:
            raise ShapeError(f"the subspace {name!r} has no place")
    for number, own_layer in enumerate(key.original.layers, start=1):
        own_heads = {f"layers.{number}.heads.{k}" for k in range(len(own_layer.heads))}
        given = {path: of for path, of in key.heads.items() if path.startswith(f"layers.{number}.")}
        if not set(given) == own_heads == set(given.values()):
            raise ShapeError(f"its heads of layer {number} are not those of the original, each once")
    if len(key.heads) != key.original.heads:
        raise ShapeError("it has heads of a layer that the original does not have")
    return key


def _share(pair: object) -> RightShare:
    if not isinstance(pair, list) or [type(each) for each in pair] != [int, int] or not 0 <= pair[0] <= pair[1] <= _COUNTED:
        raise ShapeError(f"{shortened(pair)} is not how many are right, and of how many")
    return RightShare(*pair)


def _read_place(found: PlainData) -> TrainedPlace:
    numbers = [np.array(found[name], dtype=np.float64) for name in ("basis", "scale", "offset")]
    if numbers[0].ndim != 2 or not all(np.isfinite(each).all() for each in numbers):
        raise ShapeError("a basis is a list of vectors of finite numbers")
    if not is_count(found["layer"]):
        raise ShapeError(f"the layer of a place is a whole number, 0 or more, not {shortened(found['layer'])}")
    return TrainedPlace(numbers[0], numbers[1], numbers[2], (found["layer"] - 1, str(found["part"])))


def _read_recipe(found: PlainData) -> TrainingRecipe:
    try:
        return TrainingRecipe(**found)
    except DisguiseError as error:
        raise ShapeError(f"recipe: {error}") from error


def _read_error(found: PlainData) -> DecodingError:
    return DecodingError(_read_number(found["mean"]), _read_number(found["largest"]))


def _read_number(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < np.inf:
        raise ShapeError(f"{shortened(found)} is not a finite number, 0 or more")
    return float(found)


def shortened(found: object) -> str:
    """Return a value as an error quotes it: what is long is cut."""
    text = repr(found)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
