"""The programs that machines are exported to, by name. A target is a module with two functions, see `Exporter`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Unpack, cast

from tm2tfr.base.errors import ExportError, did_you_mean
from tm2tfr.targets.common.directory import document
from tm2tfr.targets.common.fitting import Options
from tm2tfr.targets.common.verdict import Exported, Verdict
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder


class Exporter(Protocol):
    """The module of a target."""

    def export(
        self,
        decoder: Decoder,
        machine: Any,
        folder: str | Path,
        *,
        verify: bool,
        **options: Unpack[Options],
    ) -> Exported:
        """Write `decoder` to `folder`.

        Args:
            machine: the program that it was compiled from; None: no program is known.
            options: those that this target takes, if they are given.
        """

    def verified(self, folder: Path, decoder: Decoder | None, machine: Any, word: str | None) -> Verdict:
        """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`."""


@dataclass(frozen=True)
class Target:
    """A program that machines are exported to.

    Args:
        format: the ``format`` in `tm2tfr.json` of an export.
        module: the module with `export` and `verified`; it imports the program itself only when that is run.
        options: the options that it takes in addition to those that all take.
        any_weights: whether it takes all weights without a program, and knows an export of them again without any.
        labels_alone: whether it takes nothing but weights that label a sequence.
    """

    name: str
    format: str
    module: str
    options: frozenset[str] = frozenset()
    any_weights: bool = False
    labels_alone: bool = False

    @property
    def exporter(self) -> Exporter:
        """The module, imported."""
        return cast("Exporter", import_module(self.module))

    def takes(self, decoder: Decoder) -> bool:
        """Return whether it takes `decoder` without a program, or says better than that one is needed why it does not."""
        return self.any_weights or self.labels_alone or decoder.labeller or is_hidden(decoder.provenance)


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("gpt2", "tm2tfr-gpt2", "tm2tfr.targets.gpt2.target", frozenset({"stock"})),
        Target("bert", "tm2tfr-bert", "tm2tfr.targets.classifier", labels_alone=True),
        Target("lens", "tm2tfr-lens", "tm2tfr.targets.lens.target"),
        Target("torch", "tm2tfr-torch", "tm2tfr.targets.torch.target", any_weights=True),
        Target("onnx", "tm2tfr-onnx", "tm2tfr.targets.onnx.target", any_weights=True),
    )
}
"""Name, as in ``--to NAME``, -> target."""


def target(name: str, options: Iterable[str] = ()) -> Target:
    """Return the target called `name`.

    Raises:
        ExportError: if there is no such target, or it does not take one of `options`.
    """
    if not isinstance(name, str) or name not in TARGETS:
        raise ExportError(f"there is no export to {name!r}{did_you_mean(str(name), TARGETS)}: use {' or '.join(TARGETS)}")
    for option in options:
        if option not in TARGETS[name].options:
            takers = " or ".join(t.name for t in TARGETS.values() if option in t.options)
            if not takers:
                raise ExportError(f"no export has an option {option!r}: omit it")
            what = f"--to {name} does not take --{option.replace('_', '-')}, which only applies to --to {takers}"
            raise ExportError(f"{what}: omit it")
    return TARGETS[name]


def needs_machine(name: str) -> ExportError:
    """Return the error for weights without a machine, which the target called `name` does not take."""
    others = " or ".join(f"--to {t.name}" for t in TARGETS.values() if t.any_weights and not t.labels_alone)
    what = f"--to {name} has bounds for the construction of a Turing machine alone"
    return ExportError(f"{what}, and no machine is stored with these weights: name the machine, or use {others}")


def target_of(folder: str | Path) -> Target:
    """Return the target that the directory `folder` was exported to.

    Raises:
        ExportError: if it is not an export, or one that this version does not know.
    """
    said = document(folder)["format"]
    for known in TARGETS.values():
        if known.format == said:
            return known
    raise ExportError(f"{folder}: this export has format {said!r}, which this version does not know: export it again")
