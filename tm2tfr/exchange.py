"""The library's ways to other people's programs: formats of machines, and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tm2tfr.api import as_machine, compile, default_input, machine_of
from tm2tfr.errors import CompileError
from tm2tfr.machine.spec import Machine

if TYPE_CHECKING:
    from tm2tfr.export.checkpoints.verdict import Verdict
    from tm2tfr.export.gpt2.export import Exported as Gpt2Exported
    from tm2tfr.export.targets import Exported
    from tm2tfr.transformer.weights import Decoder


def convert(machine: Machine | str | Path, format: str) -> str:
    """Return `machine`, a `Machine` or what `load` takes, in another program's format.

    >>> import tm2tfr
    >>> print(tm2tfr.convert("busy-beaver-2", "bbchallenge"))
    1RB1LB_1LA1RZ
    <BLANKLINE>

    Args:
        format: one of `tm2tfr.export.conversion.TARGETS`.

    Raises:
        ConversionError: if there is no such format, or it cannot say the machine: then with the reason.
    """
    from tm2tfr.export.conversion import convert as converted

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
    """Write a decoder as a directory for another program, and return what was written; ``str`` of it says it in words.

    Args:
        to: one of `tm2tfr.export.targets.TARGETS`.
        subject, machine: see `check`.
        folder: the directory to make; an earlier export of the kind there is replaced.
        positions: the longest run, N; left out 1,024, or as many as fit.
        max_head: the largest |h| of a run; left out, any.
        dtype: ``float64`` or ``float32``.
        verify: load it in that program and compare its runs with the simulator's before it gets its name.
        own: options of one target only, such as `stock` of ``gpt2``.

    Raises:
        ExportError: if there is no such target or option; if it does not fit, cannot be run, or is not right.
        OutputError: if it cannot be written.
        CompileError: if a decoder comes with no machine.
    """
    from tm2tfr.export.targets import target
    from tm2tfr.transformer.weights import Decoder

    exporter = target(to, own).exporter
    decoder = subject if isinstance(subject, Decoder) else compile(subject)
    machine = machine or machine_of(decoder)
    asked: dict[str, Any] = {"positions": positions, "max_head": max_head, "dtype": dtype}
    return exporter.export(decoder, machine, folder, verify=verify, **asked, **own)


def export_gpt2(
    subject: Decoder | Machine | str | Path, folder: str | Path, *, stock: bool = False, **options: Any
) -> Gpt2Exported:
    """Write a decoder as a GPT-2 that unmodified `transformers` loads: `export_to`, where the options and errors are.

    Args:
        stock: GPT-2's own layer norm epsilon and GELU.
    """
    return cast("Gpt2Exported", export_to("gpt2", subject, folder, stock=stock, **options))


def verify_checkpoint(
    folder: str | Path, *, machine: Machine | str | Path | None = None, word: str | None = None
) -> Verdict:
    """Say whether an exported checkpoint is still `machine`: in its weights, and when it is run on `word`.

    Args:
        machine: left out, the machine that travels with the checkpoint.
        word: the input; left out, the machine's own default input.

    Raises:
        ExportError: if `folder` is no export, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.export.checkpoints.directory import document
    from tm2tfr.export.targets import target_of

    exporter = target_of(folder).exporter
    if machine is None:
        provenance = document(folder)["provenance"]
        if "machine" not in provenance:
            raise CompileError(f"{folder}: no machine travels with this checkpoint: name one with --machine")
        machine = Machine.from_yaml(provenance["machine"], file=provenance.get("name", "<provenance>"))
    machine = as_machine(machine)
    return exporter.verified(Path(folder), compile(machine), machine, default_input(machine) if word is None else word)
