"""What the list of targets wants of a GPT-2: a language model, or a token classifier for weights that label a sequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tm2tfr.errors import ExportError
from tm2tfr.targets.classifier.export import export_labels, verified_labels
from tm2tfr.targets.classifier.stock import GPT2
from tm2tfr.targets.common.exported import Exported
from tm2tfr.targets.common.verdict import Verdict
from tm2tfr.targets.gpt2 import export as language
from tm2tfr.targets.gpt2 import verify
from tm2tfr.transformer.weights import Decoder


def export(decoder: Decoder, machine: Any, folder: str | Path, *, stock: bool = False, **options: Any) -> Exported:
    """Write `decoder` as a GPT-2; see `tm2tfr.export_gpt2`.

    Raises:
        ExportError, OutputError: see there.
    """
    if not decoder.labeller:
        return language.export(decoder, machine, folder, stock=stock, **options)
    if stock:
        raise ExportError("--stock is about the bounds for Turing machines, and these weights label a sequence: omit it")
    return export_labels(GPT2, decoder, machine, folder, **options)


def verified(folder: str | Path, decoder: Decoder, machine: Any, word: str) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError, InputError: see `tm2tfr.targets.gpt2.verify.verified`.
    """
    if decoder.labeller:
        return verified_labels(GPT2, folder, decoder, machine, word)
    return verify.verified(folder, decoder, machine, word)
