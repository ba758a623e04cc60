"""The command line: each command loads, makes a library call, prints, and sets the exit code.

Exit codes: 0 for success, 1 for a failed check, 2 for bad input, 130 for Ctrl-C. A command's module is imported when the
command is called, and heavy imports happen inside the commands, so that ``--help`` is immediate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, cast

import typer
from typer.main import get_command

from tm2tfr import interrupts
from tm2tfr._version import __version__
from tm2tfr.cli.commands import HELP, CommandRow, Group, Later
from tm2tfr.cli.guarded import guarded

INSPECT, VERIFY, EXPORT, RESEARCH = "Inspect", "Verify", "Export", "Research"
"""The panels of the commands."""
COMMANDS: Mapping[str, CommandRow] = {
    "trace": CommandRow(
        INSPECT,
        "runs:trace",
        "Run a decoder, print its table, and check every cell",
        "tm2tfr trace palindromes --input abba",
    ),
    "table": CommandRow(
        INSPECT,
        "runs:table",
        "Write the table as markdown, LaTeX, CSV, JSON or HTML",
        "tm2tfr table --input 11 -o run.tex",
    ),
    "explore": CommandRow(
        INSPECT,
        "exploring:explore",
        "Watch the transformer compute, in the browser",
        "tm2tfr explore palindromes --input abba --open",
    ),
    "playground": CommandRow(
        INSPECT,
        "exploring:playground",
        "Edit a source and watch its run, in the browser",
        "tm2tfr playground binary-increment",
    ),
    "plot": CommandRow(
        INSPECT,
        "exploring:plot",
        "Draw where a head looks, or its scores at one position",
        "tm2tfr plot palindromes --input abba --head 4.1 -o head.svg",
    ),
    "graph": CommandRow(
        INSPECT,
        "machines:graph",
        "Draw a state graph, a circuit, a program, a formula, or a run",
        "tm2tfr graph palindromes -o palindromes.svg",
    ),
    "list": CommandRow(
        INSPECT, "machines:list_", "List what is shipped, or describe one entry", "tm2tfr list binary-adder"
    ),
    "check": CommandRow(
        VERIFY,
        "runs:check",
        "Compare a decoder with what is right, on examples or inputs",
        "tm2tfr check palindromes --input abba",
    ),
    "sweep": CommandRow(
        VERIFY, "datasets:sweep", "Compare them on every program and input of a spec", "tm2tfr sweep two-states"
    ),
    "certify": CommandRow(
        VERIFY,
        "proofs:certify",
        "Prove, for every input, how long a run stays right",
        "tm2tfr certify busy-beaver-5 --engine fast --max-steps 1e6",
    ),
    "soften": CommandRow(
        VERIFY, "proofs:soften", "Measure the errors of a run under softmax", "tm2tfr soften palindromes --input abba"
    ),
    "verify-export": CommandRow(
        VERIFY, "exports:verify_export", "Check that an export is still its machine", "tm2tfr verify-export gpt2"
    ),
    "compile": CommandRow(
        EXPORT,
        "runs:compile",
        "Compile a machine, circuit, program or formula to weights",
        "tm2tfr compile chapter -o chapter.safetensors",
    ),
    "prompt": CommandRow(
        EXPORT,
        "universal.prompts:prompt",
        "Write a machine as the prompt of a universal decoder",
        "tm2tfr prompt palindromes --input abba",
    ),
    "export": CommandRow(
        EXPORT,
        "exports:export",
        "Export a GPT-2, TransformerLens, PyTorch or ONNX model",
        "tm2tfr export palindromes -o gpt2",
    ),
    "convert": CommandRow(
        EXPORT,
        "machines:convert",
        "Write a machine, a circuit or a formula in another format",
        "tm2tfr convert palindromes -o palindromes.jff",
    ),
    "dataset": CommandRow(
        EXPORT, "datasets:dataset", "Write checked runs as training data", "tm2tfr dataset palindromes -o data"
    ),
    "labels": CommandRow(
        RESEARCH,
        "research.labels:labels",
        "Write what every position and head of many runs holds",
        "tm2tfr labels palindromes --random 1000 -o labels",
    ),
    "intervene": CommandRow(
        RESEARCH,
        "research.intervene:intervene",
        "Set variables of a run, in the reference and in the weights",
        "tm2tfr intervene chapter --input 11 --set 'q@5=q1'",
    ),
    "disguise": CommandRow(
        RESEARCH,
        "research.hidden:disguise",
        "Hide a model's answer in its weights, with a key",
        "tm2tfr disguise busy-beaver-5 --seed 7 -o hidden.safetensors --key key.json",
    ),
    "score": CommandRow(
        RESEARCH,
        "research.hidden:score",
        "Score a claim about hidden weights",
        "tm2tfr score key.json claim.json",
    ),
    "train": CommandRow(
        RESEARCH, "research.train:train", "Train a transformer on runs", "tm2tfr train binary-adder --bits 8 -o run"
    ),
    "compare": CommandRow(
        RESEARCH,
        "research.train:compare",
        "Compare learned attention with compiled",
        "tm2tfr compare run --plot figure-2.svg",
    ),
}
"""The commands by name, as ``--help`` lists them."""


def _version(value: bool) -> None:
    if value:
        typer.echo(f"tm2tfr {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compile Turing machines, Boolean circuits, RASP programs and formulas of temporal logic to transformer weights.

    Every token that the weights answer is checked against a reference that knows nothing of transformers.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def _group() -> Group:
    made = typer.Typer(name="tm2tfr", cls=Group, context_settings={"help_option_names": list(HELP)})
    made.callback(invoke_without_command=True)(_root)
    group = cast(Group, get_command(made))
    group.commands.update({name: Later(name, row) for name, row in COMMANDS.items()})
    return group


app = _group()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(interrupts.finished(guarded(app, list(sys.argv[1:] if arguments is None else arguments))))
