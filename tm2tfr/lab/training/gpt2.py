"""A GPT-2 of transformers as a model to train: with random weights, or around the frozen body of a pretrained one.

A pretrained one is a local folder in the layout of Hugging Face: ``config.json``, and ``model.safetensors`` or its shards
with ``model.safetensors.index.json``. Nothing is downloaded, and no pickled file is read.

Of its tensors the body is frozen: attention and feed-forward matrices. Layer norms and position embeddings start at those
of the folder and are trained; token embedding and output are new, since the vocabulary is another one, and are trained.

Source: *Guiding Transformers to Process in Steps*, Section 6, and the paper that it follows, Lu et al., *Pretrained
Transformers as Universal Computation Engines* (2021), whose code trains the position embeddings, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from tm2tfr.base.errors import TrainingError, first_line, required, visible
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.training.checkpoint import digest_of
from tm2tfr.lab.training.record import PRETRAINED, PRETRAINED_SHA256, ModelOptions, plain

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_ARCHITECTURE = (
    "activation_function",
    "layer_norm_epsilon",
    "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn",
)
"""The entries of a configuration on which logits depend, besides the shape."""
_SHAPE = ("n_layer", "n_head", "n_embd")
_NEW = re.compile(r"wte\.weight|lm_head\.weight|h\.\d+\.attn\.(?:masked_)?bias")
"""Tensors that are not read: token embedding and output, and the masks that older releases of transformers kept."""
_BODY = re.compile(r"h\.|ln_f\.|wpe\.")
CACHE_BYTES = 2**32
"""At most this much memory is taken by the keys and values of the sequences that are answered at once."""


class GPT2(nn.Module):
    """A GPT-2, `model`; its last token is padding.

    Args:
        options: further entries of the configuration in `options.config` take precedence.

    Raises:
        TrainingError: if transformers is missing, or refuses the configuration.
    """

    def __init__(self, options: ModelOptions, vocabulary: int, positions: int) -> None:
        super().__init__()
        transformers = _transformers()
        shape = {"n_layer": options.layers, "n_head": options.heads, "n_embd": options.width, "n_inner": options.hidden}
        kept = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), options.dropout)
        try:
            config = transformers.GPT2Config(
                **{
                    "vocab_size": vocabulary + 1,
                    "n_positions": positions,
                    **shape,
                    **kept,
                    "bos_token_id": None,
                    "eos_token_id": None,
                    "tie_word_embeddings": not options.frozen,
                    **options.config,
                }
            )
            config._attn_implementation = "eager"  # the others do not tell the weights of attention
            self.model = transformers.GPT2LMHeadModel(config)
        except Exception as error:  # some releases of transformers raise errors that are of no class but this
            why = " ".join(str(error).split()) or first_line(error)
            raise TrainingError(f"transformers refuses this GPT-2 ({why}): change its configuration") from error
        self.vocabulary, self.about = vocabulary, plain(options)
        self.at_once = max(1, CACHE_BYTES // (8 * positions * options.layers * options.width))
        if options.frozen:
            _freeze(self.model)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of the tokens that follow: (B, L) → (B, L, vocabulary)."""
        logits: Tensor = self.model(tokens, use_cache=False).logits
        return logits[..., : self.vocabulary]

    def attention(self, tokens: Tensor) -> list[Tensor]:
        """Return the weights of attention, layer by layer: (B, L) → (B, heads, L, L) each."""
        return list(self.model(tokens, use_cache=False, output_attentions=True).attentions)

    def memory(self, _batch: int, _positions: int) -> Any:
        """Return an empty memory for `following`."""
        return _transformers().DynamicCache()

    def following(self, tokens: Tensor, memory: Any) -> Tensor:
        """Return the logits after the next token, which is added to the memory: (B, 1) → (B, vocabulary)."""
        logits: Tensor = self.model(tokens, memory, use_cache=True).logits  # releases differ in the name of `memory`
        return logits[:, -1, : self.vocabulary]


def _transformers() -> Any:
    return required("a GPT-2 needs transformers", ["transformers"], "hf", error=TrainingError)[0]


def _freeze(model: nn.Module) -> None:
    """Train the embeddings, the layer norms and the output alone."""
    trained = ("wte", "wpe", "ln_1", "ln_2", "ln_f", "lm_head")
    for name, each in model.named_parameters():
        each.requires_grad = any(part in trained for part in name.split("."))


# ── The body of a pretrained GPT-2, from a local folder.
@dataclass(frozen=True, eq=False)
class Pretrained:
    """What is taken from the folder of a pretrained GPT-2.

    Args:
        options: the model that it is the body of.
        tensors: by the names of transformers' ``GPT2Model``, in float32.
        sha256: the digest of `options.config`, names, shapes and entries; it does not depend on shards or on the type of
            floats that the folder has the same numbers in.
    """

    folder: str
    options: ModelOptions
    tensors: Mapping[str, Tensor]
    sha256: str

    def model(self, vocabulary: int, positions: int) -> GPT2:
        """Return a model for sequences of at most `positions` tokens, whose body is frozen.

        Raises:
            TrainingError: if the sequences are too long for the folder's positions, transformers is missing, or the
                tensors are not those of the configuration.
        """
        found, known = GPT2(self.options, vocabulary, positions), len(self.tensors["wpe.weight"])
        if positions > known:
            what = f"this GPT-2 has {known:,} positions, and the sequences have {positions:,}"
            raise TrainingError(f"{self.folder}: {what}: use shorter ones, such as fewer bits, or another GPT-2")
        body = {**self.tensors, "wpe.weight": self.tensors["wpe.weight"][:positions]}
        wanted = {name: each for name, each in found.model.transformer.state_dict().items() if not _NEW.fullmatch(name)}
        for name in {**wanted, **body}:
            shapes = [tuple(some[name].shape) if name in some else None for some in (body, wanted)]
            if shapes[0] != shapes[1]:
                what = "is missing" if shapes[0] is None else f"has the shape {shapes[0]}, not {shapes[1]}"
                what = "has no place" if shapes[1] is None else what
                what = f"the tensor {visible(name)!r} {what} in the model that {CONFIG} describes"
                raise TrainingError(f"{self.folder}: {what}: use {CONFIG} and weights of the same GPT-2")
        found.model.transformer.load_state_dict(body, strict=False)
        found.about = {**plain(self.options), PRETRAINED: self.folder, PRETRAINED_SHA256: self.sha256}
        return found


def read_pretrained(folder: str, *, dropout: float = 0.0) -> Pretrained:
    """Read the folder of a pretrained GPT-2.

    Args:
        dropout: of the model that is trained; the folder's own is not used.

    Raises:
        TrainingError: if there is no such folder, it has another architecture, or a file is missing or damaged.
    """
    where = Path(folder)
    if not where.is_dir():
        what = "there is a file with that name" if where.exists() else "there is no folder with that name"
        raise TrainingError(f"{folder}: {what}: name the folder of a pretrained GPT-2, with {CONFIG} and {WEIGHTS}")
    options = _options(where / CONFIG, dropout)
    tensors = dict(sorted(_tensors(where)))
    if "wpe.weight" not in tensors:
        raise TrainingError(f"{folder}: these weights have no position embeddings 'wpe.weight': use those of a GPT-2")
    return Pretrained(folder, options, tensors, digest_of(tensors, json.dumps(options.config, sort_keys=True)))


def _options(file: Path, dropout: float) -> ModelOptions:
    """Return the shape that a configuration describes."""
    config = _json(file)
    kind = config.get("model_type")
    if kind != "gpt2":
        what = f"this is the configuration of a model of type {kind!r}"
        raise TrainingError(f"{file}: {what}: use one of type 'gpt2', which GPT-2 of all sizes and DistilGPT-2 are")
    for name in _SHAPE:
        if name not in config:
            raise TrainingError(f"{file}: {name!r} is missing: use the {CONFIG} of a GPT-2")
    layers, heads, width = (config[name] for name in _SHAPE)
    own = {name: config[name] for name in _ARCHITECTURE if name in config}
    shape = {"layers": layers, "heads": heads, "width": width, "hidden": config.get("n_inner")}
    try:
        return ModelOptions(kind="gpt2", **shape, dropout=dropout, frozen=True, config=own)
    except TrainingError as error:
        raise TrainingError(f"{file}: {error}") from error


def _tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of the body with their names, without a prefix."""
    for file in _files(folder):
        try:
            found = load_file(file)
        except (OSError, SafetensorError, ValueError) as error:
            what = f"this safetensors file is missing or damaged ({first_line(error)})"
            raise TrainingError(f"{file}: {what}: copy it once more") from error
        for full, each in found.items():
            name = full.removeprefix("transformer.")
            if _NEW.fullmatch(name) or not _BODY.match(name):
                continue
            if not each.is_floating_point() or not bool(torch.isfinite(each).all()):
                what = "has entries that are not finite" if each.is_floating_point() else f"has entries of {each.dtype}"
                raise TrainingError(f"{file}: the tensor {visible(full)!r} {what}: use weights in float32 or float16")
            yield name, each.to(torch.float32).contiguous()


def _files(folder: Path) -> list[Path]:
    """Return the files with the weights."""
    if (folder / WEIGHTS).exists():
        return [folder / WEIGHTS]
    if not (folder / INDEX).exists():
        pickled = " (pytorch_model.bin is a pickled file, which may run code, and is not read)"
        what = f"there is no {WEIGHTS} here{pickled if (folder / 'pytorch_model.bin').exists() else ''}"
        raise TrainingError(f"{folder}: {what}: save the model with save_pretrained of transformers")
    shards = _json(folder / INDEX).get("weight_map")
    names = sorted(set(shards.values())) if isinstance(shards, dict) and all(map(_is_name, shards.values())) else []
    if not names:
        raise TrainingError(f"{folder / INDEX}: 'weight_map' does not name files of this folder: copy it once more")
    return [folder / name for name in names]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value == Path(value).name


def _json(file: Path) -> PlainData:
    """Return the JSON object in a file."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrainingError(f"{file}: this file is missing: name the folder of a pretrained GPT-2") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TrainingError(f"{file}: this JSON cannot be read ({first_line(error)}): copy it once more") from error
    if not isinstance(found, dict):
        raise TrainingError(f"{file}: this is not a JSON object: copy it once more")
    return found
