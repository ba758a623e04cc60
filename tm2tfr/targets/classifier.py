"""Sequence models as token classifiers that `transformers` loads unmodified: a BERT before its norms, or a GPT-2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import methodcaller
from typing import Unpack

import numpy as np

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.base.text.shown import code, escaped
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.directory import KEY, NAMES, README, Array
from tm2tfr.targets.common.fitting import Options, Requested
from tm2tfr.targets.common.reference import outputs_of, spaced
from tm2tfr.targets.common.verdict import TRIED_LABELS, checking, given_and_labelled, heading, prompt, table
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2 import export as verify
from tm2tfr.targets.gpt2.documents import dumped, norm, origin, parts, shape, sizes, tokenizer, tokenizer_config
from tm2tfr.targets.gpt2.export import ByGpt2, described
from tm2tfr.targets.gpt2.running import (
    LabellingGpt2,
    LoadedModel,
    exports_of_labeller,
    fitted_labelling,
    masks_of,
    refuse_no_layers,
    required,
)
from tm2tfr.targets.gpt2.tensors import PAD
from tm2tfr.transformer.claims import Output, sections
from tm2tfr.transformer.parts import AHEAD, NO_BOS, NORMS, OUTPUTS, TABLE, WRITTEN, refuse_export
from tm2tfr.transformer.weights import Decoder, Mask

# ── From a sequence model to the tensors of a token classifier, with the names of GPT-2: its outputs are read side by side.
LOWERED = 2.0
"""What is subtracted from all logits but those of the first output. Codes are 0 or 1, so that the best logit of all is the
best one of the first output: what knows of one output alone, such as a pipeline, reads that one."""


class Classifier(LabellingGpt2):
    """A sequence model as a token classifier that answers all outputs with labels, the first one among them."""

    @cached_property
    def rows(self) -> tuple[tuple[Output, slice], ...]:
        """The outputs that it answers, each with its rows of the decoder's unembedding."""
        return tuple((output, cut) for output, cut in sections(self.decoder.outputs) if output.labels is not None)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs that it answers, in the order of the logits."""
        return tuple(output for output, _ in self.rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each logit: the label, and of outputs after the first the output as well."""
        first, *others = self.outputs
        named = [f"{output.name} = {label}" for output in others for label in output.labels or ()]
        return (*(first.labels or ()), *named)

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2."""
        found, first = super().tensors(), len(self.outputs[0].labels or ())
        head, bias = found.pop("lm_head.weight"), found.pop("lm_head.bias")
        head, bias = (np.concatenate([each[cut] for _, cut in self.rows]) for each in (head, bias))
        bias[first:] -= LOWERED
        return {**found, "classifier.weight": head, "classifier.bias": bias}


_INNER = {
    "attention.ln": "ln_1",
    "attention.output.dense": "attn.c_proj",
    "ln": "ln_2",
    "intermediate.dense": "mlp.c_fc",
    "output.dense": "mlp.c_proj",
}


@dataclass(frozen=True, kw_only=True)
class Stock:
    """An architecture.

    Args:
        name: of the target; title: in words.
        format: the ``format`` in the names of an export.
        architecture: the class of `transformers`.
        mask: that its heads have.
        own: the configuration of its own parts; tensors: the tensors by the names that `transformers` gives them.
    """

    name: str
    title: str
    format: str
    architecture: str
    mask: Mask
    own: Callable[[Classifier], PlainData]
    tensors: Callable[[Classifier], dict[str, Array]] = methodcaller("tensors")

    def config(self, made: Classifier) -> PlainData:
        """Return the configuration of the architecture's own parts."""
        labels = made.labels
        return {
            "architectures": [self.architecture],
            **self.own(made),
            "vocab_size": len(made.vocabulary),
            "id2label": dict(zip(map(str, range(len(labels))), labels, strict=True)),
            "label2id": {label: n for n, label in enumerate(labels)},
            "bos_token_id": None,
            "eos_token_id": None,
        }


def _bert_config(made: Classifier) -> PlainData:
    return {
        "model_type": "megatron-bert",
        "max_position_embeddings": made.recipe.positions,
        "hidden_size": made.width,
        "num_hidden_layers": len(made.decoder.layers),
        "num_attention_heads": made.heads,
        "intermediate_size": made.inner,
        "hidden_act": "relu",
        "layer_norm_eps": made.recipe.epsilon,
        "type_vocab_size": 1,
        "is_decoder": False,
        "add_cross_attention": False,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }


def _bert_tensors(made: Classifier) -> dict[str, Array]:
    """Return the tensors of a GPT-2 as those of a BERT: matrices are (out, in), and scores always divided by √d_head."""
    gpt2, d, root = made.tensors(), made.width, np.sqrt(made.head_size)
    found = {
        "bert.embeddings.word_embeddings.weight": gpt2["transformer.wte.weight"],
        "bert.embeddings.position_embeddings.weight": gpt2["transformer.wpe.weight"],
        "bert.embeddings.token_type_embeddings.weight": np.zeros((1, d)),
        "classifier.weight": gpt2["classifier.weight"],
        "classifier.bias": gpt2["classifier.bias"],
    }
    for part in ("weight", "bias"):
        found[f"bert.encoder.ln.{part}"] = gpt2[f"transformer.ln_f.{part}"]
        for n in range(len(made.decoder.layers)):
            own, theirs = f"bert.encoder.layer.{n}.", f"transformer.h.{n}."
            joined = gpt2[f"{theirs}attn.c_attn.{part}"]
            for k, name in enumerate(("query", "key", "value")):
                scale = 1.0 if k or made.scaled else root
                found[f"{own}attention.self.{name}.{part}"] = scale * joined[..., k * d : (k + 1) * d].T
            for mine, its in _INNER.items():
                found[f"{own}{mine}.{part}"] = gpt2[f"{theirs}{its}.{part}"].T
    return {name: np.ascontiguousarray(tensor, dtype=made.recipe.dtype) for name, tensor in found.items()}


BERT = Stock(
    name="bert",
    title="a BERT",
    format="tm2tfr-bert",
    architecture="MegatronBertForTokenClassification",
    mask="none",
    own=_bert_config,
    tensors=_bert_tensors,
)
GPT2 = Stock(
    name="gpt2",
    title="a GPT-2",
    format="tm2tfr-gpt2",
    architecture="GPT2ForTokenClassification",
    mask="future",
    own=lambda made: {"model_type": "gpt2", **shape(made), "classifier_dropout": 0.0},
)


class ClassifierRunning(LoadedModel):
    """A token classifier loaded from a directory, see `LoadedModel`."""

    auto = "AutoModelForTokenClassification"
    longest_generated = 0

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, as the tokenizer has them."""
        return list(self.tokenizer(spaced(word))["input_ids"])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt: nothing is generated."""
        return list(prompt)[:most]

    def answered(self, decoder: Decoder) -> tuple[int, ...]:
        """Return the outputs with labels: it has no logits of others."""
        return tuple(k for k, output in enumerate(decoder.outputs) if output.labels is not None)


# ── The files beside the tensors of a token classifier: configuration, tokenizer, the names of everything, a model card.
def documents(stock: Stock, made: Classifier, right: ExportReference) -> dict[str, str]:
    """Return the text of each file by its name."""
    found: PlainData = {
        "config.json": config(made, stock),
        "tokenizer.json": tokenizer(made),
        "tokenizer_config.json": {**tokenizer_config(made), "padding_side": "right"},
        NAMES: names(made, stock),
    }
    return dumped(found) | {README: model_card(made, right, stock)}


def config(made: Classifier, stock: Stock) -> PlainData:
    """Return the configuration from which `transformers` builds the model."""
    dtype = made.recipe.dtype
    return {
        **stock.config(made),
        "pad_token_id": made.numbers[PAD],
        "dtype": dtype,
        "torch_dtype": dtype,
        KEY: origin(made, stock.format),
    }


def names(made: Classifier, stock: Stock) -> PlainData:
    """Return the data for probes: the place of each named direction, head and hidden unit, and the export's origin."""
    return {
        **origin(made, stock.format),
        "rounding_bounds": made.recipe.statement,
        "read": made.reading,
        "directions": [made.place(n) for n in range(len(made.directions))],
        **parts(made),
        "outputs": outputs_of(made.outputs),
    }


def model_card(made: Classifier, right: ExportReference, stock: Stock) -> str:
    """Return the model card."""
    decoder, recipe = made.decoder, made.recipe
    numbers = ", ".join(code(output.name) for output in decoder.outputs if output.labels is None)
    left = f" It has no logits of {numbers}, since a token classifier answers with labels." if numbers else ""
    printed = "\n".join(
        f"print([model.config.id2label[{f'{cut.start} + ' if cut.start else ''}n] "
        f"for n in logits[0, :, {cut.start or ''}:{cut.stop}].argmax(-1).tolist()])  # {output.name}"
        for output, cut in sections(made.outputs)
    )
    seen = "Every head sees every position" if stock.mask == "none" else "No head sees a later position"
    front = {"library_name": "transformers", "pipeline_tag": "token-classification"}
    rows = {"architecture": f"`{stock.architecture}`"} | sizes(made) | norm(recipe)
    return f"""{heading(right, f"{escaped(right.named('A decoder'))} as {stock.title}", front)}
{right.origin()}

{given_and_labelled(decoder, made.outputs)}

{seen}.{left} Sequences of several lengths make a batch with `[PAD]` to the right of the \
shorter ones, as the tokenizer pads, if the attention mask goes with them. With `[PAD]` to the left tokens have other \
positions and the labels are wrong, unless `position_ids=(attention_mask.cumsum(-1) - 1).clamp(0)` goes with them as well.

```python
from transformers import AutoModelForTokenClassification, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForTokenClassification.from_pretrained(".")
logits = model(**tokenizer({spaced(prompt(right))!r}, return_tensors="pt")).logits
{printed}
```

**How far it is right.** {recipe.stated}
{TRIED_LABELS}
Load it in {recipe.dtype}, as its configuration says.

{checking(right)}

**What is where.** {code(NAMES)} names the directions of the residual stream, the attention heads and the hidden units. \
{made.about_the_stream}

{table(rows)}"""


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
    refuse_export(decoder, of.title.removeprefix("a "), known=(TABLE, NORMS, NO_BOS, AHEAD, OUTPUTS, WRITTEN))
    if others := masks_of(decoder) - {of.mask}:
        seen = "every head sees every position" if of.mask == "none" else "no head sees a later position"
        what = f"{name}: in {of.title} {seen}, and these weights have heads with the mask {' and '.join(sorted(others))}"
        raise ExportError(f"{what}: {exports_of_labeller(decoder)}")
    if decoder.outputs[0].labels is None:
        what = f"{name}: the output {decoder.outputs[0].name!r} is a number, and a token classifier answers with labels"
        raise ExportError(f"{what}: {exports_of_labeller(decoder)}")
    if of.name == GPT2.name:
        refuse_no_layers(decoder, name, of.title)
    return Classifier(decoder, fitted_labelling(decoder, name, of.title, Requested(**options)))


def classifier_by(stock: Stock) -> ByGpt2[Classifier]:
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


PROGRAM = classifier_by(BERT)
export, verified = partial(by_gpt2.export, PROGRAM), partial(verify.verified, PROGRAM)
