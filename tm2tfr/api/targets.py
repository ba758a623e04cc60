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
    """Write a decoder as a directory for another program, and return its description; ``str`` makes it readable.

    Args:
        to: one of `tm2tfr.targets.registry.TARGETS`.
        subject, machine: see `check`.
        folder: the directory to create; an earlier export of the same kind is replaced.
        positions: the length of the longest run, N; by default 1,024, or as many as fit; for a circuit all its positions.
        max_head: the largest |h| of a run; by default any.
        dtype: ``float64`` or ``float32``.
        verify: before the directory gets its name, load the model in that program and compare its runs with the
            reference; without a program, with the dense engine on prompts made from the vocabulary.
        stock: only for ``gpt2``: use its own layer norm epsilon and GELU.

    Raises:
        ExportError: for an unknown target or option; if the model does not fit, cannot be run, or is not right; if
            a decoder has no program and the target needs one.
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
        stock: use GPT-2's own layer norm epsilon and GELU.
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
    """Verify an export: compare its weights with those of its program, compiled anew, and its run on `word`.

    An export of weights without a program is compared with the digest in the export, and its run with the dense engine.

    Args:
        folder: the directory of an export.
        machine: the program or weights to compare with, see `Subject.of`; by default the program stored with the export.
            Weights are compared with the names that they have; without a program, the dense engine runs them. For an
            export of a class of machines, the machine to put into its prompt.
        word: the input; by default the program's own, or a prompt made from the vocabulary; for a class of machines a
            prompt with a machine.

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

    The export is compared with the weights, and with the class itself.

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
    """Deprecated name of `verify_export`."""
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
