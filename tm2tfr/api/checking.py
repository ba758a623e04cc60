"""``tm2tfr check``: a subject on one input or those of a plan, or every machine of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.api.tracing import beyond_certificate, certified, traced, written
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import OutputError, UsageError, counted, indented, shortened, visible
from tm2tfr.runs.options import MAX_STEPS, RunOptions, path
from tm2tfr.runs.plan import NOBODY, CheckReport, Finding, Plan

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.engines import Engine
    from tm2tfr.runs.comparison import Progress, Trace
    from tm2tfr.runs.plan import Watcher
    from tm2tfr.sources.turing.formats.bbchallenge import ListedMachine

LISTED_STEPS = 1_000
"""The limit of each run of a list if none is given: many machines of such lists never halt."""


@dataclass(frozen=True)
class MachineList:
    """A list of machines in a file, each to be compiled and checked.

    Args:
        name: the file.
        machines: they, with their columns in the list.
        options: those of the construction.
    """

    name: str
    machines: Sequence[ListedMachine]
    options: Mapping[str, Any] = field(default_factory=dict)


@overload
def check(subject: Given | MachineList, word: Plan, *, watch: Watcher = NOBODY) -> CheckReport: ...


@overload
def check(
    subject: Given,
    word: str | None = None,
    *,
    machine: Given | None = None,
    engine: str | Engine = AUTO,
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    left_boundary: str | None = None,
    keep_rows: bool = True,
    checkpoint: str | Path | None = None,
    checkpoint_every: float | None = None,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Trace: ...


def check(
    subject: Given | MachineList,
    word: str | Plan | None = None,
    *,
    machine: Given | None = None,
    engine: str | Engine = AUTO,
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    left_boundary: str | None = None,
    keep_rows: bool = True,
    checkpoint: str | Path | None = None,
    checkpoint_every: float | None = None,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    watch: Watcher = NOBODY,
) -> Trace | CheckReport:
    """Run a decoder and compare every cell at every position with the reference.

    >>> import tm2tfr
    >>> tm2tfr.check("chapter", "11").agrees
    True
    >>> report = tm2tfr.check("parity", tm2tfr.Plan(random=20))
    >>> report.passed, report.as_dicts()[0]["runs"]
    (True, 20)

    Of a machine these are x, q, b, m, h, a and y, and the reference is the simulator; of a circuit the bits, and of a
    program or a formula all of its values, by its evaluator or interpreter.

    Args:
        subject: see `Subject.of`; a machine, a circuit, a program or a formula is compiled first.
        word: the input, by default the subject's own; or a `Plan`, which says which inputs and how: then everything else
            but `watch` is a field of it, and a `CheckReport` comes back, with lines for people and plain data.
        machine: what to compare with, in any form of a subject; by default the machine stored with the weights. On the
            weights of a universal decoder, the machine that is put in their prompt.
        left_boundary: deprecated: ``check(compile(machine, left_boundary="chapter"))`` says it all.
        watch: is shown how far a plan is, and hears what is found as it comes.
        keep_rows: keep the rows, and after a difference continue until the decoder halts; otherwise stop there.
        engine, dtype, max_steps, checkpoint, checkpoint_every, resume, out, progress: see `run`.

    Raises:
        UsageError: for a plan that is not about this subject.
        CompileError: if no machine is stored with a decoder and none is given.
        InputError: if `word` is not over the input alphabet.
        EngineError, OutputError, CheckpointError: see `run`.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.runs.run import carried_out

    if isinstance(word, Plan):
        beside: dict[str, object] = {
            "machine": machine,
            "dtype": dtype,
            "left_boundary": left_boundary,
            "checkpoint": checkpoint,
        }
        beside |= {"checkpoint_every": checkpoint_every, "resume": resume, "out": out, "progress": progress}
        beside |= {"engine": None if engine == AUTO else engine, "keep_rows": None if keep_rows else keep_rows}
        beside |= {"max_steps": None if max_steps == MAX_STEPS else max_steps}
        if (given := next((name for name, value in beside.items() if value is not None), None)) is not None:
            raise UsageError(f"{given} cannot stand beside a plan: Plan({given}=...) says it, or omit it")
        return _checked(subject if isinstance(subject, MachineList) else Subject.of(subject), word, watch)
    if isinstance(subject, MachineList):
        raise UsageError(f"{subject.name} is a list of machines: check it by a plan, tm2tfr.Plan(inputs=...)")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    options = RunOptions(
        engine=engine,
        dtype=dtype,
        max_steps=max_steps,
        keep_rows=keep_rows,
        checkpoint=path(checkpoint, "checkpoint"),
        checkpoint_every=checkpoint_every,
        resume=path(resume, "resume"),
        out=path(out, "out"),
        progress=progress,
    )
    right = judge.right
    return carried_out(found.decoder, judge.word(word), right, options)


def _checked(subject: Subject | MachineList, plan: Plan, watch: Watcher) -> CheckReport:
    """Go through a plan, and say what is found as it comes."""
    findings: list[Finding] = []
    for found in _of_list(subject, plan, watch) if isinstance(subject, MachineList) else _findings(subject, plan, watch):
        findings.append(found)
        watch.hear(found)
    return CheckReport(tuple(findings))


def _findings(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield what is said of a subject, by the route that its inputs take."""
    _ = subject.right  # weights that say nothing of theirs are refused as that, whatever is asked of them
    for word in plan.inputs:  # what is no input is refused before any run
        given = subject.word(word)
        if subject.machine is not None:
            subject.machine.check_input(given)
    if subject.labeller:
        from tm2tfr.api.checking_words import of_words

        return of_words(subject, plan, watch)
    from tm2tfr.api import checking_many

    if plan.all_up_to is not None or (plan.random is not None and subject.machine is not None):
        return checking_many.of_inputs(subject, plan, watch)
    return checking_many.of_bits(subject, plan, watch) or _one_by_one(subject, plan, watch)


def _one_by_one(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield a line for each input or example, and a summary."""
    runs = examples_of(subject, plan)
    refuse_several(plan, len(runs))
    tally = RunLines(visible(subject.right.name))
    for (example, has_result), done in _traces(subject, runs, plan, watch):
        if isinstance(done, str):
            yield Finding(text=done, note=True)
        else:
            yield tally.line(done, subject, example if has_result else None)
    for note in written(subject, plan):
        yield Finding(text=note, note=True)
    yield Finding(text=tally.summary())


def _traces(
    subject: Subject, runs: Sequence[tuple[Any, bool]], plan: Plan, watch: Watcher
) -> Iterator[tuple[tuple[Any, bool], Trace | str]]:
    """Yield each run of a check with its example, and warnings as text: in a few calls of compiled code, or one by one."""
    limits = {example.max_steps for example, _ in runs}
    if plan.soft == (None, None) and len(limits) == 1:
        from tm2tfr.api.checking_many import together

        several = together(subject, [example.input for example, _ in runs], plan, limits.pop(), watch)
        if several is not None:
            for run, trace in zip(runs, several, strict=True):
                if trace.agrees and (warning := beyond_certificate(trace, subject)) is not None:
                    yield run, warning
                yield run, trace
            return
    for run in runs:
        limited = replace(plan, max_steps=run[0].max_steps, keep_rows=False)
        done = traced(subject, run[0].input, limited, soft=plan.soft, must_compare=True, watch=watch)
        yield from ((run, warning) for warning in done.warnings)
        yield run, done.trace


@dataclass(frozen=True)
class CircuitRun:
    """A run of a circuit: its input, the most gates, and the bits of outputs that are expected, by name."""

    input: str
    max_steps: int
    outputs: Mapping[str, str] = field(default_factory=dict)


def examples_of(subject: Subject, plan: Plan) -> list[tuple[Any, bool]]:
    """Return the runs of a check, each with whether it has an expected result.

    These are the given inputs, or the program's examples (only they have expected results), or its default input. A
    given limit overrides an example's own; an example that was to be cut off then has no expected result.
    """
    from tm2tfr.sources.turing.spec import Example

    machine, limit = subject.machine, plan.max_steps
    if not plan.inputs and machine is not None and machine.examples:
        limits = [e.max_steps or MAX_STEPS if limit is None else limit for e in machine.examples]
        judged = [limit is None or e.outcome != "limit" for e in machine.examples]
        limited = [replace(e, max_steps=limit) for e, limit in zip(machine.examples, limits, strict=True)]
        return list(zip(limited, judged, strict=True))
    most = MAX_STEPS if limit is None else limit
    if not plan.inputs and subject.examples:
        return [(CircuitRun(e.input, most, e.outputs), True) for e in subject.examples]
    given = plan.inputs or (subject.word(None),)
    if machine is None:
        return [(CircuitRun(word, most), False) for word in given]
    return [(Example(input=word, outcome="limit", max_steps=most), False) for word in given]


def refuse_several(plan: Plan, runs: int) -> None:
    """Raise OutputError if a run is to be recorded and there are several."""
    if plan.recorded and runs > 1:
        raise OutputError(f"there are {runs} runs, and a checkpoint or file of rows contains one: choose one with --input")


class RunLines:
    """What is said of single runs, one line each, and of all of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.runs = self.compared = self.failed = 0

    def line(self, trace: Trace, subject: Subject, example: Any = None, *, after: str = "") -> Finding:
        """Return what is said of one run; with an `example`, its expected result counts as well."""
        unmet = [] if example is None else trace.result.unmet(example)
        good = trace.agrees and not unmet
        self.runs += 1
        self.compared += trace.compared
        self.failed += not good
        machine, outcome = trace.has_tape, visible(trace.result.shown or trace.result.outcome)
        steps = trace.result.steps if machine else max(0, trace.tokens - len(trace.input) + 1)
        counts = f"{counted(steps, 'step' if machine else 'gate')}, "
        counts += counted(trace.tokens, "token" if machine else "position")
        text = f"{'ok  ' if good else 'FAIL'}  {shortened(trace.input):<14} {outcome:<6}  {counts}, "
        text += f"{trace.compared:,} cells "
        text += "agree" if trace.agrees else f"compared\n      {indented(str(trace.divergence))}"
        notes = [*(f"scanned: {line}" for line in trace.scanned), *(f"the example says {line}" for line in unmet)]

        def data() -> dict[str, Any]:
            extra: dict[str, Any] = {}
            if machine:
                most = certified(trace, subject)
                extra["certified"] = most is None or trace.tokens <= most
            if example is not None:
                extra["example"] = {"met": not unmet, "unmet": unmet}
            return {**trace.as_dict(), **extra}

        return Finding(text="\n      ".join([text, *notes]) + after, data=data, good=good)

    def summary(self) -> str:
        """Return the last line."""
        counts = f"{self._name}: {counted(self.runs, 'run')}, {counted(self.compared, 'cell')} compared"
        return f"{counts}, all agree" if not self.failed else f"{counts}, {counted(self.failed, 'run')} FAILED"


# ── Every machine of a list, on the blank tape or on inputs that are given.
def _of_list(listed: MachineList, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield a line for each machine and input, and a summary."""
    from tm2tfr.sources.turing.formats.bbchallenge import repeated
    from tm2tfr.sources.turing.spec import Example

    asked: dict[str, object] = {"--all": plan.every, "--random": plan.random, "--all-up-to": plan.all_up_to}
    asked |= {"--attention": plan.soft.attention, "--temperature": plan.soft.temperature}
    if (given := next((name for name, value in asked.items() if value), None)) is not None:
        raise UsageError(f"tm2tfr check: {listed.name} is a list of machines, and {given} is not for lists: omit it")
    refuse_several(plan, 2)
    if (note := repeated(listed.machines)) is not None:
        yield Finding(text=f"{listed.name}: warning: {note}", note=True)
    limit = LISTED_STEPS if plan.max_steps is None else plan.max_steps
    run = replace(plan, max_steps=limit, keep_rows=False)
    ends, tally = Counter[str](), RunLines(visible(listed.name))
    for each in listed.machines:
        subject = Subject.of(each.machine, options=listed.options)
        columns = f"  (in the list: {', '.join(map(visible, each.columns))})" if each.columns else ""
        for word in plan.inputs or ("",):
            example = Example(input=each.machine.check_input(word), outcome="limit", max_steps=limit)
            done = traced(subject, example.input, run, must_compare=True, watch=watch)
            yield from (Finding(text=warning, note=True) for warning in done.warnings)
            ends[done.trace.result.outcome] += 1
            yield tally.line(done.trace, subject, after=f"  {each.text}{columns}")
    said = [f"{number:,} {outcome}" for outcome, number in sorted(ends.items()) if outcome != "limit"]
    said += [f"{ends['limit']:,} cut off after {counted(limit, 'step')}"] if "limit" in ends else []
    end = f"{counted(tally.failed, 'run')} FAILED" if tally.failed else "all agree"
    what = f"{counted(len(listed.machines), 'machine')}, {counted(tally.runs, 'run')} ({', '.join(said)})"
    yield Finding(text=f"{visible(listed.name)}: {what}, {counted(tally.compared, 'cell')} compared, {end}")
