"""To TransformerLens, and back: the whole export, and whether an export is still a machine, a circuit, or a labeller."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError, counted, visible
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.card import name_of, right
from tm2tfr.targets.common.comparison import WITHOUT, ComparedRun, Model, Right
from tm2tfr.targets.common.directory import README, inherited, strangers, written
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.reading import METADATA
from tm2tfr.targets.common.settings import differences
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, judged, refused
from tm2tfr.targets.gpt2.directory import TENSORS, load
from tm2tfr.targets.gpt2.reference import Reference
from tm2tfr.targets.gpt2.running import LOCAL
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.gpt2.verify import described, metadata, trial, written_by
from tm2tfr.targets.lens.documents import CONFIGURATION, FORMAT, documents
from tm2tfr.targets.lens.native import Native
from tm2tfr.targets.lens.running import LensRunning, required
from tm2tfr.targets.lens.tabled import lens_recipe
from tm2tfr.transformer.weights import Decoder

MASKS = 2**31
"""The largest size in bytes of the causal masks that TransformerLens makes: one byte per pair of positions and layer."""


@dataclass(frozen=True, kw_only=True)
class LensExported(Exported):
    """A finished export to TransformerLens."""

    native: Native

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        native, recipe = self.native, self.native.gpt2.recipe
        layers, heads = counted(len(native.gpt2.decoder.layers), "layer"), counted(native.heads, "head")
        size = f"{layers}, {heads}, width {native.width}, {recipe.dtype}"
        parameters = f"TransformerLens: {size}, {native.parameters / 1e6:,.2f} million parameters"
        return parameters, f"{'by bounds on rounding: ' if recipe.certified else ''}{recipe.statement}"


def export(
    decoder: Decoder,
    machine: Any,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    verify: bool = True,
) -> LensExported:
    """Write `decoder` as a native model of TransformerLens; see `tm2tfr.export_to`.

    It is made from the GPT-2 and has the same limits. Before it gets its name, its runs are compared with the
    simulator's, and the values that hooks read in the named directions with the dense engine's.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        required(WITHOUT)
    truth = right(machine, decoder)
    native = native_of(decoder, truth, positions=positions, max_head=max_head, dtype=dtype)
    recipe = native.gpt2.recipe

    def closer(model: Model, run: ComparedRun) -> None:
        wrong = cause(model, decoder, run, native.read)
        if wrong:
            raise ExportError(f"on {run.given} in {model.versions} {wrong}: nothing was written")

    look = Rehearsal(LensRunning, native.gpt2.vocabulary, truth, recipe.positions, closer)
    texts = documents(native, truth, recipe.statement)
    tensors = safetensors.save(native.tensors(), METADATA)
    place = written(folder, {**texts, TENSORS: tensors}, look=look if verify else None)
    return LensExported(folder=place, runs=look.runs, versions=look.versions, native=native)


def native_of(decoder: Decoder, truth: Right, **options: Any) -> Native:
    """Return `decoder` as a native model of TransformerLens; for options and errors see `lens_recipe`.

    Raises:
        ExportError: see there; also if its causal masks are too large.
    """
    recipe = lens_recipe(decoder, truth, **options)
    _refuse_masks(decoder, name_of(truth), recipe.positions)
    return Native(translated(decoder, recipe))


def verified(folder: str | Path, decoder: Decoder, machine: Any, word: str) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    if isinstance(machine, Machine):
        machine.check_input(word)
    truth = right(machine, decoder)
    name = name_of(truth)
    stored = load(folder, format=FORMAT, configuration=CONFIGURATION)
    options = asdict(stored.recipe)
    if decoder.labeller:  # a recipe has a number there even where nothing is bounded by it
        options["max_head"] = options["max_head"] or None
    try:
        recipe = lens_recipe(decoder, truth, **options)
        _refuse_masks(decoder, name, recipe.positions)
    except ExportError as error:
        return refused(name, CONFIGURATION, error)
    native = Native(translated(replace(decoder, provenance=stored.provenance), recipe))
    gpt2 = native.gpt2
    files = written_by(stored, documents(native, truth, recipe.statement), CONFIGURATION)
    beside = [
        *strangers(stored.folder, {*files, README, TENSORS}),
        *inherited(CONFIGURATION, stored.provenance, decoder),
        *differences(stored.folder, files),
        *metadata(stored),
    ]
    reference = Reference({file: json.dumps(files[file]) for file in ("tokenizer.json", "tokenizer_config.json")})

    def in_words(tensor: str, at: Sequence[int]) -> str:
        if tensor == "unembed.bias":  # which the GPT-2 does not have
            return f"logit of {gpt2.answered[at[0]]}, bias"
        return described(gpt2, *native.origin(tensor, at))

    def tried() -> Trial:
        tokenizer = required()[1].AutoTokenizer.from_pretrained(str(folder), **LOCAL)  # Running's is changed by its program
        unlike = reference.unlike({"tokenizer_config.json": tokenizer})
        running = LensRunning(stored.folder)
        return trial(running, stored, unlike, gpt2, truth, word, native.read)

    return judged(name, beside, stored.tensors, native.tensors(), in_words, tried)


def _refuse_masks(decoder: Decoder, name: str, positions: int) -> None:
    """Check that the causal masks for that many positions are small enough.

    Raises:
        ExportError: if they are too large.
    """
    most = math.isqrt(MASKS // len(decoder.layers))
    if positions > most:
        what = f"{visible(name)}: for {positions:,} positions TransformerLens makes {len(decoder.layers)} causal masks"
        raise ExportError(f"{what} of more than {MASKS / 2**30:.0f} GiB in all: use --positions {most}, or --to gpt2")
