"""Compiled weights as a torch module that can be trained: where training starts if it starts at the answer.

Everything is trained, entries that are 0 too: nothing tells the optimiser which of them the compiler left out. Attention
is softmax as compiled, with neither 1/√d_k nor a bias, and the feed-forward part has one ReLU.

Logits are scaled. Those of Appendix A are in the hundreds of millions, and so would the loss of any mistake be; an overall
factor changes no token. It is the power of two that brings the smallest logit margin of the training examples to between
`LEAST_MARGIN` and twice that.

Noise of size σ is added to each matrix: normal, with a standard deviation of σ times the root mean square of its entries
that are not 0. A matrix without entries stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tm2tfr.base.errors import TrainingError
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.training.checkpoint import read_weights
from tm2tfr.lab.training.examples import TASK, Examples
from tm2tfr.lab.training.gpt2 import GPT2, read_pretrained
from tm2tfr.lab.training.model import Transformer
from tm2tfr.lab.training.record import PRETRAINED, PRETRAINED_SHA256, ModelOptions, TrainingRun, model_options, plain
from tm2tfr.sources.circuit.arithmetic import binary_adder
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, Norm

LEAST_MARGIN = 8.0
"""The logit margin from which a wrong token has a probability of at most 1/2981."""
MEASURED = 1_000
"""The number of training examples by which logits are scaled."""


class CompiledNorm(nn.Module):
    """A layer norm, see `tm2tfr.transformer.weights.Norm`."""

    def __init__(self, norm: Norm) -> None:
        super().__init__()
        self.gain, self.bias, self.epsilon = _column(norm.gain), _column(norm.bias), norm.epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return what is read from the stream: (B, L, width)."""
        return nn.functional.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.epsilon)


class CompiledHead(nn.Module):
    """A head with softmax attention."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.query, self.key = _parameter(head.query), _parameter(head.key)
        self.value, self.output = _parameter(head.value), _parameter(head.output)

    def forward(self, x: Tensor, seen: Tensor, kept: list[Tensor] | None) -> Tensor:
        """Return the output of the head: x (B, L, width), seen (L, L) → (B, L, width)."""
        scores = (x @ self.query.T) @ (x @ self.key.T).transpose(1, 2) + seen
        weights = scores.softmax(dim=-1)
        if kept is not None:
            kept.append(weights)
        return weights @ (x @ self.value.T) @ self.output.T


class CompiledFeedForward(nn.Module):
    """A feed-forward part with one ReLU."""

    def __init__(self, part: FeedForward) -> None:
        super().__init__()
        self.input, self.input_bias = _parameter(part.input), _column(part.input_bias)
        self.output, self.output_bias = _parameter(part.output), _column(part.output_bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return what it adds to the stream: (B, L, width)."""
        return torch.relu(x @ self.input.T + self.input_bias) @ self.output.T + self.output_bias


class CompiledLayer(nn.Module):
    """Attention, then a feed-forward part, each of which may read the stream through a norm."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        norms = layer.attention_norm, layer.feed_forward_norm
        self.norm_1, self.norm_2 = (nn.Identity() if norm is None else CompiledNorm(norm) for norm in norms)
        self.heads = nn.ModuleList(map(CompiledHead, layer.heads))
        self.feed_forward = None if layer.feed_forward is None else CompiledFeedForward(layer.feed_forward)

    def forward(self, x: Tensor, seen: Tensor, kept: list[Tensor] | None) -> Tensor:
        """Return the stream after this layer: (B, L, width)."""
        read, here = self.norm_1(x), list[Tensor]()
        for head in self.heads:
            x = x + head(read, seen, here)
        if kept is not None:
            kept.append(torch.stack(here, dim=1))
        return x if self.feed_forward is None else x + self.feed_forward(self.norm_2(x))


class CompiledModel(nn.Module):
    """A compiled decoder, to be trained.

    Raises:
        TrainingError: if the decoder is made for average-hard attention, or has no table of positions.
    """

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        table = decoder.position_table
        if table is None or decoder.features or any(h.weighting != "softmax" for la in decoder.layers for h in la.heads):
            what = (
                "training starts at compiled weights only where their attention is softmax and their positions are a table"
            )
            raise TrainingError(f"{what}: start at those of a circuit, in the variant paper")
        self.token = nn.Parameter(_dense(decoder.token_embedding).T.contiguous())
        self.position = nn.Parameter(_dense(table).T.contiguous())
        self.layers = nn.ModuleList(map(CompiledLayer, decoder.layers))
        self.norm = nn.Identity() if decoder.norm is None else CompiledNorm(decoder.norm)
        self.unembedding, self.bias = _parameter(decoder.unembedding), _column(decoder.unembedding_bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of the tokens that follow: (B, L) → (B, L, vocabulary)."""
        return self._logits(tokens, None)

    def attention(self, tokens: Tensor) -> list[Tensor]:
        """Return the weights of attention, layer by layer: (B, L) → (B, heads, L, L) each; rows add up to 1."""
        kept: list[Tensor] = []
        self._logits(tokens, kept)
        return kept

    def _logits(self, tokens: Tensor, kept: list[Tensor] | None) -> Tensor:
        length = tokens.shape[1]
        seen = torch.full((length, length), -torch.inf, device=tokens.device).triu(1)
        x = self.token[tokens] + self.position[:length]
        for layer in self.layers:
            x = layer(x, seen, kept)
        return self.norm(x) @ self.unembedding.T + self.bias

    @torch.no_grad()
    def scale(self, examples: Examples) -> float:
        """Scale the logits by a power of two, see above, and return it.

        Raises:
            TrainingError: if the weights answer one of the first `MEASURED` training examples wrongly.
        """
        train = examples.train.some(slice(0, MEASURED))
        logits = self(torch.tensor(train.fed))[torch.tensor(train.scored)]
        wanted = torch.tensor(train.wanted[train.scored])[:, None]
        others = logits.scatter(1, wanted, -torch.inf).max(dim=1).values
        least = float((logits.gather(1, wanted)[:, 0] - others).min())
        if not least > 0:
            what = f"{examples.name}: the weights to start at answer a training example wrongly"
            raise TrainingError(f"{what}: start at those of the circuit that the examples are of")
        factor: float = 2.0 ** math.ceil(math.log2(LEAST_MARGIN / least))
        self.unembedding *= factor
        self.bias *= factor
        return factor

    @torch.no_grad()
    def disturb(self, noise: float, seed: int) -> None:
        """Add noise to all parameters, see above."""
        chance = torch.Generator().manual_seed(seed)
        for each in self.parameters():
            there = each[each != 0]
            if there.numel():
                size = noise * float(there.square().mean().sqrt())
                each.add_(torch.randn(each.shape, generator=chance), alpha=size)


def _dense(matrix: Matrix) -> Tensor:
    return torch.from_numpy(matrix.dense("float32"))


def _parameter(matrix: Matrix) -> nn.Parameter:
    return nn.Parameter(_dense(matrix))


def _column(matrix: Matrix) -> nn.Parameter:
    return nn.Parameter(_dense(matrix)[:, 0].contiguous())


# ── The model that options ask for, for some examples; and the model of a finished run.
def build(options: ModelOptions, examples: Examples, *, seed: int = 0) -> nn.Module:
    """Return a model that takes these examples: random, compiled, or around the body of a pretrained one.

    Args:
        seed: of the weights.

    Raises:
        TrainingError: if transformers is missing where it is needed, the shape does not fit the examples, or the folder of
            a pretrained model cannot be used.
    """
    if options.pretrained:
        body = read_pretrained(options.kind, dropout=options.dropout)
        with _drawn(seed):
            return body.model(len(examples.vocabulary), examples.longest)
    if options.kind == "compiled":
        model = _compiled(examples.about)
        model.scale(examples)
        model.disturb(options.noise, seed)
        return model
    return built_for(options, len(examples.vocabulary), examples.longest, labels=examples.labels, seed=seed)


def built_for(options: ModelOptions, vocabulary: int, positions: int, *, labels: bool = False, seed: int = 0) -> nn.Module:
    """Return a model with random weights for sequences of at most `positions` tokens; see `build`."""
    with _drawn(seed):
        if options.kind == "gpt2":
            return GPT2(options, vocabulary, positions)
        causal = not labels if options.causal is None else options.causal
        if not causal and not labels:
            raise TrainingError("tokens are generated by causal models: omit causal=False")
        return Transformer(options, vocabulary, positions, causal=causal)


@contextmanager
def _drawn(seed: int) -> Iterator[None]:
    """Draw random weights with a seed of their own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def described(options: ModelOptions, model: nn.Module) -> PlainData:
    """Return the description of a model from `build` for the record of a run."""
    return model.about if isinstance(model, GPT2) else plain(options)


def _compiled(about: PlainData) -> CompiledModel:
    """Return the compiled weights of the circuit that examples are of.

    Raises:
        TrainingError: if they are not the paper's sums with all their intermediates.
    """
    if about.get("task") != TASK or about["regime"] == "weak" or about["intermediates"] != "gates":
        what = "training starts at compiled weights only where the model generates the bits of all gates"
        raise TrainingError(f"{what}: train on {TASK}, in the regime strong or medium")
    return CompiledModel(compile_circuit(binary_adder(bits=about["bits"], order=about["order"]), "paper"))


def untrained_model(run: TrainingRun, examples: Examples) -> nn.Module | None:
    """Return the model of a run before its first step; None if its pretrained body is no longer in its folder.

    Args:
        examples: those of the run.
    """
    pretrained = run.model.get(PRETRAINED)
    if pretrained is None:
        return build(model_options(run.model), examples, seed=run.options["seed"]).eval()
    try:
        options = ModelOptions(kind=pretrained, dropout=run.model["dropout"])
        model = build(options, examples, seed=run.options["seed"]).eval()
    except TrainingError:
        return None
    return model if described(options, model) == run.model else None


def trained_model(run: TrainingRun) -> nn.Module:
    """Return the model of a finished run of `tm2tfr.train`, with its trained weights.

    Raises:
        TrainingError: if the run is unfinished or not kept, its model is one that was not built here, or its weights are
            not there.
    """
    if not run.finished or run.folder is None:
        raise TrainingError(f"{run.folder}: this run has no trained weights: finish it with tm2tfr train --resume")
    data = run.data
    options = model_options({name: run.model[name] for name in run.model if name not in (PRETRAINED, PRETRAINED_SHA256)})
    model: nn.Module
    if options.kind == "compiled":
        model = _compiled(data)
    else:
        model = built_for(options, len(data["vocabulary"]), data["positions"], labels=data.get("labels", False))
    read_weights(run, model)
    model.eval()
    return model
