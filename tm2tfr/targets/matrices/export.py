"""The whole export with a decoder's own matrices, and its verification, for whichever program runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tm2tfr.errors import ExportError
from tm2tfr.machine.spec import Machine
from tm2tfr.targets.common.comparison import WITHOUT, Model, compared
from tm2tfr.targets.common.directory import NAMES, document, inherited, strangers, written
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reading import whole
from tm2tfr.targets.common.settings import differences
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, judged, refused
from tm2tfr.targets.matrices.documents import VERSION, as_json, names
from tm2tfr.targets.matrices.recipe import fitted
from tm2tfr.targets.matrices.tensors import described, tensors
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class Program:
    """What differs between the programs.

    Args:
        title: the program's name; `format`: the ``format`` in `NAMES`.
        required: raises ExportError unless the program that runs an export is installed; takes the alternative to it.
        files: all files but `NAMES`, by name, for a decoder, its machine, a recipe and the names.
        load: returns a model from a directory.
        names: the names of all files of an export.
        read: returns the matrices of an export by name, and what is wrong in their file's metadata; raises
            ExportError if it is damaged.
        strange: returns what in an export, besides its matrices and `NAMES`, is not as it was written.
        unlike: returns what a model has loaded that is not these matrices, as far as the program shows that.
    """

    title: str
    format: str
    required: Callable[[str], object]
    files: Callable[[Decoder, Machine, Recipe, Mapping[str, Any]], dict[str, str | bytes]]
    load: Callable[[Path], Model]
    names: tuple[str, ...]
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
        heads = f"{len(decoder.layers)} layers, {decoder.heads} heads in all, width {decoder.layout.width}"
        weights = f"{self.title}: {heads}, {self.recipe.dtype}, {decoder.parameters:,} weights"
        return weights, f"certified: {self.recipe.statement}"


def export(
    program: Program,
    decoder: Decoder,
    machine: Machine,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    verify: bool = True,
) -> MatricesExported:
    """Write `decoder` for `program`; see `tm2tfr.export_to`.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        program.required(WITHOUT)
    recipe = fitted(decoder, machine, positions=positions, max_head=max_head, dtype=dtype)
    named = names(decoder, recipe, program.format)
    files = {**program.files(decoder, machine, recipe, named), NAMES: as_json(named)}
    look = Rehearsal(program.load, decoder.vocabulary, machine, recipe.positions)
    place = written(folder, files, look=look if verify else None)
    ran: dict[str, Any] = {"folder": place, "runs": look.runs, "versions": look.versions}
    return MatricesExported(**ran, title=program.title, decoder=decoder, recipe=recipe)


def verified(program: Program, folder: Path, decoder: Decoder, machine: Machine, word: str) -> Verdict:
    """Compare the checkpoint in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export of this kind, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    machine.check_input(word)
    said = document(folder)
    recipe = recipe_of(folder, said)
    try:
        fitted(decoder, machine, **asdict(recipe))
    except ExportError as error:
        return refused(machine.name, NAMES, error)
    found, metadata = program.read(folder)
    told = _told(decoder, recipe, program.format, said)
    beside = [
        *strangers(folder, program.names),
        *inherited(NAMES, said["provenance"], decoder),
        *differences(folder, {NAMES: told}),
        *metadata,
        *program.strange(folder, decoder, recipe, told),
    ]

    def tried() -> Trial:
        model = program.load(folder)
        run = compared(model, decoder.vocabulary, machine, word, recipe.positions)
        why = cause(model, decoder, run, lambda x: x)
        return Trial(tuple(program.unlike(model, found)), run, why, model.versions)

    right = tensors(decoder, recipe.dtype)
    return judged(machine.name, beside, found, right, partial(described, decoder), tried)


def _told(decoder: Decoder, recipe: Recipe, format: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the right names of an export with its stated origin, as JSON has them."""
    right = names(replace(decoder, provenance=said["provenance"]), recipe, format)
    version = said.get("tm2tfr")
    told: dict[str, Any] = json.loads(as_json(right | ({"tm2tfr": version} if isinstance(version, str) else {})))
    return told


def recipe_of(folder: Path, said: Mapping[str, Any]) -> Recipe:
    """Return the recipe of an export from what its `NAMES` says.

    Raises:
        ExportError: if it is damaged, or has another version.
    """
    if said.get("version") != VERSION:
        raise ExportError(f"{folder}: this export has version {said.get('version')!r}, not {VERSION!r}: export it again")
    try:
        recipe = Recipe(**said["recipe"])
        whole(said["recipe"], "positions", "max_head")
    except (KeyError, TypeError) as error:
        raise ExportError(f"{folder}: damaged ({type(error).__name__}: {error}): export it again") from error
    return recipe
