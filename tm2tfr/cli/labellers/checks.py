"""``check`` of what labels words: the examples of its author, then all words up to a length, then random longer ones."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tm2tfr.cli import colour
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.output import tell
from tm2tfr.cli.softness import for_words
from tm2tfr.errors import Interrupted, UsageError, counted, visible
from tm2tfr.text.words import MANY, applied, joined, number_of

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.contract import Examined
    from tm2tfr.runs.options import RunOptions
    from tm2tfr.runs.streams import Streams
    from tm2tfr.runs.words import Words

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


def lengths(subject: Subject, all_up_to: int | None, count: int | None, seed: int) -> Lengths:
    """Return which inputs are run, given what is asked for.

    Raises:
        UsageError: if there are too many inputs, or the weights have fewer positions.
    """
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
    return Lengths(upto=upto, count=asked, shortest=spread[0], longest=spread[-1], seed=seed)


def _letters(subject: Subject) -> int:
    from tm2tfr.runs.words import labels_of

    return labels_of(subject.right, subject.decoder).letters


def inputs_up_to(letters: int, length: int) -> int:
    """Return how many inputs of 1 to `length` tokens there are."""
    return number_of(letters, 1, length)


def report_of_labels(
    subject: Subject,
    words: tuple[str, ...],
    run: RunOptions,
    *,
    soft: tuple[str | None, str | None],
    all_up_to: int | None,
    count: int | None,
    seed: str | None,
    as_json: bool,
) -> NoReturn:
    """Check what labels words, print what was found, and exit: 1 if anything is wrong.

    Args:
        soft: the attention and the temperature that are asked for.
    """
    from tm2tfr.transformer.provenance import notes, without_effect

    refuse(run, words, all_up_to, count, seed)
    good = True
    if words:
        subject = for_words(subject, *soft, max(map(len, words)))
        for word in words:
            good &= _one(subject, word, run, as_json=as_json)
        raise click.exceptions.Exit(0 if good else 1)
    asked = lengths(subject, all_up_to, count, seed_number(seed or 0, "tm2tfr check"))
    examples = (len(example.word) for example in _examples(subject))
    subject = for_words(subject, *soft, max(asked.upto, asked.longest if asked.count else 0, *examples, 1))
    said = subject.decoder.provenance
    told = without_effect(said) if not subject.compiled else ()  # by whoever read the options
    for note in (note for note in notes(said) if note not in told):
        click.echo(colour.cautioned(f"note: {note}"), err=True)
    batches, compared = [], False
    if all_up_to is None and count is None:
        for example in _examples(subject):
            agrees, ran = _example(subject, example, run, as_json=as_json)
            good, compared = good and agrees, compared or ran
    for found, what in _batches(subject, asked, run):
        good &= found.failure is None
        batches.append(found)
        if as_json:
            tell(json.dumps({**found.as_dict(), "inputs": what}, ensure_ascii=False), as_json=True)
            continue
        tell(colour.judged(_line(found, what)), as_json=False)
    if not compared and not any(found.cells for found in batches):
        what = f"nothing is compared, since the {subject.noun} is undefined on all of these inputs"
        click.echo(colour.judged(f"FAIL  {what}: check it on inputs on which it is defined"), err=as_json)
        raise click.exceptions.Exit(1)
    every = batches[0] if asked.upto and batches[0].cells else None
    if good and every is not None:
        good &= _streams(subject, asked.upto, run, gaps=all_up_to is not None, as_json=as_json)
    if good and every is not None and not as_json:
        tell(_proved(every, asked.upto, subject.decoder.positions), as_json=False)
    raise click.exceptions.Exit(0 if good else 1)


def _proved(every: Words, upto: int, positions: int | None) -> str:
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


def refuse(run: RunOptions, words: tuple[str, ...], all_up_to: int | None, count: int | None, seed: str | None) -> None:
    """Raise UsageError for options that cannot be combined."""
    for option, given in (("--all-up-to", all_up_to), ("--random", count)):
        if words and given is not None:
            raise UsageError(f"tm2tfr check: {option} and --input cannot be combined: omit one of them")
    if run.recorded:
        option = "--checkpoint" if run.out is None else "-o"
        raise UsageError(f"tm2tfr check: {option} records a single run, and there may be many here: omit {option}")
    if seed is not None and count is None:
        raise UsageError("tm2tfr check: --seed is that of random inputs: add --random, or omit it")
    if seed is not None:
        seed_number(seed, "tm2tfr check")


def _batches(subject: Subject, asked: Lengths, run: RunOptions) -> Iterator[tuple[Words, str]]:
    """Yield what was found of all inputs up to a length, and of random ones, each with words that say which."""
    from tm2tfr.runs.words import checked_words, every_input, random_inputs

    program, decoder, letters = subject.right, subject.decoder, _letters(subject)
    dtype: Any = run.dtype or "float64"
    if asked.upto:
        every = inputs_up_to(letters, asked.upto)
        with _counting(every) as progress:
            found = checked_words(decoder, program, every_input(letters, asked.upto), dtype=dtype, progress=progress)
        yield found, f"all {counted(every, 'input')} of up to {counted(asked.upto, 'token')}"
    if asked.count:
        spread = range(asked.shortest, asked.longest + 1)
        with _counting(asked.count) as progress:
            batches = random_inputs(letters, spread, asked.count, asked.seed)
            found = checked_words(decoder, program, batches, dtype=dtype, progress=progress)
        which = f"of {asked.shortest} to {counted(asked.longest, 'token')}"
        which = f"of {counted(asked.longest, 'token')}" if asked.shortest == asked.longest else which
        yield found, f"{counted(asked.count, 'random input')} {which}, seed {asked.seed}"


def _line(found: Words, what: str) -> str:
    left = f", {counted(found.undefined, 'input')} undefined, not compared" if found.undefined else ""
    if not found.runs:
        return f"note: {what}: the {found.noun} is undefined on every one of them, so nothing is compared"
    text = f"{what}: {counted(found.cells, 'cell')} compared with the {found.reference}"
    if found.failure is None:
        return f"ok    {text}, all agree{left}"
    return f"FAIL  {text}{left}\n      {visible(found.failure.input)}: {indented(str(found.failure.divergence))}"


def _streams(subject: Subject, upto: int, run: RunOptions, *, gaps: bool, as_json: bool) -> bool:
    """Compare the residual stream on all short inputs, print what was found, and return whether it is right.

    Args:
        gaps: print the gap of every head that claims one, not only those that are too small.
    """
    from tm2tfr.runs.streams import checked_streams, longest_streamed

    program, decoder = subject.right, subject.decoder
    if decoder.soft:
        return True
    longest = min(upto, longest_streamed(_letters(subject), decoder.positions))
    found = checked_streams(decoder, program, longest=longest, dtype=run.dtype or "float64")  # type: ignore[arg-type]
    if as_json:
        tell(json.dumps({subject.noun: program.name, "stream": found.as_dict()}, ensure_ascii=False), as_json=True)
        return found.agrees
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
    tell(colour.judged(text), as_json=False)
    for line in _gaps(found, every=gaps):
        tell(colour.judged(line), as_json=False)
    return found.agrees


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


def indented(text: str) -> str:
    """Return the lines of a text, those after the first one indented."""
    return text.replace("\n", "\n      ")


def _one(subject: Subject, word: str, run: RunOptions, *, as_json: bool) -> bool:
    """Check an input, print what was found, and return whether it is right."""
    from tm2tfr.cli.subject import traced

    trace = traced(subject, word, run, checked=True)
    if as_json:
        tell(json.dumps(trace.as_dict(), ensure_ascii=False), as_json=True)
        return trace.agrees
    long = f" ({counted(len(word), 'character')})" if len(word) > LONGEST_SHOWN else ""
    said = f"{_cut(word)}{long} → {_cut(trace.result.outcome)}: {counted(trace.compared, 'cell')}"
    text = f"ok    {said} agree" if trace.agrees else f"FAIL  {said}\n      {indented(str(trace.divergence))}"
    tell(colour.judged(text), as_json=False)
    return trace.agrees


def _example(subject: Subject, example: Examined, run: RunOptions, *, as_json: bool) -> tuple[bool, bool]:
    """Check an example: what its author says, the reference and the weights.

    Returns:
        Whether all three agree, and whether the weights were run.
    """
    from tm2tfr.errors import UndefinedError

    trace, refused = None, ""
    if example.met and example.runs:
        from tm2tfr.cli.subject import traced

        try:
            trace = traced(subject, example.word, run, checked=True)
        except UndefinedError as error:
            refused = str(error)
    good = example.met and (trace is None or trace.agrees)
    if as_json:
        plain = {"example": example.as_dict()}
        tell(json.dumps({**(trace.as_dict() if trace else {}), **plain}, ensure_ascii=False), as_json=True)
        return good, trace is not None
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
    tell(colour.judged(text), as_json=False)
    return good, trace is not None


def _cut(text: str) -> str:
    """Return a word or an outcome on a line, of a long one the beginning and the end."""
    half = LONGEST_SHOWN // 2 - 1
    return visible(text if len(text) <= LONGEST_SHOWN else f"{text[:half]} … {text[-half:]}")


def _list(values: Any, *, numbers: bool) -> str:
    return visible(values if isinstance(values, str) else joined(values, numbers=numbers))


@contextmanager
def _counting(inputs: int) -> Iterator[Callable[[int], None]]:
    """Yield a callback that shows finished inputs on a terminal.

    Raises:
        Interrupted: on Ctrl-C, saying how many are done.
    """
    from tm2tfr.cli.progress import line

    standing, began = 0, time.monotonic()
    shown = "{task.completed:,} of {task.total:,.0f} inputs, {task.fields[rate]:,.0f} per second"
    bar = line(shown) if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=inputs, rate=0.0)
    if bar is not None:
        bar.start()

    def show(done: int) -> None:
        nonlocal standing
        standing = done
        if bar is not None and task is not None:
            bar.update(task, completed=done, rate=done / max(time.monotonic() - began, 1e-9))

    try:
        yield show
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {standing:,} of {inputs:,} inputs") from None
    finally:
        if bar is not None:
            bar.stop()
