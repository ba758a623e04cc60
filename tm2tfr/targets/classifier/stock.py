"""The architectures of `transformers` that a labeller goes to, and what their parts are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy as np

from tm2tfr.targets.common.settings import Array
from tm2tfr.targets.gpt2.documents import shape
from tm2tfr.targets.gpt2.labelling import LabellingGpt2
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.weights import Mask


# ── From a labeller to the tensors of a token classifier, with the names of GPT-2: it reads the first output.
class Classifier(LabellingGpt2):
    """A labeller as a token classifier, whose first output has labels; see `LabellingGpt2`."""

    @property
    def output(self) -> Output:
        """What it answers: the first output."""
        return self.decoder.outputs[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the logits."""
        return self.output.labels or ()

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2."""
        found, many = super().tensors(), len(self.labels)
        head, bias = found.pop("lm_head.weight"), found.pop("lm_head.bias")
        return {
            **found,
            "classifier.weight": np.ascontiguousarray(head[:many]),
            "classifier.bias": np.ascontiguousarray(bias[:many]),
        }


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
        own: what the configuration says of its own parts; tensors: the tensors by the names that `transformers` gives them.
    """

    name: str
    title: str
    format: str
    architecture: str
    mask: Mask
    own: Callable[[Classifier], dict[str, Any]]
    tensors: Callable[[Classifier], dict[str, Array]] = methodcaller("tensors")

    def config(self, made: Classifier) -> dict[str, Any]:
        """Return what the configuration says of the architecture's own parts."""
        labels = [str(label) for label in made.labels]
        return {
            "architectures": [self.architecture],
            **self.own(made),
            "vocab_size": len(made.vocabulary),
            "id2label": dict(zip(map(str, range(len(labels))), labels, strict=True)),
            "label2id": {label: n for n, label in enumerate(labels)},
            "bos_token_id": None,
            "eos_token_id": None,
        }


def _bert_config(made: Classifier) -> dict[str, Any]:
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
