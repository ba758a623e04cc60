"""The kernel's own bounds and accounts: what decides whether scores are computed, where the answer is the same at first."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.engines.test_fast import followed
from tests.engines.test_recognise import LATEST, decoder_of, looking
from tm2tfr.engines.fast import arrays as state


def test_the_unit_roundoff_is_that_of_float64() -> None:
    assert np.finfo(np.float64).eps / 2 == state.U


@pytest.mark.parametrize("constant", [1e16, 1e17, -1e17])
def test_keys_on_top_of_a_great_constant_tie_as_they_do_in_the_dense_engine(constant: float) -> None:
    """Each key once: the rounded scores of several keys are equal, and they share the attention."""
    decoder = decoder_of(looking([{"1": constant}, *LATEST[0]], [{"1": 1}, *LATEST[1]]), keys=(2.0, 5.0, -1.0, 3.0, 4.0))
    shared = 0
    for order in list(permutations(range(5)))[::7]:
        session = followed(decoder, order)
        assert session.recognised[0][0].kind == "latest"
        shared += not float(session.residual[decoder.layout.index("seen")] * 10).is_integer()
    assert shared > 2
