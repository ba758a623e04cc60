"""``--to torch``: the files of an export, and a model loaded from them. Imports torch only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import Model
from tm2tfr.targets.common.directory import METADATA, NAMES, README, Array, configured, content, mapping
from tm2tfr.targets.common.directory import tensors as stored
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import in_prompt
from tm2tfr.targets.common.verdict import argument, prompt, unloaded
from tm2tfr.targets.matrices import export as plain
from tm2tfr.targets.matrices.contents import card, tensors
from tm2tfr.transformer.parts import parts
from tm2tfr.transformer.weights import Decoder

required = partial(errors.required, "running this model needs torch", ["torch"], "torch")
"""Returns the module torch; raises `ExportError` if it is not installed."""


class TorchRunning(Model):
    """A model loaded from a directory, by this package's own `model.py`, `circuit.py`, `labeller.py` or `universal.py`.

    Code that came with weights is never run.

    Raises:
        ExportError: if torch is missing, or the directory cannot be loaded.
    """

    longest_generated = 20_000

    def __init__(self, folder: Path) -> None:
        (self._torch,) = required()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            names = mapping(folder / NAMES)
            circuit = "program" in names or names["bos"] is None
            code = "labeller" if "outputs" in names else "circuit" if circuit else "model"
            self._between, self._looped = "", bool(names.get("loops"))
            if in_prompt(names["provenance"]):
                code, self._between = "universal", " "
            module = importlib.import_module(f"tm2tfr.targets.torch.{code}")
            self.model = module.load(folder)
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: model.py cannot load it ({first_line(error)}): export it again") from error

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"torch {self._torch.__version__}"

    def tensors(self) -> dict[str, Array]:
        """Return the matrices that were loaded, by name."""
        return {name: tensor.cpu().numpy() for name, tensor in self.model.state_dict().items()}

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, and BOS if there is one."""
        return [int(n) for n in self.model.encode(word)]

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits at every position."""
        given = self._torch.tensor(list(tokens), device=self.model.token_embedding.device)
        try:
            with self._torch.inference_mode():
                found: Array = self.model(given).cpu().numpy()
        except Exception as error:
            raise ExportError(f"model.py cannot run these weights ({first_line(error)}): export it again") from error
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width).

        After a layer that is run again, it is that after its last pass.
        """
        stages = [self.model.embedding, *self.model.layers.values()]
        kept: list[list[Any]] = [[] for _ in stages]
        hooks = [
            stage.register_forward_hook(lambda _module, _given, x, seen=seen: seen.append(x.double().cpu()))
            for stage, seen in zip(stages, kept, strict=True)
        ]
        try:
            self.logits(tokens)
        finally:
            for hook in hooks:
                hook.remove()
        return np.array([(seen[-1] if self._looped else self._torch.cat(seen)).numpy() for seen in kept])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = prompt if self.model.bos is None else prompt[:-1]
        word = self._between.join(self.model.vocabulary[n] for n in given)
        made = islice(self.model.generate(word), most - len(prompt))
        return [*prompt, *map(self.model.vocabulary.index, made)]


UNCACHED = """import sys

if __name__ == "__main__":
    sys.dont_write_bytecode = True  # a __pycache__ does not belong to an export: verify-export refuses it

"""
CODE, MORE, LABELLER, UNIVERSAL = "model.py", "circuit.py", "labeller.py", "universal.py"
TENSORS = "weights.safetensors"


def files(right: ExportReference, recipe: Recipe, names: PlainData) -> dict[str, str | bytes]:
    """Return the files by name."""
    weights = safetensors.save(tensors(right.decoder, recipe.dtype), METADATA)
    use = _use(right, "program" in names, names["temperature"])
    rows = {f"numbers in `{TENSORS}`": f"{right.decoder.parameters:,}, of which {right.decoder.nonzero:,} are not 0"}
    readme = card(right, recipe, title="in plain PyTorch", use=use, assumed=ASSUMED, rows=rows)
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


def read(folder: Path) -> tuple[dict[str, Array], Iterable[str]]:
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


def strange(folder: Path, decoder: Decoder, _recipe: Recipe, _named: PlainData) -> Iterable[str]:
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


def unlike(model: TorchRunning, found: Mapping[str, Array]) -> Iterable[str]:
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


PROGRAM = plain.Program("PyTorch", "tm2tfr-torch", required, files, TorchRunning, names, read, strange, unlike)
export, verified = partial(plain.export, PROGRAM), partial(plain.verified, PROGRAM)
