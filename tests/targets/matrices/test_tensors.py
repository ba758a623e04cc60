"""What an export with a decoder's own matrices says of itself, and what fits, without any program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.targets.matrices.programs import right_of
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.matrices import contents
from tm2tfr.targets.matrices.contents import described, features, fitted, names

MACHINE = load("chapter")
DECODER = compile_machine(MACHINE)
H, X = DECODER.layout.index("h"), DECODER.layout.index("e_a[x]")


@pytest.mark.parametrize(
    ("path", "at", "words"),
    [
        ("token_embedding", (X, 1), "embedding of BOS: e_a[x]"),
        ("position_embedding", (H, 3), "embedding of the position's i^2: h"),
        ("unembedding", (2, X), "logit of ACC, reads e_a[x]"),
        ("unembedding_bias", (2, 0), "logit of ACC, bias"),
        ("layers.4.heads.0.query", (2, H), "layer 4 (read tape), head 'latest write', query 2, reads h"),
        ("layers.4.heads.0.key", (1, X), "layer 4 (read tape), head 'latest write', key 1, reads e_a[x]"),
        ("layers.3.heads.1.value", (1, H), "layer 3 (read input), head 'cell h_{i-1}', value 1, reads h"),
        ("layers.3.heads.1.output", (H, 1), "layer 3 (read input), head 'cell h_{i-1}', value 1, writes h"),
        ("layers.4.feed_forward.input", (1, H), "layer 4 (read tape), unit 'h_{j*-1} = h: d', reads h"),
        ("layers.4.feed_forward.input_bias", (2, 0), "layer 4 (read tape), unit 'h_{j*-1} = h: d-1', bias"),
        ("layers.4.feed_forward.output", (H, 1), "layer 4 (read tape), unit 'h_{j*-1} = h: d', writes h"),
        ("layers.4.feed_forward.output_bias", (H, 0), "layer 4 (read tape), adds to h"),
    ],
)
def test_what_an_entry_does(path: str, at: tuple[int, int], words: str) -> None:
    assert described(DECODER, path, at) == words


def test_position_features_are_rounded_once() -> None:
    assert DECODER.features == ("1/(i+1)", "1", "i", "i^2")
    found = features(DECODER, 6000, "float32")
    assert found[[0, 1, 9]].tolist() == [[1, 1, 0, 0], [0.5, 1, 1, 1], [float(np.float32(0.1)), 1, 9, 81]]
    third = [float(np.float32(Fraction(1, i + 1))) for i in range(6000)]
    assert (found[:, 0].tolist(), found[5999, 3]) == (third, np.float32(5999**2))


def test_the_temperature_is_the_largest_power_of_two_that_theorem_26_allows() -> None:
    """For 64 positions, where the smallest gap is the tie-break's, 1/128, it allows 4.44e-05."""
    assert names(DECODER, Recipe(positions=64, max_head=63), "x")["temperature"] == 2.0**-15


def test_float32_takes_half_as_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LARGEST", DECODER.parameters * 4)
    assert fitted(right_of(MACHINE), positions=9, dtype="float32").positions == 9
    with pytest.raises(
        ExportError, match="chapter: its matrices would have 0.0 GiB with their zeros, but at most 0 GiB are allow"
    ):
        fitted(right_of(MACHINE), positions=9)
    monkeypatch.setattr(contents, "LARGEST", DECODER.parameters * 4 - 1)
    with pytest.raises(ExportError, match="export a smaller machine"):
        fitted(right_of(MACHINE), positions=9, dtype="float32")
