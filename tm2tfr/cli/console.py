"""Shared by the commands: the meaning of an argument, the wording of results, and errors as exit codes."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tm2tfr.cli import output as streams
from tm2tfr.cli.colour import cautioned
from tm2tfr.errors import CompileError, Interrupted, OutputError, Tm2tfrError, counted, listing, visible

if TYPE_CHECKING:
    from tm2tfr.machine.spec import Example, Machine
    from tm2tfr.trace.check import Progress, Trace
    from tm2tfr.transformer.weights import Decoder

ALL = "all"
"""The value of ``--explain`` when it is given without a layer."""


@dataclass(frozen=True)
class Subject:
    """The weights that an argument names, and the machine to compare them with, if there is one."""

    argument: str
    decoder: Decoder
    machine: Machine | None


def names_machine(argument: str) -> bool:
    """Return whether an argument is the name of a shipped machine, bbchallenge text, or a possible path."""
    from tm2tfr.machine.formats.bbchallenge import is_argument
    from tm2tfr.machine.library import shipped

    return is_argument(argument) or argument in shipped() or Path(argument).suffix != "" or Path(argument).exists()


def is_weights(argument: str) -> bool:
    """Return whether an argument names a weight file."""
    return Path(argument).suffix == ".safetensors"


def loaded(argument: str, format: str | None = None) -> Machine:
    """Return the machine that an argument names, read in `format` if given; its warnings go to standard error."""
    from tm2tfr.machine.library import load_with_warnings

    if is_weights(argument):
        from tm2tfr.api.runs import machine_of

        return machine_of(subject(argument, None).decoder)
    found = load_with_warnings(argument, format=format)
    for warning in found.warnings:
        click.echo(cautioned(str(warning)), err=True)
    return found.machine


def subject(argument: str, left_boundary: str | None) -> Subject:
    """Return the decoder that an argument names: weights from a file, or a machine, compiled."""
    from tm2tfr.api.runs import compile, machine_of

    if not is_weights(argument):
        machine = loaded(argument)
        return Subject(argument, compile(machine, left_boundary=left_boundary), machine)
    if left_boundary is not None:
        raise CompileError(f"{argument}: these weights are already compiled: omit the left-boundary option")
    from tm2tfr.compiler.turing.version_1 import load
    from tm2tfr.transformer.provenance import source

    decoder = load(Path(argument))
    return Subject(argument, decoder, machine_of(decoder) if source(decoder.provenance) else None)


def traced(
    subject: Subject,
    word: str | None,
    max_steps: int | None,
    engine: str,
    dtype: str | None,
    *,
    keep_rows: bool = True,
    checked: bool = False,
    progress: Progress | None = None,
    recording: Mapping[str, Any] | None = None,
) -> Trace:
    """Run a subject and check it against its machine; without a machine, only run it unless `checked`."""
    from tm2tfr.api import runs as api

    options: dict[str, Any] = {"engine": engine, "dtype": dtype, "max_steps": max_steps, "progress": progress}
    options |= {"keep_rows": keep_rows, **(recording or {})}
    if engine == "auto" and (max_steps is None or max_steps > api.MAX_STEPS):
        from tm2tfr.engines.fast import available

        if not available():
            _warn_once("the dense engine takes time that grows with the square of the steps: pip install 'tm2tfr[fast]'")
    if subject.machine is None and not checked:
        found = api.run(subject.decoder, word or "", **options)
    else:
        found = api.check(subject.decoder, word, machine=subject.machine, **options)
    if subject.machine is not None and found.agrees:
        warn_beyond_certificate(found, subject)
    return found


def certified(trace: Trace, subject: Subject) -> int | None:
    """Return the certified number of positions for a run's weights, engine and |h|; None: no limit; 0 under softmax."""
    from tm2tfr.certificate import limit

    if subject.machine is None or trace.soft:
        return 0
    return limit(subject.decoder, subject.machine, trace.engine, trace.dtype, max_head=trace.reach)


def warn_beyond_certificate(trace: Trace, subject: Subject) -> None:
    """Warn on standard error if a run that agrees is longer than what is certified for its engine and its |h|."""
    agreed = "warning: this run agrees, but nothing proves that all such runs do"
    if trace.soft:
        _warn_once(f"{agreed}: soft attention has no certificate: see tm2tfr soften")
        return
    most = certified(trace, subject)
    if most is None or trace.tokens <= most:
        return
    what = f"{trace.engine} in {trace.dtype} is certified for {counted(most, 'position')} with |h| ≤ {trace.reach:,}"
    if most == 0:
        what = "these weights cannot be certified"
    how = f"tm2tfr certify {subject.argument}" if subject.argument != "-" else "tm2tfr certify"
    _warn_once(f"{agreed}: {what}: see {how}")


def warn_of_formulas(subject: Subject, format: str | None) -> None:
    """Warn on standard error if a spreadsheet takes a state's name in a CSV file for a formula."""
    from tm2tfr.tables.table import formulas

    states = subject.decoder.layout.holding("e_q")
    found = formulas(states.labels or ()) if states and format == "csv" else []
    if found:
        what = f"warning: a spreadsheet takes a state's name for a formula ({listing(found, most=3)})"
        _warn_once(f"{what}: import the columns of the CSV file as text, or write JSON")


@functools.cache
def _warn_once(warning: str) -> None:
    click.echo(cautioned(warning), err=True)


def recording(
    argument: str, checkpoint: Path | None, every: float, resume: Path | None, out: Path | None
) -> dict[str, Any]:
    """Return the options of `api.check` that record a run of what `argument` names, empty if nothing is recorded.

    Raises:
        OutputError: if one of the files cannot be written.
    """
    from tm2tfr.places import check_file

    check_file(out, reading=[argument], what="rows", endings=[".csv", ".jsonl", ".parquet"])
    check_file(checkpoint, reading=[argument])
    if checkpoint is None and resume is None and out is None:
        return {}
    return {"checkpoint": checkpoint, "checkpoint_every": every, "resume": resume, "out": out}


def refuse_several(recording: Mapping[str, Any], runs: int) -> None:
    """Raise OutputError if a run is to be recorded and there are several."""
    if recording and runs > 1:
        raise OutputError(f"there are {runs} runs, and a checkpoint or file of rows contains one: choose one with --input")


def runs(subject: Subject, words: Sequence[str] | None, max_steps: int | None) -> list[tuple[Example, bool]]:
    """Return the runs of `check`, each with whether it has an expected result.

    These are the given words, or the machine's examples (only they have expected results), or its default input. A
    given limit overrides an example's own; an example that was to be cut off then has no expected result.
    """
    from tm2tfr.api.runs import MAX_STEPS, default_input, machine_of
    from tm2tfr.machine.spec import Example

    machine = subject.machine or machine_of(subject.decoder)
    if words is None and machine.examples:
        limits = [e.max_steps or MAX_STEPS if max_steps is None else max_steps for e in machine.examples]
        judged = [max_steps is None or e.outcome != "limit" for e in machine.examples]
        limited = [replace(e, max_steps=limit) for e, limit in zip(machine.examples, limits, strict=True)]
        return list(zip(limited, judged, strict=True))
    max_steps = MAX_STEPS if max_steps is None else max_steps
    given = [default_input(machine)] if words is None else words
    return [(Example(input=word, outcome="limit", max_steps=max_steps), False) for word in given]


# ── wording ─────────────────────────────────────────────────────────────────────────────────────────────────
VERDICTS = {
    "accept": "ACC: the machine accepts",
    "reject": "REJ: the machine rejects",
    "halt": "HALT: the machine halts",
}


def heading(subject: Subject) -> str:
    """Return the lines above a summary: the machine, and its missing rules."""
    from tm2tfr.transformer.provenance import option

    if (machine := subject.machine) is None:
        return subject.argument
    lines = [str(machine).strip("<>")]
    if missing := machine.missing_rules:
        q, a = missing[0]
        lines.append(
            f"δ is partial: {len(missing)} (state, symbol) pairs have no rule and {machine.missing_outcome}; "
            f"the first is ({visible(q)}, {shown(a)})"
        )
    if option(subject.decoder.provenance, "left_boundary") == "chapter":
        lines.append("left boundary as in the chapter: a move left at cell 0 goes wrong (Exercise 8.3)")
    return "\n".join(lines) + "\n"


def verdict(trace: Trace, subject: Subject) -> str:
    """Return the lines below a table: the verdict, the counts, and the result of the check."""
    if trace.answer == "limit" and trace.divergence is not None and not trace.rows:
        where = "" if trace.divergence.column == "stop" else ", the first that differs"
        lines = [f"stopped at position {trace.divergence.position:,}{where}"]
    elif trace.answer == "limit" and trace.divergence is not None and trace.divergence.column == "stop":
        lines = [f"no verdict, {counted(trace.tokens, 'position')} processed"]
    elif trace.answer == "limit":
        lines = [f"no verdict within the limit of --max-steps, {counted(trace.tokens, 'position')} processed"]
    else:
        lines = [f"{VERDICTS[trace.answer]}, after T = {trace.T:,} intermediate step{'' if trace.T == 1 else 's'}"]
    if trace.result is not None:
        truth = trace.result
        lines.append(
            f"simulator: {truth.outcome} after {counted(truth.steps, 'step')}, "
            f"{counted(truth.cells_visited, 'cell')} visited, final tape {shortened(truth.tape)}"
        )
    soft = f"; softmax at temperature {trace.temperature or '?'}" if trace.soft else ""
    lines.append(f"engine: {trace.engine}, {trace.dtype}, {counted(trace.tokens, 'position')}{soft}")
    lines += [f"scanned: {line}" for line in trace.scanned]
    if trace.result is None:
        lines.append("check: none, since no machine to compare with is stored with these weights")
    elif trace.divergence is None:
        lines.append(f"check: {counted(trace.compared, 'cell')} compared with the simulator, all agree")
    else:
        lines.append(f"check: FAILED after {counted(trace.compared, 'cell')}: {trace.divergence}")
    return "\n".join(lines)


def input_line(trace: Trace) -> str:
    """Return the line that names the machine and the input, where no table shows them."""
    return f"{visible(trace.machine)} on {shortened(trace.input)}"


def vectors(decoder: Decoder, word: str, position: int, engine: str, dtype: str | None) -> str:
    """Return the chapter's activation vectors at a position, each with what it adds to the previous one."""
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.trace.activations import activations

    named = "dense" if engine == "auto" else engine
    found = activations(decoder, word, position, engine=engine_named(named, dtype))
    lines, known = [f"activation vectors at position {position} (Eqs. 8.4-8.19)"], set[str]()
    for name, vector in found.items():
        new = [f"{k} = {'⊥' if v is None else shown(str(v))}" for k, v in vector.items() if k not in known]
        lines.append(f"  {name:<7}{', '.join(new)}")
        known |= set(vector)
    return "\n".join(lines)


def shown(symbol: str) -> str:
    """Return text in which spaces are visible, and so is what cannot be printed."""
    return visible(symbol).replace(" ", "␣")


def shortened(tape: str, most: int = 60) -> str:
    """Return a tape's text in quotes, shortened in the middle if it is long."""
    if len(tape) > most:
        half = most // 2 - 1
        return f"'{shown(tape[:half])} … {shown(tape[-half:])}' ({len(tape):,} cells)"
    return f"'{shown(tape)}'"


class Report:
    """The output of ``check``, one line per run."""

    def __init__(self, subject: Subject, *, as_json: bool) -> None:
        self._subject = subject
        self._json, self._name = as_json, visible(subject.machine.name) if subject.machine else subject.argument
        self._runs = self._compared = self._failed = 0

    @property
    def passed(self) -> bool:
        """Whether every run agreed and every example was met."""
        return self._failed == 0

    def line(self, trace: Trace, example: Example, *, judged: bool) -> str:
        """Return the line of one run; with `judged`, the example's expected result counts as well."""
        unmet = _unmet(trace, example) if judged else []
        self._runs += 1
        self._compared += trace.compared
        self._failed += bool(unmet) or not trace.agrees
        if self._json:
            most = certified(trace, self._subject)
            extra: dict[str, Any] = {"certified": most is None or trace.tokens <= most}
            extra |= {"example": {"met": not unmet, "unmet": unmet}} if judged else {}
            return json.dumps({**trace.as_dict(), **extra}, ensure_ascii=False)
        truth = trace.as_dict()
        good = "ok  " if trace.agrees and not unmet else "FAIL"
        counts = f"{counted(truth['steps'], 'step')}, {counted(trace.tokens, 'token')}"
        text = f"{good}  {shortened(trace.input):<14} {truth['outcome']:<6}  {counts}, {trace.compared:,} cells "
        text += "agree" if trace.agrees else f"compared\n      {str(trace.divergence).replace(chr(10), chr(10) + '      ')}"
        notes = [*(f"scanned: {line}" for line in trace.scanned), *(f"the example says {line}" for line in unmet)]
        return "\n      ".join([text, *notes])

    def summary(self) -> str:
        """Return the last line."""
        counts = f"{self._name}: {counted(self._runs, 'run')}, {counted(self._compared, 'cell')} compared"
        return f"{counts}, all agree" if self.passed else f"{counts}, {counted(self._failed, 'run')} FAILED"


def _unmet(trace: Trace, example: Example) -> list[str]:
    truth = trace.result
    if truth is None:
        return []
    if truth.outcome == "limit" != example.outcome:
        return [f"{example.outcome}, but the run was cut off after {counted(truth.steps, 'step')}: raise --max-steps"]
    wanted = {"outcome": example.outcome, "steps": example.steps, "tape": example.tape}
    got = {"outcome": truth.outcome, "steps": truth.steps, "tape": truth.tape}
    return [f"{k} {v!r}, the simulator {got[k]!r}" for k, v in wanted.items() if v is not None and v != got[k]]


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────
def write(text: str, output: Path | None, argument: str) -> None:
    """Write `text` to standard output, or to `output`: whole or not at all, and never over what `argument` names."""
    if output is None:
        streams.write_data(text)
        return
    from tm2tfr.files import write_text
    from tm2tfr.places import check_file

    check_file(output, reading=[argument])
    write_text(output, text)
    click.echo(f"wrote {output}", err=True)


def tell(line: str, *, as_json: bool) -> None:
    """Print a line, for people or as data."""
    if as_json:
        streams.write_data(f"{line}\n")
    else:
        click.echo(line)


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────
def guarded(app: click.Group, arguments: list[str]) -> int:
    """Run `app` and return the exit code; errors become messages on standard error."""
    warnings.simplefilter("ignore")
    streams.prepare()
    code = _ran(app, streams.decoded(arguments))
    if note := streams.note():
        _say(note)
    return code


def _ran(app: click.Group, arguments: list[str]) -> int:
    try:
        answer = app(args=_with_optional_layer(arguments), standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return 130
    except Tm2tfrError as error:
        _say(f"{error}")
        return 130 if isinstance(error, Interrupted) else 2
    except MemoryError:
        _say("out of memory: the run is too long for this engine: lower --max-steps")
        return 2
    except (Exception, SystemExit) as error:  # noqa: BLE001  (the last line of defence: no traceback for users)
        lost = _output_lost(error)
        return _unexpected(error) if lost is None else lost
    return answer if isinstance(answer, int) else 0


def _say(message: str) -> None:
    try:
        click.echo(message, err=True)
    except OSError:  # there is nobody left to tell
        streams.silence(sys.stderr)


def _output_lost(error: BaseException) -> int | None:
    """Return the exit code if standard output accepts no more; a reader that went away has seen enough."""
    if streams.broken(error):
        streams.silence(sys.stdout)
        return 0
    if not isinstance(error, OSError) or not streams.full(error):
        return None
    streams.silence(sys.stdout)
    _say(str(streams.refusal(error)))
    return 2


def _unexpected(error: BaseException) -> int:
    if os.environ.get("TM2TFR_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    click.echo(f"internal error: {what}: this is a bug, please report it with the command and TM2TFR_DEBUG=1", err=True)
    return 70


def _with_optional_layer(arguments: list[str]) -> list[str]:
    """Return the arguments with the LAYER of ``--explain`` filled in where it was omitted."""
    if "--explain" not in arguments:
        return arguments
    at = arguments.index("--explain") + 1
    following = arguments[at] if at < len(arguments) else "-"
    machine = following.startswith("-") or names_machine(following)
    return [*arguments[:at], ALL, *arguments[at:]] if machine else arguments
