"""The options of the command line: what can be chosen, and the words of its help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class EngineName(StrEnum):
    """The engines by name."""

    auto = "auto"
    dense = "dense"
    exact = "exact"
    fast = "fast"


class Dtype(StrEnum):
    """The dtypes of the dense engine."""

    float64 = "float64"
    float32 = "float32"


class Boundary(StrEnum):
    """What a move left at cell 0 of a one-way tape emits."""

    repaired = "repaired"
    chapter = "chapter"


class AttentionName(StrEnum):
    """How scores become weights."""

    average_hard = "average-hard"
    softmax = "softmax"


class TableFormat(StrEnum):
    """What a table can be printed as."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"
    jsonl = "jsonl"
    html = "html"


class ExportTarget(StrEnum):
    """The programs that a machine can be exported to."""

    gpt2 = "gpt2"
    lens = "lens"
    torch = "torch"
    onnx = "onnx"


class ReportFormat(StrEnum):
    """What a list can be printed as."""

    text = "text"
    json = "json"


class SoftFormat(StrEnum):
    """What a measured soft run can be printed as."""

    text = "text"
    csv = "csv"
    json = "json"


MACHINE = (
    "A machine file, the name of a shipped machine (see 'tm2tfr machines'), bbchallenge text such as 1RB1LB_1LA1RZ, "
    "'-' for standard input"
)
Subject = Annotated[str, typer.Argument(help=f"{MACHINE}, or a .safetensors file.")]
Input = Annotated[str | None, typer.Option("--input", "-i", help="The input word. Default: the machine's own.")]
MaxSteps = Annotated[int, typer.Option(min=0, help="Stop after so many steps of the machine.")]
Engine = Annotated[
    EngineName,
    typer.Option(help="What runs the weights: numpy, exact rationals, or compiled code. auto: dense, for long runs fast."),
]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Write the state of the run to this file now and then, and on Ctrl-C.")
]
CheckpointEvery = Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="How often.")]
Resume = Annotated[Path | None, typer.Option(help="Go on from this checkpoint.")]
Out = Annotated[
    Path | None, typer.Option(help="Write the rows to this .jsonl, .csv or .parquet file, without holding them.")
]
Number = Annotated[Dtype | None, typer.Option(help="The dense engine's numbers. Default: float64.")]
LeftBoundary = Annotated[
    Boundary | None,
    typer.Option(help="One-way tape: 'repaired' (default), or 'chapter' to see Exercise 8.3 go wrong."),
]
Attention = Annotated[AttentionName | None, typer.Option(help="How scores become weights. Default: average-hard.")]
Temperature = Annotated[
    str | None,
    typer.Option(
        metavar="auto|τ",
        help="Softmax: queries are divided by it, e.g. 0.001 or 2^-10. auto (default): Theorem 26 for the run's length.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")]
