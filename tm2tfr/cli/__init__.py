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

from tm2tfr._version import __version__
from tm2tfr.base import interrupts
from tm2tfr.cli.commands import HELP, Group, Later, guarded

COMMANDS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "Inspect": {
        "trace": ("runs:trace", "Run a decoder, print its table, and check every cell", "palindromes --input abba"),
        "table": (
            "runs:table",
            "Write the table of a run as Markdown, LaTeX, CSV or HTML",
            "chapter --input 11 -o run.tex",
        ),
        "explore": (
            "exploring:explore",
            "Watch the transformer compute, in the browser",
            "palindromes --input abba --open",
        ),
        "playground": ("exploring:playground", "Edit a source and watch its run, in the browser", "binary-increment"),
        "rasp": ("rasp:rasp", "Type RASP line by line, and compile and check it", ""),
        "plot": (
            "exploring:plot",
            "Draw where a head looks, or its scores at one position",
            "palindromes --input abba --head 4.1 -o head.svg",
        ),
        "graph": (
            "machines:graph",
            "Draw a state graph, a circuit, a program, a formula, or a run",
            "palindromes -o palindromes.svg",
        ),
        "explain": ("machines:explain", "Print the model of a source: variables and their equations", "palindromes"),
        "list": ("machines:list_", "List what is shipped, or describe one entry", "binary-adder"),
    },
    "Verify": {
        "check": ("runs:check", "Compare a decoder with its reference, on examples or inputs", "palindromes --input abba"),
        "sweep": ("datasets:sweep", "Check every source of a spec on every input", "palindromes --max-steps 50"),
        "certify": (
            "weights:certify",
            "Prove, for every input, how long a run stays right",
            "busy-beaver-5 --engine fast --max-steps 1e6",
        ),
        "soften": ("weights:soften", "Measure the errors of a run under softmax", "palindromes --input abba"),
        "sensitivity": (
            "weights:sensitivity",
            "Measure how far one changed symbol moves the logits",
            "odd-ones --length 16",
        ),
        "verify-export": ("weights:verify_export", "Check an exported model against its source", "gpt2"),
    },
    "Export": {
        "compile": (
            "runs:compile",
            "Compile a source to weights, and print a summary of them",
            "chapter -o chapter.safetensors",
        ),
        "prompt": (
            "weights:prompt",
            "Write a machine as the prompt of a universal decoder",
            "palindromes --input abba",
        ),
        "export": ("weights:export", "Export a GPT-2, TransformerLens, PyTorch or ONNX model", "palindromes -o gpt2"),
        "convert": (
            "machines:convert",
            "Write a machine, a circuit or a formula in another format",
            "palindromes -o palindromes.jff",
        ),
        "dataset": ("datasets:dataset", "Write checked runs as training data", "palindromes -o data"),
    },
    "Research": {
        "labels": (
            "datasets:labels",
            "Write what every position and head of many runs holds",
            "palindromes --random 1000 -o labels",
        ),
        "intervene": (
            "datasets:intervene",
            "Set variables of a run, in the reference and in the weights",
            "chapter --input 11 --set 'q@5=q1'",
        ),
        "disguise": (
            "hidden:disguise",
            "Hide a model's answer in its weights, with a key",
            "half-adder --seed 7 -o hidden.safetensors --key key.json",
        ),
        "score": ("hidden:score", "Score a claim about hidden weights", "key.json claim.json"),
        "train": ("train:train", "Train a transformer on runs", "half-adder --steps 200 -o run"),
        "compare": ("train:compare", "Compare learned attention with compiled", "run"),
    },
}
"""The panels of the help, and their commands: the function of each, its line there, and the arguments of its example."""
EARLIER = {
    "verify-export": "tm2tfr export palindromes -o gpt2",
    "score": "tm2tfr disguise half-adder -o x.safetensors --key key.json && tm2tfr score key.json --template > claim.json",
    "compare": "tm2tfr train half-adder --steps 200 -o run",
}
"""A command whose example reads files -> the line that makes them."""


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
    """Compile Turing machines, circuits, RASP programs, formulas of temporal logic and automata to transformer weights.

    Every token that the weights answer is checked against an independent reference.

    Begin with: tm2tfr trace palindromes --input abba
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def _group() -> Group:
    made = typer.Typer(name="tm2tfr", cls=Group, context_settings={"help_option_names": list(HELP)})
    made.callback(invoke_without_command=True)(_root)
    group = cast(Group, get_command(made))
    for panel, rows in COMMANDS.items():
        group.commands.update({name: Later(name, panel, *row, EARLIER.get(name, "")) for name, row in rows.items()})
    return group


app = _group()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(interrupts.finished(guarded(app, list(sys.argv[1:] if arguments is None else arguments))))
