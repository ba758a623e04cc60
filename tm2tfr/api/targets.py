"""Other people's programs: decoders exported to them, and exports compared with their machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tm2tfr.api.subject import Subject
from tm2tfr.errors import CompileError, ExportError
from tm2tfr.runs.options import is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.targets.common.exported import Exported
    from tm2tfr.targets.common.verdict import Verdict
    from tm2tfr.targets.gpt2.export import Gpt2Exported


def export_to(
    to: str,
    subject: Given,
    folder: str | Path,
    *,
    machine: Given | None = None,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    verify: bool = True,
    **own: Any,
) -> Exported:
    """Write a decoder as a directory for another program, and return a description of it, readable as ``str``.

    Args:
        to: one of `tm2tfr.targets.registry.TARGETS`.
        subject, machine: see `check`.
        folder: the directory to create; an earlier export of the same kind is replaced.
        positions: the length of the longest run, N; by default 1,024, or as many as fit.
        max_head: the largest |h| of a run; by default any.
        dtype: ``float64`` or ``float32``.
        verify: before the directory gets its name, load the model in that program and compare its runs with the
            simulator's.
        own: options of a single target, such as `stock` of ``gpt2``.

    Raises:
        ExportError: if there is no such target or option; if the model does not fit, cannot be run, or is not right.
        OutputError: if the directory cannot be written.
        CompileError: if no machine is stored with a decoder and none is given.
    """
    from tm2tfr.targets.registry import target

    for name, number, least in (("positions", positions, 1), ("max_head", max_head, 0)):
        if number is not None and not is_count(number, least):
            raise ExportError(f"{name} must be a whole number, not {number!r}: use {least} or more, or None")
    asked = {name: value for name, value in own.items() if value}  # an option that is off is none
    exporter = target(to, asked).exporter
    found = Subject.of(subject)
    right = found.right if machine is None else Subject.of(machine).right
    return exporter.export(
        found.decoder,
        right,
        _folder(folder),
        positions=positions,
        max_head=max_head,
        dtype=dtype,
        verify=verify,
        **asked,
    )


def export_gpt2(
    subject: Given,
    folder: str | Path,
    *,
    machine: Given | None = None,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
    verify: bool = True,
) -> Gpt2Exported:
    """Write a decoder as a GPT-2 that unmodified `transformers` loads; for arguments and errors see `export_to`.

    Args:
        stock: GPT-2's own layer norm epsilon and GELU.
    """
    found = export_to(
        "gpt2",
        subject,
        folder,
        machine=machine,
        positions=positions,
        max_head=max_head,
        dtype=dtype,
        verify=verify,
        stock=stock,
    )
    return cast("Gpt2Exported", found)


def verify_checkpoint(folder: str | Path, *, machine: Given | None = None, word: str | None = None) -> Verdict:
    """Return whether an export is still its machine: in its weights, and when it is run on `word`.

    Args:
        folder: the directory of an export.
        machine: what to compare with, in any form of a subject; by default the machine stored with the export.
        word: the input; by default the machine's own.

    Raises:
        ExportError: if `folder` is not an export, or cannot be run.
        InputError: if `word` is not over the input alphabet.
        CompileError: if no machine is stored with it and none is given.
    """
    from tm2tfr.machine.spec import Machine
    from tm2tfr.targets.common.directory import document
    from tm2tfr.targets.registry import target_of
    from tm2tfr.transformer import provenance

    exporter = target_of(_folder(folder)).exporter
    if machine is None:
        said = document(folder)["provenance"]
        text = provenance.source(said)
        if text is None:
            raise CompileError(f"{folder}: no machine is stored with this checkpoint: name one with --machine")
        machine = Machine.from_yaml(text, file=provenance.name(said, "<provenance>"))
    found = Subject.of(Subject.of(machine).right)  # compiled anew: the weights are what is in question
    return exporter.verified(Path(folder), found.decoder, found.right, found.word(word))


def _folder(folder: object) -> Path:
    """Return the directory of an export.

    Raises:
        ExportError: if it is neither text nor a path.
    """
    if not isinstance(folder, str | Path):
        raise ExportError(f"{folder!r} is not the name of a directory: use text or a pathlib.Path")
    return Path(folder)
