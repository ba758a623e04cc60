"""``--to torch``: the files of an export, and what the list of targets wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError
from tm2tfr.export.checkpoints.card import argument, example
from tm2tfr.export.plain import export as plain
from tm2tfr.export.plain.documents import card
from tm2tfr.export.plain.recipe import Recipe
from tm2tfr.export.plain.tensors import tensors
from tm2tfr.export.torch.running import Running, required
from tm2tfr.machine.spec import Machine
from tm2tfr.transformer.weights import Decoder

__all__ = ["export", "verified"]

CODE, TENSORS = "model.py", "weights.safetensors"


def files(decoder: Decoder, machine: Machine, recipe: Recipe, names: Mapping[str, Any]) -> dict[str, str | bytes]:
    """Return the files by name."""
    weights = safetensors.save(tensors(decoder, recipe.dtype), {"format": "pt"})
    return {CODE: code(), TENSORS: weights, "README.md": _card(decoder, machine, recipe, names["temperature"])}


def code() -> str:
    """Return `model.py`, the same in every export."""
    return Path(__file__).with_name(CODE).read_text(encoding="utf-8")


def read(folder: Path) -> dict[str, NDArray[Any]]:
    """Return the matrices of an export.

    Raises:
        ExportError: if there are none, or they are damaged.
    """
    try:
        found = safetensors.load_file(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {TENSORS} cannot be read: give a directory made by 'tm2tfr export'") from error
    except (SafetensorError, KeyError) as error:
        raise ExportError(f"{folder}: {TENSORS} is damaged ({error}): export it again") from error
    if any(tensor.dtype not in (np.float32, np.float64) for tensor in found.values()):
        raise ExportError(f"{folder}: its tensors are neither float32 nor float64: export it again")
    return found


def strange(folder: Path, _decoder: Decoder, _recipe: Recipe) -> Iterable[str]:
    """Yield where `model.py` is not the one that was exported."""
    try:
        have, want = (folder / CODE).read_text(encoding="utf-8").splitlines(), code().splitlines()
    except (OSError, ValueError):
        yield f"{CODE}: cannot be read"
        return
    if have != want:
        pairs = enumerate(zip([*have, None], [*want, None], strict=False), 1)
        line = next(n for n, (a, b) in pairs if a != b)
        yield f"{CODE}: line {line} is not as this version writes it (the weights are run by its own {CODE})"


def _card(decoder: Decoder, machine: Machine, recipe: Recipe, temperature: float) -> str:
    word = example(machine)
    shown = f" {argument(word)}" if word else ""
    use = f"""`{CODE}` is the whole model, in one file to be
read; it needs torch and safetensors:

```sh
python {CODE}{shown}
python {CODE} --attention softmax{shown}  # at a temperature that Theorem 26 of Yang et al. guarantees: {temperature:g}
```

```python
from model import load

decoder = load(".")
print(*decoder.generate({word!r}))  # also decoder(decoder.encode({word!r})): logits; hook any module
```"""
    assumed = """Of PyTorch it is assumed that operations on single numbers are rounded as IEEE 754 says, and that float32
products have all their digits (TF32 is off unless it is switched on; `torch.compile` may change both). Softmax is not
certified: of it the theorem speaks in exact arithmetic."""
    table = f"| numbers in `{TENSORS}` | {decoder.parameters:,}, of which {decoder.nonzero:,} are not 0 |\n"
    return card(decoder, machine, recipe, title="in plain PyTorch", use=use, assumed=assumed, table=table)


PROGRAM = plain.Program("PyTorch", "tm2tfr-torch", required, files, Running, read, strange)
export, verified = partial(plain.export, PROGRAM), partial(plain.verified, PROGRAM)
