"""The whole export: check that it fits, translate, write, run, and only then give it its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tm2tfr.machine.spec import Machine
from tm2tfr.targets.common.comparison import WITHOUT, Run, told, tried
from tm2tfr.targets.gpt2.directory import exported, statement
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.running import Running, required
from tm2tfr.targets.gpt2.tensors import Gpt2, translated
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class Exported:
    """A finished export, and how it ran: `runs` and `versions` are empty if it was not verified."""

    folder: Path
    gpt2: Gpt2
    runs: tuple[Run, ...]
    versions: str

    def __str__(self) -> str:
        """Return it in a few lines."""
        gpt2, recipe = self.gpt2, self.gpt2.recipe
        size = f"{len(gpt2.decoder.layers)} layers, {gpt2.heads} heads, width {gpt2.width}, {recipe.dtype}"
        lines = [f"GPT-2: {size}, {gpt2.bytes // int(recipe.dtype[-2:]) * 8 / 1e6:,.2f} million parameters"]
        lines.append(f"by bounds on rounding: {statement(recipe)}")
        lines.append(told(self.runs, self.versions))
        return "\n".join([*lines, f"wrote {self.folder}"])


def export(
    decoder: Decoder,
    machine: Machine,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
    verify: bool = True,
) -> Exported:
    """Write `decoder` as a GPT-2; see `tm2tfr.export_gpt2`.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        required(WITHOUT)
    recipe = fitted(decoder, machine, positions=positions, max_head=max_head, dtype=dtype, stock=stock)
    gpt2, runs, versions = translated(decoder, recipe), list[Run](), list[str]()

    def look(made: Path) -> None:
        running = Running(made)
        runs.extend(tried(running, gpt2.vocabulary, machine, recipe.positions))
        versions.append(running.versions)

    place = exported(gpt2, machine, folder, look=look if verify else None)
    return Exported(place, gpt2, tuple(runs), "".join(versions))
