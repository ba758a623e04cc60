"""Commands that compile and run: ``compile``, ``trace``, ``table``, ``check``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tm2tfr.base.choices import TABLES
from tm2tfr.base.errors import OutputError, UsageError
from tm2tfr.cli.about import heading, input_line, vectors, verdict
from tm2tfr.cli.asked import RANDOM_SEED, SAMPLE_SEED, Asked, seed
from tm2tfr.cli.options import (
    ALL,
    BYTES,
    PROBABILITIES,
    REPORTS,
    RUN,
    BytesOption,
    ChangesOption,
    OutputGroup,
    OutputOption,
    RecordedGroup,
    RunGroup,
    SoftGroup,
    WordOption,
    choice,
    count,
    file,
    option,
    seed_number,
)
from tm2tfr.cli.output import cautioned, judged, tell, warn_once, write
from tm2tfr.cli.parameters import But
from tm2tfr.cli.progress import counting_inputs, showing
from tm2tfr.cli.subject import bytes_in, check_places, for_picture, listed, subject
from tm2tfr.contract.options import CIRCUITS, CONSTRUCTION
from tm2tfr.runs.plan import Finding, Plan, Shown, Watcher

if TYPE_CHECKING:
    from tm2tfr.api.checking import MachineList
    from tm2tfr.api.subject import Subject
    from tm2tfr.api.tracing import Traced
    from tm2tfr.runs.comparison import Progress, Trace
    from tm2tfr.runs.plan import RunOptions, Soft


# ── the terminal as a watcher ─────────────────────────────────────────────────────────────────────────
class Terminal(Watcher):
    """Shows lines of progress on standard error, and prints findings.

    Args:
        as_json: print it as data, one object on each line.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self._json = as_json

    @contextmanager
    def run(self, max_steps: int | None, *, steady: bool) -> Iterator[Shown]:
        """Show steps and the time that is left, and hear Ctrl-C."""
        with showing(max_steps, steady=steady) as shown:
            yield shown

    @contextmanager
    def inputs(self) -> Iterator[Progress | None]:
        """Show finished inputs."""
        with counting_inputs() as progress:
            yield progress

    def hear(self, said: Finding) -> None:
        """Print a finding: notes and warnings go to standard error, and so do failures without data."""
        if said.note:
            warn([said.text])
        elif not self._json:
            tell(judged(said.text), as_json=False)
        elif said.data is not None:
            tell(json.dumps(said.data(), ensure_ascii=False), as_json=True)
        elif said.good is False:
            typer.echo(said.text, err=True)


def warn(notes: Iterable[str]) -> None:
    """Print notes on standard error; a warning once."""
    for note in notes:
        if "warning:" in note:
            warn_once(note)
        else:
            typer.echo(cautioned(note), err=True)


# ── ``trace --step``: what it is refused for, and the run that it shows.
def check_step(run: RunOptions, others: Mapping[str, bool]) -> None:
    """Refuse runs that cannot be stepped through, before the work.

    Args:
        others: options that print a run, each with whether it was given.

    Raises:
        UsageError: where there is no terminal, or for an option that has no effect.
        OutputError: if Textual is missing.
    """
    from tm2tfr.base.choices import AUTO
    from tm2tfr.base.errors import required

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
    from tm2tfr.api.pages import moments
    from tm2tfr.api.tracing import Traced
    from tm2tfr.cli.step import StepApp

    window = max(5, min(61, shutil.get_terminal_size().columns // 4))
    with showing(run.max_steps) as shown:
        watched = moments(
            found, word, dtype=run.dtype, max_steps=run.max_steps, window=window, soft=soft, progress=shown.progress
        )
    StepApp(watched).run()
    return Traced(watched.trace, found)


def compile(
    *,
    output: Annotated[Path | None, file("Write the weights to this .safetensors file.", "-o")] = None,
    explain: Annotated[
        str | None,
        option(
            "Print the weights as text, by name: of all layers, or of one, by number from 1 or name.", metavar="[LAYER]"
        ),
    ] = None,
    length: Annotated[
        int | None,
        count("The number of positions that --temperature auto covers. Default: 1,024.", least=1, panel=CONSTRUCTION),
    ] = None,
    changes: ChangesOption = None,
    softness: SoftGroup,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Compile a source to the weights of a transformer: print a summary of the layers, and write the weights with -o.

    With --explain, every weight is printed as text, by the names of the variables that it reads and writes.
    """
    from tm2tfr.api.softness import compiled
    from tm2tfr.base.files import check_file

    check_file(output, reading=asked.reading, what="weights", endings=[".safetensors"])
    found = compiled(subject(asked, changes=changes), softness.soft, length)
    from tm2tfr.transformer.listing import listing, summary

    if explain is not None:
        typer.echo(listing(found.decoder, None if explain == ALL else explain), nl=False)
    else:
        typer.echo(heading(found))
        typer.echo(summary(found.decoder), nl=False)
    if output is not None:
        from tm2tfr.transformer.storage import save

        save(found.decoder, output)
        typer.echo(f"\nwrote {output} ({output.stat().st_size:,} bytes)", err=explain is not None)


def trace(
    *,
    word: WordOption = None,
    contents: BytesOption = None,
    everything: Annotated[bool, option("Print all rows, also of a long table.", "--all")] = False,
    quiet: Annotated[bool, option("Print no table, and keep no rows in memory.", "-q")] = False,
    at: Annotated[int | None, count("Print the activation vectors at position N, counted from 0, as well.")] = None,
    step: Annotated[bool, option("Step through the run in the terminal, forwards and backwards (extra: step).")] = False,
    run: RecordedGroup,
    read: OutputGroup,
    changes: ChangesOption = None,
    softness: SoftGroup,
    asked: Annotated[Asked, But(draws="--sample", seed=seed(PROBABILITIES, SAMPLE_SEED))],
) -> None:
    """Run a decoder, print a table with one row per position, and compare every cell with the reference.

    The reference is the simulator of machines, the evaluator of circuits and formulas, the interpreter of RASP programs.
    """
    from tm2tfr.api.tracing import traced

    if step:
        others = {"--quiet": quiet, "--all": everything, "--at": at is not None}
        check_step(run, {**others, "--probabilities": read.probabilities, "--sample": read.sample})
    if at is not None and read.sample:
        raise UsageError("tm2tfr trace: --at shows a run of the largest logits, and --sample draws: omit one of them")
    check_places(asked.reading, run)
    run = replace(run, sampling=read.sampling(asked.parameters, "tm2tfr trace"))
    found = subject(asked, seeded=read.sample, changes=changes)
    word = bytes_in(found, contents, word)
    quiet = quiet or run.recorded
    run = replace(run, keep_rows=not quiet)
    soft = softness.soft
    done = stepped(found, word, run, soft) if step else traced(found, word, run, soft=soft, at=at, watch=Terminal())
    warn(done.warnings)
    if quiet or step:
        typer.echo(input_line(done.trace))
    else:
        from tm2tfr.tables.table import table

        elide = None if everything else 40
        typer.echo(judged(table(done.trace, "text", elide=elide, description=everything)))
    typer.echo(judged(verdict(done.trace, done.subject)))
    warn(done.written)
    if done.vectors is not None and at is not None:
        typer.echo("\n" + vectors(done.vectors, done.subject, at))
    _exit(done.trace)


def table(
    *,
    word: WordOption = None,
    contents: BytesOption = None,
    format: Annotated[
        str | None, choice("Default: from the extension of the output file, otherwise text.", of=TABLES)
    ] = None,
    output: OutputOption = None,
    everything: Annotated[
        bool, option("With a universal decoder: show every token of the machine's description.", "--all")
    ] = False,
    run: RunGroup,
    read: OutputGroup,
    changes: ChangesOption = None,
    softness: SoftGroup,
    asked: Annotated[Asked, But(draws="--sample", seed=seed(PROBABILITIES, SAMPLE_SEED))],
) -> None:
    """Write the table of a run as text, Markdown, LaTeX, CSV, JSON or HTML."""
    from tm2tfr.api.tracing import traced
    from tm2tfr.base.files import check_file
    from tm2tfr.tables.table import format_for
    from tm2tfr.tables.table import table as table_of

    named = format or (format_for(output) if output else "text")
    if named is None:
        known = ", ".join(TABLES)
        what = f"{output}: no table format has the extension {output and output.suffix!r}: use --format {known}"
        raise OutputError(what + for_picture(output))
    check_file(output, reading=asked.reading)
    run = replace(run, sampling=read.sampling(asked.parameters, "tm2tfr table"))
    found = subject(asked, seeded=read.sample, changes=changes)
    done = traced(found, bytes_in(found, contents, word), run, soft=softness.soft, watch=Terminal())
    warn(done.warnings)
    text = table_of(done.trace, named, description=everything)
    write(judged(text) if named == "text" and output is None else text, output, asked.argument)
    warn(done.misread(named))
    if done.trace.divergence is not None and not done.trace.by_chance:
        typer.echo(f"the check failed: {done.trace.divergence}", err=True)
        if done.trace.answer == "limit":
            typer.echo(f"the table ends after {done.trace.tokens:,} positions, without a verdict", err=True)
    _exit(done.trace)


@dataclass(frozen=True, kw_only=True)
class CheckGroup(RecordedGroup, Plan):
    """Which inputs a check goes through, and how they are run."""

    every: Annotated[bool, option("All inputs of a circuit, at most 2^20 of them.", "--all", panel=CIRCUITS)] = False
    random: Annotated[int | None, count("K random inputs, with --seed.", least=1, metavar="K")] = None
    all_up_to: Annotated[
        int | None,
        count(
            "All inputs of up to N tokens, with a list of the accepted ones. Default for programs and formulas: the "
            "largest N with at most 20,000 inputs, and random inputs beyond it.",
            least=1,
        ),
    ] = None
    max_steps: Annotated[
        int | None, count("Stop after N steps. Default: 10,000, or the limit of an example.", panel=RUN)
    ] = None


def check(
    *,
    words: Annotated[
        list[str] | None,
        option(
            "An input; can be repeated. Default: the examples; for a machine without examples its own input; for a "
            "circuit all inputs, or 100 random ones if there are more than 2^10.",
            "--input",
            "-i",
            metavar="WORD",
        ),
    ] = None,
    contents: Annotated[list[Path] | None, BYTES] = None,
    format: Annotated[
        str, choice("Lines for people, or one JSON object per run (--all-up-to: one for all).", of=REPORTS)
    ] = "text",
    plan: CheckGroup,
    changes: ChangesOption = None,
    softness: SoftGroup,
    asked: Annotated[Asked, But(draws="--random K", seed=seed("", RANDOM_SEED))],
) -> None:
    """Compare a decoder with its reference at every position of every run, on examples or on inputs of your choice.

    A difference is shown with the layer and the head that caused it, and the exit code is 1.
    """
    from tm2tfr.api.checking import check as checked

    check_places(asked.reading, plan)
    drawn = plan.random is not None
    machines = listed(asked)
    if machines is not None and changes:
        raise UsageError(
            f"tm2tfr check: {asked} is a list of machines, and --set changes a weight of one: name the machine"
        )
    found = machines or subject(asked, seeded=drawn, changes=changes)
    plan = replace(
        plan,
        inputs=(*(words or ()), *(bytes_in(found, path) or "" for path in contents or ())),
        seed=seed_number(asked.parameters.get("seed", 0), "tm2tfr check") if drawn else None,
        soft=softness.soft,
    )
    report = checked(found, plan, watch=Terminal(as_json=format == "json"))
    if machines is None and _only_empty(found, plan):
        warn([f"note: {asked} has no examples, so only the empty input was checked: add --input WORD or --all-up-to N"])
    raise typer.Exit(0 if report.passed else 1)


def _only_empty(subject: Subject | MachineList, plan: Plan) -> bool:
    """Return whether a machine that decides a language was checked on the empty input because nothing else is known."""
    machine = getattr(subject, "machine", None)
    chosen = plan.inputs or plan.random is not None or plan.all_up_to is not None
    return machine is not None and machine.decides and not (chosen or machine.examples or machine.input)


def _exit(done: Trace) -> None:
    """Exit with 1 if a check failed; a sampled run that departs by chance has not failed."""
    raise typer.Exit(1 if done.divergence is not None and not done.by_chance else 0)
