"""Soft attention: the same weights under softmax, and measurements of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tm2tfr.api.subject import judge as judging
from tm2tfr.api.subject import recompiled
from tm2tfr.choices import AUTO
from tm2tfr.errors import CompileError
from tm2tfr.runs.options import check_engine, check_steps, is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.softness.labels import SoftLabels
    from tm2tfr.softness.run import SoftRun
    from tm2tfr.transformer.weights import Decoder

SOFT_STEPS = 200
"""The default limit on the steps that are measured under softmax."""
SOFT_LENGTH = 1_024
"""The default number of positions for which a temperature is chosen, for weights that have any number of them."""


def soften(
    subject: Given,
    *,
    temperature: float | Literal["auto"] = AUTO,
    length: int | None = None,
    left_boundary: str | None = None,
) -> Decoder:
    """Return the same weights with softmax attention, the queries divided by a temperature (Theorem 26).

    >>> import tm2tfr
    >>> decoder = tm2tfr.soften("chapter", length=100)
    >>> decoder.provenance["temperature"], tm2tfr.check(decoder, "11").agrees
    ('1.52587890625e-05', True)

    Args:
        subject: see `Subject.of`; a program is compiled first.
        temperature: τ, or ``auto``: the largest power of two for which Theorem 26 guarantees every token of every run
            of at most `length` positions, see `tm2tfr.transformer.soft`.
        length: the number of positions (prompt, BOS, steps + 1) that ``auto`` covers, by default all that the weights
            have, or 1,024.
        left_boundary: deprecated, see `check`.

    Raises:
        CompileError: if the temperature is not a positive number, or the weights are already soft; for a `length` beside
            a temperature that is given.
    """
    from tm2tfr.transformer.soft import already_soft, power_of_two, smallest_gap, softened, theorem_26

    if temperature != AUTO and length is not None:
        raise CompileError(f"length only applies to temperature='auto', not to {temperature!r}: omit one of them")
    value = _number(temperature)
    if length is not None and not is_count(length, 1):
        raise CompileError(f"the length must be a positive number of positions, not {length!r}: use 1 or more")
    decoder = recompiled(subject, left_boundary).decoder
    if decoder.soft:
        raise already_soft(decoder)
    covered = (decoder.positions or SOFT_LENGTH) if length is None else length
    if value is None:
        value = power_of_two(theorem_26(decoder, covered, smallest_gap(decoder, covered)))
    return softened(decoder, value)


def measure_softness(
    subject: Given,
    word: str | None = None,
    *,
    machine: Given | None = None,
    temperature: float | Literal["auto"] | None = None,
    dtype: str | None = None,
    max_steps: int | None = SOFT_STEPS,
    left_boundary: str | None = None,
) -> SoftRun:
    """Measure a run under softmax: errors next to the lemmas' bounds, and the largest temperature that is right.

    >>> import tm2tfr
    >>> found = tm2tfr.measure_softness("chapter", "11", temperature=0.01)
    >>> found.softness.uniform_tieless, found.softness.first_wrong, found.growth[-1].found > 0.07
    (True, None, True)

    Args:
        subject, word, machine, left_boundary: see `check`; weights must have average-hard attention.
        temperature: where errors are measured; ``auto``: the one that `soften` chooses; by default a quarter of the
            largest that is right.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.

    Raises:
        EngineError: if the run is not right with average-hard attention.
        CompileError, InputError: see `soften` and `check`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.runs.run import truth_of
    from tm2tfr.softness.run import soft_run
    from tm2tfr.transformer.soft import already_soft

    check_steps(max_steps)
    check_engine("dense", dtype)
    if temperature is not None:
        _number(temperature)
    found = recompiled(subject, left_boundary)
    judge = judging(found, machine)
    right = judge.right
    if found.decoder.soft:
        raise already_soft(found.decoder, "measure")
    given = judge.word(word)
    return soft_run(
        found.decoder,
        given,
        truth=truth_of(right, given, found.decoder, max_steps),
        engine=engine_named("dense", dtype),
        temperature=temperature,
        max_steps=max_steps,
    )


def measure_labels(
    subject: Given,
    word: str | None = None,
    *,
    temperature: float | Literal["auto"] | None = None,
    dtype: str | None = None,
) -> SoftLabels:
    """Measure a labeller under softmax: whether its outputs are right, and the largest errors, by temperature.

    Args:
        subject, word: see `check`; weights must have average-hard attention, and outputs.
        temperature: one more at which it is measured; ``auto``: the one that `soften` chooses.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.

    Raises:
        EngineError: if the run is not right with average-hard attention.
        CompileError, InputError: see `soften` and `check`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.runs.run import truth_of
    from tm2tfr.softness.labels import soft_labels
    from tm2tfr.transformer.soft import already_soft, power_of_two, smallest_gap, theorem_26

    check_engine("dense", dtype)
    found = recompiled(subject, None)
    decoder, given = found.decoder, found.word(word)
    if decoder.soft:
        raise already_soft(decoder, "measure")
    value = None if temperature is None else _number(temperature)
    if temperature == AUTO:
        covered = decoder.positions or SOFT_LENGTH
        value = power_of_two(theorem_26(decoder, covered, smallest_gap(decoder, covered)))
    truth = truth_of(found.right, given, decoder, None)
    return soft_labels(decoder, given, truth=truth, engine=engine_named("dense", dtype), temperature=value)


def _number(temperature: object) -> float | None:
    """Return a temperature that is given, None for ``auto``.

    Raises:
        CompileError: if it is neither.
    """
    if temperature == AUTO:
        return None
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise CompileError(f"{temperature!r} is not a temperature: use auto, or a positive number")
    return float(temperature)
