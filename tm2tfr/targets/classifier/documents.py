"""The files beside the tensors of a token classifier: configuration, tokenizer, the names of everything, a model card."""

from __future__ import annotations

from typing import Any

from tm2tfr.targets.classifier.stock import Stock
from tm2tfr.targets.classifier.tensors import Classifier
from tm2tfr.targets.common import card
from tm2tfr.targets.common.comparison import Right
from tm2tfr.targets.common.directory import KEY, NAMES, README
from tm2tfr.targets.common.labels import spaced
from tm2tfr.targets.gpt2.documents import dumped, origin, parts, tokenizer, tokenizer_config
from tm2tfr.targets.gpt2.tensors import PAD
from tm2tfr.text.markdown import code, escaped


def documents(made: Classifier, truth: Right, stock: Stock) -> dict[str, str]:
    """Return the text of each file by its name."""
    found: dict[str, Any] = {
        "config.json": config(made, stock),
        "tokenizer.json": tokenizer(made),
        "tokenizer_config.json": {**tokenizer_config(made), "padding_side": "right"},
        NAMES: names(made, stock),
    }
    return dumped(found) | {README: model_card(made, truth, stock)}


def config(made: Classifier, stock: Stock) -> dict[str, Any]:
    """Return the configuration from which `transformers` builds the model."""
    dtype = made.recipe.dtype
    return {
        **stock.config(made),
        "pad_token_id": made.numbers[PAD],
        "dtype": dtype,
        "torch_dtype": dtype,
        KEY: origin(made, stock.format),
    }


def names(made: Classifier, stock: Stock) -> dict[str, Any]:
    """Return what a probe needs: where each named direction, head and hidden unit is, and the export's origin."""
    return {
        **origin(made, stock.format),
        "rounding_bounds": made.recipe.statement,
        "read": made.reading,
        "directions": [made.place(n) for n in range(len(made.directions))],
        **parts(made),
        "output": {"name": made.output.name, "labels": list(made.labels)},
    }


def model_card(made: Classifier, truth: Right, stock: Stock) -> str:
    """Return the model card."""
    decoder, recipe = made.decoder, made.recipe
    first = "" if len(decoder.outputs) == 1 else f" Of {len(decoder.outputs)} outputs, this model has the first."
    seen = "Every head sees every position" if stock.mask == "none" else "No head sees a later position"
    return f"""---
library_name: transformers
pipeline_tag: token-classification
tags: [{card.tag(truth)}tm2tfr]
---
# {escaped(card.name_of(truth, "A decoder"))} as {stock.title}

{card.labelling(decoder, truth)}

{card.given_and_labelled(decoder, 1)}

{first.strip()} {seen}. Sequences of several lengths make a batch with `[PAD]`, if the attention mask goes with them.

```python
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForTokenClassification.from_pretrained(".")
logits = model(**tokenizer({spaced(card.prompt(truth))!r}, return_tensors="pt")).logits
print([model.config.id2label[n] for n in logits[0].argmax(-1).tolist()])  # {made.output.name}
```

**How far it is right.** {recipe.statement[0].upper()}{recipe.statement[1:]}.
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on all inputs up to some length and on
random ones of any, and compares every label, and every value of the residual stream after every layer.
Load it in {recipe.dtype}, as its configuration says.

{card.checking(truth)}

**What is where.** {code(NAMES)} names the directions of the residual stream, the attention heads and the hidden units. \
{made.about_the_stream}

| | |
|---|---|
| architecture | `{stock.architecture}` |
| layers, heads per layer, width | {len(decoder.layers)}, {made.heads}, {made.width} |
| positions | {recipe.positions:,} |
| numbers | {recipe.dtype} |
| activation, layer norm epsilon | {recipe.activation}, {recipe.epsilon:g} |
"""
