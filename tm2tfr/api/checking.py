"""``tm2tfr check``: a subject on one input or those of a plan, or every machine of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.api.tracing import beyond_certificate, certified, traced, written
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import OutputError, UsageError, counted, indented, shortened, visible
from tm2tfr.runs.plan import HARD, MAX_STEPS, NOBODY, CheckReport, Finding, Plan, RunOptions, path

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.contract.shown import PlainData
    from tm2tfr.engines import Engine
    from tm2tfr.runs.batches.batch import RunSink
    from tm2tfr.runs.comparison import Progress, Trace
    from tm2tfr.runs.plan import Watcher
    from tm2tfr.runs.sampling import Sampling
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
    options: Mapping[str, object] = field(default_factory=dict)


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
    sampling: Sampling | None = None,
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
    sampling: Sampling | None = None,
    progress: Progress | None = None,
    watch: Watcher = NOBODY,
    **of_plans: object,
) -> Trace | CheckReport:
    """Run a decoder and compare every cell at every position with the reference.

    >>> import tm2tfr
    >>> tm2tfr.check("chapter", "11").agrees
    True
    >>> report = tm2tfr.check("parity", tm2tfr.Plan(random=20))
    >>> report.passed, report.as_dicts()[0]["runs"]
    (True, 20)

    On all short inputs of a program, a formula or a machine:

    >>> tm2tfr.check("reverse", tm2tfr.Plan(all_up_to=4)).passed
    True

    The cells of a machine are x, q, b, m, h, a and y, and its reference is the simulator. For a circuit the bits are
    compared with the evaluator, for a program or a formula all of its values with the interpreter or evaluator.

    Args:
        subject: see `Subject.of`; a source is compiled first.
        word: the input, by default the subject's own; or a `Plan` with the inputs and the options of their runs: then only
            `watch` may be given beside it, and the result is a `CheckReport`, with lines for people and plain data.
        machine: the program to compare with, see `Subject.of`; by default the one stored with the weights. For the weights
            of a universal decoder, the machine to put in their prompt.
        left_boundary: deprecated: use ``check(compile(machine, left_boundary="chapter"))``.
        watch: receives the progress of a plan, and its findings as they arrive.
        keep_rows: keep the rows, and after a difference continue until the decoder halts; otherwise stop there.
        of_plans: refused, with what to write: options of a `Plan`.
        engine, dtype, max_steps, checkpoint, checkpoint_every, resume, out, sampling, progress: see `run`.
            A sampled run that draws another token than the reference's diverges `by_chance`.

    Raises:
        UsageError: for a plan that does not apply to this subject, and for an option of a plan without one.
        TypeError: for an unknown option.
        CompileError: if a decoder has no stored program and `machine` is None.
        InputError: if `word` is not over the input alphabet.
        EngineError, OutputError, CheckpointError: see `run`.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject cannot be loaded.
    """
    from tm2tfr.runs.run import carried_out

    for name in of_plans:
        if name not in vars(Plan()):
            raise TypeError(f"check() got an unexpected keyword argument {name!r}")
        raise UsageError(f"{name} belongs to a plan: use tm2tfr.check(subject, tm2tfr.Plan({name}=...))")
    options = RunOptions(
        engine=engine,
        dtype=dtype,
        max_steps=max_steps,
        keep_rows=keep_rows,
        checkpoint=path(checkpoint, "checkpoint"),
        checkpoint_every=checkpoint_every,
        resume=path(resume, "resume"),
        out=path(out, "out"),
        sampling=sampling,
        progress=progress,
    )
    if isinstance(word, Plan):
        beside, default = {"machine": machine, "left_boundary": left_boundary, **vars(options)}, RunOptions()
        given = next((name for name, value in beside.items() if value != getattr(default, name, None)), None)
        if given is not None:
            remedy = f"Plan({given}=...) says it, or omit it" if given in vars(word) else "give single inputs, or omit it"
            raise UsageError(f"{given} cannot stand beside a plan: {remedy}")
        return _checked(subject if isinstance(subject, MachineList) else Subject.of(subject), word, watch)
    if isinstance(subject, MachineList):
        raise UsageError(f"{subject.name} is a list of machines: check it by a plan, tm2tfr.Plan(inputs=...)")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    return carried_out(found.decoder, judge.word(word), judge.right, options)


def _checked(subject: Subject | MachineList, plan: Plan, watch: Watcher) -> CheckReport:
    """Go through a plan, and say what is found as it comes."""
    findings: list[Finding] = []
    for found in _of_list(subject, plan, watch) if isinstance(subject, MachineList) else _findings(subject, plan, watch):
        findings.append(found)
        watch.hear(found)
    return CheckReport(tuple(findings))


def _findings(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield the findings about a subject, by the route for its inputs."""
    _ = subject.right  # raises for weights that do not state what they compute, whichever check was requested
    for word in plan.inputs:  # invalid inputs are refused before any run
        given = subject.word(word)
        if subject.machine is not None:
            subject.machine.check_input(given)
    from tm2tfr.api import checking_many

    if subject.labeller:
        return _written(plan, partial(checking_many.of_words, subject, plan, watch))
    if plan.all_up_to is not None or (plan.random is not None and subject.machine is not None):
        return _written(plan, partial(checking_many.of_inputs, subject, plan, watch))
    return checking_many.of_bits(subject, plan, watch) or _one_by_one(subject, plan, watch)


def _written(plan: Plan, findings: Callable[[RunSink | None], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield findings about many runs, and write these to the plan's file, if it has one."""
    if plan.out is None or (plan.all_up_to is None and plan.random is None):  # the findings refuse the latter
        yield from findings(None)
        return
    from tm2tfr.runs.batches.batch import written_runs

    yield from written_runs(plan.out, lambda sink: [*findings(sink)])
    yield Finding(text=f"wrote {plan.out}", note=True)


def _one_by_one(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield a line for each input or example, and a summary."""
    runs = _runs_of(subject, plan)
    refuse_several(plan, len(runs))
    tally = RunLines(visible(subject.right.name))
    unproved: dict[str, None] = {}  # once each, and only if no run fails
    for run, trace, warnings in _traces(subject, runs, plan, watch):
        unproved.update(dict.fromkeys(warnings))
        yield tally.line(trace, subject, run.example)
    if not tally.failed:
        yield from (Finding(text=warning, note=True) for warning in unproved)
    for note in written(subject, plan):
        yield Finding(text=note, note=True)
    yield Finding(text=tally.summary())


def _traces(
    subject: Subject, runs: Sequence[CheckedRun], plan: Plan, watch: Watcher
) -> Iterator[tuple[CheckedRun, Trace, Sequence[str]]]:
    """Yield each run of a check with its trace and warnings: in a few calls of compiled code, or one by one."""
    limits = {run.max_steps for run in runs}
    if plan.soft == HARD and len(limits) == 1:
        several = together(subject, [run.word for run in runs], plan, limits.pop(), watch)
        if several is not None:
            for run, trace in zip(runs, several, strict=True):
                warning = beyond_certificate(trace, subject) if trace.agrees else None
                yield run, trace, () if warning is None else (warning,)
            return
    for run in runs:
        limited = replace(plan, max_steps=run.max_steps, keep_rows=False)
        done = traced(subject, run.word, limited, soft=plan.soft, must_compare=True, watch=watch)
        yield run, done.trace, done.warnings


class CheckedRun(NamedTuple):
    """A run of a check: its input, the most steps, and the author's example with the expected result, if there is one."""

    word: str
    max_steps: int
    example: Any = None


def _runs_of(subject: Subject, plan: Plan) -> list[CheckedRun]:
    """Return the runs of a check: the inputs of the plan, or the program's examples, or its default input.

    A limit of the plan overrides an example's own; an example that was to be cut off then has no expected result.
    """
    most = MAX_STEPS if plan.max_steps is None else plan.max_steps
    examples = subject.examples if subject.machine is None else subject.machine.examples
    if plan.inputs or not examples:
        return [CheckedRun(word, most) for word in plan.inputs or (subject.word(None),)]
    if subject.machine is None or plan.max_steps is not None:
        kept = [None if getattr(example, "outcome", "") == "limit" else example for example in examples]
        return [CheckedRun(each.input, most, example) for each, example in zip(examples, kept, strict=True)]
    return [CheckedRun(each.input, each.max_steps or MAX_STEPS, each) for each in examples]


# ── many runs in a few calls of compiled code ───────────────────────────────────────────────────────────────
MANY = 16
"""From this many inputs on, ``auto`` is fast for all of them, whatever their length."""
MOST_ROWS = 2**22
"""The most rows of one batch."""


def together(
    subject: Subject, words: Sequence[str], run: RunOptions, max_steps: int, watch: Watcher
) -> Iterator[Trace] | None:
    """Return the runs on many inputs, made in a few calls and compared; None: they have to be made one by one."""
    from tm2tfr.runs.choose import for_cases
    from tm2tfr.runs.rows import is_turing

    words = [subject.word(word) for word in words]
    few = len(words) < (MANY if run.engine == AUTO else 2)
    size = MOST_ROWS // (subject.decoder.positions or max(map(len, words), default=0) + max_steps + 2)
    known = subject.machine is None or is_turing(subject.decoder.layout)  # what generates, and has batches
    if few or size < 2 or not known or run.recorded:
        return None
    if subject.decoder.soft or for_cases(subject.decoder, run.engine, run.dtype).name != "fast":
        return None
    return _together(subject, words, max_steps, size, watch)


def _together(subject: Subject, words: Sequence[str], max_steps: int, size: int, watch: Watcher) -> Iterator[Trace]:
    """Yield the runs, `size` in one batch."""
    from tm2tfr.runs.batches.checked import traces
    from tm2tfr.runs.batches.generated import batches_of
    from tm2tfr.runs.choose import cores

    with watch.inputs() as progress:
        batches = batches_of(
            subject.decoder,
            subject.right,
            words,
            checked=True,
            max_steps=max_steps,
            workers=cores(),
            keep_rows=False,
            at_once=size,
            progress=None if progress is None else lambda runs, _rows: progress(runs, len(words)),
        )
        for batch in batches:
            yield from traces(batch)


# ── findings about single runs ──────────────────────────────────────────────────────────────────────────────
def refuse_several(plan: Plan, runs: int) -> None:
    """Raise OutputError if a run is to be recorded and there are several."""
    if plan.recorded and runs > 1:
        raise OutputError(f"there are {runs} runs, and a checkpoint or file of rows contains one: choose one with --input")


class RunLines:
    """Reports single runs, one line each, and their total."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.runs = self.compared = self.failed = 0

    def line(self, trace: Trace, subject: Subject, example: Any = None, *, after: str = "") -> Finding:
        """Return the finding for one run; with an `example`, the run must have its expected result as well."""
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

        def data() -> PlainData:
            extra: PlainData = {}
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
            done = traced(subject, each.machine.check_input(word), run, must_compare=True, watch=watch)
            yield from (Finding(text=warning, note=True) for warning in done.warnings)
            ends[done.trace.result.outcome] += 1
            yield tally.line(done.trace, subject, after=f"  {each.text}{columns}")
    said = [f"{number:,} {outcome}" for outcome, number in sorted(ends.items()) if outcome != "limit"]
    said += [f"{ends['limit']:,} cut off after {counted(limit, 'step')}"] if "limit" in ends else []
    end = f"{counted(tally.failed, 'run')} FAILED" if tally.failed else "all agree"
    what = f"{counted(len(listed.machines), 'machine')}, {counted(tally.runs, 'run')} ({', '.join(said)})"
    yield Finding(text=f"{visible(listed.name)}: {what}, {counted(tally.compared, 'cell')} compared, {end}")
