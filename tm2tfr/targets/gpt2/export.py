"""The whole export: check that it fits, translate, write, run, and only then give it its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError, counted
from tm2tfr.exported import ExportReference
from tm2tfr.targets.common.comparison import WITHOUT
from tm2tfr.targets.common.directory import KEY
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.settings import METADATA, mapping, texts, whole, why
from tm2tfr.targets.common.settings import tensors as stored
from tm2tfr.targets.common.tabled import MOST_POSITIONS, Uncertified
from tm2tfr.targets.gpt2.documents import FORMAT, VERSION, documents
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.prompted import fitted_class
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, span
from tm2tfr.targets.gpt2.running import Gpt2Running, required
from tm2tfr.targets.gpt2.tabled import fitted_circuit
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

# ── Weights whose answer is hidden as a GPT-2: nothing is known of their heads but by how much scores differ.
#
# So no score is rewritten as those of machines are (`sharpen`): queries are multiplied by a 1/τ at which the smallest gap
# that is claimed, at the last position, is 64 and more. What rounding leaves of a score that is the same for all keys is
# multiplied by it too, so that runs are right as far as they were compared, and by default short.
USUAL_HIDDEN = 128
"""The positions of such an export, if no other number is asked for."""
LEAD = 64
"""By how much the best score is ahead of the next at least: e^-64 is nothing beside 1."""


@dataclass(frozen=True, kw_only=True)
class HiddenGpt2Recipe(Uncertified, Gpt2Recipe):
    """How hidden weights become a GPT-2.

    Args:
        sharpness: 1/τ.
    """

    sharpness: float

    @property
    def temperature(self) -> float:
        return self.sharpness

    @property
    def statement(self) -> str:
        return f"not certified in {self.dtype}, since these weights are hidden: it is right where it was run"

    def assured(self, beyond: str) -> str:
        return f"""**How far it is right.** {self.stated}
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on prompts made from the vocabulary,
and compares every token with that of tm2tfr's dense engine. There is no position beyond: {beyond}."""


def fitted_hidden(
    decoder: Decoder,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
) -> HiddenGpt2Recipe:
    """Return the recipe.

    Raises:
        ExportError: for softmax or layer norms of its own, or options that do not apply.
    """
    there = decoder.positions
    if decoder.soft or decoder.normed:
        what = "these hidden weights have softmax or layer norms of their own"
        raise ExportError(f"{what}, and this export makes its own softmax: use --to torch or onnx")
    if stock:
        raise ExportError("--stock is about the bounds for Turing machines, and these weights are hidden: omit it")
    if max_head not in (None, 0) and max_head != ((there or positions or USUAL_HIDDEN) - 1):
        raise ExportError("a bound on |h| is about Turing machines, and these weights are hidden: omit it")
    if there is not None and positions not in (None, there):
        raise ExportError(f"these weights are exported with all their positions, {there:,}: omit the number of positions")
    many = there or positions or USUAL_HIDDEN
    if many > MOST_POSITIONS:
        raise ExportError(f"hidden weights are exported with at most {MOST_POSITIONS:,} positions: use fewer")
    gaps = (h.claim.smallest_gap(many) for layer in decoder.layers for h in layer.heads if h.claim is not None)
    least = min([1.0, *(gap for gap in gaps if gap is not None)])
    return HiddenGpt2Recipe(positions=many, max_head=many - 1, dtype=dtype, sharpness=float(span(int(LEAD / least) + 1)))


# ── The recipe for whatever becomes a GPT-2: a machine, all machines of a size, or a circuit.
def chosen(decoder: Decoder, right: ExportReference, **options: Any) -> Gpt2Recipe:
    """Return the recipe; see `fitted`, `fitted_class` and `fitted_circuit`, for options and errors too."""
    if right.program is not None and not right.bounded:
        return fitted_circuit(decoder, right, **options)
    if right.in_prompt:
        return fitted_class(decoder, right, **options)
    if right.bounded:
        return fitted(decoder, right.program, **options)
    if is_hidden(decoder.provenance):
        return fitted_hidden(decoder, **options)
    raise ExportError("an export to GPT-2 has bounds for programs alone: name the program of these weights")


# ── An export as a directory, and read again.
TENSORS, CONFIGURATION = "model.safetensors", "config.json"


@dataclass(frozen=True)
class StoredGpt2:
    """The contents of an export: its configuration, its recipe, its stated origin, its tensors.

    `metadata` is that of the file of tensors.
    """

    folder: Path
    settings: dict[str, Any]
    recipe: Gpt2Recipe
    provenance: dict[str, str]
    tensors: dict[str, NDArray[Any]]
    metadata: dict[str, str]

    @property
    def options(self) -> dict[str, Any]:
        """The options with which it was exported."""
        recipe = self.recipe
        chosen = {"positions": recipe.positions, "max_head": recipe.max_head, "dtype": recipe.dtype}
        return {**chosen, "stock": recipe.stock}


def load(folder: str | Path, *, format: str = FORMAT, configuration: str = CONFIGURATION) -> StoredGpt2:
    """Read an export to GPT-2, or to another program by way of GPT-2.

    Args:
        format: the expected format; `configuration`: the file of its settings.

    Raises:
        ExportError: if `folder` is not an export, or is damaged.
    """
    folder = Path(folder)
    again = f"use a directory made by 'tm2tfr export --to {format.removeprefix('tm2tfr-')}'"
    try:
        settings = mapping(folder / configuration)
        if KEY not in settings:
            raise ExportError(f"{folder}: its configuration does not say that it is an export of a machine: {again}")
        document = settings[KEY]
        if document["format"] != format:
            raise ExportError(f"{folder}: this export has format {document['format']!r}, not {format!r}: {again}")
        if document["version"] != VERSION:
            raise ExportError(
                f"{folder}: this export has version {document['version']!r}, not {VERSION!r}: export it again"
            )
        recipe = Gpt2Recipe(**document["recipe"])
        whole(document["recipe"], "positions", "max_head")
        provenance = texts(document, "provenance")
        tensors, metadata = stored(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {Path(error.filename or TENSORS).name} cannot be read: {again}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportError(f"{folder}: damaged ({why(error)}): {again}") from error
    return StoredGpt2(folder, settings, recipe, provenance, tensors, metadata)


@dataclass(frozen=True, kw_only=True)
class Gpt2Exported(Exported):
    """A finished export to GPT-2."""

    gpt2: Gpt2

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        gpt2, recipe = self.gpt2, self.gpt2.recipe
        depth, heads = counted(len(gpt2.decoder.layers), "layer"), counted(gpt2.heads, "head")
        size = f"{depth}, {heads}, width {gpt2.width}, {recipe.dtype}"
        parameters = gpt2.bytes // int(recipe.dtype[-2:]) * 8
        return (
            f"GPT-2: {size}, {parameters / 1e6:,.2f} million parameters",
            f"{'by bounds on rounding: ' if recipe.certified else ''}{recipe.statement}",
        )


def export(
    decoder: Decoder,
    machine: Any,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
    verify: bool = True,
) -> Gpt2Exported:
    """Write `decoder` as a GPT-2; see `tm2tfr.export_gpt2`.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        required(WITHOUT)
    right = reference_of(machine, decoder)
    recipe = chosen(decoder, right, positions=positions, max_head=max_head, dtype=dtype, stock=stock)
    gpt2 = translated(decoder, recipe)
    files: dict[str, str | bytes] = {**documents(gpt2, right), TENSORS: safetensors.save(gpt2.tensors(), METADATA)}
    ran = Rehearsal(Gpt2Running, gpt2.vocabulary, right, recipe.positions).written(folder, files, verify=verify)
    return Gpt2Exported(**ran, gpt2=gpt2)
