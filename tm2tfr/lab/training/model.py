"""A decoder of minGPT's shape in plain torch, whose attention can be read.

Layers are normalised before attention and before the feed-forward part (pre-LN), GELU is between the two linear maps of
the latter, and a last layer norm is before the output. Shapes:

    B             sequences                     width     of the residual stream
    L             positions of each             heads     each of width / heads
    vocabulary    tokens; one more is padding   hidden    units of a feed-forward layer

Weights at the start are torch's own, unless `ModelOptions.spread` says otherwise. minGPT's embeddings and matrices have a
standard deviation of 0.02: beside sines and cosines of size 1, which the paper does not say how to scale, few seeds then
learn sums of 8 bits in 3,000 steps; beside learned positions of that size one of three does, and all three with a width of
128, batches of 128 and a learning rate of 0.001.

Source: minGPT (Karpathy, 2020); position embeddings as in *Guiding Transformers to Process in Steps*, Section 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tm2tfr.base.errors import TrainingError
from tm2tfr.lab.training.examples import Examples, Sequences, TokenArray
from tm2tfr.lab.training.record import ModelOptions


class Memory:
    """Keys and values of the positions so far, layer by layer: two tensors (B, heads, positions, width / heads) each."""

    def __init__(self, batch: int, positions: int) -> None:
        self.batch, self.positions, self.length = batch, positions, 0
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def extended(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of the next positions, and return all so far."""
        if layer not in self._kept:
            shape = (self.batch, keys.shape[1], self.positions, keys.shape[3])
            self._kept[layer] = keys.new_zeros(shape), values.new_zeros(shape)
        kept, here = self._kept[layer], slice(self.length, self.length + keys.shape[2])
        kept[0][:, :, here], kept[1][:, :, here] = keys, values
        return kept[0][:, :, : here.stop], kept[1][:, :, : here.stop]


class SelfAttention(nn.Module):
    """Attention with several heads."""

    def __init__(self, options: ModelOptions, number: int) -> None:
        super().__init__()
        self.heads, self.number = options.heads, number
        self.query = nn.Linear(options.width, options.width)
        self.key_value = nn.Linear(options.width, 2 * options.width)
        self.output = nn.Linear(options.width, options.width)
        self.dropout = nn.Dropout(options.dropout)

    def forward(
        self, x: Tensor, seen: Tensor, first: int = 0, memory: Memory | None = None, kept: list[Tensor] | None = None
    ) -> Tensor:
        """Return the output of the heads, from position `first` on.

        Args:
            x: (B, L, width).
            seen: 0 where a position sees another, -inf elsewhere: broadcast to (B, heads, L - first, all positions).
            kept: gets the weights of attention: (B, heads, L - first, all positions).
        """
        keys, values = map(self._parted, self.key_value(x).chunk(2, dim=-1))
        queries = self._parted(self.query(x[:, first:]))
        if memory is not None:
            keys, values = memory.extended(self.number, keys, values)
        scores = queries @ keys.transpose(2, 3) * (1 / math.sqrt(keys.shape[3])) + seen
        weights = self.dropout(scores.softmax(dim=-1))
        if kept is not None:
            kept.append(weights)
        return self.dropout(self.output((weights @ values).transpose(1, 2).flatten(2)))

    def _parted(self, x: Tensor) -> Tensor:
        """Return (B, L, width) as (B, heads, L, width / heads)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class DecoderLayer(nn.Module):
    """One layer: attention, and then a feed-forward part; or one of the two alone.

    Args:
        part: which of them, ``s`` for attention and ``f`` for the feed-forward part, see `ModelOptions.parts`.
    """

    def __init__(self, options: ModelOptions, number: int, part: str = "sf") -> None:
        super().__init__()
        width, hidden = options.width, options.hidden or 4 * options.width
        self.attention: SelfAttention | None = None
        self.feed_forward: nn.Sequential | None = None
        if "s" in part:
            self.norm_1, self.attention = nn.LayerNorm(width), SelfAttention(options, number)
        if "f" in part:
            self.norm_2 = nn.LayerNorm(width)
            self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.dropout = nn.Dropout(options.dropout)

    def forward(
        self, x: Tensor, seen: Tensor, first: int = 0, memory: Memory | None = None, kept: list[Tensor] | None = None
    ) -> Tensor:
        """Return the stream after this layer, from position `first` on: (B, L, width) → (B, L - first, width)."""
        if self.attention is None:
            x = x[:, first:]
        else:
            x = x[:, first:] + self.attention(self.norm_1(x), seen, first, memory, kept)
        return x if self.feed_forward is None else x + self.dropout(self.feed_forward(self.norm_2(x)))


class Transformer(nn.Module):
    """The whole model.

    Args:
        vocabulary: the number of tokens; this number itself is padding.
        positions: the most positions of a sequence.
        causal: whether no position sees later ones; if not, padding is not seen.

    Raises:
        TrainingError: if the width has no dimension for each of the hand-coded positions.
    """

    def __init__(self, options: ModelOptions, vocabulary: int, positions: int, *, causal: bool = True) -> None:
        super().__init__()
        if options.positions == "hand-coded" and positions + FOR_TOKENS > options.width:
            what = f"hand-coded positions need a width of at least {positions + FOR_TOKENS} here, not {options.width}"
            raise TrainingError(f"{what}: use that, or other positions")
        self.options, self.vocabulary, self.causal = options, vocabulary, causal
        self.token = nn.Embedding(vocabulary + 1, options.width, padding_idx=vocabulary)
        self.position = position_embedding(options, positions)
        self.dropout = nn.Dropout(options.dropout)
        self.blocks = nn.ModuleList(DecoderLayer(options, *each) for each in enumerate(options.parts))
        self.norm = nn.LayerNorm(options.width)
        self.output = nn.Linear(options.width, vocabulary, bias=False)
        if options.spread is not None:
            _spread(self, options.spread)

    def forward(self, tokens: Tensor, first: int = 0) -> Tensor:
        """Return the logits of the tokens that follow, or of the labels: (B, L) → (B, L - first, vocabulary).

        Args:
            first: the first position whose logits are wanted; of those before it, less is computed.
        """
        return self._logits(tokens, first, None, None)

    def attention(self, tokens: Tensor) -> list[Tensor]:
        """Return the weights of attention, layer by layer: (B, L) → (B, heads, L, L) each; rows add up to 1.

        Layers without attention are not among them.
        """
        kept: list[Tensor] = []
        self._logits(tokens, 0, None, kept)
        return kept

    def memory(self, batch: int, positions: int) -> Memory:
        """Return an empty memory for `following`."""
        return Memory(batch, positions)

    def following(self, tokens: Tensor, memory: Memory) -> Tensor:
        """Return the logits after the next token, which is added to the memory: (B, 1) → (B, vocabulary); if `causal`."""
        found = self._logits(tokens, 0, memory, None)[:, -1]
        memory.length += tokens.shape[1]
        return found

    def _logits(self, tokens: Tensor, first: int, memory: Memory | None, kept: list[Tensor] | None) -> Tensor:
        start = 0 if memory is None else memory.length
        x = self.dropout(self.token(tokens) + self.position[start : start + tokens.shape[1]])
        seen = self._seen(tokens, start)
        last = len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            here = first if number == last else 0  # all positions of the layers before it are attended to
            x = block(x, seen if seen.shape[-2] == 1 else seen[..., here:, :], here, memory, kept)
        return self.output(self.norm(x))

    def _seen(self, tokens: Tensor, start: int) -> Tensor:
        """Return which positions see which: 0 or -inf, to be added to scores."""
        length = tokens.shape[1]
        if not self.causal:
            return torch.zeros(tokens.shape, device=tokens.device).masked_fill(tokens == self.vocabulary, -torch.inf)[
                :, None, None
            ]
        if length == 1:
            return torch.zeros((1, 1), device=tokens.device)
        return torch.full((length, start + length), -torch.inf, device=tokens.device).triu(start + 1)


@torch.no_grad()
def _spread(model: Transformer, size: float) -> None:
    """Give matrices and embeddings normal entries with the standard deviation `size`, and biases 0."""
    for each in model.modules():
        if isinstance(each, nn.Linear | nn.Embedding):
            each.weight.normal_(std=size)
        if isinstance(each, nn.Linear) and each.bias is not None:
            each.bias.zero_()
    if model.position.requires_grad:
        model.position.normal_(std=size)


FOR_TOKENS = 3
"""The dimensions before those of hand-coded positions, d = 3 + b: in these tokens alone are embedded (Eq. 17)."""


def position_embedding(options: ModelOptions, positions: int) -> nn.Parameter:
    """Return the position embeddings: (positions, width), fixed unless ``learned``."""
    if options.positions == "learned":
        return nn.Parameter(torch.randn(positions, options.width))
    if options.positions == "hand-coded":
        vectors = torch.eye(positions, options.width).roll(FOR_TOKENS, dims=1)
        return nn.Parameter(vectors, requires_grad=False)
    place = torch.arange(positions, dtype=torch.float64)[:, None]
    rates = 10_000.0 ** (-torch.arange(0, options.width, 2, dtype=torch.float64) / options.width)
    waves = torch.stack([(place * rates).sin(), (place * rates).cos()], dim=2).flatten(1)[:, : options.width]
    return nn.Parameter(waves.to(torch.float32), requires_grad=False)


# ── Greedy answers, and the number of exact matches.
AT_ONCE = 1_000
"""At most this many sequences are answered at once; a model may have a lower limit of its own, `at_once`."""


class Matches(NamedTuple):
    """Shares, from 0 to 1.

    Args:
        answer: the sequences whose answer is exactly right: of labels, all labels that count.
        scored: the sequences of which every scored token is right.
        tokens: the tokens of all answers that are right, each for itself.
    """

    answer: float
    scored: float
    tokens: float


def exact_matches(model: nn.Module, examples: Examples, some: Sequences | None = None) -> Matches:
    """Return the number of right greedy answers, on the unseen examples or on `some`.

    Every token after the prompt is the model's own, also the intermediate steps: as many are generated as the right
    sequence has.
    """
    some = examples.test if some is None else some
    right = np.zeros(3)
    at_once = min(AT_ONCE, getattr(model, "at_once", AT_ONCE))
    for start in range(0, len(some), at_once):
        part = some.some(slice(start, start + at_once))
        wrong = answered(model, part, labels=examples.labels) != part.wanted
        whole = [np.sum(~np.any(wrong & flags, axis=1)) for flags in (part.answer, part.scored)]
        right += [*whole, np.sum(~wrong & part.answer)]
    return Matches(*(float(share) for share in right / [len(some), len(some), np.sum(some.answer)]))


@torch.no_grad()
def answered(model: nn.Module, some: Sequences, *, labels: bool = False) -> TokenArray:
    """Return the answers of a model at each position: (N, L); with `labels` in one pass, otherwise token by token.

    A token that it answers from the last one of the prompt on is fed next. A model with `memory` and `following`, see
    `tm2tfr.lab.training.model.Transformer`, computes each position once; any other one from the start for each token.
    """
    was_training = model.training
    model.eval()
    try:
        fed = torch.tensor(some.fed, device=next(model.parameters()).device)
        if labels:
            return _greedy(model(fed))
        return np.concatenate(list(_generated(model, fed, some)), axis=1)
    finally:
        model.train(was_training)


def _generated(model: nn.Module, fed: Tensor, some: Sequences) -> Iterator[TokenArray]:
    """Yield the answers at each position: (N, 1)."""
    given = torch.tensor(some.prompt, device=fed.device)
    ends = fed == some.pad
    fed = fed.clone()
    first = int(some.prompt.min()) - 1
    memory = model.memory(*fed.shape) if hasattr(model, "following") else None
    for place in range(fed.shape[1]):
        if memory is not None:
            logits = model.following(fed[:, place : place + 1], memory)
        elif place >= first:
            logits = model(fed[:, : place + 1])[:, -1]
        else:
            yield np.zeros((len(fed), 1), dtype=np.int64)
            continue
        best = logits.argmax(dim=-1)
        if place + 1 < fed.shape[1]:
            own = (given <= place + 1) & ~ends[:, place + 1]
            fed[:, place + 1] = torch.where(own, best, fed[:, place + 1])
        yield best[:, None].cpu().numpy()


def _greedy(logits: Tensor) -> TokenArray:
    found: TokenArray = logits.argmax(dim=-1).cpu().numpy()
    return found
