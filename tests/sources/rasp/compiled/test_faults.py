"""Every single wrong weight that changes any number of the stream on short words is named with its layer."""

from __future__ import annotations

import numpy as np
import pytest

import tm2tfr
from tests.sources.rasp.compiled.faults import faults, layer_of, streams
from tm2tfr.runs.batches.labelled import checked_words, every_input
from tm2tfr.runs.streams import checked_streams

SMALL = {"reverse": {"alphabet": "ab"}, "histogram": {"alphabet": "§a"}, "shift": {"alphabet": "ab"}}


def judged(name: str, longest: int, every: int) -> tuple[int, int]:
    """Return how many faults there are, and how many change the stream; fail for one that is not named rightly."""
    subject = tm2tfr.Subject.of(f"{name}.rasp", options={"max_length": longest, **SMALL[name]})
    program, decoder = subject.right, subject.decoder
    right = streams(decoder, longest)
    total = changed = 0
    for matrix, faulty in faults(decoder, every=every):
        total += 1
        if matrix.startswith("unembedding"):
            found = checked_words(faulty, program, every_input(len(program.alphabet), longest))
            if found.failure is not None:
                difference = found.failure.divergence
                assert difference is not None
                assert difference.cause is not None
                assert difference.cause.layer == layer_of(matrix, decoder)
            continue
        report = checked_streams(faulty, program, longest=longest)
        assert report.covered
        if np.array_equal(streams(faulty, longest), right):
            assert report.agrees, matrix
            continue
        changed += 1
        assert report.cause is not None, matrix
        assert report.cause.layer == layer_of(matrix, decoder), (matrix, str(report.cause))
    return total, changed


@pytest.mark.parametrize("name", SMALL)
def test_every_seventh_wrong_weight_is_named_with_its_layer(name: str) -> None:
    total, changed = judged(name, 2, every=7)
    assert changed > total / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_wrong_weight_is_named_with_its_layer(name: str) -> None:
    total, changed = judged(name, 3, every=1)
    assert changed > total / 2
