"""Commands that compile and run: ``compile``, ``trace``, ``table``, ``check``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tm2tfr.choices import TABLES
from tm2tfr.cli import colour, options, softness, wording
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.cases import Many, by_default, report_of_cases
from tm2tfr.cli.cautions import warn_beyond_certificate, warn_of_formulas
from tm2tfr.cli.output import tell, write
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import showing
from tm2tfr.cli.subject import check_places, refuse_several, subject, traced, word_in
from tm2tfr.cli.subject import runs as runs_of
from tm2tfr.cli.turing.lists import check_list
from tm2tfr.errors import OutputError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.options import RunOptions
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


def stepped(found: Subject, word: str | None, run: RunOptions) -> Trace:
    """Run, show the run until its reader quits, and return it.

    Raises:
        CompileError: for soft weights.
    """
    from tm2tfr.api.moments import moments
    from tm2tfr.cli.step.app import StepApp

    window = max(5, min(61, shutil.get_terminal_size().columns // 4))
    with showing(run.max_steps) as shown:
        watched = moments(found, word, dtype=run.dtype, max_steps=run.max_steps, window=window, progress=shown.progress)
    StepApp(watched).run()
    return watched.trace


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
    panel=options.CONSTRUCTION,
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
    from tm2tfr.places import check_file

    check_file(output, reading=[asked.argument], what="weights", endings=[".safetensors"])
    found = softness.compiled(subject(asked), attention, temperature, length)
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
    if step:
        check_step(run, {"--quiet": quiet, "--all": everything, "--at": at is not None})
    check_places(asked.argument, run)
    given = subject(asked)
    word = word_in(given, word, contents)
    found = softness.for_run(given, attention, temperature, word, run.max_steps)
    if step:
        done = stepped(found, word, run)
        click.echo(f"{wording.input_line(done)}\n{colour.judged(wording.verdict(done, found))}")
        _exit(done)
    quiet = quiet or run.recorded
    done = traced(found, word, replace(run, keep_rows=not quiet))
    vectors = None if at is None else wording.vectors(found, done.input, at, run)  # refused before anything is printed
    if quiet:
        click.echo(wording.input_line(done))
    else:
        from tm2tfr.tables.table import table

        click.echo(colour.judged(table(done, "text", elide=None if everything else 40, description=everything)))
    click.echo(colour.judged(wording.verdict(done, found)))
    if run.out is not None:
        click.echo(f"wrote {run.out}", err=True)
        warn_of_formulas(found, run.out.suffix.lower()[1:])
    if vectors is not None:
        click.echo("\n" + vectors)
    _exit(done)


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
    from tm2tfr.places import check_file
    from tm2tfr.tables.table import format_for
    from tm2tfr.tables.table import table as table_of

    named = format or (format_for(output) if output else "text")
    if named is None:
        known = ", ".join(TABLES)
        raise OutputError(f"{output}: no table format has the extension {output and output.suffix!r}: use --format {known}")
    check_file(output, reading=[asked.argument])
    given = subject(asked)
    word = word_in(given, word, contents)
    found = softness.for_run(given, attention, temperature, word, run.max_steps)
    done = traced(found, word, run)
    text = table_of(done, named, description=everything)
    write(colour.judged(text) if named == "text" and output is None else text, output, asked.argument)
    warn_of_formulas(found, named)
    if done.divergence is not None:
        click.echo(f"the check failed: {done.divergence}", err=True)
    _exit(done)


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
@options.flag("--all", "everything", help="All inputs of a circuit, at most 2^20 of them.", panel=options.CIRCUITS)
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
    check_places(asked.argument, run)
    refused: dict[str, object] = {"--all": everything, "--random": count, "--all-up-to": all_up_to}
    refused |= {"--attention": attention, "--temperature": temperature}
    check_list(asked, words, run, refused=refused, as_json=format == "json")
    found = subject(asked, seeded=count is not None)
    _ = found.right  # weights that say nothing of theirs are refused as that, whatever is asked of them
    words += tuple(word_in(found, None, path) or "" for path in contents)
    for word in words:  # what is no input is refused before any run
        given = found.word(word)
        if found.machine is not None:
            found.machine.check_input(given)
    from tm2tfr.cli.report import Report

    as_json = format == "json"
    if found.construction is not None and found.construction.labels is not None:
        from tm2tfr.cli.labellers.checks import report_of_labels

        if everything:
            what = f"--all is for circuits, and {found.noun}s have inputs of any length"
            raise UsageError(f"tm2tfr check: {what}: use --all-up-to")
        seed = asked.parameters.get("seed")
        soft = (attention, temperature)
        report_of_labels(found, words, run, soft=soft, all_up_to=all_up_to, count=count, seed=seed, as_json=as_json)
    if all_up_to is not None or (count is not None and found.machine is not None and not everything):
        from tm2tfr.cli.turing.inputs import report_of_inputs

        seed, soft = asked.parameters.get("seed"), (attention, temperature)
        asked_for = all_up_to, count, seed
        report_of_inputs(found, words, run, asked_for, everything=everything, soft=soft, as_json=as_json)
    if everything or count is not None:
        seed = asked.parameters.get("seed") if count is not None else None
        many: Many | None = Many(everything=everything, count=count, seed=seed, words=words, run=run)
    else:
        many = by_default(found, words, run)
    if many is not None:
        if found.examples:
            what = f"this compares the decoder with the circuit; {counted(len(found.examples), 'example')} of the file"
            click.echo(f"note: {what} tell whether the circuit is right: run them with tm2tfr check {found.name}", err=True)
        softened = softness.for_run(found, attention, temperature, None, None)
        report_of_cases(many, softened, as_json=as_json)
    report = Report(found, as_json=as_json)
    every = runs_of(found, words or None, run.max_steps)
    refuse_several(run, len(every))
    for example, judged, done in _each(found, every, run, (attention, temperature)):
        line = report.line(done, example, judged=judged)
        tell(line if as_json else colour.judged(line), as_json=as_json)
    if run.out is not None:
        click.echo(f"wrote {run.out}", err=True)
        warn_of_formulas(found, run.out.suffix.lower()[1:])
    if not as_json:
        click.echo(colour.judged(report.summary()))
    raise click.exceptions.Exit(0 if report.passed else 1)


def _each(
    found: Subject, every: Sequence[tuple[Any, bool]], run: RunOptions, soft: tuple[str | None, str | None]
) -> Iterator[tuple[Any, bool, Trace]]:
    """Yield each run of `check`: the example, whether it has an expected result, and what was found."""
    limits = {example.max_steps for example, _ in every}
    if soft == (None, None) and len(limits) == 1:
        from tm2tfr.cli.turing.inputs import together

        several = together(found, [example.input for example, _ in every], run, limits.pop())
        if several is not None:
            for (example, judged), done in zip(every, several, strict=True):
                if done.agrees:
                    warn_beyond_certificate(done, found)
                yield example, judged, done
            return
    for example, judged in every:
        softened = softness.for_run(found, *soft, example.input, example.max_steps)
        limited = replace(run, max_steps=example.max_steps, keep_rows=False)
        yield example, judged, traced(softened, example.input, limited, checked=True)


def _exit(done: Trace) -> None:
    raise click.exceptions.Exit(1 if done.divergence is not None else 0)
