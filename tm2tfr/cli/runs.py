"""Commands that compile and run: ``compile``, ``trace``, ``table``, ``check``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tm2tfr.choices import TABLES
from tm2tfr.cli import colour, options, wording
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.output import write
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import showing
from tm2tfr.cli.subject import bytes_in, check_places, listed, subject
from tm2tfr.errors import OutputError, UsageError
from tm2tfr.options import CIRCUITS, CONSTRUCTION

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.api.tracing import Traced
    from tm2tfr.runs.options import RunOptions
    from tm2tfr.runs.plan import Soft
    from tm2tfr.trace.check import Trace


# ── ``trace --step``: what it is refused for, and the run that it shows.
def check_step(run: RunOptions, others: Mapping[str, bool]) -> None:
    """Refuse what cannot be stepped through, before the work.

    Args:
        others: options that print a run, each with whether it was given.

    Raises:
        UsageError: where there is no terminal, or for an option that has no effect.
        OutputError: if Textual is missing.
    """
    from tm2tfr.choices import AUTO
    from tm2tfr.extras import required

    recorded = {"--output": run.out, "--checkpoint": run.checkpoint, "--resume": run.resume}
    given = [name for name, there in (*others.items(), *recorded.items()) if there]
    if given:
        raise UsageError(f"tm2tfr trace: {given[0]} prints or records a run, and --step shows it: omit one of them")
    if run.engine not in (AUTO, "dense"):
        raise UsageError(f"tm2tfr trace: --step watches the dense engine, not {run.engine}: omit --engine")
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or not stream.isatty():
            what = f"tm2tfr trace: --step needs a terminal, and standard {name} is not one"
            raise UsageError(f"{what}: omit it, or draw the steps with tm2tfr explore --frames DIR")
    if os.environ.get("TERM") == "dumb":
        what = "tm2tfr trace: --step needs a terminal that moves its cursor, and TERM says that this one is dumb"
        raise UsageError(f"{what}: use another terminal, or draw the steps with tm2tfr explore --frames DIR")
    required("stepping through a run in the terminal needs Textual", ["textual"], "step", error=OutputError)


def stepped(found: Subject, word: str | None, run: RunOptions, soft: Soft) -> Traced:
    """Run, show the run until its reader quits, and return it.

    Raises:
        CompileError: for soft weights.
    """
    from tm2tfr.api.moments import moments
    from tm2tfr.api.tracing import Traced
    from tm2tfr.cli.step.app import StepApp

    window = max(5, min(61, shutil.get_terminal_size().columns // 4))
    with showing(run.max_steps) as shown:
        watched = moments(
            found,
            word,
            dtype=run.dtype,
            max_steps=run.max_steps,
            window=window,
            soft=soft,
            progress=shown.progress,
        )
    StepApp(watched).run()
    return Traced(watched.trace, found)


@command(
    summary="Compile a machine, circuit, program or formula to weights",
    example="tm2tfr compile chapter -o chapter.safetensors",
)
@subject_asked(takes_alone=True)
@options.file("--output", "-o", help="Write the weights to this .safetensors file.")
@options.option(
    "--explain",
    is_flag=False,
    flag_value=options.ALL,
    metavar="[LAYER]",
    help="Print the weights as text, by name: of all layers, or of one (number or name).",
)
@options.attention
@options.temperature
@options.count(
    "--length",
    least=1,
    panel=CONSTRUCTION,
    help="The number of positions that --temperature auto covers. Default: 1,024.",
)
def compile(
    asked: Asked,
    output: Path | None,
    explain: str | None,
    attention: str | None,
    temperature: str | None,
    length: int | None,
) -> None:
    """Compile a machine, a circuit, a program or a formula: print a summary, write the weights, or explain them."""
    from tm2tfr.api.softness import compiled
    from tm2tfr.places import check_file
    from tm2tfr.runs.plan import Soft

    check_file(output, reading=[asked.argument], what="weights", endings=[".safetensors"])
    found = compiled(subject(asked), Soft(attention, temperature), length)
    from tm2tfr.transformer.listing import listing, summary

    if explain is not None:
        click.echo(listing(found.decoder, None if explain == options.ALL else explain), nl=False)
    else:
        click.echo(wording.heading(found))
        click.echo(summary(found.decoder), nl=False)
    if output is not None:
        from tm2tfr.transformer.storage import save

        save(found.decoder, output)
        click.echo(f"\nwrote {output} ({output.stat().st_size:,} bytes)", err=explain is not None)


@command(summary="Run a decoder, print its table, and check every cell", example="tm2tfr trace palindromes --input abba")
@subject_asked()
@options.word
@options.bytes_of()
@options.rows
@options.flag("--all", "everything", help="Print every row, however many there are.")
@options.flag("--quiet", "-q", help="Print no table, and keep no rows, however long the run.")
@options.count("--at", help="Print the activation vectors at position N as well.")
@options.flag(
    "--step", help="Step through the run in the terminal: forward, back, to any position, to what differs (extra: step)."
)
@options.run(recorded=True)
@options.attention
@options.temperature
def trace(
    asked: Asked,
    word: str | None,
    contents: Path | None,
    everything: bool,
    quiet: bool,
    at: int | None,
    step: bool,
    run: RunOptions,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Run a decoder, print its table, and compare every cell with the reference.

    That is the simulator of machines, the evaluator of circuits and formulas, the interpreter of RASP programs.
    """
    from tm2tfr.api.tracing import traced
    from tm2tfr.cli.watching import Terminal, warn
    from tm2tfr.runs.plan import Soft

    if step:
        check_step(run, {"--quiet": quiet, "--all": everything, "--at": at is not None})
    check_places(asked.argument, run)
    found = subject(asked)
    word = bytes_in(found, contents, word)
    quiet = quiet or run.recorded
    run = replace(run, keep_rows=not quiet)
    soft = Soft(attention, temperature)
    done = stepped(found, word, run, soft) if step else traced(found, word, run, soft=soft, at=at, watch=Terminal())
    warn(done.warnings)
    if quiet or step:
        click.echo(wording.input_line(done.trace))
    else:
        from tm2tfr.tables.table import table

        elide = None if everything else 40
        click.echo(colour.judged(table(done.trace, "text", elide=elide, description=everything)))
    click.echo(colour.judged(wording.verdict(done.trace, done.subject)))
    warn(done.written)
    if done.vectors is not None and at is not None:
        click.echo("\n" + wording.vectors(done.vectors, done.subject, at))
    _exit(done.trace)


@command(summary="Write the table as markdown, LaTeX, CSV, JSON or HTML", example="tm2tfr table --input 11 -o run.tex")
@subject_asked()
@options.word
@options.bytes_of()
@options.choice("--format", of=TABLES, help="Default: from the extension of the output file, otherwise text.")
@options.output
@options.flag("--all", "everything", help="Show each token of a machine's description in the prompt as well.")
@options.run()
@options.attention
@options.temperature
def table(
    asked: Asked,
    word: str | None,
    contents: Path | None,
    format: str | None,
    output: Path | None,
    everything: bool,
    run: RunOptions,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Export the table of a run: text, markdown, LaTeX, CSV, JSON or HTML."""
    from tm2tfr.api.tracing import traced
    from tm2tfr.cli.watching import Terminal, warn
    from tm2tfr.places import check_file
    from tm2tfr.runs.plan import Soft
    from tm2tfr.tables.table import format_for
    from tm2tfr.tables.table import table as table_of

    named = format or (format_for(output) if output else "text")
    if named is None:
        known = ", ".join(TABLES)
        raise OutputError(f"{output}: no table format has the extension {output and output.suffix!r}: use --format {known}")
    check_file(output, reading=[asked.argument])
    found = subject(asked)
    done = traced(found, bytes_in(found, contents, word), run, soft=Soft(attention, temperature), watch=Terminal())
    warn(done.warnings)
    text = table_of(done.trace, named, description=everything)
    write(colour.judged(text) if named == "text" and output is None else text, output, asked.argument)
    warn(done.misread(named))
    if done.trace.divergence is not None:
        click.echo(f"the check failed: {done.trace.divergence}", err=True)
    _exit(done.trace)


@command(
    summary="Compare a decoder with what is right, on examples or inputs", example="tm2tfr check palindromes --input abba"
)
@subject_asked(seed=(options.RUN, "The seed of --random, of the circuit 'random', and of the rules' order in prompts."))
@options.option(
    "--input",
    "-i",
    "words",
    multiple=True,
    metavar="WORD",
    help="An input; can be repeated. Default: the examples; of a circuit without any, all inputs up to 2^10, otherwise "
    "100 random ones.",
)
@options.bytes_of(multiple=True)
@options.flag("--all", "everything", help="All inputs of a circuit, at most 2^20 of them.", panel=CIRCUITS)
@options.count("--random", "count", least=1, metavar="K", help="K random inputs, with --seed.", panel=options.RUN)
@options.count(
    "--all-up-to",
    least=1,
    panel=options.RUN,
    help="All inputs of up to N tokens. Default of programs and formulas: as long as there are at most 20,000, then random "
    "ones.",
)
@options.rows
@options.choice("--format", of=options.REPORTS, default="text", help="Lines for people, or one JSON object per run.")
@options.run(
    recorded=True,
    limit=options.count(
        "--max-steps", panel=options.RUN, help="Stop after N steps. Default: 10,000, or the limit of an example."
    ),
)
@options.attention
@options.temperature
def check(
    asked: Asked,
    words: tuple[str, ...],
    contents: tuple[Path, ...],
    everything: bool,
    count: int | None,
    all_up_to: int | None,
    format: str,
    run: RunOptions,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Compare the decoder with what is right at every position: simulator, evaluator, or interpreter."""
    from tm2tfr.api.checking import check as checked
    from tm2tfr.cli.watching import Terminal
    from tm2tfr.runs.plan import Plan, Soft

    check_places(asked.argument, run)
    seed = seed_number(asked.parameters.get("seed", 0), "tm2tfr check") if count is not None else None
    found = listed(asked) or subject(asked, seeded=count is not None)
    plan = Plan(
        inputs=(*words, *(bytes_in(found, path) or "" for path in contents)),
        every=everything,
        all_up_to=all_up_to,
        random=count,
        seed=seed,
        soft=Soft(attention, temperature),
        engine=run.engine,
        dtype=run.dtype,
        max_steps=run.max_steps,
        checkpoint=run.checkpoint,
        checkpoint_every=run.checkpoint_every,
        resume=run.resume,
        out=run.out,
    )
    report = checked(found, plan, watch=Terminal(as_json=format == "json"))
    raise click.exceptions.Exit(0 if report.passed else 1)


def _exit(done: Trace) -> None:
    raise click.exceptions.Exit(1 if done.divergence is not None else 0)
