"""An export in the program that it is for: loaded by `transformers`, and run.

The only module that imports torch and transformers, and only when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line, visible
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import Model
from tm2tfr.targets.common.directory import ANY, Array, mapping
from tm2tfr.targets.common.fitting import Requested, Uncertified, fitted_to_labels
from tm2tfr.targets.common.reference import frame_of
from tm2tfr.targets.common.verdict import typed
from tm2tfr.targets.gpt2.recipe import Carry, Gpt2Recipe, Scores, carried, forms
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.parts import AHEAD, NO_BOS, OUTPUTS, TABLE, WRITTEN
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.soft import power_of_two
from tm2tfr.transformer.weights import Decoder, Head, Layer, Mask

LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""How everything is loaded: nothing is downloaded, no code that came with an export is run, and nobody is asked."""


required = partial(errors.required, "running a GPT-2 needs torch and transformers", ["torch", "transformers"], "hf")
"""Returns the modules torch and transformers; raises `ExportError` if they are not installed."""


class LoadedModel(Model):
    """A model and a tokenizer loaded from a directory, by one of the ``Auto`` classes of `transformers`.

    Raises:
        ExportError: if torch or transformers is missing, or cannot load the directory.
    """

    auto = "AutoModelForCausalLM"

    def __init__(self, folder: Path) -> None:
        self._torch, transformers = required()
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            self.model = getattr(transformers, self.auto).from_pretrained(str(folder), use_safetensors=True, **LOCAL)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: transformers cannot load it ({first_line(error)}): export it again") from error
        self.model.eval()

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"transformers {importlib.import_module('transformers').__version__}, torch {self._torch.__version__}"

    @property
    def settings(self) -> PlainData:
        """What was loaded beside the tensors, by file."""
        return {"config.json": self.model.config, "tokenizer_config.json": self.tokenizer}

    def tensors(self) -> dict[str, Array]:
        """Return the tensors that were loaded, by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits at every position."""
        found: Array = self._run(tokens).logits[0].numpy()
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        states = self._run(tokens, output_hidden_states=True).hidden_states
        return np.array([state[0].double().numpy() for state in states])

    def _run(self, tokens: Sequence[int], **options: bool) -> Any:
        with self._torch.inference_mode():
            return self.model(self._torch.tensor([list(tokens)]), **options)


class Gpt2Running(LoadedModel):
    """A GPT-2 loaded from a directory, see `LoadedModel`."""

    longest_generated = 2048

    @property
    def settings(self) -> PlainData:
        """What was loaded beside the tensors, by file."""
        return {**super().settings, "generation_config.json": self.model.generation_config}

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word` and BOS, as the tokenizer has them."""
        return list(self.tokenizer(typed(word, self.tokenizer.get_vocab()))["input_ids"])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = self._torch.tensor([list(prompt)])
        made = self.model.generate(given, attention_mask=self._torch.ones_like(given), max_length=most)
        return [int(n) for n in made[0]]


# ── What `transformers` loads from the right files, to compare with what it loads from the actual ones.
_PLACES = {"init_kwargs", "name_or_path", "_tokenizer", "vocab_file", "init_inputs"}
"""Attributes of a tokenizer that say where it comes from, or that are compared in another form."""


@dataclass(frozen=True)
class Reference:
    """The right configuration, generation settings and tokenizer, as loaded and as saved again.

    Args:
        texts: the files that they are loaded from, by name: as they are exported.
    """

    texts: Mapping[str, str]

    @cached_property
    def _made(self) -> tuple[PlainData, dict[str, PlainData], dict[str, PlainData]]:
        """Return the loaded objects, the files that they are saved to, and the defaults of each class of settings."""
        _, transformers = required()
        loaders = {
            "config.json": transformers.AutoConfig,
            "generation_config.json": transformers.GenerationConfig,
            "tokenizer_config.json": transformers.AutoTokenizer,
        }
        with TemporaryDirectory() as place:
            folder = Path(place)
            for name, text in self.texts.items():
                (folder / name).write_text(text, encoding="utf-8")
            try:
                found = {
                    name: loader.from_pretrained(place, local_files_only=True)
                    for name, loader in loaders.items()
                    if name in self.texts
                }
                for each in found.values():
                    each.save_pretrained(str(folder / "saved"))
            except Exception as error:
                what = f"transformers {transformers.__version__} cannot load the correct settings ({first_line(error)})"
                raise ExportError(f"{what}: use another version of it") from error
            saved = {path.name: mapping(path) for path in (folder / "saved").glob("*.json")}
        kinds = {name: type(each) for name, each in found.items() if name != "tokenizer_config.json"}
        return found, saved, {name: kind().to_dict() for name, kind in kinds.items()}

    @property
    def saved(self) -> dict[str, PlainData]:
        """The files written by saving the right model again, by name: all are JSON."""
        return self._made[1]

    @property
    def neutral(self) -> dict[str, PlainData]:
        """The default settings, by file."""
        return self._made[2]

    def unlike(self, given: PlainData) -> tuple[str, ...]:
        """Return the parts of the loaded objects, by file, that are not as loaded from the right files.

        They must be unused: a tokenizer changes when it is used.
        """
        return tuple(self._unlike(given))

    def _unlike(self, given: PlainData) -> Iterator[str]:
        for name, right in self._made[0].items():
            want, have = _state(right), _state(given[name])
            for part in sorted({*want, *have}):
                if want.get(part) != have.get(part):
                    yield f"{name}: as loaded, {part} is {have.get(part)!s:.80}, should be {want.get(part)!s:.80}"


def _state(loaded: Any) -> dict[str, str]:
    """Return the whole state of a loaded object, as text."""
    kind = {"class": f"{type(loaded).__module__}.{type(loaded).__qualname__}"}
    if not hasattr(loaded, "get_vocab"):
        held = loaded.to_dict()
        return kind | {name: _text(value) for name, value in held.items() if name not in ANY}
    held = {name: value for name, value in vars(loaded).items() if name not in _PLACES}
    held |= {f"init.{name}": value for name, value in loaded.init_kwargs.items() if name not in ANY | _PLACES}
    return kind | {name: _text(value) for name, value in held.items()} | {"tokenizer": loaded.backend_tokenizer.to_str()}


def _text(value: object) -> str:
    """Return a value as text, in which the order of a dictionary does not matter."""
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{name!r}: {_text(entry)}' for name, entry in value.items()))}}}"
    return repr(value)


# ── From a sequence model to the tensors of a GPT-2: a token classifier, or a model with a hook.
#
# The stream is held twice, as [x, -x], and a layer norm with ε = 2^100 is the identity but for a shift that the two copies
# share: see `tm2tfr.targets.gpt2.tensors`. Values of weights with a position table are not scaled. Weights for words of any
# length have i and i² in the stream, which are held as i/S and i²/S², and so is what heads carry of them.
#
# **Attention.** Scores of weights with a table are whole numbers, those of positions that are not selected less by 1 or
# more. Queries are multiplied by 1/τ, so large that e^(-1/τ), added to anything, is nothing: softmax then gives
# positions of the best score equal weights, as average-hard attention does. 1/τ is no larger than that, since what is
# left of a shift in a score would be multiplied by it. Of weights for words of any length each head has one best score,
# by the gap that it claims: the queries of each are divided by its own gap at the last position, and by the temperature
# of `TIELESS`.
SHARP = {"float64": 2.0**10, "float32": 2.0**7}
"""dtype -> 1/τ: e^-1024 is 0 in float64; e^-128 is 0 in float32."""
TIELESS = 2.0**10
"""1/τ for heads without ties, in units of their gap: even if a tenth of the gap is left, e^-102.4 is nothing beside 1."""


@dataclass(frozen=True, kw_only=True)
class LabellingRecipe(Uncertified, Gpt2Recipe):
    """How a sequence model becomes a model with softmax; nothing about its heads is bounded by |h|."""

    @property
    def temperature(self) -> float:
        """1/τ, by which queries are multiplied."""
        return SHARP[self.dtype]

    @property
    def statement(self) -> str:
        many = f"sequences of 1 to {self.positions:,} tokens"
        return (
            f"made for {many} in {self.dtype}; no bounds on rounding are proved: only compared labels are known to be right"
        )


def fitted_labelling(decoder: Decoder, name: str, title: str, asked: Requested) -> LabellingRecipe:
    """Return the recipe for a sequence model as a model with softmax.

    Args:
        title: what it becomes, such as ``a BERT``.

    Raises:
        ExportError: for softmax or norms of its own, heads whose scores may lie too close, or options that do not fit.
    """
    if decoder.soft:
        raise ExportError("these weights have softmax attention: export the weights that they were made from")
    if decoder.positions is None:
        _refuse_close(decoder, visible(name), title)
    fitted = fitted_to_labels(decoder, name, asked)
    return LabellingRecipe(positions=fitted.positions, dtype=fitted.dtype)


def _refuse_close(decoder: Decoder, name: str, title: str) -> None:
    """Raise ExportError unless every head of weights for any length claims the gap of its one best score."""
    if not frame_of(decoder):
        what = f"{name}: weights for sequences of any length have scores that lie too close for the softmax of {title}"
        raise ExportError(f"{what}: compile them for a longest sequence, or {exports_of_labeller(decoder)}")
    if (unclaimed := _without_gap(decoder)) is not None:
        layer, head = unclaimed
        what = f"{name}: nothing is claimed about the gap of head {head.name!r} in layer {layer.name!r}"
        raise ExportError(f"{what}, so that no softmax is known to be sharp enough: {exports_of_labeller(decoder)}")


def _without_gap(decoder: Decoder) -> tuple[Layer, Head] | None:
    """Return the first head that scores positions and claims no gap between the best score and the next, with its layer."""
    for layer in decoder.layers:
        for head in layer.heads:
            if not head.uniform and (head.claim is None or head.claim.gap is None):
                return layer, head
    return None


def refuse_no_layers(decoder: Decoder, name: str, title: str) -> None:
    """Raise ExportError for weights without layers, where GPT-2 and TransformerLens have no hook on the stream."""
    if not decoder.layers:
        what = f"{name}: these weights have no layers, and the residual stream of {title} is read at its layers"
        raise ExportError(f"{what}: {exports_of_labeller(decoder)}")


def exports_of_labeller(decoder: Decoder) -> str:
    """Return advice with every export that takes these weights, such as ``use --to lens, torch or onnx``.

    An export with a softmax of its own needs scores far enough apart, and has one mask for all heads; a token classifier
    (GPT-2, BERT) answers with labels, not with numbers.
    """
    any_length = frame_of(decoder) and _without_gap(decoder) is None
    sharp = not (decoder.soft or decoder.loops) and (decoder.positions is not None or any_length)
    masks, labels, layers = masks_of(decoder), decoder.outputs[0].labels is not None, bool(decoder.layers)
    fits = {
        "gpt2": sharp and layers and labels and masks <= {"future"},
        "bert": sharp and labels and masks <= {"none"},
        "lens": sharp and layers and len(masks) <= 1 and "past" not in masks,
        "torch": True,
    }
    return f"use --to {', '.join(name for name, fit in fits.items() if fit)} or onnx"


def masks_of(decoder: Decoder) -> frozenset[Mask]:
    """Return the masks of the heads of `decoder`."""
    return frozenset(head.mask for layer in decoder.layers for head in layer.heads)


class LabellingGpt2(Gpt2):
    """A sequence model as a GPT-2 with the logits of all its outputs; see `Gpt2`."""

    known = (TABLE, NO_BOS, AHEAD, OUTPUTS, WRITTEN)
    biased = True

    @property
    def answered(self) -> tuple[str, ...]:
        """The meaning of each logit: a label of an output, or a number."""
        return self.decoder.answered

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream by coordinate: the decoder's."""
        return self.decoder.layout.directions

    @cached_property
    def scales(self) -> dict[str, float]:
        """Direction -> s: the stream holds value / s. With a position table every direction is as it is."""
        names, found = self.directions, dict.fromkeys(self.directions, 1.0)
        if self.decoder.positions is not None:
            return found
        size = {"i": float(self.recipe.span), "i^2": float(self.recipe.span) ** 2}
        for row, column, _ in self.decoder.position_embedding.entries():
            found[names[row]] = max(found[names[row]], size.get(self.decoder.features[column], 1.0))
        for layer in self.carried:
            for read, written in (each for head in layer for each in head):
                for name in written:
                    found[name] = max([found[name], *(found[source] for source in read)])
        return found

    @cached_property
    def carried(self) -> tuple[tuple[tuple[Carry, ...], ...], ...]:
        """The values that each layer's heads carry."""
        layout = self.decoder.layout
        return tuple(tuple(carried(head, layout) for head in layer.heads) for layer in self.decoder.layers)

    @cached_property
    def scores(self) -> tuple[tuple[Scores, ...], ...]:
        """The scores of each layer's heads, as linear forms."""
        return tuple(tuple(map(self._scored, layer.heads)) for layer in self.decoder.layers)

    def _scored(self, head: Head) -> Scores:
        layout, unit = self.decoder.layout, 1.0
        gap = None if head.claim is None else head.claim.smallest_gap(self.recipe.positions)
        if self.decoder.positions is None and gap is not None:
            unit = power_of_two(gap) * self.recipe.temperature / TIELESS
        return Scores(tuple(zip(forms(head.query, layout), forms(head.key, layout), strict=True)), unit)

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2, and the bias of its logits."""
        found, many = super().tensors(), self.decoder.answers
        bias = self.decoder.unembedding_bias.dense(self.recipe.dtype)[:, 0]
        head = np.ascontiguousarray(found["lm_head.weight"][:many])
        return {**found, "lm_head.weight": head, "lm_head.bias": np.ascontiguousarray(bias)}

    def _places(self) -> Array:
        """Return the position table: (positions, d)."""
        table, layout, features = self.decoder.position_table, self.decoder.layout, self.decoder.features
        values = np.zeros((self.recipe.positions, layout.width))
        for row, column, weight in self.decoder.position_embedding.entries():
            numbers = [feature(features[column])(i) for i in range(self.recipe.positions)]
            values[:, row] += [weight * above / below for above, below in numbers]
        if table is not None:
            values += table.dense().T[: self.recipe.positions]
        values /= np.array([self.scales[name] for name in layout.directions])
        places = np.zeros((self.recipe.positions, self.width))
        places[:, : layout.width] = values
        places[:, self.mirror : self.mirror + layout.width] = -values
        return places
