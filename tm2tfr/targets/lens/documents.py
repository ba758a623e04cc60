"""The files beside the tensors: configuration, tokenizer, the names of everything, and a model card."""

from __future__ import annotations

import json
from typing import Any

from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.card import example, typed
from tm2tfr.targets.common.directory import KEY, NAMES
from tm2tfr.targets.gpt2.documents import (
    assurance,
    dumped,
    introduction,
    origin,
    parts,
    tokenizer,
    tokenizer_config,
)
from tm2tfr.targets.gpt2.tensors import PAD
from tm2tfr.targets.lens.native import Native
from tm2tfr.text.markdown import escaped
from tm2tfr.transformer.provenance import name

FORMAT = "tm2tfr-lens"
CONFIGURATION = "lens.json"
"""The file from which TransformerLens builds the model."""


def documents(native: Native, machine: Machine, statement: str) -> dict[str, str]:
    """Return the text of each file by its name."""
    # TransformerLens prepends a tokenizer's bos_token and hides its eos_token; here it must do neither
    told = {**tokenizer_config(native.gpt2), "bos_token": None, "eos_token": PAD}
    found: dict[str, Any] = {
        CONFIGURATION: config(native),
        "tokenizer.json": tokenizer(native.gpt2),
        "tokenizer_config.json": told,
        NAMES: names(native, statement),
    }
    return dumped(found) | {"README.md": model_card(native, machine, statement)}


def config(native: Native) -> dict[str, Any]:
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
        "n_ctx": gpt2.recipe.positions,
        "act_fn": gpt2.recipe.activation,
        "normalization_type": None,
        "default_prepend_bos": False,
        "init_weights": False,
        "eos_token_id": [gpt2.numbers[token] for token in gpt2.decoder.stop],
        KEY: origin(gpt2, FORMAT),
    }


def names(native: Native, statement: str) -> dict[str, Any]:
    """Return what a probe needs: where each named direction, head and hidden unit is, and the export's origin."""
    return {
        **origin(native.gpt2, FORMAT),
        "rounding_bounds": statement,
        "read": "value = x[index], x the residual stream: hook_resid_pre, hook_resid_mid, hook_resid_post",
        "directions": [{"name": name, "index": n} for n, name in enumerate(native.gpt2.directions)],
        **parts(native.gpt2),
    }


def model_card(native: Native, machine: Machine, statement: str) -> str:
    """Return the model card."""
    gpt2 = native.gpt2
    return f"""---
library_name: transformer_lens
tags: [turing-machine, tm2tfr, interpretability]
---
# {escaped(machine.name)} in TransformerLens

{introduction(gpt2, machine)}

With TransformerLens 4.3 or later:

```python
{loading(gpt2.recipe.dtype)}
word = model.to_tokens({typed(example(machine), gpt2.vocabulary)!r})
run = model.generate(word, max_new_tokens=config["n_ctx"] - word.shape[1], do_sample=False, verbose=False)
print(model.to_str_tokens(run[0]))
```

**What is where.** There is no layer norm, and each direction of the residual stream is one coordinate, which holds the
value itself. `{NAMES}` names the directions, the attention heads and the hidden units:

```python
{reading(gpt2.decoder.layout.holder("h").name)}
```

{assurance(gpt2, machine, statement, "a longer run or prompt is an error")}

| | |
|---|---|
| layers, heads per layer, width | {len(gpt2.decoder.layers)}, {native.heads}, {native.width} |
| positions | {gpt2.recipe.positions:,} |
| numbers | {gpt2.recipe.dtype} |
"""


def loading(dtype: str) -> str:
    """Return the Python that loads the directory it is run in; it makes ``model``."""
    return f"""import json, torch
from pathlib import Path
from safetensors.torch import load_file
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoTokenizer

config = json.loads(Path("{CONFIGURATION}").read_bytes())
model = TransformerBridge.boot_native(config, AutoTokenizer.from_pretrained("."), dtype=torch.{dtype})
model.load_state_dict(load_file("model.safetensors"))
model.cfg.eos_token_id = config["eos_token_id"]  # generate stops at the verdict"""


def reading(head: str) -> str:
    """Return the Python that reads the direction `head`, the head position; it uses ``model`` and ``run``."""
    told = json.dumps(head, ensure_ascii=False)  # which is also how Python writes it
    return f"""names = json.loads(Path("{NAMES}").read_bytes())
where = {{direction["name"]: direction["index"] for direction in names["directions"]}}
_, cache = model.run_with_cache(run)
print(cache["resid_post", 2][0, :, where[{told}]])  # after layer 3: the head position h at each position"""
