"""Other people's programs: decoders exported to them, and exports compared with their machines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tm2tfr.api.subject import Subject, judged, outside
from tm2tfr.base.errors import CompileError, ExportError, InputError
from tm2tfr.runs.plan import is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.targets.common.verdict import Exported, Verdict
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
    stock: bool = False,
) -> Exported:
    """Write a decoder as a directory for another program, and return a description of it, readable as ``str``.

    Args:
        to: one of `tm2tfr.targets.registry.TARGETS`.
        subject, machine: see `check`.
        folder: the directory to create; an earlier export of the same kind is replaced.
        positions: the length of the longest run, N; by default 1,024, or as many as fit; of a circuit all that it has.
        max_head: the largest |h| of a run; by default any.
        dtype: ``float64`` or ``float32``.
        verify: before the directory gets its name, load the model in that program and compare its runs with the
            simulator's; without a machine, with the dense engine's on prompts made from the vocabulary.
        stock: for ``gpt2`` alone: its own layer norm epsilon and GELU.

    Raises:
        ExportError: for an unknown target or option; if the model does not fit, cannot be run, or is not right; if
            no machine is stored with a decoder, none is given, and the target is made for machines alone.
        OutputError: if the directory cannot be written.
    """
    from tm2tfr.targets.common.reference import canonical
    from tm2tfr.targets.registry import needs_machine, target

    for name, number, least in (("positions", positions, 1), ("max_head", max_head, 0)):
        if number is not None and not is_count(number, least):
            raise ExportError(f"{name} must be a whole number, not {number!r}: use {least} or more, or None")
    asked = {"stock": True} if stock else {}
    chosen = target(to, asked)
    found, judge = judged(Subject.of(subject), machine)
    right = found.program if machine is None else judge.right
    if right is None and not chosen.takes(found.decoder):
        raise needs_machine(to)
    return chosen.exporter.export(
        canonical(found.decoder, right),
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


def verify_export(folder: str | Path, *, machine: Given | None = None, word: str | None = None) -> Verdict:
    """Return whether an export is still its machine: in its weights, and when it is run on `word`.

    An export of weights without a machine is compared with the digest that was written with it, and its run with that of
    the dense engine.

    Args:
        folder: the directory of an export.
        machine: what to compare with, in any form of a subject; by default the machine stored with the export, compiled
            anew. Weights are compared as they are, with the names that they have; those without a machine are run by
            the dense engine. Beside an export of a class of machines, a machine is put into its prompt.
        word: the input; by default the machine's own, or a prompt made from the vocabulary; of a class of machines
            without one, a prompt with a machine in it.

    Raises:
        ExportError: if `folder` is not an export, or cannot be run.
        InputError: if `word` is not over the input alphabet.
        CompileError: if no machine is stored with it and none is given.
    """
    from tm2tfr.targets.common.directory import document
    from tm2tfr.targets.common.reference import WeightsReference, canonical, in_prompt, reference_of
    from tm2tfr.targets.registry import target_of
    from tm2tfr.transformer import provenance
    from tm2tfr.transformer.provenance import is_hidden

    chosen, found = target_of(_folder(folder)), None if machine is None else Subject.of(machine)
    if found is None:
        said = document(folder)["provenance"]
        text = provenance.source(said)
        if text is None and not chosen.any_weights:
            raise CompileError(f"{folder}: no machine is stored with this export: name one with --machine")
        if text is not None:
            found = _stored(said, text, folder)
    elif in_prompt(said := document(folder)["provenance"]):
        found = _in_the_prompt(found, said, folder)
    if word is not None and not isinstance(word, str):
        use = f"write for example {found.word(None)!r}" if found is not None else "put it in quotes"
        raise InputError(f"an input word must be text, not {word!r}: {use}")
    if word is None and found is not None and found.program is None and is_hidden(found.decoder.provenance):
        word = WeightsReference(found.decoder).example
    if found is None or (found.program is None and chosen.takes(found.decoder)):
        return chosen.exporter.verified(Path(folder), None if found is None else found.decoder, None, word)
    right = reference_of(found.right, canonical(found.decoder, found.right))
    return chosen.exporter.verified(Path(folder), right.decoder, found.right, right.word(word))


def _in_the_prompt(given: Subject, said: Mapping[str, str], folder: str | Path) -> Subject:
    """Return the class of machines that is stored with an export, with the machine that is given in the prompt.

    Weights, and the class itself, are what the export is compared with.

    Raises:
        ExportError: for a program that is not a machine, or a class of another size.
    """
    from tm2tfr.targets.common.reference import reference_of
    from tm2tfr.transformer import provenance

    text = provenance.source(said)
    if text is None or given.program is None:
        return given
    stored = _stored(said, text, folder)
    held = reference_of(stored.right, stored.decoder).taking(given.program, given.name, given.noun)
    return given if held is given.program else Subject.of(held)


def _stored(said: Mapping[str, str], text: str, folder: str | Path) -> Subject:
    """Return the program that is stored with an export, to be compiled anew.

    Raises:
        ExportError: if this version does not know its construction.
        SpecError: if it is not a program.
    """
    from tm2tfr.lab.softness.temperature import softened_as
    from tm2tfr.sources.registry import named
    from tm2tfr.transformer import provenance

    construction = named(provenance.construction(said))
    if construction is None:
        raise ExportError(f"{folder}: this version does not know the construction of these weights: export them again")
    program = construction.read(text, provenance.name(said, "<provenance>"))
    found = Subject.of(program, options=provenance.options(said))
    return Subject.of(softened_as(found.decoder, said)) if provenance.is_softened(said) else found


def verify_checkpoint(folder: str | Path, *, machine: Given | None = None, word: str | None = None) -> Verdict:
    """Return what `verify_export` does; deprecated: a checkpoint is a saved run, and this is about exports."""
    warnings.warn("verify_checkpoint is now called verify_export", DeprecationWarning, stacklevel=outside())
    return verify_export(folder, machine=machine, word=word)


def _folder(folder: object) -> Path:
    """Return the directory of an export.

    Raises:
        ExportError: if it is neither text nor a path.
    """
    if not isinstance(folder, str | Path):
        raise ExportError(f"{folder!r} is not the name of a directory: use text or a pathlib.Path")
    return Path(folder)
