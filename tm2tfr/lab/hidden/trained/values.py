"""What trained weights hold at the places of a key, read by scale and offset, beside what the original holds there.

Training leaves bases fixed and moves what lies along them. So scale and offset are fitted after training, for each
direction by least squares on the inputs that training saw. How far values are from the original's is measured on the
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.hidden.trained.start import LEAST, TrainedPlace
from tm2tfr.lab.hidden.trained.streams import streams_of
from tm2tfr.transformer.matrix import Floats
from tm2tfr.transformer.weights import Decoder

DIGITS = 6
"""The digits after the point of an error in a key."""


@dataclass(frozen=True)
class DecodingError:
    """How far decoded values are from the original's, as shares of the range of the original's values at the place.

    Args:
        mean, largest: over inputs, positions and dimensions.
    """

    mean: float
    largest: float

    def as_dict(self) -> dict[str, float]:
        """Return it as plain data."""
        return {"mean": self.mean, "largest": self.largest}


def refitted(
    decoder: Decoder, original: Decoder, places: Mapping[str, TrainedPlace], fed: Sequence[Sequence[int]]
) -> dict[str, TrainedPlace]:
    """Return places with the scale and offset that fit these runs best; where a value never changes, with their scale."""
    found = dict[str, TrainedPlace]()
    for name, (held, due) in _values(decoder, original, places, fed).items():
        means, dues = held.mean(axis=1), due.mean(axis=1)
        apart = held - means[:, None]
        size = np.maximum((apart**2).mean(axis=1), LEAST**2)
        slope = (apart * (due - dues[:, None])).mean(axis=1) / size
        changes = np.abs(slope) > LEAST
        scale = np.where(changes, 1.0 / np.where(changes, slope, 1.0), places[name].scale)
        found[name] = replace(places[name], scale=scale, offset=dues - means / scale)
    return found


def decoding(
    decoder: Decoder, original: Decoder, places: Mapping[str, TrainedPlace], fed: Sequence[Sequence[int]]
) -> dict[str, DecodingError]:
    """Return how far the values at each place are from the original's, in these runs."""
    found = dict[str, DecodingError]()
    for name, (held, due) in _values(decoder, original, places, fed).items():
        place = places[name]
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(held / place.scale[:, None] + place.offset[:, None] - due) / (float(np.ptp(due)) or 1.0)
        found[name] = DecodingError(round(float(error.mean()), DIGITS), round(float(error.max()), DIGITS))
    return found


def _values(
    decoder: Decoder, original: Decoder, places: Mapping[str, TrainedPlace], fed: Sequence[Sequence[int]]
) -> dict[str, tuple[Floats, Floats]]:
    """Return place -> its coordinates in weights, and the original's values: (dimensions, positions of all runs) each."""
    ours, theirs = (list(streams_of(DenseDecoder(each), fed)) for each in (decoder, original))
    found = dict[str, tuple[Floats, Floats]]()
    for name, place in places.items():
        stage, cut, size = place.since, original.layout[name], len(place.basis)
        if stage is None:
            continue
        held = [place.basis @ streams[stage].reshape(place.basis.shape[1], -1) for streams in ours]
        due = [streams[stage][cut].reshape(size, -1) for streams in theirs]
        found[name] = np.concatenate(held, axis=1), np.concatenate(due, axis=1)
    return found
