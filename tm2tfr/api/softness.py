"""Soft attention: weights that have it, its errors measured on runs, and Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tm2tfr.api.subject import judged, recompiled
from tm2tfr.base.choices import AUTO, LOCAL, NO_TEMPERATURE, PAPER, PER_POSITION, TEMPERATURES, THEOREM_26
from tm2tfr.base.errors import CompileError, UsageError
from tm2tfr.runs.plan import Soft, check_engine, check_steps, is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given, Subject
    from tm2tfr.base.choices import Temperature
    from tm2tfr.lab.softness.figure_1 import Figure, MeasuredOn
    from tm2tfr.lab.softness.run import SoftLabels, SoftRun
    from tm2tfr.lab.softness.unique import Softened
    from tm2tfr.transformer.unique import Tieless
    from tm2tfr.transformer.weights import Decoder

SOFT_STEPS = 200
"""The default limit on the steps that are measured under softmax."""
SOFT_LENGTH = 1_024
"""The default number of positions for which a temperature is chosen, for weights that have any number of them."""


def soften(
    subject: Given,
    *,
    temperature: float | Temperature = AUTO,
    length: int | None = None,
    gap: float | None = None,
    left_boundary: str | None = None,
) -> Decoder:
    """Return the weights with softmax in place of hard attention, the queries divided by a temperature.

    >>> import tm2tfr
    >>> decoder = tm2tfr.soften("chapter", length=100)
    >>> decoder.provenance["temperature"], tm2tfr.check(decoder, "11").agrees
    ('1.52587890625e-05', True)

    Args:
        subject: see `Subject.of`; a program is compiled first.
        temperature: τ, or one of these words. ``local``: one for each head, by bounds that hold where everything that heads
            carry is rounded, see `tm2tfr.transformer.soft`; ``none``: as ``local``, with bounds that hold for any length;
            ``per-position``: one function of the position per head; ``paper``: the temperature of the theorem about
            heads as printed, see `tm2tfr.transformer.tempered`;
            ``theorem-26``: the largest power of two for which Theorem 26 guarantees every token of every run of at most
            `length` positions, see `tm2tfr.transformer.soft`; ``auto``: ``local`` where every head that is not uniform
            has such a bound, as those of formulas have, otherwise ``theorem-26``.
        length: the number of positions (prompt, BOS, steps + 1) for which the temperature is right; by default all
            positions of the weights, or 1,024.
        gap: the smallest difference between a best score and a lower one, in leftmost and rightmost heads. By default it
            is derived from the weights, see `tm2tfr.transformer.unique`; only then are the values that heads carry
            rounded, and local bounds exist.
        left_boundary: deprecated, see `check`.

    Raises:
        CompileError: if the temperature is not a positive number, if the weights are already soft or have no temperature
            of that kind, for a `length` beside a temperature in numbers, or if a gap cannot be derived or is unused.
    """
    return softened(subject, temperature=temperature, length=length, gap=gap, left_boundary=left_boundary).decoder


def softened(
    subject: Given,
    *,
    temperature: float | Temperature | str = AUTO,
    length: int | None = None,
    gap: float | None = None,
    left_boundary: str | None = None,
) -> Softened:
    """Return what `soften` returns, with the certificate of its gaps; see there; the temperature may be text."""
    from tm2tfr.lab.softness.temperature import parsed_word, softened_by
    from tm2tfr.lab.softness.unique import Softened
    from tm2tfr.transformer.soft import already_soft

    asked = parsed_word(value(temperature) if isinstance(temperature, str) else temperature)
    if asked not in (AUTO, LOCAL, THEOREM_26) and length is not None:
        what = "length only applies to temperature='auto', 'local' and 'theorem-26'"
        raise CompileError(f"{what}, not to {temperature!r}: omit one of them")
    if length is not None and not is_count(length, 1):
        raise CompileError(f"the length must be a positive number of positions, not {length!r}: use 1 or more")
    found = recompiled(subject, left_boundary)
    if (decoder := found.decoder).soft:
        raise already_soft(decoder)
    made = _tieless(decoder, gap, length)
    hard = decoder if made is None else made.decoder
    covered = (decoder.positions or SOFT_LENGTH) if length is None else length
    soft = softened_by(hard, asked, covered)
    return Softened(found.name, decoder, soft, made, covered, not isinstance(asked, float))


def _tieless(decoder: Decoder, gap: float | None, positions: int | None) -> Tieless | None:
    """Return average-hard weights in place of weights with leftmost or rightmost heads; None: they have none.

    Raises:
        CompileError: if a gap is given and they have none; if a gap cannot be derived.
    """
    from tm2tfr.transformer.unique import tieless

    if decoder.unique:
        return tieless(decoder, gap=gap, positions=positions)
    if gap is not None:
        raise _no_gap()
    return None


def _no_gap() -> CompileError:
    return CompileError("a gap is that of leftmost or rightmost heads, and these weights have none: omit it")


def measure_softness(
    subject: Given,
    word: str | None = None,
    *,
    machine: Given | None = None,
    temperature: float | Temperature | None = None,
    dtype: str | None = None,
    max_steps: int | None = SOFT_STEPS,
    left_boundary: str | None = None,
) -> SoftRun:
    """Measure a run under softmax: errors beside the lemmas' bounds, and the largest temperature with right answers.

    >>> import tm2tfr
    >>> found = tm2tfr.measure_softness("chapter", "11", temperature=0.01)
    >>> found.softness.uniform_tieless, found.softness.first_wrong, found.growth[-1].found > 0.07
    (True, None, True)

    Args:
        subject, word, machine, left_boundary: see `check`; weights must have average-hard attention.
        temperature: the temperature at which errors are measured; ``auto`` or ``theorem-26``: the one that Theorem 26
            guarantees; by default a quarter of the largest with right answers.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.

    Raises:
        EngineError: if the run is not right with average-hard attention.
        CompileError, InputError: see `soften` and `check`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.lab.softness.run import soft_run
    from tm2tfr.lab.softness.temperature import parsed_word
    from tm2tfr.runs.choose import truth_of
    from tm2tfr.transformer.soft import already_soft

    check_steps(max_steps)
    check_engine("dense", dtype)
    value = None if temperature is None else parsed_word(temperature)
    if value in (LOCAL, NO_TEMPERATURE, PER_POSITION, PAPER):
        raise CompileError(f"a run is measured at one temperature, not at {value!r}: use auto, theorem-26, or a number")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    right = judge.right
    if found.decoder.soft:
        raise already_soft(found.decoder, "measure")
    given = judge.word(word)
    return soft_run(
        found.decoder,
        given,
        truth=truth_of(right, given, found.decoder, max_steps),
        engine=engine_named("dense", dtype),
        temperature=value if value is None or isinstance(value, float) else AUTO,
        max_steps=max_steps,
    )


def measure_labels(
    subject: Given,
    word: str | None = None,
    *,
    temperature: float | Temperature | None = None,
    dtype: str | None = None,
    gap: float | None = None,
) -> SoftLabels:
    """Measure a sequence model under softmax: whether its outputs are right, and the largest errors, by temperature.

    Args:
        subject, word: see `check`; weights must have hard attention, and outputs. Where it is leftmost or rightmost, the
            average-hard weights that compute the same are measured.
        gap: see `soften`.
        temperature: one more at which it is measured; of the words that `soften` takes all but ``none``, which stand for
            one temperature for all heads.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.

    Raises:
        EngineError: if the run is not right with average-hard attention.
        CompileError, InputError: see `soften` and `check`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.lab.softness.run import soft_labels
    from tm2tfr.lab.softness.temperature import one_temperature, parsed_word
    from tm2tfr.lab.softness.unique import measurable
    from tm2tfr.runs.choose import labels_of, truth_of
    from tm2tfr.transformer.soft import already_soft

    check_engine("dense", dtype)
    word_or_number = None if temperature is None else parsed_word(temperature)
    found = recompiled(subject, None)
    decoder, given = found.decoder, found.word(word)
    if decoder.soft:
        raise already_soft(decoder, "measure")
    right, dense = found.program, engine_named("dense", dtype)
    if decoder.unique:
        decoder = measurable(decoder, found.prompt(given), gap, engine=dense)
    elif gap is not None:
        raise _no_gap()
    truth = truth_of(right, given, decoder, None)
    covered = decoder.positions or len(given if truth is None else truth.prompt)
    value = None if word_or_number is None else one_temperature(decoder, word_or_number, covered)
    labels = None if truth is None else labels_of(right, decoder)
    return soft_labels(decoder, given, truth=truth, engine=dense, temperature=value, labels=labels)


def measured(
    subject: Given,
    word: str | None = None,
    *,
    temperature: str | None = None,
    dtype: str | None = None,
    max_steps: int | None = SOFT_STEPS,
    gap: float | None = None,
    by_position: bool = False,
) -> SoftRun | SoftLabels:
    """Measure what generates like `measure_softness`, and what labels words like `measure_labels`.

    Args:
        temperature: τ as text, such as ``2^-10``, or a word.
        gap: see `soften`; of sequence models.
        by_position: whether a measurement for each position is needed, as a plot does.
        subject, word, dtype, max_steps: see `measure_softness`.

    Raises:
        UsageError: for a sequence model, if it is.
        EngineError, CompileError, InputError: see `measure_softness`.
    """
    found = recompiled(subject, None)
    tau = None if temperature is None else value(temperature)
    if not found.decoder.labeller:
        if gap is not None:
            raise CompileError("a gap is measured of what labels words alone, and these weights generate tokens: omit it")
        return measure_softness(found, word, temperature=tau, max_steps=max_steps, dtype=dtype)
    if by_position:
        what = f"tm2tfr soften: --plot draws a run position by position, and {found.name} labels a whole sequence at once"
        raise UsageError(f"{what}: use --format csv, which has a row for each temperature")
    return measure_labels(found, word, temperature=tau, dtype=dtype, gap=gap)


# ── Soft attention for a run: ``--attention`` and ``--temperature``.
def compiled(subject: Subject, soft: Soft, length: int | None) -> Subject:
    """Return `subject` with the requested attention; `length` is the number of positions that ``auto`` covers.

    Raises:
        CompileError: if the temperature is not valid, or the options cannot be combined.
    """
    attention, temperature = soft
    if length is not None and (attention != "softmax" or temperature not in (None, AUTO, LOCAL, THEOREM_26)):
        what = "--length only applies to --attention softmax with --temperature auto, local or theorem-26"
        raise CompileError(f"{what}: omit it")

    return _softened(subject, soft, lambda: length or subject.decoder.positions or SOFT_LENGTH)


def for_run(subject: Subject, soft: Soft, word: str | None, max_steps: int | None) -> Subject:
    """Return `subject` with the requested attention, where ``auto`` covers the length of the run on `word`.

    Raises:
        CompileError: if the temperature is not valid, or given without softmax.
    """
    return _softened(subject, soft, lambda: length_of(subject, word, max_steps))


def for_words(subject: Subject, soft: Soft, longest: int) -> Subject:
    """Return `subject` with the requested attention, where ``auto`` covers words of up to `longest` tokens, BOS and EOS.

    Raises:
        CompileError: see `for_run`.
    """
    return _softened(subject, soft, lambda: subject.decoder.positions or longest + 2)


def _softened(subject: Subject, soft: Soft, length: Callable[[], int]) -> Subject:
    attention, temperature = soft
    if attention != "softmax":
        if temperature is not None:
            raise CompileError("--temperature only applies to softmax attention: add --attention softmax")
        if attention is not None and subject.decoder.soft:
            raise CompileError(f"{subject.name}: these weights already have softmax attention: omit --attention")
        return subject

    given = AUTO if temperature is None else value(temperature)
    covered = length() if given in (AUTO, LOCAL, THEOREM_26) else None
    return replace(subject, weights=soften(subject, temperature=given, length=covered))


def value(temperature: str) -> float | Temperature:
    """Return the value of ``--temperature``; see `parsed` for errors."""
    return next((word for word in TEMPERATURES if temperature == word), None) or parsed(temperature)


def parsed(temperature: str) -> float:
    """Return a temperature given as text: ``0.001``, ``1e-3`` or ``2^-10``."""
    base, power, exponent = temperature.partition("^")
    try:
        return float(base) ** int(exponent) if power else float(base)
    except (ValueError, ArithmeticError) as error:
        raise CompileError(
            f"{temperature!r} is not a temperature: use {', '.join(TEMPERATURES)}, or a positive number such as 2^-10"
        ) from error


def length_of(subject: Subject, word: str | None, max_steps: int | None) -> int:
    """Return the number of positions of the run on `word`: those of the weights, if their number is fixed.

    Of a machine: prompt, BOS, and one more than its steps; of what labels a word: one for each token, BOS and EOS.
    """
    from tm2tfr.api.runs import simulate
    from tm2tfr.runs.plan import MAX_STEPS

    limit = MAX_STEPS if max_steps is None else max_steps
    given = subject.word(word)
    if (positions := subject.decoder.positions) is not None:
        return positions
    if subject.decoder.labeller:
        return len(given) + 2
    if subject.machine is None:
        return len(given) + limit + 2
    return len(subject.prompt(given)) + simulate(subject.machine, given, max_steps=limit).steps + 2


# ── Figure 1 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def figure_1(
    *,
    lengths: Sequence[int] | None = None,
    cases: Iterable[MeasuredOn] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Figure:
    """Measure Figure 1 of Yang et al. (2025): how temperature and position embedding of each logic grow with the length.

    >>> import tm2tfr
    >>> from tm2tfr.lab.softness.figure_1 import CASES
    >>> found = tm2tfr.figure_1(lengths=(4, 8), cases=CASES[:1])
    >>> row = found.rows[0]
    >>> row.case.printed.source, row.layers, row.heads, row.entries
    ('Theorem 12a', 1, 2, 0.0)

    Args:
        lengths: the lengths of the words; by default 8, 16, 32 and 64.
        cases: the rows, by default all of `tm2tfr.lab.softness.figure_1.CASES`.
        progress: called before each row with its title.

    Raises:
        CompileError: for lengths that are not positive numbers.
    """
    from tm2tfr.contract.options import LogicOptions, read_options
    from tm2tfr.lab.softness.figure_1 import CASES, LENGTHS, Figure, row_of
    from tm2tfr.sources.logic.compiler import compile_program
    from tm2tfr.sources.logic.library import load
    from tm2tfr.sources.logic.read import formula
    from tm2tfr.sources.logic.truth import LogicLabels

    chosen = LENGTHS if lengths is None else tuple(lengths)
    if not chosen or not all(is_count(n, 1) for n in chosen):
        raise CompileError(f"the lengths must be positive numbers, not {chosen!r}: use for example (8, 16, 32)")
    rows = []
    for case in CASES if cases is None else cases:
        if progress is not None:
            progress(f"{case.subject}, {case.weights}")
        given = formula(case.subject, alphabet=tuple(case.alphabet)) if case.alphabet else load(case.subject).program
        decoder = compile_program(given, read_options(LogicOptions, case.options))
        rows.append(row_of(case, decoder, LogicLabels(given, decoder), chosen))
    return Figure(tuple(rows))
