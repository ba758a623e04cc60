"""A labeller as a token classifier: the whole export, and whether an export is still a program."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.base.text.shown import code, escaped
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.classifier.running import ClassifierRunning
from tm2tfr.targets.classifier.stock import Classifier, Stock
from tm2tfr.targets.common import card
from tm2tfr.targets.common.directory import KEY, NAMES, README
from tm2tfr.targets.common.fitting import Options, Requested
from tm2tfr.targets.common.labels import spaced
from tm2tfr.targets.gpt2.documents import dumped, origin, parts, tokenizer, tokenizer_config
from tm2tfr.targets.gpt2.export import ByGpt2
from tm2tfr.targets.gpt2.labelling import exports_of_labeller, fitted_labelling, masks_of
from tm2tfr.targets.gpt2.running import required
from tm2tfr.targets.gpt2.tensors import PAD
from tm2tfr.targets.gpt2.verify import described
from tm2tfr.transformer.weights import Decoder


# ── The files beside the tensors of a token classifier: configuration, tokenizer, the names of everything, a model card.
def documents(stock: Stock, made: Classifier, right: ExportReference) -> dict[str, str]:
    """Return the text of each file by its name."""
    found: dict[str, Any] = {
        "config.json": config(made, stock),
        "tokenizer.json": tokenizer(made),
        "tokenizer_config.json": {**tokenizer_config(made), "padding_side": "right"},
        NAMES: names(made, stock),
    }
    return dumped(found) | {README: model_card(made, right, stock)}


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


def model_card(made: Classifier, right: ExportReference, stock: Stock) -> str:
    """Return the model card."""
    decoder, recipe = made.decoder, made.recipe
    first = "" if len(decoder.outputs) == 1 else f" Of {len(decoder.outputs)} outputs, this model has the first."
    seen = "Every head sees every position" if stock.mask == "none" else "No head sees a later position"
    return f"""---
library_name: transformers
pipeline_tag: token-classification
tags: [{card.tags(right)}]
---
# {escaped(right.named("A decoder"))} as {stock.title}

{right.origin()}

{card.given_and_labelled(decoder, 1)}

{first.strip()} {seen}. Sequences of several lengths make a batch with `[PAD]`, if the attention mask goes with them.

```python
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForTokenClassification.from_pretrained(".")
logits = model(**tokenizer({spaced(card.prompt(right))!r}, return_tensors="pt")).logits
print([model.config.id2label[n] for n in logits[0].argmax(-1).tolist()])  # {made.output.name}
```

**How far it is right.** {recipe.stated}
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on all inputs up to some length and on
random ones of any, and compares every label, and every value of the residual stream after every layer.
Load it in {recipe.dtype}, as its configuration says.

{card.checking(right)}

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


def classifier(of: Stock, decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Classifier:
    """Return `decoder` as a token classifier.

    Raises:
        ExportError: if it does not label sequences, has heads of another mask or a number as output, or the options
            do not fit.
    """
    name = visible(right.named("these weights"))
    if not decoder.labeller:
        what = f"{name}: --to {of.name} takes weights that label a sequence, and these generate one"
        raise ExportError(f"{what}: use --to gpt2, lens, torch or onnx")
    if others := masks_of(decoder) - {of.mask}:
        seen = "every head sees every position" if of.mask == "none" else "no head sees a later position"
        what = f"{name}: in {of.title} {seen}, and these weights have heads with the mask {' and '.join(sorted(others))}"
        raise ExportError(f"{what}: {exports_of_labeller(decoder)}")
    if decoder.outputs[0].labels is None:
        what = f"{name}: the output {decoder.outputs[0].name!r} is a number, and a token classifier answers with labels"
        raise ExportError(f"{what}: {exports_of_labeller(decoder)}")
    return Classifier(decoder, fitted_labelling(decoder, name, of.title, Requested(**options)))


def classifier_by(stock: Stock) -> ByGpt2:
    """Return the program for token classifiers of an architecture."""
    return ByGpt2(
        title=stock.architecture,
        format=stock.format,
        required=required,
        made=partial(classifier, stock),
        documents=partial(documents, stock),
        tensors=stock.tensors,
        described=described,
        load=ClassifierRunning,
    )
