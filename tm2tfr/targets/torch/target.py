"""``--to torch``: the files of an export, and the functions of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.card import argument, prompt
from tm2tfr.targets.common.directory import NAMES, README
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import in_prompt
from tm2tfr.targets.common.settings import METADATA, configured, content
from tm2tfr.targets.common.settings import tensors as stored
from tm2tfr.targets.common.verdict import unloaded
from tm2tfr.targets.matrices import export as plain
from tm2tfr.targets.matrices.documents import card
from tm2tfr.targets.matrices.recipe import tensors
from tm2tfr.targets.torch.running import TorchRunning, required
from tm2tfr.transformer.parts import parts
from tm2tfr.transformer.weights import Decoder

__all__ = ["export", "verified"]

UNCACHED = """import sys

if __name__ == "__main__":
    sys.dont_write_bytecode = True  # a __pycache__ does not belong to an export: verify-export refuses it

"""
CODE, MORE, LABELLER, UNIVERSAL = "model.py", "circuit.py", "labeller.py", "universal.py"
TENSORS = "weights.safetensors"


def files(right: ExportReference, recipe: Recipe, names: Mapping[str, Any]) -> dict[str, str | bytes]:
    """Return the files by name."""
    weights = safetensors.save(tensors(right.decoder, recipe.dtype), METADATA)
    use = _use(right, "program" in names, names["temperature"])
    readme = card(right, recipe, title="in plain PyTorch", use=use, assumed=ASSUMED, table=_sizes(right.decoder))
    return {**code(right.decoder), TENSORS: weights, README: readme}


def code(decoder: Decoder) -> dict[str, str]:
    """Return `model.py`, the same in every export, and beside it what weights need that have more than it knows."""
    more = [UNIVERSAL] if in_prompt(decoder.provenance) else []
    if parts(decoder):
        more = [LABELLER] if decoder.labeller else [MORE]
    found = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in (CODE, *more)}
    return {
        name: text.replace("from tm2tfr.targets.torch.model import", f"{UNCACHED}from model import")
        for name, text in found.items()
    }


def names(decoder: Decoder) -> tuple[str, ...]:
    """Return the names of all files of an export."""
    return (README, *code(decoder), NAMES, TENSORS)


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


def strange(folder: Path, decoder: Decoder, _recipe: Recipe, _named: Mapping[str, Any]) -> Iterable[str]:
    """Yield where the code is not the one that was exported; only line endings may differ."""
    for name, text in code(decoder).items():
        try:
            have = content(folder / name).replace(b"\r\n", b"\n")
        except (OSError, ValueError):
            yield f"{name}: cannot be read"
            continue
        want = text.encode()
        if have != want:
            pairs = enumerate(zip([*have.split(b"\n"), None], [*want.split(b"\n"), None], strict=False), 1)
            line = next(n for n, (a, b) in pairs if a != b)
            yield f"{name}: line {line} is not as this version writes it (the weights are run by its own {name})"


def unlike(model: TorchRunning, found: Mapping[str, NDArray[Any]]) -> Iterable[str]:
    """Return what `model` has loaded that is not what was found in the file."""
    return unloaded(model.tensors(), found, TENSORS)


def _use(right: ExportReference, circuit: bool, temperature: float | None) -> str:
    """Return how to run an export; circuit: whether it has outputs by name."""
    decoder, word = right.decoder, prompt(right)
    shown, soft, many = argument(word), "", f"# also decoder(decoder.encode({word!r})): logits; hook any module"
    if decoder.labeller:
        many = "# also labeller(tokens): logits, for tokens (n,) or (batch, n); hook any module"
        blocks = _blocks(LABELLER, f" {shown}", f"print(labeller.labels({word!r}))  {many}", called="labeller")
        return (
            f"\n\n`{LABELLER}` and `{CODE}` are the whole model, to be read; they need torch and safetensors:\n\n{blocks}"
        )
    if circuit:
        if temperature and not decoder.soft:
            soft = f"\npython {MORE} --attention softmax {shown}  # at temperature {temperature:g}"
        blocks = _blocks(MORE, f" {shown}{soft}", f"print(decoder.outputs({word!r}))  {many}")
        return f"`{CODE}` and `{MORE}` are the whole\nmodel, to be read; they need torch and safetensors:\n\n{blocks}"
    file, ties, whole = CODE, "", f"`{CODE}` is the whole model, in one file to be\nread; it needs torch and safetensors:"
    if right.in_prompt:
        file, ties = UNIVERSAL, ", with an argument for ties,"
        whole = f"""`{CODE}` is the whole model, and `{UNIVERSAL}` reads prompts; they need torch and safetensors.
`->` will do for `→`, `{decoder.bos}` may be left out, and input symbols need no spaces:"""
    shown = f" {shown}" if word else ""
    soft = f" --temperature 0.001{shown}  # or another: none is known to be low enough"
    if temperature is not None:
        soft = f"{shown}  # at a temperature that Theorem 26 of Yang et al.{ties} guarantees: {temperature:g}"
    shell = f"{shown}\npython {file} --attention softmax{soft}"
    return f"{whole}\n\n{_blocks(file, shell, f'print(*decoder.generate({word!r}))  {many}')}"


def _blocks(file: str, arguments: str, run: str, *, called: str = "decoder") -> str:
    """Return the commands and the Python that run an export by one of its files, as Markdown."""
    return f"""```sh
python {file}{arguments}
```

```python
import sys

sys.dont_write_bytecode = True  # or remove __pycache__ before verify-export, which accepts no files but the export's
from {file.removesuffix(".py")} import load

{called} = load(".")
{run}
```"""


ASSUMED = """PyTorch is assumed to round operations on single numbers as IEEE 754 says, and to compute float32
products with all digits (TF32 is off unless it is switched on; `torch.compile` may change both). Softmax is not
certified: its theorem is about exact arithmetic."""


def _sizes(decoder: Decoder) -> str:
    return f"| numbers in `{TENSORS}` | {decoder.parameters:,}, of which {decoder.nonzero:,} are not 0 |\n"


PROGRAM = plain.Program("PyTorch", "tm2tfr-torch", required, files, TorchRunning, names, read, strange, unlike)
export, verified = partial(plain.export, PROGRAM), partial(plain.verified, PROGRAM)
