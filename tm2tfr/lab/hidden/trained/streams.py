"""The streams of many runs of a decoder, those of one length at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tm2tfr.base.text.words import by_length
from tm2tfr.contract.model import ModelStage
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.transformer.matrix import Floats

StagedStreams = Mapping[ModelStage, Floats]
"""Stage -> the streams of runs of one length: (width, runs, n)."""


def streams_of(dense: DenseDecoder, fed: Sequence[Sequence[int]]) -> Iterator[StagedStreams]:
    """Yield the streams of the runs of each batch of `by_length`."""
    for batch in by_length(fed):
        seen: dict[ModelStage, Floats] = {}

        def stage(layer: int, part: str, x: Floats, seen: dict[ModelStage, Floats] = seen) -> None:
            seen[layer, part] = x.copy()

        dense.staged(np.array([fed[number] for number in batch]), stage)
        yield seen
