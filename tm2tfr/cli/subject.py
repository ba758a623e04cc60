"""What an argument names, and how a command runs it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tm2tfr.base.choices import IMAGES, UNIVERSAL_TAPES
from tm2tfr.base.errors import CompileError, ReadError, SpecError, UsageError, visible
from tm2tfr.cli.output import cautioned, tell_of_homonyms
from tm2tfr.cli.universal import class_alone, prompted

if TYPE_CHECKING:
    from tm2tfr.api.checking import MachineList
    from tm2tfr.api.subject import Given, Subject
    from tm2tfr.cli.asked import Asked
    from tm2tfr.runs.plan import RunOptions
    from tm2tfr.sources.registry import LoadedProgram


def names_machine(argument: str) -> bool:
    """Return whether an argument is the name of a shipped machine, ``kind:name``, bbchallenge text, or a possible path."""
    from tm2tfr.sources import names

    if argument in names.of_kind(names.MACHINE) or names.split(argument) is not None or names.is_circuit(argument):
        return True
    from tm2tfr.sources.turing.formats.bbchallenge import is_argument

    if is_argument(argument) or Path(argument).suffix != "":
        return True
    try:
        return Path(argument).exists()
    except OSError:  # no file has so long a name
        return False


def subject(asked: Asked, *, seeded: bool = False, changes: Sequence[str] | None = None) -> Subject:
    """Return the subject of a command, read in the format of ``--from``; its warnings go to standard error.

    Args:
        seeded: whether the command itself uses a seed, so that a circuit need not.
        changes: changes of its weights, see `with_changes`.

    Raises:
        CompileError: if an option of the construction does not apply to it.
        UsageError: for a number of steps of what takes none, or a text that is not a change of a weight.
        ShapeError: for a weight that does not exist.
    """
    from tm2tfr.api.subject import Subject
    from tm2tfr.transformer.provenance import without_effect

    given, options = _given(asked, seeded=seeded)
    if asked.from_ is not None and given is not asked.argument:
        raise UsageError(f"tm2tfr: --from names the format of a file, and {str(asked)!r} is not one: omit it")
    try:
        found = Subject.read(given, options=options, format=asked.from_, cut_registers=asked.cut_registers)
    except SpecError as error:
        raise (error if asked.decoder.prompt is not None else _of_prompt(asked) or error) from None
    if given is asked.argument:
        tell_of_homonyms(asked.argument)
    if found.lacks_machine and not asked.takes_alone:
        raise _lacking(found, asked)
    for warning in found.warnings:
        typer.echo(cautioned(warning), err=True)
    if "max_steps" in asked.typed and found.answers_at_once:
        what = f"{asked} answers all positions at once, and takes no steps on a tape"
        raise UsageError(f"{asked.command}: {what}: omit --max-steps")
    if options:
        for note in without_effect(found.decoder.provenance):
            typer.echo(cautioned(f"warning: {note}"), err=True)
    if changes:
        from tm2tfr.transformer.changes import with_changes

        found = replace(found, weights=with_changes(found.decoder, changes))
    return found


def _of_prompt(asked: Asked) -> UsageError | None:
    """Return the error for the file of a prompt in place of a machine, with what to type instead; None for another file."""
    from tm2tfr.sources.circuit.formats.registry import by_ending

    if asked.from_ is not None or by_ending(asked.argument) is not None:
        return None
    path = Path(asked.argument)
    words = path.read_text(encoding="utf-8-sig", errors="replace").split() if path.is_file() else []
    written = bool(words) and (words[0] in UNIVERSAL_TAPES or words[-1] == "BOS" or all(map(str.isdecimal, words)))
    if not written and not (words[:1] and words[0].startswith("{") and '"tokens":' in words):
        return None
    given = "" if "universal" in asked.options else "--universal 8,4 "
    what = f"tm2tfr: {asked.argument}: this is a prompt, not a machine"
    return UsageError(f"{what}: use {'for example ' if given else ''}{given}--prompt @{shlex.quote(asked.argument)}")


def _lacking(found: Subject, asked: Asked) -> CompileError:
    """Return the error for a universal decoder without a machine, with the line to type instead."""
    what = f"{visible(found.name)}: a universal decoder runs the machine in its prompt, and no machine is given"
    if not asked.command:
        return CompileError(f"{what}: name the machine itself")
    return CompileError(f"{what}: use {asked.command} MACHINE --universal {shlex.quote(str(asked))}")


def _given(asked: Asked, *, seeded: bool) -> tuple[Given, Mapping[str, object]]:
    """Return the program that is written out or built by parameters, otherwise the argument as it is; and its options."""
    from tm2tfr.contract.options import UniversalOptions, fields_of

    universal = fields_of(UniversalOptions)
    if asked.decoder.prompt is not None:
        program, left = prompted(asked.decoder.prompt, asked.options)
        others = {name: value for name, value in asked.options.items() if name not in universal}
        return program, {**others, **left}
    if asked.alone:
        others = {name: value for name, value in asked.options.items() if name not in universal}
        return class_alone(asked.options), others
    return _written(asked, seeded=seeded), asked.options


def _written(asked: Asked, *, seeded: bool) -> LoadedProgram | str:
    from tm2tfr.sources import names, registry

    parameters = dict(asked.parameters)
    if seeded and "seed" in parameters and "seed" not in names.parameters_of(asked.argument):
        parameters.pop("seed")
    text = asked.expression or asked.truth_table or asked.formula
    if "seed" in parameters:
        _check_seed(asked, text)
    if parameters and text:
        raise UsageError(
            f"tm2tfr: --{next(iter(parameters))} is for shipped circuits, and {asked.given!r} is not one: omit it"
        )
    if asked.expression is not None:
        return registry.of_expression(asked.expression)
    if asked.truth_table is not None:
        return registry.of_truth_table(asked.truth_table)
    if asked.formula is not None:
        return registry.of_formula(asked.formula)
    return registry.built(asked.argument, parameters) if parameters else asked.argument


def _check_seed(asked: Asked, text: str | None) -> None:
    """Raise UsageError for a seed from which nothing is drawn; `text`: a circuit or a formula given as text, if any."""
    from tm2tfr.sources import names

    known = names.parameters_of(asked.argument)
    circuit = bool(text or known) or names.is_circuit(asked.argument)
    if not circuit and names_machine(asked.argument) and "universal" not in asked.options:
        what = f"{asked}: --seed is for shipped circuits, and with --universal for the order of a machine's rules"
        raise UsageError(f"{what}: omit it, or add {f'{asked.draws} or ' if asked.draws else ''}--universal")
    if asked.draws and "seed" not in known:
        what = f"{asked}: --seed is for {asked.draws}, which is missing"
        raise UsageError(f"{what}: add {asked.draws}, or omit --seed")


def bytes_in(subject: Subject | MachineList, contents: Path | None, word: str | None = None) -> str | None:
    """Return the input: the bytes of a file, as text, or without one the word.

    Raises:
        UsageError: if both are given, or the program takes no bytes.
        ReadError: if the file cannot be read.
    """
    if contents is None:
        return word
    from tm2tfr.api.subject import Subject

    if word is not None:
        raise UsageError("tm2tfr: --input and --file cannot be combined: omit one of them")
    found = None
    program, construction = (subject.program, subject.construction) if isinstance(subject, Subject) else (None, None)
    if program is not None and construction is not None and construction.of_bytes is not None:
        try:
            found = construction.of_bytes(program, contents.read_bytes())
        except OSError as error:
            raise ReadError(f"{contents}: cannot be read ({error.strerror}): name another file") from None
    if found is None:
        what = f"{visible(subject.name)} takes no bytes, and --file is for circuits that do, such as sha256"
        raise UsageError(f"tm2tfr: {what}: use --input")
    return found


def listed(asked: Asked) -> MachineList | None:
    """Return the list of machines that the argument names, None if it is not a list.

    Raises:
        SpecError, ReadError: see `tm2tfr.sources.turing.library.load_list`.
    """
    if asked.given != asked.argument or asked.from_ not in (None, "bbchallenge"):
        return None
    from tm2tfr.sources.turing.library import load_list

    found = load_list(asked.argument)
    if found is None:
        return None
    from tm2tfr.api.checking import MachineList

    return MachineList(str(asked), found, asked.options)


def check_places(reading: Sequence[str | None], run: RunOptions) -> None:
    """Raise OutputError if a file in which a run is to be recorded cannot be written."""
    from tm2tfr.base.files import check_file

    rows = [".csv", ".jsonl", ".parquet"]
    check_file(run.out, reading=reading, what="rows", endings=rows, hint=for_picture(run.out))
    check_file(run.checkpoint, reading=reading)


def for_picture(path: Path | None) -> str:
    """Return the end of a message about a file that is to show a run, if the file would be a picture."""
    if path is None or path.suffix.lower() not in IMAGES:
        return ""
    tables = f"tm2tfr table SOURCE -o {path.stem}.html or {path.stem}.tex"
    return f"; for a picture: {tables}, or the steps with tm2tfr explore SOURCE --frames DIR"
