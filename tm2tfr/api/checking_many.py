"""``tm2tfr check`` of many inputs: of a machine up to a length, or random ones; of a circuit all, or random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tm2tfr.api.softness import for_run
from tm2tfr.api.tracing import beyond_certificate
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, UsageError, addressed, counted, indented, visible
from tm2tfr.runs.plan import Finding

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.batches.batch import ComparedRuns
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.runs.plan import Plan, RunOptions, Watcher

LONGEST = 40
"""The most symbols of a random input."""
MANY = 16
"""From so many inputs on, ``auto`` is fast for all of them, whatever their length."""
MOST_ROWS = 2**22
"""The most rows of one batch."""
MOST_INPUTS_BY_DEFAULT, RANDOM_BY_DEFAULT = 10, 100
"""A circuit without examples is run on all inputs if it has at most so many; otherwise on so many random ones, seed 0."""


def many_line(found: ComparedRuns, what: str) -> Finding:
    """Return what is said of many runs; what: which inputs these are, in words."""
    left = f", {counted(found.undefined, 'input')} undefined, not compared" if found.undefined else ""
    came = ", ".join(f"{number:,} {outcome}" for outcome, number in (found.outcomes or {}).items())
    text = f"{what}{came and f' ({came})'}: {counted(found.cells, 'cell')} compared with the {found.reference}"
    lines = [f"ok    {text}, all agree{left}"]
    if found.failure is not None:
        lines = [f"FAIL  {text}{left}", f"{visible(found.failure.input)}: {indented(str(found.failure.divergence))}"]
    elif not found.runs:
        lines = [f"note: {what}: the {found.noun} is undefined on every one of them, so nothing is compared"]
    lines += [f"scanned: {line}" for line in found.scanned]
    text, good = "\n      ".join(lines), found.failure is None and (found.agrees or found.undefined is not None)
    return Finding(text=text, data=lambda: {**found.as_dict(), "inputs": what}, good=good)


def refuse_files(plan: Plan) -> None:
    """Raise UsageError for a file that is about a single run."""
    if plan.recorded:
        option = "--checkpoint" if plan.out is None else "-o"
        raise UsageError(f"tm2tfr check: {option} records a single run, and there may be many here: omit {option}")


# ── Machines.
def of_inputs(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield what is said of a machine on all short inputs, and on random ones.

    Raises:
        UsageError: for options that cannot be combined, or too many inputs.
    """
    from tm2tfr.runs.batches.checked import checked_inputs

    if subject.machine is None:
        raise UsageError("tm2tfr check: the inputs of a circuit all have one length: omit --all-up-to, or use --all")
    refuse_files(plan)
    if subject.examples:
        yield _about_examples(subject)
    subject = for_run(subject, plan.soft, None, plan.max_steps)
    for some, what in _asked(subject, plan):
        with watch.inputs() as progress:
            found = checked_inputs(subject.decoder, subject.right, some, plan, progress)
        yield many_line(found, what)
        longest = found.longest if found.agrees else None
        if longest is not None and (warning := beyond_certificate(longest, subject)) is not None:
            yield Finding(text=warning, note=True)


def _about_examples(subject: Subject) -> Finding:
    """Return the note that the examples of a file are another question than the one that was asked."""
    reference = "simulator" if subject.machine is not None else "circuit"
    what = f"this compares the decoder with the {reference}; {counted(len(subject.examples), 'example')} of the file"
    return Finding(
        text=f"note: {what} tell whether the {subject.noun} is right: run them with tm2tfr check {subject.name}", note=True
    )


def _asked(subject: Subject, plan: Plan) -> Iterator[tuple[Sequence[str], str]]:
    """Yield inputs, with words that say which."""
    from tm2tfr.base.text.words import MANY, number_of
    from tm2tfr.lab.datasets.spec import MOST_WORDS, Inputs, Random

    all_up_to, count, seed = plan.all_up_to, plan.random, plan.drawn
    letters = () if subject.machine is None else subject.machine.input_alphabet or ()
    if all_up_to is not None:
        every = number_of(len(letters), 0, all_up_to)
        if every > MOST_WORDS:
            many = f"{every:,}" if every < MANY else "far too many"
            what = f"tm2tfr check: there are {many} inputs of up to {counted(all_up_to, 'symbol')}"
            raise UsageError(f"{what}: use a smaller --all-up-to, or --random")
        yield (
            Inputs(up_to=all_up_to).over(letters),
            f"all {counted(every, 'input')} of up to {counted(all_up_to, 'symbol')}",
        )
    if count is not None:
        there = min(number_of(len(letters), 0, LONGEST), MOST_WORDS)
        if count > there:
            what = f"tm2tfr check: there are {there:,} inputs of up to {LONGEST} symbols, and --random asks for {count:,}"
            raise UsageError(f"{what}: use at most {there:,}, or --all-up-to")
        drawn = Inputs(random=(Random(count, 0, LONGEST, f"check, seed {seed}"),)).over(letters)
        yield drawn, f"{counted(count, 'random input')} of 0 to {LONGEST} symbols, seed {seed}"


# ── Circuits.
def of_bits(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding] | None:
    """Return what is said of a circuit on many inputs; None: they are run one by one, or it is none.

    Raises:
        UsageError, CompileError: for a plan that is not for many inputs of a circuit.
    """
    if plan.every or plan.random is not None:
        one = "--all" if plan.every else "--random"
        if plan.max_steps is not None:
            raise UsageError(f"tm2tfr check: {one} runs a circuit to its last gate: omit --max-steps")
        if plan.saved:
            raise UsageError("tm2tfr check: there are many runs, and a checkpoint contains one: omit it")
        if subject.kind.enumerated is None:
            from tm2tfr.sources.registry import parameters_of

            if parameters_of(subject.name):
                how = f"the circuit of this name takes --{parameters_of(subject.name)[0]}: add it"
                raise CompileError(f"{subject.name} is a machine, and --all goes through the inputs of a circuit: {how}")
            what = f"{subject.name} is not a circuit, and --all goes through the inputs of one"
            raise CompileError(f"{what}: use --all-up-to")
        return _of_bits(subject, plan, plan.random, watch)
    if plan.inputs or subject.examples or subject.kind.enumerated is None:
        return None
    if plan.max_steps is not None or plan.saved:
        one = "--max-steps and a checkpoint are for one run, and a circuit without examples has many"
        raise UsageError(f"tm2tfr check: {one}: choose one with --input")
    few = len(subject.right.inputs) <= MOST_INPUTS_BY_DEFAULT
    return _of_bits(subject, plan, None if few else RANDOM_BY_DEFAULT, watch)


def _of_bits(subject: Subject, plan: Plan, count: int | None, watch: Watcher) -> Iterator[Finding]:
    """Yield what is said of a circuit on all inputs, or on so many random ones."""
    from tm2tfr.api.batches import check_many

    if subject.examples:
        yield _about_examples(subject)
    inputs = len(subject.right.inputs)
    subject = for_run(subject, plan.soft, None, None)
    if plan.by_default:
        some = f"all {2**inputs:,} inputs"
        if count is not None:
            some = f"{count} random inputs of 2^{inputs}, seed 0 {addressed('(more with --random)')}"
        yield Finding(text=f"no examples: {some}")
    with watch.inputs() as progress:
        found = check_many(
            subject, count, seed=plan.drawn, engine=plan.engine, dtype=plan.dtype, out=plan.out, progress=progress
        )
    which = {"inputs": "all"} if count is None else {"inputs": "random", "seed": plan.drawn}
    counts = f"{visible(found.name)}: {counted(found.runs, 'run')}, {counted(found.bits, 'bit')} compared"
    text = f"{counts}, all agree" if found.agrees else f"{counts}, the last run FAILED"
    if found.failure is not None:
        text += f"\nFAIL  {found.failure.input}: {found.failure.divergence}"
    yield Finding(text=text, data=lambda: {**found.as_dict(), **which}, good=found.agrees)
    if plan.out is not None:
        yield Finding(text=f"wrote {plan.out}", note=True)


# ── Machines and circuits, run by run, where compiled code runs many at once.
def together(
    subject: Subject, words: Sequence[str], run: RunOptions, max_steps: int, watch: Watcher
) -> Iterator[Trace] | None:
    """Return the runs on many inputs, made in a few calls and compared; None: they are to be made one by one."""
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
    """Yield the runs, so many in one batch."""
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
