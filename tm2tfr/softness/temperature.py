"""What each word for a temperature stands for."""

from __future__ import annotations

from math import isfinite

from tm2tfr.choices import AUTO, LOCAL, NO_TEMPERATURE, THEOREM_26, Temperature
from tm2tfr.errors import CompileError
from tm2tfr.transformer.local import any_length, bounded, local_temperature, locally_softened
from tm2tfr.transformer.soft import power_of_two, smallest_gap, softened, theorem_26
from tm2tfr.transformer.weights import Decoder


def softened_by(decoder: Decoder, temperature: float | Temperature, n: int) -> Decoder:
    """Return `decoder` with softmax attention.

    Args:
        temperature: ``local``: each head by its local bound; ``none``: likewise, in runs of any length; ``theorem-26``: the
            largest power of two that Theorem 26 guarantees; ``auto``: local bounds where every head that is not uniform has
            one, otherwise Theorem 26; or a number.
        n: the number of positions that the words are right for; any, where no local bound depends on it.

    Raises:
        CompileError: if there is no such temperature, and the reason; for weights that are already soft.
    """
    if temperature == AUTO:
        temperature = LOCAL if bounded(decoder) else THEOREM_26
    if temperature in (LOCAL, NO_TEMPERATURE):
        return locally_softened(decoder, None if temperature == NO_TEMPERATURE or any_length(decoder) else n)
    return softened(decoder, one_temperature(decoder, temperature, n))


def one_temperature(decoder: Decoder, temperature: float | Temperature, n: int) -> float:
    """Return the one temperature for all heads that `softened_by` stands for: of local bounds the worst head's.

    Raises:
        CompileError: if there is none: for ``none`` always, and for ``local`` where all heads are uniform.
    """
    if isinstance(temperature, float):
        return temperature
    if temperature == NO_TEMPERATURE:
        raise CompileError("the temperature 'none' is no number to measure at: use local, theorem-26, or a number")
    if temperature == LOCAL or (temperature == AUTO and bounded(decoder)):
        if not isfinite(found := local_temperature(decoder, n)):
            raise CompileError("softmax changes nothing, since every head is uniform: give any number as the temperature")
        return found
    return power_of_two(theorem_26(decoder, n, smallest_gap(decoder, n)))


def parsed_word(temperature: object) -> float | Temperature:
    """Return a temperature that is given as a word or a number.

    Raises:
        CompileError: if it is neither.
    """
    for word in (AUTO, LOCAL, THEOREM_26, NO_TEMPERATURE):
        if temperature == word:
            return word
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise CompileError(f"{temperature!r} is not a temperature: use auto, local, theorem-26, none, or a positive number")
    return float(temperature)
