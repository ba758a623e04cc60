"""``--to onnx``: the files of an export, and a graph loaded from them. Imports onnxruntime only when it is used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import Model
from tm2tfr.targets.common.directory import KEY, MOST_TENSORS, NAMES, README, Array, content, parsed_text, same
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import source_of, tokens_of
from tm2tfr.targets.common.verdict import prompt
from tm2tfr.targets.matrices import export as plain
from tm2tfr.targets.matrices.contents import card
from tm2tfr.targets.onnx import graph
from tm2tfr.targets.onnx.graph import IDS, LOGITS, stream
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    import onnx

FILE = "model.onnx"


required = partial(errors.required, "running an ONNX graph needs onnxruntime", ["onnxruntime"], "onnx")
"""Returns the module onnxruntime; raises `ExportError` if it is not installed."""


class OnnxRunning(Model):
    """A graph loaded from a directory, with the vocabulary that is in its metadata.

    Raises:
        ExportError: if onnxruntime is missing, or cannot load the file.
    """

    longest_generated = 512
    """The graph keeps nothing from one token to the next, so generating takes a whole pass per token."""

    def __init__(self, folder: Path) -> None:
        (self._runtime,) = required()
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = 1  # models this small are slower with more
        options.log_severity_level = 3
        try:
            model = content(folder / FILE, MOST_TENSORS)  # by its bytes, so that no other file is read with it
            self.session = self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            names = json.loads(self.session.get_modelmeta().custom_metadata_map[KEY])
            self._vocabulary, self._bos, self._stop = names["vocabulary"], names["bos"], names["stop"]
            self._layers, self._labels = len(names["layers"]), "outputs" in names
            source = source_of(names["provenance"])
            self._split = None if source is None else source.split
        except Exception as error:
            raise ExportError(f"{folder}: ONNX Runtime cannot load it ({first_line(error)}): export it again") from error

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"ONNX Runtime {self._runtime.__version__}"

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, and BOS if there is one."""
        symbols = word if self._split is None else self._split(word, self._vocabulary)
        tokens = tokens_of(word) if self._labels else (*symbols, *([] if self._bos is None else [self._bos]))
        return [self._vocabulary.index(token) for token in tokens]

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits at every position."""
        (logits,) = self._run([LOGITS], tokens)
        found: Array = logits[0]
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        found = self._run([stream(n) for n in range(self._layers + 1)], tokens)
        return np.array([x[0] for x in found], dtype=np.float64)

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        tokens, stop = list(prompt), {self._vocabulary.index(token) for token in self._stop}
        while len(tokens) < most and tokens[-1] not in stop:
            tokens.append(self.answers(tokens)[-1])
        return tokens

    def _run(self, outputs: list[str], tokens: Sequence[int]) -> Any:
        try:
            return self.session.run(outputs, {IDS: np.array([list(tokens)], dtype=np.int64)})
        except Exception as error:
            raise ExportError(f"ONNX Runtime cannot run this graph ({first_line(error)}): export it again") from error


FORMAT = "tm2tfr-onnx"


def files(right: ExportReference, recipe: Recipe, named: PlainData) -> dict[str, str | bytes]:
    """Return the files by name."""
    model = graph.built(right.decoder, recipe, named)
    return {FILE: model.SerializeToString(deterministic=True), README: _card(right, recipe)}


def opened(folder: Path) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return the ``onnx.ModelProto`` of an export, and its initializers by name.

    Raises:
        ExportError: if it is missing or damaged.
    """
    module = graph.required()
    try:
        model = module.load_from_string(content(folder / FILE, MOST_TENSORS))
        return model, _arrays(model)
    except OSError as error:
        raise ExportError(f"{folder}: {FILE} cannot be read: use a directory made by 'tm2tfr export'") from error
    except Exception as error:
        raise ExportError(f"{folder}: {FILE} is damaged ({first_line(error)}): export it again") from error


def _arrays(model: onnx.ModelProto) -> dict[str, Array]:
    """Return the initializers by name.

    Raises:
        ValueError: if one occurs twice, or is in another file, which nobody compares.
    """
    found: dict[str, Array] = {}
    for each in model.graph.initializer:
        if each.name in found:
            raise ValueError(f"the initializer {each.name!r} occurs twice")
        if each.data_location or each.external_data:
            raise ValueError(f"the initializer {each.name!r} is in another file")
        found[each.name] = graph.required().numpy_helper.to_array(each)
    return found


def read(folder: Path) -> tuple[dict[str, Array], Iterable[str]]:
    """Return the matrices of an export. See `opened` for errors."""
    return {name: array for name, array in opened(folder)[1].items() if name not in graph.CONSTANTS}, ()


def strange(folder: Path, decoder: Decoder, recipe: Recipe, named: PlainData) -> Iterable[str]:
    """Yield what in the file, besides the decoder's matrices, is not as it was exported."""
    have, found = opened(folder)
    rows = found[graph.FEATURES].shape[:1] if graph.FEATURES in found else ()
    if rows != (recipe.positions,):  # a recipe may say anything: no table of that many rows is made to compare
        yield f"{FILE}: its constant {graph.FEATURES!r} is not for {recipe.positions:,} positions"
        return
    want = graph.built(decoder, recipe, named)
    right = _arrays(want)
    for name in graph.CONSTANTS:
        if (unlike := _unlike(found.get(name), right[name])) is not None:
            yield f"{FILE}: its constant {name!r} {unlike}"
    if _bytes(have.graph.node) != _bytes(want.graph.node):
        pairs = zip(have.graph.node, want.graph.node, strict=False)
        place = next((right.name for left, right in pairs if _bytes(left) != _bytes(right)), "the end")
        yield f"{FILE}: its graph differs from {place!r} on"
    try:
        told = parsed_text(next(each.value for each in have.metadata_props if each.key == KEY))
    except (StopIteration, ValueError):
        told = None
    if len(have.metadata_props) != 1 or not same(told, named):
        yield f"{FILE}: the names in its metadata are not the machine's"
    yield from _further(have, want)


def _unlike(have: Array | None, want: Array) -> str | None:
    """Return what of a constant is not as it should be, None if nothing is: the same bytes may be of another shape."""
    if have is None:
        return "is missing"
    if have.shape != want.shape:
        return f"has shape {have.shape}, should have {want.shape}"
    if have.dtype != want.dtype:
        return f"holds {have.dtype}, should hold {want.dtype}"
    return None if have.tobytes() == want.tobytes() else "is not what it should be"


def _further(have: onnx.ModelProto, want: onnx.ModelProto) -> Iterable[str]:
    """Yield the parts of a file that are not as they were written, except those whose contents are compared elsewhere.

    A field that was never written must be empty, whatever the format allows there: another graph inside, a function
    with the name of an operator, a default for an input.
    """
    for kept in (have, want):
        del kept.graph.node[:], kept.metadata_props[:]
        kept.producer_version = ""
        for each in kept.graph.initializer:
            each.ClearField("raw_data")
            del each.dims[:]
            each.ClearField("data_type")  # both are compared with the contents: see `_unlike`, and `differing` of matrices
    names = [field.name for field in want.graph.DESCRIPTOR.fields]
    for name in names:
        if _bytes(getattr(have.graph, name)) != _bytes(getattr(want.graph, name)):
            yield f"{FILE}: 'graph.{name}' is not as it was written"
            have.graph.ClearField(name)
            want.graph.ClearField(name)
    for name in [field.name for field in want.DESCRIPTOR.fields if field.name != "graph"]:
        if _bytes(getattr(have, name)) != _bytes(getattr(want, name)):
            yield f"{FILE}: {name!r} is not as it was written"
            have.ClearField(name)
            want.ClearField(name)
    if _bytes(have) != _bytes(want):
        yield f"{FILE}: it contains something that the format does not know"


def _bytes(value: Any) -> object:
    """Return a field in a form in which its unknown parts are compared as well."""
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString(deterministic=True)
    return value if isinstance(value, (str, bytes, int, float)) else [_bytes(each) for each in value]


def _card(right: ExportReference, recipe: Recipe) -> str:
    decoder = right.decoder
    if decoder.labeller:
        run = _labels(right)
        shapes = """`logits` (batch, n, rows of all outputs): the sequences of a batch have one length, since heads
may see all of a sequence, and padding would be seen too."""
    else:
        run = _generation(right)
        shapes = """`logits` (batch, n, vocabulary). Attention never sees later positions, so shorter sequences of
a batch may be padded on the right with any token."""
    use = f"""In ONNX Runtime:

```python
import json, onnxruntime

names, model = json.load(open("tm2tfr.json")), onnxruntime.InferenceSession("{FILE}")
{run}
```

`input_ids` is (batch, n), {shapes} The outputs `residual.0` … `residual.{len(decoder.layers)}`, each
(batch, n, width), are the residual stream before layer 1 and after each layer. Initializers have the names of the matrices
of the construction, `layers.4.heads.0.query`; the file's metadata contains `tm2tfr.json` too, under `{KEY}`."""
    assumed = """The program that runs the graph is assumed to round operations on single numbers as IEEE 754
says, and to multiply matrices with all digits of the dtype; ONNX Runtime does so on a CPU. An accelerator may not."""
    rows = {
        "numbers in the matrices": f"{decoder.parameters:,}, of which {decoder.nonzero:,} are not 0",
        "opset": graph.OPSET,
    }
    use = f"\n\n{use}" if decoder.labeller else use
    return card(right, recipe, title="as an ONNX graph", use=use, assumed=assumed, rows=rows)


def _generation(right: ExportReference) -> str:
    """Return the Python that generates the run on the example; it uses ``names`` and ``model``."""
    symbols = f"*{right.example!r}{'.split()' if right.in_prompt else ''}"
    start, goes_on = (f"[{symbols}]", "<=") if right.decoder.bos is None else (f'[{symbols}, names["bos"]]', "<")
    return f"""tokens = {start}
while len(tokens) {goes_on} names["recipe"]["positions"] and tokens[-1] not in names["stop"]:
    (logits,) = model.run(["logits"], {{"input_ids": [[names["vocabulary"].index(token) for token in tokens]]}})
    tokens.append(names["vocabulary"][int(logits[0, -1].argmax())])
print(*tokens)"""


def _labels(right: ExportReference) -> str:
    """Return the Python that prints the labels of the example; it uses ``names`` and ``model``."""
    return f"""tokens = {json.dumps(list(tokens_of(prompt(right))), ensure_ascii=False)}
(logits,) = model.run(["logits"], {{"input_ids": [[names["vocabulary"].index(token) for token in tokens]]}})
for output in names["outputs"]:
    found = logits[0][:, slice(*output["logits"])]
    numbers = found[:, 0].tolist() if output["labels"] is None else found.argmax(axis=-1)
    print(output["name"], *(numbers if output["labels"] is None else [output["labels"][n] for n in numbers]))"""


PROGRAM = plain.Program("ONNX", FORMAT, required, files, OnnxRunning, lambda _decoder: (README, FILE, NAMES), read, strange)
export, verified = partial(plain.export, PROGRAM), partial(plain.verified, PROGRAM)
