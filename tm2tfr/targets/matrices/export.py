"""The whole export with a decoder's own matrices, and its verification, for whichever program runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tm2tfr.base.errors import ExportError, ShapeError, counted
from tm2tfr.base.text.shown import json_text
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import WITHOUT, Model
from tm2tfr.targets.common.directory import NAMES, Array, differences, document, inherited, strangers, whole
from tm2tfr.targets.common.fitting import Options, Recipe, Uncertified
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.verdict import Exported, Rehearsal, Verdict, judged, refused
from tm2tfr.targets.matrices.contents import VERSION, described, fitted, names, tensors
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import OUTER, Decoder, FeedForward, Head, Layer

# ── A decoder built again from an export's own files, without a machine that determines its weights.
#
# What was exported is known by a digest alone: it covers every number and every name.
DIGEST = "digest"
"""The entry of the names that has the digest."""


def sealed(named: PlainData, arrays: Mapping[str, Array]) -> PlainData:
    """Return the names of an export with the digest of everything in them and of the matrices, (rows, columns) each."""
    names = {name: value for name, value in named.items() if name != DIGEST}
    total = hashlib.sha256(json.dumps(names, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return {**names, DIGEST: total.hexdigest()}


def rebuilt(folder: Path, said: PlainData, arrays: Mapping[str, Array]) -> Decoder:
    """Return the decoder that an export contains, from its names and its matrices.

    Raises:
        ExportError: if they do not make a decoder.
    """
    try:
        return _decoder(said, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, ShapeError) as error:
        what = f"{folder}: its names and its matrices do not fit together ({type(error).__name__}: {error})"
        raise ExportError(f"{what}: export it again") from error


def _decoder(said: PlainData, arrays: Mapping[str, Array]) -> Decoder:
    directions = [str(direction["name"]) for direction in said["directions"]]
    places = said["subspaces"].items()
    outer = [name for name in OUTER if name in arrays or name != "position_table"]
    return Decoder(
        layout=Residual(tuple(_subspace(name, directions[start:stop]) for name, (start, stop) in places)),
        vocabulary=_texts(said["vocabulary"]),
        bos=None if said["bos"] is None else str(said["bos"]),
        stop=_texts(said["stop"]),
        features=_texts(said["features"]),
        layers=tuple(_layer(layer, f"layers.{n}.", arrays) for n, layer in enumerate(said["layers"], start=1)),
        outputs=tuple(_output(output) for output in said.get("outputs", ())),
        loops=tuple(_looped(loop, f"loops.{n}.", arrays) for n, loop in enumerate(said.get("loops", ()), start=1)),
        provenance=said["provenance"],
        **_matrices("", outer, arrays),
    )


def _subspace(name: str, directions: Sequence[str]) -> Subspace:
    """Return a subspace by the names of its directions: ``name[label]`` each, or its own if it is a number."""
    if list(directions) == [name]:
        return Subspace(name)
    return Subspace(name, tuple(each.removeprefix(at(name, "")[:-1])[:-1] for each in directions))


def _layer(said: PlainData, path: str, arrays: Mapping[str, Array]) -> Layer:
    heads, ffn = [], None
    for k, head in enumerate(said["heads"]):
        parts = _matrices(f"{path}heads.{k}.", ("query", "key", "value", "output"), arrays)
        own = {name: head[name] for name in ("mask", "weighting", "inverse_temperature") if name in head}
        heads.append(Head(name=str(head["name"]), source=str(head["source"]), **parts, **own))
    if f"{path}feed_forward.input" in arrays:
        parts = _matrices(f"{path}feed_forward.", ("input", "input_bias", "output", "output_bias"), arrays)
        ffn = FeedForward(units=_texts(said["units"]), **parts)
    about = {name: str(said[name]) for name in ("name", "meaning", "source")}
    return Layer(name=about["name"], meaning=about["meaning"], source=about["source"], heads=tuple(heads), feed_forward=ffn)


def _looped(said: PlainData, path: str, arrays: Mapping[str, Array]) -> LayerLoop:
    first, last = said["layers"]
    until = _matrices(path, ("until",), arrays)["until"] if said["until"] else None
    return LayerLoop(first=first, last=last, times=said["times"], until=until)


def _output(said: PlainData) -> Output:
    labels = said["labels"]
    return Output(str(said["name"]), None if labels is None else _texts(labels))


def _matrices(path: str, names: Sequence[str], arrays: Mapping[str, Array]) -> PlainData:
    return {name: Matrix.from_dense(arrays[path + name]) for name in names}


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


@dataclass(frozen=True)
class Program:
    """A target that runs a decoder's own matrices.

    Args:
        title: the program's name; `format`: the ``format`` in `NAMES`.
        required: raises ExportError unless the program that runs an export is installed; `otherwise`: the alternative.
        files: all files but `NAMES`, by name, for the decoder of a reference, a recipe and the names.
        load: returns a model from a directory.
        names: the names of all files of an export of a decoder.
        read: returns the matrices of an export by name, and what is wrong in their file's metadata; raises
            ExportError if it is damaged.
        strange: returns what in an export, besides its matrices and `NAMES`, is not as it was written.
        unlike: returns the loaded parts that differ from these matrices, if the program shows them.
    """

    title: str
    format: str
    required: Callable[..., object]
    files: Callable[[ExportReference, Recipe, PlainData], dict[str, str | bytes]]
    load: Callable[[Path], Model]
    names: Callable[[Decoder], tuple[str, ...]]
    read: Callable[[Path], tuple[dict[str, Array], Iterable[str]]]
    strange: Callable[[Path, Decoder, Recipe, PlainData], Iterable[str]]
    unlike: Callable[[Any, Mapping[str, Array]], Iterable[str]] = lambda _model, _found: ()


@dataclass(frozen=True, kw_only=True)
class MatricesExported(Exported):
    """A finished export with the decoder's own matrices."""

    title: str
    decoder: Decoder
    recipe: Recipe

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and its guarantees, as text."""
        decoder = self.decoder
        layers, heads = counted(len(decoder.layers), "layer"), counted(decoder.heads, "head")
        heads = f"{layers}, {heads} in all, width {decoder.layout.width}"
        weights = f"{self.title}: {heads}, {self.recipe.dtype}, {decoder.parameters:,} weights"
        return weights, f"certified: {self.recipe.statement}" if self.recipe.certified else self.recipe.statement


def export(
    program: Program,
    decoder: Decoder,
    machine: object,
    folder: str | Path,
    *,
    verify: bool = True,
    **options: Unpack[Options],
) -> MatricesExported:
    """Write `decoder` for `program`; see `tm2tfr.export_to`. Without a program, the dense engine is the reference.

    Args:
        machine: the program.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        program.required(otherwise=WITHOUT)
    right = reference_of(machine, decoder)
    recipe = fitted(right, **options)
    named = names(decoder, recipe, program.format, right.data)
    if right.program is None:
        named = sealed(named, tensors(decoder, recipe.dtype))
    files = {**program.files(right, recipe, named), NAMES: json_text(named, indent=2)}
    look = Rehearsal(program.load, decoder.vocabulary, right, recipe.positions)
    ran = look.written(folder, files, verify=verify)
    return MatricesExported(**ran, title=program.title, decoder=decoder, recipe=recipe)


def verified(program: Program, folder: Path, decoder: Decoder | None, machine: object, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Without a program, it is compared with `decoder`, and its run with the dense engine's, on one of `prompts` if there is
    no word; without a decoder, with its own digest, and its run with the dense engine's of the same weights.

    Raises:
        ExportError: if `folder` is not an export of this kind, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    if decoder is not None and word is not None and not decoder.labeller:
        reference_of(machine, decoder).truth(word)
    said = document(folder)
    recipe = recipe_of(folder, said)
    found, metadata = program.read(folder)
    whole, sealing = decoder, list[str]()
    if whole is None:
        whole = rebuilt(folder, said, found)
        sealing = _unsealed(said, found)
    right = reference_of(machine, whole)
    name = right.named() + ("" if decoder is not None else " as it was exported")
    try:
        recipe = fitted(right, positions=recipe.positions, max_head=recipe.head, dtype=recipe.dtype)
    except ExportError as error:
        return refused(name, NAMES, error)
    told = _told(right, recipe, program.format, said)
    if decoder is None:
        told[DIGEST] = said.get(DIGEST)  # `sealing` says more clearly that it is wrong
    beside = [
        *strangers(folder, program.names(whole)),
        *inherited(NAMES, told["provenance"], whole),
        *differences(folder, {NAMES: told}),
        *sealing,
        *metadata,
        *program.strange(folder, whole, recipe, told),
    ]
    look = Rehearsal(program.load, whole.vocabulary, right, recipe.positions)
    tried = partial(look.trial, folder, word, lambda model: program.unlike(model, found))
    verdict = judged(name, beside, found, tensors(whole, recipe.dtype), partial(described, whole), tried)
    return verdict if right.program is not None else replace(verdict, note=_note(decoder))


def _unsealed(said: PlainData, found: Mapping[str, Array]) -> list[str]:
    """Return that an export is not what was written, if its digest says so."""
    if said.get(DIGEST) == sealed(said, found)[DIGEST]:
        return []
    return [f"{NAMES}: its digest is not that of these names and weights: they have changed since they were exported"]


def _note(decoder: Decoder | None) -> str:
    weights = "the digest that was written with it" if decoder is None else "those weights"
    return f"compared with {weights}, and with the dense engine: no machine is stored with it"


def _told(right: ExportReference, recipe: Recipe, format: str, said: PlainData) -> PlainData:
    """Return the right names of an export with its stated origin, as JSON has them."""
    decoder = right.decoder
    wanted = names(replace(decoder, provenance=said["provenance"]), recipe, format, right.data)
    version = said.get("tm2tfr")
    told: PlainData = json.loads(json_text(wanted | ({"tm2tfr": version} if isinstance(version, str) else {})))
    return told if right.program is not None else sealed(told, tensors(decoder, recipe.dtype))


def recipe_of(folder: Path, said: PlainData) -> Recipe:
    """Return the recipe of an export from what its `NAMES` says.

    Raises:
        ExportError: if it is damaged, or has another version.
    """
    if said.get("version") != VERSION:
        raise ExportError(f"{folder}: this export has version {said.get('version')!r}, not {VERSION!r}: export it again")
    try:
        given = {**said["recipe"]}
        if given.get("max_head", 0) is None:
            del given["max_head"]
            whole(given, "positions")
            return Uncertified(**given)
        recipe = Recipe(**given)
        whole(given, "positions", "max_head")
    except (KeyError, TypeError) as error:
        raise ExportError(f"{folder}: damaged ({type(error).__name__}: {error}): export it again") from error
    return recipe
