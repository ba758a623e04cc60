"""The whole export with a decoder's own matrices, and its verification, for whichever program runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tm2tfr.errors import ExportError, counted
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.card import name_of, right
from tm2tfr.targets.common.comparison import WITHOUT, Model, Right, compared, words
from tm2tfr.targets.common.directory import NAMES, document, inherited, strangers, written
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reading import whole
from tm2tfr.targets.common.settings import differences
from tm2tfr.targets.common.tabled import Uncertified
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, judged, refused
from tm2tfr.targets.matrices.documents import VERSION, as_json, names
from tm2tfr.targets.matrices.rebuilt import DIGEST, rebuilt, sealed
from tm2tfr.targets.matrices.recipe import fitted
from tm2tfr.targets.matrices.tensors import described, tensors
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class Program:
    """What differs between the programs.

    Args:
        title: the program's name; `format`: the ``format`` in `NAMES`.
        required: raises ExportError unless the program that runs an export is installed; takes the alternative to it.
        files: all files but `NAMES`, by name, for a decoder, what says what is right, a recipe and the names.
        load: returns a model from a directory.
        names: the names of all files of an export of a decoder.
        read: returns the matrices of an export by name, and what is wrong in their file's metadata; raises
            ExportError if it is damaged.
        strange: returns what in an export, besides its matrices and `NAMES`, is not as it was written.
        unlike: returns what a model has loaded that is not these matrices, as far as the program shows that.
    """

    title: str
    format: str
    required: Callable[[str], object]
    files: Callable[[Decoder, Right, Recipe, Mapping[str, Any]], dict[str, str | bytes]]
    load: Callable[[Path], Model]
    names: Callable[[Decoder], tuple[str, ...]]
    read: Callable[[Path], tuple[dict[str, NDArray[Any]], Iterable[str]]]
    strange: Callable[[Path, Decoder, Recipe, Mapping[str, Any]], Iterable[str]]
    unlike: Callable[[Any, Mapping[str, NDArray[Any]]], Iterable[str]] = lambda _model, _found: ()


@dataclass(frozen=True, kw_only=True)
class MatricesExported(Exported):
    """A finished export with the decoder's own matrices."""

    title: str
    decoder: Decoder
    recipe: Recipe

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        decoder = self.decoder
        layers, heads = counted(len(decoder.layers), "layer"), counted(decoder.heads, "head")
        heads = f"{layers}, {heads} in all, width {decoder.layout.width}"
        weights = f"{self.title}: {heads}, {self.recipe.dtype}, {decoder.parameters:,} weights"
        return weights, f"certified: {self.recipe.statement}" if self.recipe.certified else self.recipe.statement


def export(
    program: Program,
    decoder: Decoder,
    machine: Any,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    verify: bool = True,
) -> MatricesExported:
    """Write `decoder` for `program`; see `tm2tfr.export_to`. Without a program, the dense engine says what is right.

    Args:
        machine: the program.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        program.required(WITHOUT)
    truth = right(machine, decoder)
    recipe = fitted(decoder, truth, positions=positions, max_head=max_head, dtype=dtype)
    named = names(decoder, recipe, program.format, truth)
    if machine is None:
        named = sealed(named, tensors(decoder, dtype))
    files = {**program.files(decoder, truth, recipe, named), NAMES: as_json(named)}
    look = Rehearsal(program.load, decoder.vocabulary, truth, recipe.positions)
    place = written(folder, files, look=look if verify else None)
    ran: dict[str, Any] = {"folder": place, "runs": look.runs, "versions": look.versions}
    return MatricesExported(**ran, title=program.title, decoder=decoder, recipe=recipe)


def verified(program: Program, folder: Path, decoder: Decoder | None, machine: Any, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Without a program, it is compared with `decoder`, and its run with the dense engine's, on one of `prompts` if there is
    no word; without a decoder, with its own digest, and its run with the dense engine's of the same weights.

    Raises:
        ExportError: if `folder` is not an export of this kind, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    if isinstance(machine, Machine):
        machine.check_input(word or "")
    said = document(folder)
    recipe = recipe_of(folder, said)
    found, metadata = program.read(folder)
    whole, sealing = decoder, list[str]()
    if whole is None:
        whole = rebuilt(folder, said, found)
        sealing = _unsealed(said, found)
    truth = right(machine, whole)
    name = name_of(truth) + ("" if decoder is not None else " as it was exported")
    try:
        recipe = fitted(whole, truth, **(asdict(recipe) | {"max_head": recipe.head}))
    except ExportError as error:
        return refused(name, NAMES, error)
    told = _told(whole, truth, recipe, program.format, said)
    if decoder is None:
        told[DIGEST] = said.get(DIGEST)  # `sealing` says more clearly that it is wrong
    known = [*sealing, *metadata]
    verdict = _compared(program, folder, name, whole, truth, word, recipe, told, found, known)
    return verdict if machine is not None else replace(verdict, note=_note(decoder))


def _compared(
    program: Program,
    folder: Path,
    name: str,
    decoder: Decoder,
    truth: Right,
    word: str | None,
    recipe: Recipe,
    told: Mapping[str, Any],
    found: Mapping[str, NDArray[Any]],
    known: Sequence[str],
) -> Verdict:
    """Return the verdict on an export; `told`: the right names; `known`: what is already known to differ."""
    given = words(truth, recipe.positions)[0] if word is None else word
    beside = [
        *strangers(folder, program.names(decoder)),
        *inherited(NAMES, told["provenance"], decoder),
        *differences(folder, {NAMES: told}),
        *known,
        *program.strange(folder, decoder, recipe, told),
    ]

    def tried() -> Trial:
        model = program.load(folder)
        run = compared(model, decoder.vocabulary, truth, given, recipe.positions)
        why = cause(model, decoder, run, lambda x: x)
        return Trial(tuple(program.unlike(model, found)), run, why, model.versions)

    return judged(name, beside, found, tensors(decoder, recipe.dtype), partial(described, decoder), tried)


def _unsealed(said: Mapping[str, Any], found: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return that an export is not what was written, if its digest says so."""
    if said.get(DIGEST) == sealed(said, found)[DIGEST]:
        return []
    return [f"{NAMES}: its digest is not that of these names and weights: they have changed since they were exported"]


def _note(decoder: Decoder | None) -> str:
    weights = "the digest that was written with it" if decoder is None else "those weights"
    return f"compared with {weights}, and with the dense engine: no machine is stored with it"


def _told(decoder: Decoder, truth: Right, recipe: Recipe, format: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the right names of an export with its stated origin, as JSON has them."""
    wanted = names(replace(decoder, provenance=said["provenance"]), recipe, format, truth)
    version = said.get("tm2tfr")
    told: dict[str, Any] = json.loads(as_json(wanted | ({"tm2tfr": version} if isinstance(version, str) else {})))
    return told if not isinstance(truth, Decoder) else sealed(told, tensors(decoder, recipe.dtype))


def recipe_of(folder: Path, said: Mapping[str, Any]) -> Recipe:
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
