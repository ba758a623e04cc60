"""The whole export: check that it fits, translate, write, run, and only then give it its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr.errors import counted
from tm2tfr.targets.common.card import right
from tm2tfr.targets.common.comparison import WITHOUT
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.gpt2.chosen import chosen
from tm2tfr.targets.gpt2.directory import exported
from tm2tfr.targets.gpt2.running import Gpt2Running, required
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.transformer.weights import Decoder


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
    truth = right(machine, decoder)
    recipe = chosen(decoder, truth, positions=positions, max_head=max_head, dtype=dtype, stock=stock)
    gpt2 = translated(decoder, recipe)
    look = Rehearsal(Gpt2Running, gpt2.vocabulary, truth, recipe.positions)
    place = exported(gpt2, truth, folder, look=look if verify else None)
    return Gpt2Exported(folder=place, runs=look.runs, versions=look.versions, gpt2=gpt2)
