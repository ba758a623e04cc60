"""Exports are right under every kind of kernels: SSE, AVX2 and AVX-512 of MKL and of PyTorch.

A kernel of another processor adds up in another order.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.targets.matrices.programs import needs_torch
from tests.targets.under import SETTINGS, first_wrong, unsupported

pytestmark = pytest.mark.slow
needs_transformers = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None,
    reason="torch and transformers are not installed: pip install 'tm2tfr[hf]'",
)
needs_lens = pytest.mark.skipif(
    find_spec("transformer_lens") is None, reason="TransformerLens is not installed: pip install 'tm2tfr[lens]'"
)


@pytest.fixture
def setting(request: pytest.FixtureRequest) -> str:
    if unsupported(request.param):
        pytest.skip(f"this processor lacks the instructions of {request.param}: use one that has them")
    name: str = request.param
    return name


@needs_transformers
@pytest.mark.parametrize("setting", SETTINGS, indirect=True)
def test_a_gpt2_is_right_under(setting: str) -> None:
    """The first case was wrong at position 1,002 where MKL took its kernels for AVX-512."""
    cases = [
        ("gpt2", 1200, 500, "float32", {"generated": 600}),
        ("gpt2", 1200, 500, "float32", {"attention": "eager"}),
        ("gpt2", 2048, None, "float32", {}),
        ("gpt2", 128, None, "float32", {"stock": True}),
        ("gpt2", 1200, 500, "float64", {"stock": True}),
    ]
    assert first_wrong(setting, *cases) == [None] * len(cases)


@pytest.mark.similar
@needs_lens
@pytest.mark.parametrize("setting", SETTINGS, indirect=True)
def test_transformer_lens_is_right_under(setting: str) -> None:
    cases = [("lens", 1200, 500, "float32", {}), ("lens", 600, None, "float64", {})]
    assert first_wrong(setting, *cases) == [None] * len(cases)


@pytest.mark.similar
@needs_torch
@pytest.mark.parametrize("setting", SETTINGS, indirect=True)
def test_plain_torch_is_right_under(setting: str) -> None:
    cases = [("torch", 161, None, "float32", {"generated": 161}), ("torch", 1023, 60, "float32", {}),
             ("torch", 1200, 500, "float64", {})]  # fmt: skip
    assert first_wrong(setting, *cases) == [None] * len(cases)
