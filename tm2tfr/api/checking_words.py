"""``check`` of what labels words: the examples of its author, then all words up to a length, then random longer ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from tm2tfr.api.checking_many import many_line, refuse_files
from tm2tfr.api.softness import for_words
from tm2tfr.api.tracing import traced
from tm2tfr.base.errors import UndefinedError, UsageError, counted, indented, visible
from tm2tfr.base.text.words import MANY, applied, joined, number_of
from tm2tfr.runs.plan import Finding

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.contract.shown import Examined
    from tm2tfr.runs.batches.batch import ComparedRuns
    from tm2tfr.runs.plan import Plan, RunOptions, Watcher
    from tm2tfr.runs.streams import Streams

MOST_BY_DEFAULT, RANDOM_BY_DEFAULT = 20_000, 200
"""All inputs are run up to the longest length at which there are at most so many; of longer ones so many, seed 0."""
MOST_INPUTS = 20_000_000
LONGEST_SHOWN = 60
"""Characters of a word, or of its outcome: of a longer one the beginning and the end are shown."""


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Which inputs are run.

    Args:
        upto: all inputs of up to so many tokens.
        count, shortest, longest, seed: so many random ones, of these lengths.
    """

    upto: int
    count: int
    shortest: int
    longest: int
    seed: int


ANY_LENGTH, BEYOND = range(1, 41), range(40, 101)
"""Weights for inputs of any length are run on random inputs of so many tokens: alone, and beyond all short ones."""


def lengths(subject: Subject, plan: Plan) -> Lengths:
    """Return which inputs are run, given what is asked for.

    Raises:
        UsageError: if there are too many inputs, or the weights have fewer positions.
    """
    all_up_to, count = plan.all_up_to, plan.random
    letters, positions = _letters(subject), subject.decoder.positions
    longest = positions or ANY_LENGTH[-1]
    if all_up_to is not None and positions is not None and all_up_to > positions:
        what = f"tm2tfr check: the weights have {counted(longest, 'position')}, and --all-up-to {all_up_to} asks for more"
        raise UsageError(f"{what}: use --max-length {all_up_to}")
    if all_up_to is not None and (every := inputs_up_to(letters, all_up_to)) > MOST_INPUTS:
        many = f"{every:,}" if every < MANY else "far too many"
        what = f"tm2tfr check: there are {many} inputs of up to {all_up_to} tokens"
        raise UsageError(f"{what}: use a smaller --all-up-to, or --random")
    if count is not None and count > MOST_INPUTS:
        what = f"tm2tfr check: --random asks for {count:,} inputs"
        raise UsageError(f"{what}: use at most {MOST_INPUTS:,}, and another --seed for more")
    upto = all_up_to if all_up_to is not None else 0
    if all_up_to is None and count is None:
        upto = max((n for n in range(1, longest + 1) if inputs_up_to(letters, n) <= MOST_BY_DEFAULT), default=1)
    if positions is None:
        spread = range(max(BEYOND[0], upto + 1), max(BEYOND[-1], 2 * upto) + 1) if upto else ANY_LENGTH
    else:
        spread = range(min(upto + 1, longest), longest + 1)
    asked = count if count is not None else (0 if all_up_to is not None or upto == positions else RANDOM_BY_DEFAULT)
    return Lengths(upto=upto, count=asked, shortest=spread[0], longest=spread[-1], seed=plan.drawn)


def _letters(subject: Subject) -> int:
    from tm2tfr.runs.choose import labels_of

    return labels_of(subject.right, subject.decoder).letters


def inputs_up_to(letters: int, length: int) -> int:
    """Return how many inputs of 1 to `length` tokens there are."""
    return number_of(letters, 1, length)


def of_words(subject: Subject, plan: Plan, watch: Watcher) -> Iterator[Finding]:
    """Yield what is said of what labels words.

    Raises:
        UsageError: for what is no plan for it: too many inputs, more tokens than the weights have positions, or a file.
    """
    from tm2tfr.transformer.provenance import notes, without_effect

    if plan.every:
        what = f"--all is for circuits, and {subject.noun}s have inputs of any length"
        raise UsageError(f"tm2tfr check: {what}: use --all-up-to")
    refuse_files(plan)
    if plan.inputs:
        subject = for_words(subject, plan.soft, max(map(len, plan.inputs)))
        for word in plan.inputs:
            yield _one(subject, word, plan, watch)
        return
    asked = lengths(subject, plan)
    examples = (len(example.word) for example in _examples(subject))
    subject = for_words(subject, plan.soft, max(asked.upto, asked.longest if asked.count else 0, *examples, 1))
    said = subject.decoder.provenance
    told = without_effect(said) if not subject.compiled else ()  # by whoever read the options
    yield from (Finding(text=f"note: {note}", note=True) for note in notes(said) if note not in told)
    good, compared = True, False
    if plan.by_default:
        for example in _examples(subject):
            line, ran = _example(subject, example, plan, watch)
            good, compared = good and line.good is not False, compared or ran
            yield line
    batches = []
    for found, what in _batches(subject, asked, plan, watch):
        good &= found.failure is None
        batches.append(found)
        yield many_line(found, what)
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
    """Return the line that says for which inputs the answers are proved, where all of up to so many tokens agree."""
    which, beyond = f"inputs of up to {counted(upto, 'token')}", "" if upto == positions else ", and not proved beyond"
    if every.undefined:
        return f"proved for the {every.runs:,} of {every.runs + every.undefined:,} {which} on which it is defined{beyond}"
    return f"proved for all {which}{beyond}"


def _examples(subject: Subject) -> Iterator[Examined]:
    """Yield the examples of its author."""
    construction = subject.construction
    if construction is not None and construction.examined is not None:
        yield from construction.examined(subject.right, subject.decoder)


def _batches(subject: Subject, asked: Lengths, plan: Plan, watch: Watcher) -> Iterator[tuple[ComparedRuns, str]]:
    """Yield what was found of all inputs up to a length, and of random ones, each with words that say which."""
    from tm2tfr.runs.batches.labelled import checked_words, every_input, random_inputs

    program, decoder, letters = subject.right, subject.decoder, _letters(subject)
    dtype: Any = plan.dtype or "float64"
    if asked.upto:
        every = inputs_up_to(letters, asked.upto)
        with watch.inputs() as progress:
            batches = every_input(letters, asked.upto)
            found = checked_words(decoder, program, batches, dtype=dtype, progress=progress, every=every)
        yield found, f"all {counted(every, 'input')} of up to {counted(asked.upto, 'token')}"
    if asked.count:
        spread = range(asked.shortest, asked.longest + 1)
        with watch.inputs() as progress:
            batches = random_inputs(letters, spread, asked.count, asked.seed)
            found = checked_words(decoder, program, batches, dtype=dtype, progress=progress, every=asked.count)
        which = f"of {asked.shortest} to {counted(asked.longest, 'token')}"
        which = f"of {counted(asked.longest, 'token')}" if asked.shortest == asked.longest else which
        yield found, f"{counted(asked.count, 'random input')} {which}, seed {asked.seed}"


def _streams(subject: Subject, upto: int, run: RunOptions, *, gaps: bool) -> Iterator[Finding]:
    """Compare the residual stream on all short inputs, and yield what is said of it.

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
        yield f"ok    the best score of {counted(len(found.gaps), 'head')} is ahead of the next by what is claimed, γ:"
    from tm2tfr.transformer.claims import DIVIDED

    for gap in found.gaps if every else bad:
        by = f"γ{DIVIDED[gap.over]}"
        measured = "no other score" if gap.measured == inf else f"γ = {gap.measured:.6g} at the least"
        where = f"layer {gap.layer}, head {gap.number} ({visible(gap.head)})"
        said = f"{where}: claimed {by} with γ = {gap.claimed:g}; measured {measured}"
        yield f"      {said}" if gap.holds else f"FAIL  {said}"


def _one(subject: Subject, word: str, plan: Plan, watch: Watcher) -> Finding:
    """Check an input, and return what is said of it."""
    trace = traced(subject, word, plan, must_compare=True, watch=watch).trace
    long = f" ({counted(len(word), 'character')})" if len(word) > LONGEST_SHOWN else ""
    said = f"{_cut(word)}{long} → {_cut(trace.result.outcome)}: {counted(trace.compared, 'cell')}"
    text = f"ok    {said} agree" if trace.agrees else f"FAIL  {said}\n      {indented(str(trace.divergence))}"
    return Finding(text=text, data=trace.as_dict, good=trace.agrees)


def _example(subject: Subject, example: Examined, plan: Plan, watch: Watcher) -> tuple[Finding, bool]:
    """Check an example: what its author says, the reference and the weights.

    Returns:
        What is said of it, and whether the weights were run.
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

    def data() -> dict[str, Any]:
        return {**(trace.as_dict() if trace else {}), "example": example.as_dict()}

    return Finding(text=text, data=data, good=good), trace is not None


def _cut(text: str) -> str:
    """Return a word or an outcome on a line, of a long one the beginning and the end."""
    half = LONGEST_SHOWN // 2 - 1
    return visible(text if len(text) <= LONGEST_SHOWN else f"{text[:half]} … {text[-half:]}")


def _list(values: Any, *, numbers: bool) -> str:
    return visible(values if isinstance(values, str) else joined(values, numbers=numbers))
