"""What the list of targets wants of a GPT-2: a language model, or a token classifier for weights that label a sequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.classifier.export import classifier_by
from tm2tfr.targets.classifier.stock import GPT2
from tm2tfr.targets.common.fitting import Options
from tm2tfr.targets.common.verdict import Verdict
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2.chosen import chosen
from tm2tfr.targets.gpt2.documents import FORMAT, documents
from tm2tfr.targets.gpt2.running import Gpt2Running, required
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.gpt2.verify import described
from tm2tfr.targets.gpt2.verify import verified as compared
from tm2tfr.transformer.weights import Decoder


def made(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2:
    """Return `decoder` as a GPT-2. Raises ExportError if it cannot be one, or the options do not fit."""
    return translated(decoder, chosen(right.decoder, right, **options))


LANGUAGE = by_gpt2.ByGpt2(
    title="GPT-2",
    format=FORMAT,
    required=required,
    made=made,
    documents=documents,
    described=described,
    load=Gpt2Running,
    streams=False,
)
LABELS = classifier_by(GPT2)


def export(
    decoder: Decoder, machine: Any, folder: str | Path, *, verify: bool = True, **options: Unpack[Options]
) -> by_gpt2.Gpt2Exported:
    """Write `decoder` as a GPT-2; see `tm2tfr.export_gpt2`.

    Raises:
        ExportError, OutputError: see there.
    """
    if decoder.labeller and options.get("stock"):
        raise ExportError("--stock is about the bounds for Turing machines, and these weights label a sequence: omit it")
    return by_gpt2.export(LABELS if decoder.labeller else LANGUAGE, decoder, machine, folder, verify=verify, **options)


def verified(folder: str | Path, decoder: Decoder, machine: Any, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`; see `tm2tfr.targets.gpt2.verify.verified`."""
    return compared(LABELS if decoder.labeller else LANGUAGE, folder, decoder, machine, word)
