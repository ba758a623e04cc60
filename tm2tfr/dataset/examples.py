"""Runs as training examples, and the bytes of a file of them.

An example is a prompt, the target tokens that follow it, and a mask of those on which the loss is computed.
Columns are collected as numbers and written all at once, so a token costs no more than its number.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tm2tfr.dataset.runs import CheckedRun, TokenCodes
from tm2tfr.errors import DatasetError
from tm2tfr.extras import required

COLUMNS = ("machine", "input", "form", "prompt", "target", "loss_mask", "verdict", "T", "tape")
"""The columns: ``verdict`` and ``T`` are null if there is no verdict; ``tape`` is the final tape, trimmed."""
PROMPTED_COLUMNS = (*COLUMNS, "prompt_ids", "target_ids")
"""Those of machines in the prompt of one decoder, whose tokens have the same numbers in the whole data set."""
CIRCUIT_COLUMNS = ("circuit", "input", "form", "prompt", "target", "loss_mask", "result")
"""Those of circuits; ``result`` is the numbers that the outputs say."""


def label_columns(noun: str, labelled: str) -> tuple[str, ...]:
    """Return those of what labels words; a target is the value of an s-op or a node, `labelled`, at each position."""
    return (noun, "input", labelled, "prompt", "target", "loss_mask")


_json = json.JSONEncoder(ensure_ascii=False).encode


class TrainingExample(NamedTuple):
    """One line, with tokens as their numbers."""

    machine: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes
    verdict: str | None
    steps: int | None
    tape: str


class PromptedTrainingExample(NamedTuple):
    """One line about a run of a machine in a prompt: as `TrainingExample`, and the numbers of tokens once more."""

    machine: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes
    verdict: str | None
    steps: int | None
    tape: str
    prompt_ids: TokenCodes
    target_ids: TokenCodes


class CircuitTrainingExample(NamedTuple):
    """One line about a run of a circuit, with tokens as their numbers."""

    circuit: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes
    result: str


class LabelTrainingExample(NamedTuple):
    """One line about a word that is labelled, with tokens and values as their numbers; `form` is the s-op or the node."""

    program: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes


AnyExample: TypeAlias = TrainingExample | PromptedTrainingExample | CircuitTrainingExample | LabelTrainingExample
"""The tokens are the fourth to the sixth of its fields."""


def examples(
    machine: str, prompt: TokenCodes, answers: TokenCodes, run: CheckedRun, forms: Sequence[str]
) -> list[TrainingExample]:
    """Return a run as examples, without those in which nothing is scored.

    Args:
        prompt: (n + 1,) the input and BOS.
        answers: (T + 1,) the intermediate steps and the answer, if there is one.
    """
    trace = run.trace
    tape = trace.result.tape if trace.result else ""
    scored = np.ones(len(answers), dtype=np.int32)
    shown = np.zeros(len(answers), dtype=np.int32)
    ends = trace.T is not None
    shown[-1:] = ends
    parts = {
        "answer": (answers[-1:], scored[-1:]) if ends else (answers[:0], scored[:0]),
        "steps shown": (answers, shown),
        "steps scored": (answers, scored),
    }
    verdict = trace.answer if ends else None
    return [
        TrainingExample(machine, trace.input, form, prompt, target, mask, verdict, trace.T, tape)
        for form in forms
        for target, mask in (parts[form],)
        if mask.any()
    ]


@dataclass
class Tokens:
    """Numbers for the tokens of several vocabularies."""

    number: dict[str, int] = field(default_factory=dict)

    def of(self, vocabulary: Sequence[str]) -> TokenCodes:
        """Return the numbers of the tokens in a vocabulary."""
        number = self.number
        return np.array([number.setdefault(token, len(number)) for token in vocabulary], dtype=np.int32)


def encoded(found: Sequence[AnyExample], tokens: Tokens, format: str, columns: Sequence[str] = COLUMNS) -> bytes:
    """Return a file of examples, ``jsonl`` or ``parquet``: always the same bytes for the same examples.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    return _jsonl(found, tokens, columns) if format == "jsonl" else _parquet(found, tokens, columns)


def _jsonl(found: Sequence[AnyExample], tokens: Tokens, columns: Sequence[str]) -> bytes:
    """Return a line of JSON for each example."""
    names = [_json(token) for token in tokens.number]
    lines = []
    for e in found:
        values = (
            *map(_json, e[:3]),
            _list([names[n] for n in e.prompt.tolist()]),
            _list([names[n] for n in e.target.tolist()]),
            _list(map(str, e.mask.tolist())),
            *(_json(v.tolist() if isinstance(v, np.ndarray) else v) for v in e[6:]),
        )
        lines.append("{" + ", ".join(f'"{c}": {v}' for c, v in zip(columns, values, strict=True)) + "}\n")
    return "".join(lines).encode()


def _list(values: Any) -> str:
    return f"[{', '.join(values)}]"


def _parquet(found: Sequence[AnyExample], tokens: Tokens, names_of: Sequence[str]) -> bytes:
    """Return a Parquet file; every setting that affects its bytes is given explicitly."""
    arrow = arrow_or_error()
    text, small, number = arrow.string(), arrow.int8(), arrow.int32()
    several = {"prompt": arrow.list_(text), "target": arrow.list_(text), "loss_mask": arrow.list_(small)}
    several |= {"prompt_ids": arrow.list_(number), "target_ids": arrow.list_(number)}
    kinds = [{**several, "T": arrow.int64()}.get(name, text) for name in names_of]
    schema = arrow.schema([arrow.field(c, kind) for c, kind in zip(names_of, kinds, strict=True)])
    names = arrow.array(list(tokens.number), text)
    columns: tuple[Sequence[Any], ...] = tuple(zip(*found, strict=True))
    arrays = []
    for kind, values in zip(kinds, columns, strict=True):
        if not arrow.types.is_list(kind):
            arrays.append(arrow.array(values, kind))
            continue
        offsets = np.zeros(len(values) + 1, dtype=np.int32)
        np.cumsum([len(v) for v in values], out=offsets[1:])
        flat = np.concatenate(values)
        items = (
            names.take(arrow.array(flat)) if kind.value_type == text else arrow.array(flat, number).cast(kind.value_type)
        )
        arrays.append(arrow.ListArray.from_arrays(arrow.array(offsets), items))
    sink = io.BytesIO()
    options = {"compression": "zstd", "compression_level": 3, "version": "2.6", "data_page_version": "1.0"}
    with arrow.parquet.ParquetWriter(sink, schema, use_dictionary=True, write_statistics=True, **options) as writer:
        writer.write_table(arrow.table(arrays, schema=schema), row_group_size=2**16)
    return sink.getvalue()


def arrow_or_error() -> Any:
    """Return PyArrow.

    Raises:
        DatasetError: if it is missing.
    """
    modules, instead = ("pyarrow", "pyarrow.parquet"), "remove parquet from the formats"
    return required("Parquet needs PyArrow", modules, "dataset", otherwise=instead, error=DatasetError)[0]
