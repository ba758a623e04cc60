"""What numbers of the stream, or logits, stand for: a label, a number, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.overflow import nearest
from tm2tfr.transformer.claims import Output, sections
from tm2tfr.transformer.matrix import AnyArray, Vector
from tm2tfr.transformer.weights import Decoder

SOFT = 0.25
"""Under softmax, a value this close to an integer, or to a one-hot vector by coordinate, is read as such (Theorem 26)."""

_LARGEST_INTEGER = 2.0**53

OutputValue = str | int | float | Fraction
"""The answer of an output: a label, a vector that is not one-hot as ``⟨…⟩``, or a number."""


def answered(decoder: Decoder, logits: Vector) -> tuple[OutputValue, ...]:
    """Return the answer of each output, in order; logits: (answers,).

    A label is answered if the logits of its output are exactly one-hot; otherwise the answer is their combination as text,
    ``⟨0.5·a + b⟩``, which no label equals. Under softmax a logit within `SOFT` of an integer counts as that integer.
    """
    values = logits.tolist() if hasattr(logits, "tolist") else list(logits)
    return tuple(_answer(output, values[cut], soft=decoder.soft) for output, cut in sections(decoder.outputs))


def softly(logits: AnyArray) -> AnyArray:
    """Return the logits of one output as they count under softmax, at every position: (rows, …) in the same shape.

    Where all of them are within `SOFT` of integers they are those; elsewhere they are themselves, as in `answered`.
    """
    nearest = np.rint(logits)
    found: AnyArray = np.where((np.abs(logits - nearest) <= SOFT).all(axis=0), nearest, logits)
    return found


def right_answers(decoder: Decoder, logits: AnyArray, wanted: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where every output is as wanted: logits (answers, words, n), wanted (outputs, words, n) -> (words, n).

    Args:
        wanted: of an output with labels the number of its label, -1 if none is right; of a number that number; NaN where
            anything is right. Under softmax logits count as `softly` says.
    """
    return as_wanted(read_outputs(decoder, logits), wanted)


def as_wanted(answers: Sequence[AnyArray], wanted: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where all answers of `read_outputs` are as wanted, see `right_answers`: (words, n)."""
    right = np.ones(wanted.shape[1:], dtype=bool)
    for answer, due in zip(answers, wanted, strict=True):
        right &= (answer == due) | np.isnan(due)
    return right


def read_outputs(decoder: Decoder, logits: AnyArray) -> list[AnyArray]:
    """Return the answers of each output, like `answered` does: logits (answers, words, n) -> (words, n) each.

    Returns:
        For an output with labels the index of its label, -2 for a vector that is not one-hot; for a number the number.
    """
    cuts = sections(decoder.outputs)
    return [read_output(output, logits[cut], soft=decoder.soft) for output, cut in cuts]


def read_output(output: Output, logits: AnyArray, *, soft: bool) -> AnyArray:
    """Return what one output answers, see `read_outputs`: its logits (rows, …) → (…)."""
    found = softly(logits) if soft else logits
    if output.labels is None:
        number: AnyArray = found[0]
        return number
    codes = np.full(found.shape[1:], -2, dtype=np.int32)
    for place, row in enumerate(found):
        codes[row == 1] = place
    codes[np.count_nonzero(found, axis=0) != 1] = -2
    return codes


def _answer(output: Output, logits: Vector, *, soft: bool) -> OutputValue:
    if soft:
        rounded = [round(v) if abs(v) < _LARGEST_INTEGER else v for v in logits]
        if all(abs(v - r) <= SOFT for v, r in zip(logits, rounded, strict=True)):
            logits = rounded
    if output.labels is None:
        return plain_number(logits[0])
    hot = [label for label, v in zip(output.labels, logits, strict=True) if v]
    return hot[0] if len(hot) == 1 and 1 in logits else combination(output.labels, logits)


def plain_number(value: float | Fraction) -> int | float | Fraction:
    """Return an integer as such, as long as floats can tell it from its neighbours; a fraction stays one."""
    if not isinstance(value, float):
        return value if value.denominator != 1 else value.numerator
    return int(value) if value.is_integer() and abs(value) < _LARGEST_INTEGER else value


def combination(labels: Sequence[str], values: Sequence[float]) -> str:
    """Return a vector that is not one-hot as text: ``⟨0.5·q1 + q2⟩``."""
    terms = [(nearest(v), label) for label, v in zip(labels, values, strict=True) if v]
    shown = [label if v == 1 else f"{v:.6g}·{label}" for v, label in terms[:4]]
    return f"⟨{' + '.join(shown)}{' + …' if len(terms) > 4 else ''}⟩"
