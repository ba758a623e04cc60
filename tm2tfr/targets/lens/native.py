"""From the exported GPT-2 to a native model of TransformerLens, which needs neither mirror nor scales nor layer norm.

The GPT-2 (`tm2tfr.targets.gpt2.tensors`) holds every value v twice, as v/s and -v/s, reads half their difference, and has a
layer norm that is the identity. TransformerLens builds a model without layer norm. So the second copy goes, its weights
are added to those of the first, and s is multiplied in: the stream holds v itself, one coordinate a direction. Halving,
adding a number to itself and powers of two round nothing, so the bounds of `tm2tfr.targets.gpt2.limits` hold here as well.
Nothing there rests on the order in which TransformerLens's kernels add, and so nothing here does: its einsums fix none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tm2tfr.base.errors import visible
from tm2tfr.base.text.shown import escaped
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.directory import KEY, NAMES, README, Array
from tm2tfr.targets.common.reference import outputs_of, spaced
from tm2tfr.targets.common.verdict import TRIED_LABELS, checking, given_and_labelled, heading, prompt, table, typed
from tm2tfr.targets.gpt2.documents import dumped, introduction, origin, parts, sizes, tokenizer, tokenizer_config
from tm2tfr.targets.gpt2.tensors import PAD, Gpt2
from tm2tfr.transformer.provenance import is_hidden, name
from tm2tfr.transformer.weights import Decoder

PARTS = ("q", "k", "v")
"""The parts of GPT-2's joined projection, in its order."""


@dataclass(frozen=True)
class Native:
    """A GPT-2 by the non-stock recipe as a native model of TransformerLens: (out, in) matrices, no layer norm."""

    gpt2: Gpt2

    @property
    def width(self) -> int:
        """The dimension of the stream, d_model: one coordinate for each named direction."""
        return len(self.gpt2.directions)

    @cached_property
    def heads(self) -> int:
        """The attention heads of each layer, those without a task included."""
        return max(1, *(len(layer.heads) for layer in self.gpt2.decoder.layers))

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that TransformerLens gives them."""
        t, across = self.gpt2.tensors(), self.heads * self.gpt2.head_size
        found = {
            "embed.weight": self._writes(t["transformer.wte.weight"]),
            "pos_embed.weight": self._writes(t["transformer.wpe.weight"]),
            "unembed.weight": self._reads(t["lm_head.weight"].T).T,
            "unembed.bias": t.get("lm_head.bias", np.zeros(len(self.gpt2.vocabulary), dtype=self.gpt2.recipe.dtype)),
        }
        for n in range(len(self.gpt2.decoder.layers)):
            own, theirs = f"blocks.{n}.", f"transformer.h.{n}."
            for k, part in enumerate(PARTS):
                columns = slice(k * self.gpt2.width, k * self.gpt2.width + across)
                found[f"{own}attn.{part}.weight"] = self._reads(t[theirs + "attn.c_attn.weight"][:, columns]).T
                found[f"{own}attn.{part}.bias"] = t[theirs + "attn.c_attn.bias"][columns]
            found[own + "attn.o.weight"] = self._writes(t[theirs + "attn.c_proj.weight"][:across]).T
            found[own + "attn.o.bias"] = self._writes(t[theirs + "attn.c_proj.bias"])
            found[own + "mlp.in.weight"] = self._reads(t[theirs + "mlp.c_fc.weight"]).T
            found[own + "mlp.in.bias"] = t[theirs + "mlp.c_fc.bias"]
            found[own + "mlp.out.weight"] = self._writes(t[theirs + "mlp.c_proj.weight"]).T
            found[own + "mlp.out.bias"] = self._writes(t[theirs + "mlp.c_proj.bias"])
        return {name: np.ascontiguousarray(tensor) for name, tensor in found.items()}

    def reads(self) -> Callable[[Array], Array]:
        """Return the function that reads the values of the decoder's own directions off a stream (width,)."""
        return lambda x: x[: self.gpt2.decoder.layout.width]

    @cached_property
    def _scale(self) -> Array:
        return np.array([self.gpt2.scales[name] for name in self.gpt2.directions], dtype=self.gpt2.recipe.dtype)

    def _reads(self, columns: Array) -> Array:
        """Return the matrix that reads plain values, (width, n), for one that reads both scaled copies."""
        mirror = self.gpt2.mirror
        return (columns[: self.width] - columns[mirror : mirror + self.width]) / self._scale[:, None]

    def _writes(self, rows: Array) -> Array:
        """Return the matrix that writes plain values, (…, width), for one that writes both scaled copies."""
        return rows[..., : self.width] * self._scale

    # ── the same weight in GPT-2 ────────────────────────────────────────────────────────────────────────────
    def origin(self, name: str, at: Sequence[int]) -> tuple[str, tuple[int, ...]]:
        """Return the name and place in the GPT-2 of the weight at `at` in tensor `name`: there it is known what it does."""
        top = {"embed": "transformer.wte", "pos_embed": "transformer.wpe", "unembed": "lm_head"}
        parts = name.split(".")
        if parts[0] in top:
            return f"{top[parts[0]]}.weight", tuple(at)
        _, layer, block, part, kind = parts
        inner = {"attn": {"o": "c_proj"}, "mlp": {"in": "c_fc", "out": "c_proj"}}[block].get(part, "c_attn")
        place = tuple(reversed(at))
        if inner == "c_attn":
            place = (*place[:-1], place[-1] + PARTS.index(part) * self.gpt2.width)
        return f"transformer.h.{layer}.{block}.{inner}.{kind}", place


FORMAT = "tm2tfr-lens"
CONFIGURATION = "lens.json"
"""The file from which TransformerLens builds the model."""


def documents(native: Native, right: ExportReference) -> dict[str, str]:
    """Return the text of each file by its name."""
    # TransformerLens prepends a tokenizer's bos_token and hides its eos_token; here it must do neither
    told = {**tokenizer_config(native.gpt2), "bos_token": None, "eos_token": PAD}
    found: PlainData = {
        CONFIGURATION: config(native),
        "tokenizer.json": tokenizer(native.gpt2),
        "tokenizer_config.json": told,
        NAMES: names(native),
    }
    return dumped(found) | {README: model_card(native, right)}


def config(native: Native) -> PlainData:
    """Return the configuration for ``boot_native``, which ignores entries that it does not know."""
    gpt2 = native.gpt2
    return {
        "model_name": name(gpt2.decoder.provenance, "tm2tfr"),
        "n_layers": len(gpt2.decoder.layers),
        "n_heads": native.heads,
        "d_model": native.width,
        "d_head": gpt2.head_size,
        "d_mlp": gpt2.inner,
        "d_vocab": len(gpt2.vocabulary),
        **(_labelling(gpt2.decoder) if gpt2.decoder.labeller else {}),
        "n_ctx": gpt2.recipe.positions,
        "act_fn": gpt2.recipe.activation,
        "normalization_type": None,
        "default_prepend_bos": False,
        "init_weights": False,
        "eos_token_id": [gpt2.numbers[token] for token in gpt2.decoder.stop],
        KEY: origin(gpt2, FORMAT),
    }


def names(native: Native) -> PlainData:
    """Return the data for probes: the place of each named direction, head and hidden unit, and the export's origin."""
    return {
        **origin(native.gpt2, FORMAT),
        "rounding_bounds": native.gpt2.recipe.statement,
        "read": "value = x[index], x the residual stream: hook_resid_pre, hook_resid_mid, hook_resid_post",
        "directions": [{"name": name, "index": n} for n, name in enumerate(native.gpt2.directions)],
        **parts(native.gpt2),
        **({"outputs": outputs_of(native.gpt2.decoder.outputs)} if native.gpt2.decoder.labeller else {}),
    }


def _labelling(decoder: Decoder) -> PlainData:
    """Return the settings of a sequence model: the number of its logits, and the direction in which heads look."""
    return {
        "d_vocab_out": decoder.answers,
        "attention_dir": "bidirectional" if decoder.looks_ahead else "causal",
    }


_DIRECTIONS = (
    "each direction of the residual stream is one coordinate, which holds the\nvalue itself",
    "directions of the residual stream are numbered: their\nmeaning is hidden",
)
"""The sentence about directions, of named and of hidden weights."""


def model_card(native: Native, right: ExportReference) -> str:
    """Return the model card."""
    gpt2, decoder, recipe = native.gpt2, native.gpt2.decoder, native.gpt2.recipe
    head, parts = decoder.layout.holding("h"), "the attention heads and the hidden units"
    if decoder.labeller:
        title, about = right.named("A decoder"), f"{right.origin()}\n\n{given_and_labelled(decoder)}"
        seen = "Every head sees every position" if decoder.looks_ahead else "No head sees a later position"
        use, run, reads = f"{seen}. With", _labels(gpt2, right), _reading_labels(gpt2)
        parts = "the attention heads, the hidden units and the outputs"
        assured = f"""**How far it is right.** {recipe.stated}
{TRIED_LABELS} A longer sequence
is an error. Load it in {recipe.dtype}."""
    else:
        title, about, use = right.named(), introduction(gpt2, right), "With"
        run = _generation(gpt2, right, "generate stops at the verdict" if decoder.stop else "no token ends a run")
        reads = reading_answers(gpt2) if head is None else reading(head.name)
        assured = recipe.assured("a longer run or prompt is an error")
    front = {"library_name": "transformer_lens"}
    return f"""{heading(right, f"{escaped(title)} in TransformerLens", front, "interpretability")}
{about}

{use} TransformerLens 4.3 or later:

```python
{run}
```

**What is where.** There is no layer norm, and {_DIRECTIONS[is_hidden(decoder.provenance)]}. `{NAMES}` names
the directions, {parts}:

```python
{reads}
```

{assured}

{checking(right)}

{table(sizes(native))}"""


def _generation(gpt2: Gpt2, right: ExportReference, ends: str) -> str:
    """Return the Python that generates the run on the example; it makes ``model`` and ``run``."""
    most = 'config["n_ctx"]' if gpt2.decoder.layout.holding("h") is not None else 'config["n_ctx"] + 1'
    return f"""{loading(gpt2.recipe.dtype, ends)}
word = model.to_tokens({typed(right.example, gpt2.vocabulary)!r})
run = model.generate(word, max_new_tokens={most} - word.shape[1], do_sample=False, verbose=False)
print(model.to_str_tokens(run[0]))"""


def _labels(gpt2: Gpt2, right: ExportReference) -> str:
    """Return the Python that prints the labels of the example; it makes ``model`` and ``word``."""
    return f"""{loading(gpt2.recipe.dtype, "nothing is generated")}
word = model.to_tokens({spaced(prompt(right))!r})
logits = model(word)[0]
names = json.loads(Path("{NAMES}").read_bytes())
for output in names["outputs"]:
    own = logits[:, slice(*output["logits"])]
    numbers = own[:, 0].tolist() if output["labels"] is None else own.argmax(-1).tolist()
    print(output["name"], *(numbers if output["labels"] is None else [output["labels"][n] for n in numbers]))"""


def loading(dtype: str, ends: str) -> str:
    """Return the Python that loads the directory it is run in; it makes ``model``; `ends`: what ends a run, in words."""
    return f"""import json, torch
from pathlib import Path
from safetensors.torch import load_file
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoTokenizer

config = json.loads(Path("{CONFIGURATION}").read_bytes())
model = TransformerBridge.boot_native(config, AutoTokenizer.from_pretrained("."), dtype=torch.{dtype})
model.load_state_dict(load_file("model.safetensors"))
model.cfg.eos_token_id = config["eos_token_id"]  # {ends}"""


def reading(head: str) -> str:
    """Return the Python that reads the direction `head`, the head position; it uses ``model`` and ``run``."""
    return _reading(head, 2, "after layer 3: the head position h at each position")


def reading_answers(gpt2: Gpt2) -> str:
    """Return the Python that reads a direction from which the logit of 1 is made; it uses ``model`` and ``run``.

    Where no token is called 1, it is the logit of the first token that is read off the stream.
    """
    decoder, numbers = gpt2.decoder, gpt2.numbers
    read = [(row, column) for row, column, _ in decoder.unembedding.entries()]
    row, column = next((each for each in read if each[0] == numbers.get("1")), read[0])
    token = next((name for name, number in numbers.items() if number == row), "a token")
    said = f"after the last layer, at each position: the logit of {visible(token)} is read from this direction"
    return _reading(decoder.layout.directions[column], len(decoder.layers) - 1, said, "[:, :-1]")


def _reading_labels(gpt2: Gpt2) -> str:
    """Return the Python that reads a direction from which the first logit is made; it uses ``model`` and ``word``."""
    decoder = gpt2.decoder
    first = min((column for row, column, _ in decoder.unembedding.entries() if row == 0), default=0)
    note = f"after the last layer, at each position: {decoder.answered[0]} is read from this direction"
    return _reading(decoder.layout.directions[first], len(decoder.layers) - 1, note, given="word")


def _reading(direction: str, layer: int, said: str, part: str = "", *, given: str = "run") -> str:
    told = json.dumps(direction, ensure_ascii=False)  # which is also how Python writes it
    return f"""names = json.loads(Path("{NAMES}").read_bytes())
where = {{direction["name"]: direction["index"] for direction in names["directions"]}}
_, cache = model.run_with_cache({given}{part})
print(cache["resid_post", {layer}][0, :, where[{told}]])  # {said}"""
