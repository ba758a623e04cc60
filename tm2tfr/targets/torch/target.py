"""``--to torch``: the files of an export, and the functions of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.card import argument, example
from tm2tfr.targets.common.directory import NAMES, README
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reading import METADATA, content
from tm2tfr.targets.common.reading import tensors as stored
from tm2tfr.targets.common.settings import configured
from tm2tfr.targets.common.verdict import unloaded
from tm2tfr.targets.matrices import export as plain
from tm2tfr.targets.matrices.documents import card
from tm2tfr.targets.matrices.tensors import tensors
from tm2tfr.targets.torch.running import TorchRunning, required
from tm2tfr.transformer.weights import Decoder

__all__ = ["export", "verified"]

CODE, TENSORS = "model.py", "weights.safetensors"
FILES = (README, CODE, NAMES, TENSORS)


def files(decoder: Decoder, machine: Machine | None, recipe: Recipe, names: Mapping[str, Any]) -> dict[str, str | bytes]:
    """Return the files by name."""
    weights = safetensors.save(tensors(decoder, recipe.dtype), METADATA)
    return {CODE: code(), TENSORS: weights, README: _card(decoder, machine, recipe, names["temperature"])}


def code() -> str:
    """Return `model.py`, the same in every export."""
    return Path(__file__).with_name(CODE).read_text(encoding="utf-8")


def read(folder: Path) -> tuple[dict[str, NDArray[Any]], Iterable[str]]:
    """Return the matrices of an export, and what is wrong in the metadata of their file.

    Raises:
        ExportError: if they are missing or damaged.
    """
    try:
        found, metadata = stored(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {TENSORS} cannot be read: use a directory made by 'tm2tfr export'") from error
    except ValueError as error:
        raise ExportError(f"{folder}: {TENSORS} is damaged ({error}): export it again") from error
    return found, configured(f"{TENSORS}, metadata", metadata, METADATA)


def strange(folder: Path, _decoder: Decoder, _recipe: Recipe, _named: Mapping[str, Any]) -> Iterable[str]:
    """Yield where `model.py` is not the one that was exported; only line endings may differ."""
    try:
        have = content(folder / CODE).replace(b"\r\n", b"\n")
    except (OSError, ValueError):
        yield f"{CODE}: cannot be read"
        return
    want = code().encode()
    if have != want:
        pairs = enumerate(zip([*have.split(b"\n"), None], [*want.split(b"\n"), None], strict=False), 1)
        line = next(n for n, (a, b) in pairs if a != b)
        yield f"{CODE}: line {line} is not as this version writes it (the weights are run by its own {CODE})"


def unlike(model: TorchRunning, found: Mapping[str, NDArray[Any]]) -> Iterable[str]:
    """Return what `model` has loaded that is not what was found in the file."""
    return unloaded(model.tensors(), found, TENSORS)


def _card(decoder: Decoder, machine: Machine | None, recipe: Recipe, temperature: float | None) -> str:
    word = example(machine or decoder)
    shown = f" {argument(word)}" if word else ""
    soft = f"python {CODE} --attention softmax{shown}"
    if temperature is None:
        soft = f"python {CODE} --attention softmax --temperature 0.001{shown}  # or another: none is known to be low enough"
    else:
        soft += f"  # at a temperature that Theorem 26 of Yang et al. guarantees: {temperature:g}"
    use = f"""`{CODE}` is the whole model, in one file to be
read; it needs torch and safetensors:

```sh
python {CODE}{shown}
{soft}
```

```python
import sys

sys.dont_write_bytecode = True  # or remove __pycache__ before verify-export, which accepts no files but the export's
from model import load

decoder = load(".")
print(*decoder.generate({word!r}))  # also decoder(decoder.encode({word!r})): logits; hook any module
```"""
    assumed = """PyTorch is assumed to round operations on single numbers as IEEE 754 says, and to compute float32
products with all digits (TF32 is off unless it is switched on; `torch.compile` may change both). Softmax is not
certified: its theorem is about exact arithmetic."""
    table = f"| numbers in `{TENSORS}` | {decoder.parameters:,}, of which {decoder.nonzero:,} are not 0 |\n"
    return card(decoder, machine, recipe, title="in plain PyTorch", use=use, assumed=assumed, table=table)


PROGRAM = plain.Program("PyTorch", "tm2tfr-torch", required, files, TorchRunning, FILES, read, strange, unlike)
export, verified = partial(plain.export, PROGRAM), partial(plain.verified, PROGRAM)
