"""What the tests of plain exports share: the programs, skipped where they are missing, and machines to try."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.targets.common.comparison import Model
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.matrices.contents import names, tensors
from tm2tfr.targets.matrices.export import Program
from tm2tfr.transformer.weights import Decoder

HAS_TORCH = find_spec("torch") is not None
HAS_ONNX = find_spec("onnx") is not None and find_spec("onnxruntime") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed: pip install 'tm2tfr[torch]'")
needs_onnx = pytest.mark.skipif(not HAS_ONNX, reason="onnx and onnxruntime are not installed: pip install 'tm2tfr[onnx]'")
BOTH = [pytest.param("torch", marks=needs_torch), pytest.param("onnx", marks=needs_onnx)]

LONG = {
    "chapter": "1" * 500,
    "binary-increment": "1" * 520,
    "palindromes": "a" * 43,
    "busy-beaver-5": "",
}
"""Machines with a word on which they run beyond 1,024 positions; the last three have two-way tapes."""


def program(name: str) -> Program:
    found: Program = import_module(f"tm2tfr.targets.{name}.target").PROGRAM
    return found


def right_of(machine: Machine) -> ExportReference:
    """Return what an export of a machine is compared with."""
    return reference_of(machine, compile_machine(machine))


def tokens_of(machine: Machine | str, word: str, positions: int) -> tuple[list[str], list[str]]:
    """Return the simulator's tokens and answers, at most so many."""
    machine = load(machine) if isinstance(machine, str) else machine
    rows = islice(TuringTruth(machine, word).rows_of(Simulation(machine, word, max_steps=positions)), positions)
    pairs = [(str(row.x), row.y) for row in rows]
    return [x for x, _ in pairs], [y for _, y in pairs]


def answers_of(name: str, decoder: Decoder, dtype: str = "float64") -> Callable[[Sequence[int]], list[int]]:
    """Return what runs `decoder`, whatever it computes, in a program: tokens to the tokens of maximal logit."""
    recipe = Recipe(positions=200, max_head=199, dtype=dtype)
    named = names(decoder, recipe, program(name).format)
    if name == "torch":
        import torch

        from tm2tfr.targets.torch.model import Decoder as Module

        module = Module(named, {path: torch.tensor(array) for path, array in tensors(decoder, dtype).items()})
        return lambda tokens: module(torch.tensor(list(tokens))).argmax(dim=-1).tolist()
    import onnxruntime

    from tm2tfr.targets.onnx.graph import built

    session = onnxruntime.InferenceSession(built(decoder, recipe, named).SerializeToString())
    return lambda tokens: session.run(["logits"], {"input_ids": np.array([tokens])})[0][0].argmax(axis=-1).tolist()


def loaded(name: str, folder: Path) -> Model:
    return program(name).load(folder)


def rewritten(folder: Path, file: str, change: Callable[[Any], None]) -> None:
    """Change a JSON file."""
    value = json.loads((folder / file).read_text(encoding="utf-8"))
    change(value)
    (folder / file).write_text(json.dumps(value), encoding="utf-8")


def tampered(folder: Path, to: str, name: str, change: Callable[[Any], None]) -> None:
    """Change one matrix of an export."""
    if to != "onnx":
        from safetensors.numpy import load_file, save_file

        path = folder / ("weights.safetensors" if to == "torch" else "model.safetensors")
        tensors = load_file(path)
        change(tensors[name])
        save_file(tensors, path, {"format": "pt"})
        return
    import onnx

    model = onnx.load(str(folder / "model.onnx"))
    (found,) = [each for each in model.graph.initializer if each.name == name]
    array = np.array(onnx.numpy_helper.to_array(found))
    change(array)
    found.CopyFrom(onnx.numpy_helper.from_array(array, name))
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


def sabotaged(folder: Path, target: Path, to: str, name: str, change: Callable[[Any], None]) -> Path:
    """Copy an export to `target` with one matrix changed."""
    tampered(copytree(folder, target), to, name, change)
    return target


def first(array: Any, factor: float = -3.0) -> None:
    """Multiply the first weight that is not 0."""
    array[tuple(np.argwhere(array)[0])] *= factor
