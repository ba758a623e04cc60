"""The library's connections to other programs: machine formats, checkpoints, and a page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tm2tfr.api.runs import MAX_STEPS, as_machine, compile, default_input, machine_of
from tm2tfr.engines import engine as engine_named
from tm2tfr.errors import CompileError, EngineError
from tm2tfr.machine.spec import Machine
from tm2tfr.transformer import provenance

if TYPE_CHECKING:
    from tm2tfr.explorer import Explorer
    from tm2tfr.targets.common.verdict import Verdict
    from tm2tfr.targets.gpt2.export import Exported as Gpt2Exported
    from tm2tfr.targets.registry import Exported
    from tm2tfr.trace.check import Progress
    from tm2tfr.transformer.weights import Decoder

MOST_EXPLORED = 50_000
"""The largest number of steps in a page: the dense engine takes a minute for them, and the file has about 15 MB."""


def convert(machine: Machine | str | Path, format: str) -> str:
    """Return `machine`, a `Machine` or what `load` takes, in another program's format.

    >>> import tm2tfr
    >>> print(tm2tfr.convert("busy-beaver-2", "bbchallenge"))
    1RB1LB_1LA1RZ
    <BLANKLINE>

    Args:
        format: one of `tm2tfr.machine.conversion.TARGETS`.

    Raises:
        ConversionError: if there is no such format, or it cannot express the machine; the message gives the reason.
    """
    from tm2tfr.machine.conversion import convert as converted

    return converted(as_machine(machine), format).text


def export_to(
    to: str,
    subject: Decoder | Machine | str | Path,
    folder: str | Path,
    *,
    machine: Machine | None = None,
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
    from tm2tfr.transformer.weights import Decoder

    exporter = target(to, own).exporter
    decoder = subject if isinstance(subject, Decoder) else compile(subject)
    machine = machine or machine_of(decoder)
    asked: dict[str, Any] = {"positions": positions, "max_head": max_head, "dtype": dtype}
    return exporter.export(decoder, machine, folder, verify=verify, **asked, **own)


def export_gpt2(
    subject: Decoder | Machine | str | Path, folder: str | Path, *, stock: bool = False, **options: Any
) -> Gpt2Exported:
    """Write a decoder as a GPT-2 that unmodified `transformers` loads; for options and errors see `export_to`.

    Args:
        stock: GPT-2's own layer norm epsilon and GELU.
    """
    return cast("Gpt2Exported", export_to("gpt2", subject, folder, stock=stock, **options))


def verify_checkpoint(
    folder: str | Path, *, machine: Machine | str | Path | None = None, word: str | None = None
) -> Verdict:
    """Return whether an exported checkpoint is still `machine`: in its weights, and when it is run on `word`.

    Args:
        machine: what to compare with; by default the machine stored with the checkpoint.
        word: the input; by default the machine's own.

    Raises:
        ExportError: if `folder` is not an export, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.targets.common.directory import document
    from tm2tfr.targets.registry import target_of

    exporter = target_of(folder).exporter
    if machine is None:
        said = document(folder)["provenance"]
        text = provenance.source(said)
        if text is None:
            raise CompileError(f"{folder}: no machine is stored with this checkpoint: name one with --machine")
        machine = Machine.from_yaml(text, file=provenance.name(said, "<provenance>"))
    machine = as_machine(machine)
    return exporter.verified(Path(folder), compile(machine), machine, default_input(machine) if word is None else word)


def explore(
    subject: Decoder | Machine | str | Path,
    word: str | None = None,
    *,
    machine: Machine | None = None,
    dtype: str | None = None,
    max_steps: int = MAX_STEPS,
    left_boundary: str | None = None,
    compare: str | None = None,
    progress: Progress | None = None,
) -> Explorer:
    """Run a decoder with the dense engine, watch it, and return the run as one HTML page, which a notebook displays.

    >>> import tm2tfr
    >>> page = tm2tfr.explore("chapter", "11")
    >>> page.traces[0].answer, "</html>" in page.html
    ('accept', True)

    Args:
        subject, word, machine, left_boundary: see `check`; without a machine the run is not checked.
        dtype: ``float64`` (the default) or ``float32``.
        max_steps: stop after this many steps of the machine; at most 50,000.
        compare: show a second run next to the first, with this left boundary: ``chapter`` or ``repaired``.

    Raises:
        CompileError, InputError: see `check`; also for soft weights, and for `compare` with weights.
        EngineError: if `max_steps` is more than a page can contain.
    """
    from tm2tfr.explorer import explorer
    from tm2tfr.explorer.record import record
    from tm2tfr.transformer.weights import Decoder

    if max_steps > MOST_EXPLORED:
        raise EngineError(
            f"a page contains every number of a run, and {max_steps:,} steps are too many: use at most {MOST_EXPLORED:,}, "
            "or tm2tfr trace --quiet, which keeps no rows"
        )
    if isinstance(subject, Decoder):
        if compare is not None:
            raise CompileError("these weights are already compiled, so there is nothing to compare with: name the machine")
        decoders = [subject]
        machine = machine or (machine_of(subject) if provenance.source(subject.provenance) else None)
    else:
        machine = as_machine(subject)
        decoders = [compile(machine, left_boundary=left_boundary)]
        decoders += [] if compare is None else [compile(machine, left_boundary=compare)]
    if any(decoder.soft for decoder in decoders):
        raise CompileError(
            "the page shows where hard attention looks, and these weights are soft: explore the machine instead"
        )
    if word is None:
        word = default_input(machine) if machine else ""
    engine = engine_named("dense", dtype)
    options: dict[str, Any] = {"machine": machine, "engine": engine, "max_steps": max_steps, "progress": progress}
    return explorer(machine, [record(decoder, word, **options) for decoder in decoders])
