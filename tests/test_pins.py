"""Weights, tables, listings and exported tensors of the shipped machines are what they were, bit for bit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests import pins
from tests.recordings import Recordings
from tm2tfr.base.errors import CheckpointError

RIGHT: Recordings[dict[str, Any]] = Recordings(
    json.loads(pins.PINS.read_text(encoding="utf-8")), of="digests of a shipped machine", make="run 'python -m tests.pins'"
)
VERSION_1 = Path(__file__).parent / "cases" / "version-1"
EXPORTS = [(name, target) for name in tm2tfr.shipped() for target in pins.TARGETS]


def test_every_shipped_machine_is_pinned() -> None:
    RIGHT.check(tm2tfr.shipped())


@pytest.mark.parametrize("name", tm2tfr.shipped())
def test_weights_texts_and_tables_are_unchanged(name: str) -> None:
    right = RIGHT[name]["plain"]
    assert pins.pinned(name) == right


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), EXPORTS)
def test_exported_tensors_are_unchanged(name: str, target: str) -> None:
    if target == "onnx":
        pytest.importorskip("onnx", reason="no ONNX here: pip install 'tm2tfr[onnx]'")
    decoder = next(iter(pins.decoders(name).values()))
    assert pins.tensors(decoder, target) == RIGHT[name]["exports"][target]


@pytest.mark.parametrize(
    ("file", "name", "boundary"),
    [
        ("chapter", "chapter", "chapter"),
        ("palindromes", "palindromes", "None"),
        ("busy-beaver-2", "busy-beaver-2", "None"),
    ],
)
def test_weight_files_of_version_1_are_read(file: str, name: str, boundary: str) -> None:
    decoder = tm2tfr.load_weights(VERSION_1 / f"{file}.safetensors")
    right = RIGHT[name]["plain"][boundary]
    assert {"weights": pins.weights(decoder), **pins.texts(decoder), **pins.tables(decoder)} == right


def test_checkpoints_of_version_1_are_refused(tmp_path: Path) -> None:
    """Nothing binds them to their run."""
    pytest.importorskip("numba", reason="no Numba here: pip install 'tm2tfr[fast]'")
    path = shutil.copy(VERSION_1 / "busy-beaver-4.ckpt", tmp_path)
    message = "has format 1, but this version reads 3: resume it with the version that wrote it, or start again$"
    with pytest.raises(CheckpointError, match=message):
        tm2tfr.check("busy-beaver-4", engine="fast", resume=path)


def test_soft_weight_files_of_version_1_are_read() -> None:
    decoder = tm2tfr.load_weights(VERSION_1 / "soft.safetensors")
    assert pins.weights(decoder) == pins.weights(tm2tfr.soften("chapter", length=100))
    assert tm2tfr.check(decoder, "11").agrees
