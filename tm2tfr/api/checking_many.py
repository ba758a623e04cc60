"""``check`` of many inputs: all of a circuit, all up to a length of a machine, a program or a formula, or random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from tm2tfr.api.softness import for_run, for_words
from tm2tfr.api.tracing import beyond_certificate, traced
from tm2tfr.base.errors import CompileError, UndefinedError, UsageError, addressed, counted, indented, plural, visible
from tm2tfr.base.text.words import LONGEST_SHOWN, MANY, applied, cut, joined, listed, listed_word, number_of
from tm2tfr.runs.plan import Finding

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.contract.shown import Examined, PlainData
    from tm2tfr.runs.batches.batch import ComparedRuns, RunSink
    from tm2tfr.runs.plan import Plan, RunOptions, Watcher
    from tm2tfr.runs.streams import Streams

LONGEST = 40
"""The most symbols of a random input."""
MOST_INPUTS_BY_DEFAULT, RANDOM_BY_DEFAULT = 10, 100
"""A circuit without examples is run on all inputs if it has at most 2^10; otherwise on 100 random ones, seed 0."""


def _many_line(found: ComparedRuns, what: str, plan: Plan) -> Finding:
    """Return the finding for a batch of runs; `what` describes its inputs."""
    left = f", {counted(found.undefined, 'input')} undefined, not compared" if found.undefined else ""
    # a failed batch has counted only the runs before the difference
    ends = {} if found.outcomes is None or found.failure is not None else found.outcomes
    came = ", ".join(f"{number:,} {outcome}" for outcome, number in ends.items())
    text = f"{what}{came and f' ({came})'}: {counted(found.cells, 'cell')} compared with the {found.reference}"
    lines = [f"ok    {text}, all agree{left}"]
    if found.failure is not None:
        lines = [f"FAIL  {text}{left}", f"{visible(found.failure.input)}: {indented(str(found.failure.divergence))}"]
    elif not found.runs:
        lines = [f"note: {what}: the {found.noun} is undefined on every one of them, so nothing is compared"]
    lines += [f"scanned: {line}" for line in found.scanned]
    if found.accepted is not None:
        more = ends.get("accept", 0) - len(found.accepted)
        others = f" and {more:,} more{'' if plan.out else addressed(': write all with --output runs.csv')}"
        lines.append(f"accepted: {', '.join(map(listed_word, found.accepted)) or 'none'}{others if more else ''}")
    text, good = "\n      ".join(lines), found.failure is None and (found.agrees or found.undefined is not None)
    return Finding(text=text, data=lambda: {**found.as_dict(), "inputs": what}, good=good)


def _refuse_too_many(every: int, most: int, length: str) -> None:
    """Raise UsageError if more than `most` inputs of up to a length are asked for."""
    if every > most:
        many = f"{every:,}" if every < MANY else "far too many"
        raise UsageError(f"tm2tfr check: there are {many} inputs of up to {length}: use a smaller --all-up-to, or --random")


def _refuse_files(plan: Plan) -> None:
    """Raise UsageError for a file that is about a single run; enumerated and random inputs have a file of many runs."""
    if plan.saved or (plan.out is not None and plan.all_up_to is None and plan.random is None):
        option = "--checkpoint" if plan.out is None else "-o"
        raise UsageError(f"tm2tfr check: {option} records a single run, and there may be many here: omit {option}")


# ── Machines.
def of_inputs(subject: Subject, plan: Plan, watch: Watcher, sink: RunSink | None = None) -> Iterator[Finding]:
    """Yield the findings about a machine on all short inputs and on random ones; `sink` gets their runs.

    Raises:
        UsageError: for options that cannot be combined, or too many inputs.
    """
    from tm2tfr.runs.batches.checked import checked_inputs

    if subject.machine is None:
        raise UsageError("tm2tfr check: the inputs of a circuit all have one length: omit --all-up-to, or use --all")
    _refuse_files(plan)
    if subject.examples:
        yield _about_examples(subject)
    subject = for_run(subject, plan.soft, None, plan.max_steps)
    for some, what, every in _asked(subject, plan):
        with watch.inputs() as progress:
            found = checked_inputs(subject.decoder, subject.right, some, plan, progress, sink=sink, listed=every)
        yield _many_line(found, what, plan)
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


def _asked(subject: Subject, plan: Plan) -> Iterator[tuple[Sequence[str], str, bool]]:
    """Yield inputs, with words that say which, and whether they are all up to a length."""
    from tm2tfr.lab.datasets.spec import MOST_WORDS, Inputs, Random

    all_up_to, count, seed = plan.all_up_to, plan.random, plan.drawn
    letters = () if subject.machine is None else subject.machine.input_alphabet or ()
    if all_up_to is not None:
        every = number_of(len(letters), 0, all_up_to)
        _refuse_too_many(every, MOST_WORDS, counted(all_up_to, "symbol"))
        chosen = f" from {listed(letters, 6)}" if letters else ""
        what = f"all {counted(every, 'input')} of up to {counted(all_up_to, 'symbol')}{chosen}"
        yield Inputs(up_to=all_up_to).over(letters), what, True
    if count is not None:
        there = min(number_of(len(letters), 0, LONGEST), MOST_WORDS)
        if count > there:
            what = f"tm2tfr check: there are {there:,} inputs of up to {LONGEST} symbols, and --random asks for {count:,}"
            raise UsageError(f"{what}: use at most {there:,}, or --all-up-to")
        drawn = Inputs(random=(Random(count, 0, LONGEST, f"check, seed {seed}"),)).over(letters)
        yield drawn, f"{counted(count, 'random input')} of 0 to {LONGEST} symbols, seed {seed}", False


# ── Circuits.
def of_bits(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding] | None:
    """Return the findings about a circuit on a batch of inputs; None if inputs run singly or it is not a circuit.

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
            from tm2tfr.sources.names import parameters_of

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
    """Yield the finding about a circuit on all inputs, or on `count` random ones."""
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


# ── Words that are labelled: the examples of the author, then all words up to a length, then random longer ones. ─────────
MOST_BY_DEFAULT, LONGER_BY_DEFAULT = 20_000, 200
"""All words are run up to the longest length at which there are at most 20,000, and 200 random longer ones, seed 0."""
MOST_INPUTS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Which inputs are run.

    Args:
        upto: the most tokens of the inputs that are all run.
        count, shortest, longest, seed: the number of random inputs, their lengths and seed.
    """

    upto: int
    count: int
    shortest: int
    longest: int
    seed: int


ANY_LENGTH, BEYOND = range(1, 41), range(40, 101)
"""Weights for inputs of any length are run on random inputs of these lengths: alone, and beyond all short ones."""


def lengths(subject: Subject, plan: Plan) -> Lengths:
    """Return the lengths of the inputs that the plan runs.

    Raises:
        UsageError: if there are too many inputs, or the weights have fewer positions.
    """
    all_up_to, count = plan.all_up_to, plan.random
    letters, positions = _letters(subject), subject.decoder.positions
    longest = positions or ANY_LENGTH[-1]
    if all_up_to is not None and positions is not None and all_up_to > positions:
        what = f"tm2tfr check: the weights have {counted(longest, 'position')}, and --all-up-to {all_up_to} asks for more"
        raise UsageError(f"{what}: use --max-length {all_up_to}")
    if all_up_to is not None:
        _refuse_too_many(number_of(letters, 1, all_up_to), MOST_INPUTS, counted(all_up_to, "token"))
    if count is not None and count > MOST_INPUTS:
        what = f"tm2tfr check: --random asks for {count:,} inputs"
        raise UsageError(f"{what}: use at most {MOST_INPUTS:,}, and another --seed for more")
    upto = all_up_to if all_up_to is not None else 0
    if all_up_to is None and count is None:
        upto = max((n for n in range(1, longest + 1) if number_of(letters, 1, n) <= MOST_BY_DEFAULT), default=1)
    if positions is None:
        spread = range(max(BEYOND[0], upto + 1), max(BEYOND[-1], 2 * upto) + 1) if upto else ANY_LENGTH
    else:
        spread = range(min(upto + 1, longest), longest + 1)
    asked = count if count is not None else (0 if all_up_to is not None or upto == positions else LONGER_BY_DEFAULT)
    return Lengths(upto=upto, count=asked, shortest=spread[0], longest=spread[-1], seed=plan.drawn)


def _letters(subject: Subject) -> int:
    from tm2tfr.runs.choose import labels_of

    return labels_of(subject.right, subject.decoder).letters


def of_words(subject: Subject, plan: Plan, watch: Watcher, sink: RunSink | None = None) -> Iterator[Finding]:
    """Yield the findings about a sequence model (RASP, logic, automata); `sink` gets the runs on enumerated inputs.

    Raises:
        UsageError: for a plan that does not fit: too many inputs, more tokens than the weights have positions, or a file.
    """
    from tm2tfr.transformer.provenance import notes, without_effect

    if plan.every:
        what = f"--all is for circuits, and {plural(subject.noun)} have inputs of any length"
        raise UsageError(f"tm2tfr check: {what}: use --all-up-to")
    _refuse_files(plan)
    if plan.inputs:
        subject = for_words(subject, plan.soft, max(map(len, plan.inputs)))
        for word in plan.inputs:
            yield _one(subject, word, plan, watch)
        return
    asked = lengths(subject, plan)
    examples = (len(example.word) for example in _examples(subject))
    subject = for_words(subject, plan.soft, max(asked.upto, asked.longest if asked.count else 0, *examples, 1))
    said = subject.decoder.provenance
    told = without_effect(said) if not subject.compiled else ()  # by the reader of the options
    yield from (Finding(text=f"note: {note}", note=True) for note in notes(said) if note not in told)
    good, compared = True, False
    if plan.by_default:
        for example in _examples(subject):
            line, ran = _example(subject, example, plan, watch)
            good, compared = good and line.good is not False, compared or ran
            yield line
    batches = []
    for found, what in _batches(subject, asked, plan, watch, sink):
        good &= found.failure is None
        batches.append(found)
        yield _many_line(found, what, plan)
    if not compared and not any(found.cells for found in batches):
        what = f"nothing is compared, since the {subject.noun} is undefined on all of these inputs"
        yield Finding(text=f"FAIL  {what}: check it on inputs on which it is defined", good=False)
        return
    every = batches[0] if asked.upto and batches[0].cells else None
    if good and every is not None:
        for line in _streams(subject, asked.upto, plan, gaps=plan.all_up_to is not None):
            good &= line.good is not False
            yield line
    if good and every is not None:
        yield Finding(text=_proved(every, asked.upto, subject.decoder.positions))


def _proved(every: ComparedRuns, upto: int, positions: int | None) -> str:
    """Return the line that says for which inputs the answers are proved, where all of at most `upto` tokens agree."""
    which, beyond = f"inputs of up to {counted(upto, 'token')}", "" if upto == positions else ", and not proved beyond"
    if every.undefined:
        return f"proved for the {every.runs:,} of {every.runs + every.undefined:,} {which} on which it is defined{beyond}"
    return f"proved for all {which}{beyond}"


def _examples(subject: Subject) -> Iterator[Examined]:
    """Yield the examples of its author."""
    construction = subject.construction
    if construction is not None and construction.examined is not None:
        yield from construction.examined(subject.right, subject.decoder)


def _batches(
    subject: Subject, asked: Lengths, plan: Plan, watch: Watcher, sink: RunSink | None
) -> Iterator[tuple[ComparedRuns, str]]:
    """Yield what was found of all inputs up to a length, and of random ones, each with words that say which."""
    from tm2tfr.runs.batches.labelled import checked_words, every_input, random_inputs

    program, decoder, letters = subject.right, subject.decoder, _letters(subject)
    dtype: Any = plan.dtype or "float64"
    run = partial(checked_words, decoder, program, dtype=dtype, sink=sink)
    if asked.upto:
        every = number_of(letters, 1, asked.upto)
        with watch.inputs() as progress:
            batches = every_input(letters, asked.upto)
            found = run(batches, progress=progress, every=every, listed=plan.all_up_to is not None)
        yield found, f"all {counted(every, 'input')} of up to {counted(asked.upto, 'token')}"
    if asked.count:
        spread = range(asked.shortest, asked.longest + 1)
        with watch.inputs() as progress:
            batches = random_inputs(letters, spread, asked.count, asked.seed)
            found = run(batches, progress=progress, every=asked.count)
        which = f"of {asked.shortest} to {counted(asked.longest, 'token')}"
        which = f"of {counted(asked.longest, 'token')}" if asked.shortest == asked.longest else which
        yield found, f"{counted(asked.count, 'random input')} {which}, seed {asked.seed}"


def _streams(subject: Subject, upto: int, run: RunOptions, *, gaps: bool) -> Iterator[Finding]:
    """Compare the residual stream on all short inputs, and yield the findings.

    Args:
        gaps: yield the gap of every head that claims one, not only those that are too small.
    """
    from tm2tfr.runs.streams import checked_streams, longest_streamed

    program, decoder = subject.right, subject.decoder
    if decoder.soft:
        return
    longest = min(upto, longest_streamed(_letters(subject), decoder.positions))
    found = checked_streams(decoder, program, longest=longest, dtype=run.dtype or "float64")  # type: ignore[arg-type]
    what = f"the residual stream after every sublayer, {counted(found.inputs, 'input')} of up to "
    what += f"{counted(found.longest, 'token')}: {counted(found.numbers, 'number')}"
    if not found.covered:
        text = "note: the residual stream is not compared, since the weights claim what the specification does not know"
    elif not found.inputs:
        up = f"up to {counted(found.longest, 'token')}"
        text = f"note: the residual stream is not compared, since the {subject.noun} is undefined on all inputs of {up}"
    elif found.cause is None:
        text = f"ok    {what}, all agree"
    else:
        text = f"FAIL  {what}\n      {visible(str(found.input))}: cause: {indented(str(found.cause))}"
    yield Finding(text=text, data=lambda: {subject.noun: program.name, "stream": found.as_dict()}, good=found.agrees)
    yield from (Finding(text=line) for line in _gaps(found, every=gaps))


def _gaps(found: Streams, *, every: bool) -> Iterator[str]:
    """Yield a line for the heads whose scores are compared, then one for each head, or only for those that fail."""
    if not found.gaps:
        return
    bad = [gap for gap in found.gaps if not gap.holds]
    if every and not bad:
        yield f"ok    the best score of {counted(len(found.gaps), 'head')} is ahead of the next by the claimed γ:"
    from tm2tfr.transformer.claims import DIVIDED

    for gap in found.gaps if every else bad:
        by = f"γ{DIVIDED[gap.over]}"
        measured = "measured no other score" if gap.measured == inf else f"smallest measured γ = {gap.measured:.6g}"
        where = f"layer {gap.layer}, head {gap.number} ({visible(gap.head)})"
        said = f"{where}: claimed {by} with γ = {gap.claimed:g}; {measured}"
        yield f"      {said}" if gap.holds else f"FAIL  {said}"


def _one(subject: Subject, word: str, plan: Plan, watch: Watcher) -> Finding:
    """Check one input and return the finding."""
    trace = traced(subject, word, plan, must_compare=True, watch=watch).trace
    long = f" ({counted(len(word), 'character')})" if len(word) > LONGEST_SHOWN else ""
    said = f"{cut(word)}{long} → {cut(trace.result.outcome)}: {counted(trace.compared, 'cell')}"
    text = f"ok    {said} agree" if trace.agrees else f"FAIL  {said}\n      {indented(str(trace.divergence))}"
    return Finding(text=text, data=trace.as_dict, good=trace.agrees)


def _example(subject: Subject, example: Examined, plan: Plan, watch: Watcher) -> tuple[Finding, bool]:
    """Check an example: the author's values against the reference, and the weights.

    Returns:
        The finding, and whether the weights were run.
    """
    trace, refused = None, ""
    if example.met and example.runs:
        try:
            trace = traced(subject, example.word, plan, must_compare=True, watch=watch).trace
        except UndefinedError as error:
            refused = str(error)
    good = example.met and (trace is None or trace.agrees)
    expected = _list(example.expected, numbers=example.numbers)
    shown = f"{applied(visible(example.of), visible(example.word))} = {expected}"
    if not example.met:
        found = _list(example.found, numbers=example.numbers)
        text = f"FAIL  {shown}, says the author; the {example.reference} says {found}"
    elif trace is None:
        text = f"ok    {shown}: {refused or example.why}"
    else:
        text = f"ok    {shown}: {counted(trace.compared, 'cell')} agree"
        text = text if trace.agrees else f"FAIL  {shown}\n      {indented(str(trace.divergence))}"

    def data() -> PlainData:
        return {**(trace.as_dict() if trace else {}), "example": example.as_dict()}

    return Finding(text=text, data=data, good=good), trace is not None


def _list(values: Any, *, numbers: bool) -> str:
    return visible(values if isinstance(values, str) else joined(values, numbers=numbers))
