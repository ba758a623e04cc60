"""Other people's programs: decoders exported to them, and exports compared with their machines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tm2tfr.api.subject import Subject, judged, outside
from tm2tfr.choices import TURING, UNIVERSAL
from tm2tfr.errors import CompileError, ExportError, InputError, visible
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
        ExportError: if there is no such target or option; if the model does not fit, cannot be run, or is not right; if
            no machine is stored with a decoder, none is given, and the target is made for machines alone.
        OutputError: if the directory cannot be written.
    """
    from tm2tfr.targets.common.prompted import canonical
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
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.targets.common.card import example
    from tm2tfr.targets.common.directory import document
    from tm2tfr.targets.common.prompted import canonical, prompted
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
    elif (said := document(folder)["provenance"]).get(provenance.CONSTRUCTION) == UNIVERSAL:
        found = _in_the_prompt(found, said, folder)
    if word is not None and not isinstance(word, str):
        raise InputError(f"an input word must be text, not {word!r}: write for example '11'")
    if word is None and found is not None and found.program is None and is_hidden(found.decoder.provenance):
        word = example(found.decoder)
    if found is None or (found.program is None and chosen.takes(found.decoder)):
        return chosen.exporter.verified(Path(folder), None if found is None else found.decoder, None, word)
    if isinstance(found.right, Universal):
        decoder = canonical(found.decoder, found.right)
        return chosen.exporter.verified(Path(folder), decoder, found.right, prompted(found.right, word))
    return chosen.exporter.verified(Path(folder), found.decoder, found.right, found.word(word))


def _in_the_prompt(given: Subject, said: Mapping[str, str], folder: str | Path) -> Subject:
    """Return the class of machines that is stored with an export, with the machine that is given in the prompt.

    Weights, and the class itself, are what the export is compared with.

    Raises:
        ExportError: for a program that is no machine, or a class of another size.
    """
    from tm2tfr.sources.turing.spec import Machine
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.transformer import provenance

    text, machine = provenance.source(said), given.program
    if text is None or machine is None:
        return given
    stored: Any = _stored(said, text, folder).right
    if not isinstance(stored, Universal):
        return given
    if isinstance(machine, Machine):
        held: Any = stored.holding(machine)
        return Subject.of(held)
    remedy = "name a machine, which is put into its prompt, or omit --machine"
    if not isinstance(machine, Universal):
        noun = given.construction.noun if given.construction else "program"
        raise ExportError(f"{visible(given.name)}: it is a {noun}, and this export runs Turing machines: {remedy}")
    if machine.empty != stored.empty:
        sizes = [f"{u.states} states, {u.symbols} symbols and the tape {u.tape!r}" for u in (machine, stored)]
        what = f"{visible(given.name)}: it is the universal decoder of {sizes[0]}, and this export that of {sizes[1]}"
        raise ExportError(f"{what}: {remedy}")
    return given


def _stored(said: Mapping[str, str], text: str, folder: str | Path) -> Subject:
    """Return the program that is stored with an export, to be compiled anew.

    Raises:
        ExportError: if this version does not know its construction.
        SpecError: if it is not a program.
    """
    from tm2tfr.sources.registry import named
    from tm2tfr.transformer import provenance

    construction = named(provenance.construction(said))
    if construction is None:
        raise ExportError(f"{folder}: this version does not know the construction of these weights: export them again")
    program = construction.read(text, provenance.name(said, "<provenance>"))
    options = {} if construction.name == TURING else provenance.options(said)
    return Subject.of(program, options=options)


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
