"""Commands about weights: ``export``, ``verify-export``, ``prompt``, ``certify``, ``soften``, ``sensitivity``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import AUTO, CERTIFIED, DTYPES, FIGURES, PROMPT_FORMATS, SOFT_REPORTS, TARGETS
from tm2tfr.base.errors import UsageError
from tm2tfr.cli.asked import Asked, FromOption, check_one
from tm2tfr.cli.options import (
    MACHINE_HELP,
    DtypeOption,
    OutputOption,
    SoftGroup,
    WordOption,
    argument,
    choice,
    count,
    file,
    machines,
    number,
    option,
    steps,
)
from tm2tfr.cli.output import judged, write
from tm2tfr.cli.parameters import But
from tm2tfr.cli.subject import subject
from tm2tfr.cli.universal import UniversalGroup, prompted


def export(
    *,
    output: Annotated[Path, file("The directory to create.", "-o", metavar="DIR")],
    to: Annotated[str, choice("The program to export to. Default: gpt2.", of=TARGETS)] = "gpt2",
    positions: Annotated[
        int | None,
        count(
            "The longest run, in positions. Default: 1,024, or fewer if the dtype requires it; for a circuit, all.", least=1
        ),
    ] = None,
    max_head: Annotated[
        int | None, count("Only runs with |h| ≤ H, where h is the head position. Default: any.", metavar="H")
    ] = None,
    dtype: Annotated[str, choice("The type of the model's numbers. Default: float64.", of=DTYPES)] = "float64",
    stock: Annotated[bool, option("Keep GPT-2's own epsilon and GELU (gpt2 only); margins are narrower.")] = False,
    verify: Annotated[
        bool,
        option("Load and run the model in that program before it is written. Default: --verify.", "--verify/--no-verify"),
    ] = True,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Export weights as a model that another program loads, run it there, and compare it with the reference.

    By default that is a GPT-2 for transformers; --to chooses TransformerLens, plain PyTorch or ONNX.
    """
    from tm2tfr.base.files import check_folder
    from tm2tfr.targets.common.directory import NAMES

    check_folder(output, reading=asked.reading, ours=[NAMES])
    found = subject(asked)
    from tm2tfr.api.targets import export_to
    from tm2tfr.cli.output import tell_of_size

    tell_of_size(to, found, dtype)
    report = export_to(to, found, output, positions=positions, max_head=max_head, dtype=dtype, verify=verify, stock=stock)
    typer.echo(str(report))


def verify_export(
    *,
    folder: Annotated[Path, argument("FOLDER", parser=Path, help="A directory made by 'tm2tfr export'.")],
    machine: Annotated[
        str | None, option(f"{MACHINE_HELP}. Default: the one stored with it.", metavar="NAME", autocompletion=machines)
    ] = None,
    word: WordOption = None,
) -> None:
    """Check an exported model against its source: compare all weights, run it, and report where it differs.

    Use it for a folder that you were given, or that may have changed. The exit code is 1 if there is a difference.
    """
    from tm2tfr.api.targets import verify_export

    verdict = verify_export(folder, machine=machine and subject(Asked(machine=machine, takes_alone=True)), word=word)
    typer.echo(str(verdict))
    raise typer.Exit(0 if verdict.same else 1)


def prompt(
    *,
    machine: Annotated[
        str | None,
        argument(
            "MACHINE",
            machines,
            help="A machine: a file, the name of a shipped one (see 'tm2tfr list machines'), bbchallenge text such as "
            "1RB1LB_1LA1RZ, or '-' for standard input. Default: chapter.",
        ),
    ] = None,
    word: WordOption = None,
    format: Annotated[
        str,
        choice(
            "Tokens separated by spaces, one JSON object with tokens, ids and names, or the ids alone. Default: text.",
            of=PROMPT_FORMATS,
        ),
    ] = "text",
    output: OutputOption = None,
    from_: FromOption = None,
    decoder: UniversalGroup,
) -> None:
    """Write a machine as the prompt with which a universal decoder runs it: its rules, the input, BOS.

    The names of states and symbols in the prompt, and the decoder that it is for, go to standard error. Without
    --universal, that is the smallest one that the machine fits into. With --prompt, a prompt is checked and rewritten.
    """
    from tm2tfr.api.machines import prompt_of
    from tm2tfr.base.files import check_file
    from tm2tfr.sources.turing.universal.names import size_of

    check_one(machine, {"--prompt": decoder.prompt})
    asked = Asked(machine=machine or "chapter", from_=from_, command="tm2tfr prompt")
    check_file(output, reading=(*asked.reading, decoder.universal))
    if decoder.prompt is not None:
        made = prompt_of(prompted(decoder.prompt, decoder.options())[0], word)
    else:
        found = subject(asked)
        if decoder.universal is None and decoder.states is None and decoder.symbols is None and not found.prompted:
            decoder = replace(decoder, universal=",".join(map(str, size_of(found.turing("prompt")))))
        chosen = decoder.options()
        made = prompt_of(found, word, universal=chosen.get("universal"), tape=chosen.get("tape"), seed=chosen.get("seed"))
    texts = {"text": made.text, "ids": " ".join(map(str, made.ids))}
    text = json.dumps(made.as_dict(), ensure_ascii=False) if format == "json" else texts[format]
    write(f"{text}\n", output, asked.argument)
    if format != "json":
        own = made.universal
        tape = "" if own.tape == "both" else f" --tape {own.tape}"
        names = "" if decoder.prompt is not None else f"{made.names()}\n"
        typer.echo(f"{names}for the decoder --universal {own.states},{own.symbols}{tape}", err=True)


# ── proofs and measurements ──────────────────────────────────────────────────────────────────────────────────────────────
# ── What ``soften --figure`` measures: the figures of papers.
SHORTEST, LONGEST, MOST = 8, 64, 256
OTHER = "Written weights, and figures"
"""The panel of what ``soften`` does instead of a measurement."""
SOFT_STEPS = 200
"""The default limit on the steps of a run that is measured."""


def figure_1(format: str, output: Path | None, plot: Path | None, length: int | None) -> None:
    """Measure Figure 1 of Yang et al. on compiled weights: temperature and position embedding by the length of words."""
    from tm2tfr.api.softness import figure_1 as measured
    from tm2tfr.lab.softness.figure_1 import report

    found = measured(
        lengths=_lengths(LONGEST if length is None else length), progress=_told if sys.stderr.isatty() else None
    )
    write(report(found, format), output, "")
    if plot is not None:
        from tm2tfr.lab.softness.figure_1 import plot as drawn

        drawn(found, plot)
        typer.echo(f"wrote {plot}", err=True)


def _lengths(longest: int) -> list[int]:
    """Return 8, 16, … and the longest.

    Raises:
        UsageError: if that is too short, or too long.
    """
    if not SHORTEST <= longest <= MOST:
        what = f"tm2tfr soften --figure 1: --length {longest} is not measured"
        raise UsageError(f"{what}: use {SHORTEST} to {MOST}, or tm2tfr.figure_1 in Python")
    doubled = [SHORTEST * 2**k for k in range(longest.bit_length()) if SHORTEST * 2**k < longest]
    return [*doubled, longest]


def _told(what: str) -> None:
    typer.echo(f"measuring {what}", err=True)


def write_softened(
    asked: Asked, output: Path, given: Mapping[str, bool], temperature: str | None, length: int | None, gap: float | None
) -> None:
    """Write weights with softmax, and print the inputs for which they are right.

    Args:
        given: the options for measurements only, and whether they are given.
    """
    from tm2tfr.api.softness import softened
    from tm2tfr.transformer.storage import save

    for name, there in given.items():
        if there:
            raise UsageError(f"tm2tfr soften: {output} is a weight file, and {name} is for measurements: omit {name}")
    found = softened(subject(asked), temperature=AUTO if temperature is None else temperature, length=length, gap=gap)
    typer.echo(str(found))
    save(found.decoder, output)
    typer.echo(f"wrote {output} ({output.stat().st_size:,} bytes)")


def certify(
    *,
    max_steps: Annotated[
        int | None, count("Check that all runs of at most N steps are certified, on inputs of --input-length.")
    ] = None,
    input_length: Annotated[
        int | None,
        count("With --max-steps: for inputs of at most K symbols. Default: as long as the machine's own.", metavar="K"),
    ] = None,
    max_positions: Annotated[
        int | None,
        count(
            "Check that all runs of at most N positions (prompt, BOS, and one more than the machine's steps) are "
            "certified.",
            least=1,
        ),
    ] = None,
    max_head: Annotated[
        int | None, count("Only runs with |h| ≤ H, where h is the head position. Default: any.", metavar="H")
    ] = None,
    engine: Annotated[str | None, choice("Default: all; dense with --max-steps or --max-positions.", of=CERTIFIED)] = None,
    dtype: Annotated[str | None, choice("Default: all; float64 with --max-steps or --max-positions.", of=DTYPES)] = None,
    output: Annotated[Path | None, file("Write the result to this .json file.", "-o")] = None,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Prove from the weights, for every input, up to how many positions a machine's tokens are right in floats.

    For a circuit: that all bits are right. For a formula, or a B-RASP or S-RASP program: that its heads are tieless, and up
    to how many tokens rounding changes nothing.
    """
    from tm2tfr.api.runs import certificate
    from tm2tfr.base.files import check_file

    check_file(output, reading=asked.reading, what="certificates", endings=[".json"])
    done = certificate(
        subject(asked),
        engine=engine,
        dtype=dtype,
        max_steps=max_steps,
        input_length=input_length,
        max_positions=max_positions,
        max_head=max_head,
    )
    typer.echo(judged(done.text()), nl=False)
    if output is not None:
        write(done.json(), output, asked.argument)
    raise typer.Exit(0 if done.granted else 1)


def soften(
    *,
    word: WordOption = None,
    temperature: Annotated[
        str | None,
        option(
            "Measure at this temperature: local, theorem-26 or a number. Default: a quarter of the largest that is right. "
            "Weights are written with any of these, as by 'tm2tfr compile'.",
            metavar="auto | local | per-position | none | paper | theorem-26 | τ",
        ),
    ] = None,
    everything: Annotated[bool, option("Show all positions, also of a long run.", "--all")] = False,
    figure: Annotated[
        str | None,
        choice(
            "Measure Figure 1 of Yang et al. instead: the temperatures that logics need by the length of words.",
            of=("1",),
            metavar="1",
            panel=OTHER,
        ),
    ] = None,
    length: Annotated[
        int | None,
        count(
            "Write weights for at most N positions (default: 1,024). With --figure: the longest words, after "
            f"{SHORTEST}, {2 * SHORTEST}, … tokens, from {SHORTEST} to {MOST} (default: {LONGEST}).",
            least=1,
            panel=OTHER,
        ),
    ] = None,
    gap: Annotated[
        float | None,
        number("Of leftmost and rightmost heads: by how much the best score exceeds others. Default: proved.", panel=OTHER),
    ] = None,
    format: Annotated[
        str,
        choice(
            "Tables for people, or every measurement; with --figure also Markdown and LaTeX, but no CSV.",
            of=tuple(dict.fromkeys((*SOFT_REPORTS, *FIGURES))),
        ),
    ] = "text",
    output: Annotated[
        Path | None,
        file(
            "Write the report to this file; or, if it is a .safetensors file, the weights with softmax.", "--output", "-o"
        ),
    ] = None,
    plot: Annotated[Path | None, file("Draw a plot in this .png, .svg or .pdf file (extra: plot).")] = None,
    max_steps: Annotated[int, steps(SOFT_STEPS)] = SOFT_STEPS,
    dtype: DtypeOption = None,
    asked: Asked,
) -> None:
    """Measure a run under softmax: its errors beside proven bounds, and the largest temperature that is right.

    With -o FILE.safetensors nothing is run: the same weights with softmax are written. They simulate leftmost and rightmost
    heads: a term in the scores breaks ties, and the values that heads carry are rounded.
    """
    from tm2tfr.base.files import WEIGHTS, check_apart, check_file

    check_file(output, reading=asked.reading)
    check_file(plot, reading=asked.reading)
    check_apart(output, plot, "--plot")
    if plot is not None:
        from tm2tfr.lab.softness import report as soft_plot

        soft_plot.checked(plot)
    if figure is not None:
        given = {
            "--gap": gap is not None,
            "--input": word is not None,
            "--temperature": temperature is not None,
            "--all": everything,
        }
        given |= {str(asked): asked.named, "--dtype": dtype is not None, "--format csv": format == "csv"}
        for name, there in given.items():
            if there:
                raise UsageError(f"tm2tfr soften: --figure {figure} measures formulas of its own: omit {name}")
        figure_1(format, output, plot, length)
        return
    if output is not None and output.suffix.lower() == WEIGHTS:
        given = {"--input": word is not None, "--all": everything, "--format": format != "text", "--plot": plot is not None}
        given |= {"--dtype": dtype is not None, "--max-steps": max_steps != SOFT_STEPS}
        write_softened(asked, output, given, temperature, length, gap)
        return
    if length is not None or format not in SOFT_REPORTS:
        what = "--length" if length is not None else f"--format {format}"
        written = " or -o FILE.safetensors" if length is not None else ""
        raise UsageError(f"tm2tfr soften: {what} is for --figure 1{written}: omit it, or add --figure 1")
    from tm2tfr.api.softness import measured
    from tm2tfr.lab.softness.report import report
    from tm2tfr.lab.softness.run import SoftRun

    drawn = plot is not None
    found = measured(
        subject(asked), word, temperature=temperature, max_steps=max_steps, dtype=dtype, gap=gap, by_position=drawn
    )
    write(report(found, format, everything=everything), output, asked.argument)
    if plot is not None and isinstance(found, SoftRun):
        soft_plot.plot(found, plot)
        typer.echo(f"wrote {plot}", err=True)
    raise typer.Exit(0 if found.holds else 1)


def sensitivity(
    *,
    word: Annotated[
        str | None, option("Change each symbol of this input, instead of growing words.", "--input", "-i", metavar="WORD")
    ] = None,
    length: Annotated[
        int | None,
        count("The longest words, after those of 4, 8, … symbols. Default: 64, or all that the weights take.", least=1),
    ] = None,
    format: Annotated[
        str, choice("A table for people, or every number as CSV or JSON. Default: text.", of=SOFT_REPORTS)
    ] = "text",
    output: OutputOption = None,
    plot: Annotated[Path | None, file("Draw a plot in this .png, .svg or .pdf file (extra: plot).")] = None,
    dtype: DtypeOption = None,
    softness: SoftGroup,
    asked: Asked,
) -> None:
    """Measure how far the logits move if one symbol of the input changes, by the length of the input.

    Beside each measurement is a bound from the matrices; under softmax with bounded scores it is O(1/n) (Hahn 2020).
    """
    from tm2tfr.base.files import check_apart, check_file

    check_file(output, reading=asked.reading)
    check_file(plot, reading=asked.reading)
    check_apart(output, plot, "--plot")
    if plot is not None:
        from tm2tfr.lab.softness.report import checked

        checked(plot)
    from tm2tfr.api.sensitivity import measure_sensitivity
    from tm2tfr.lab.softness import sensitivity_report

    found = measure_sensitivity(subject(asked), word, length=length, soft=softness.soft, dtype=dtype)
    write(sensitivity_report.report(found, format), output, asked.argument)
    if plot is not None:
        sensitivity_report.plot(found, plot)
        typer.echo(f"wrote {plot}", err=True)
    raise typer.Exit(0 if found.holds else 1)
