"""Weights with softmax attention and a table of positions as a torch module, whose stream can be exchanged on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from tm2tfr.contract.model import ModelStage
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced

OnTensor = Callable[[ModelStage, Tensor], Tensor]
"""Receives the stream, (B, L, width), after a part of a layer, and returns what takes its place."""


class Network(nn.Module):
    """A decoder whose heads all have the same size; see `tm2tfr.lab.hidden.trained.start`.

    The heads of a layer are computed together; parameters have the paths of `tm2tfr.transformer.weights.matrices`, with
    dots as underscores.
    """

    def __init__(self, decoder: Decoder, dtype: torch.dtype) -> None:
        super().__init__()
        self.decoder, self.dtype = decoder, dtype
        self.weights = nn.ParameterDict(
            {
                path.replace(".", "_"): nn.Parameter(torch.tensor(matrix.dense(), dtype=dtype))
                for path, matrix in matrices(decoder).items()
                if matrix.shape[1]
            }
        )

    def of(self, path: str) -> Tensor:
        """Return the matrix at a path."""
        found: Tensor = self.weights[path.replace(".", "_")]
        return found

    def forward(self, tokens: Tensor, lengths: Tensor, stage: OnTensor) -> Tensor:
        """Return the logits: tokens (B, L), of which the first `lengths` (B,) count, → (B, L, answers)."""
        length, decoder = tokens.shape[1], self.decoder
        x = self.of("token_embedding").T[tokens] + self.of("position_table").T[:length]
        x = stage((-1, "embedding"), x)
        there = torch.arange(length) < lengths[:, None]
        for number, layer in enumerate(decoder.layers):
            if layer.heads:
                x = x + self._attention(number, x, there)
            x = stage((number, "attention"), x)
            if layer.feed_forward is not None:
                path = f"layers.{number + 1}.feed_forward."
                hidden = torch.relu(x @ self.of(f"{path}input").T + self.of(f"{path}input_bias").T)
                x = x + hidden @ self.of(f"{path}output").T + self.of(f"{path}output_bias").T
            x = stage((number, "feed_forward"), x)
        return x @ self.of("unembedding").T + self.of("unembedding_bias").T

    def _attention(self, number: int, x: Tensor, there: Tensor) -> Tensor:
        """Return what the heads of a layer add to the stream."""
        heads = self.decoder.layers[number].heads
        paths = [f"layers.{number + 1}.heads.{k}." for k in range(len(heads))]
        query, key, value = (torch.stack([self.of(path + name) for path in paths]) for name in ("query", "key", "value"))
        output = torch.stack([self.of(f"{path}output") for path in paths])  # (H, width, d)
        q, k, v = (torch.einsum("bnw,hdw->bhnd", x, each) for each in (query, key, value))
        seen = torch.stack([_mask(head.mask, x.shape[1]) for head in heads])[None] & there[:, None, None, :]
        seen = seen | torch.eye(x.shape[1], dtype=torch.bool)  # behind the end, so that no row is empty
        scores = (q @ k.transpose(2, 3)).masked_fill(~seen, -torch.inf)
        return torch.einsum("bhnd,hwd->bnw", scores.softmax(dim=-1) @ v, output)

    def written(self) -> Decoder:
        """Return the decoder with the weights as they are now."""
        new = {
            path: Matrix.from_dense(self.of(path).detach().to(torch.float64).numpy())
            for path, matrix in matrices(self.decoder).items()
            if matrix.shape[1]
        }
        return replaced(self.decoder, new)

    @torch.no_grad()
    def disturb(self, noise: float, chance: np.random.Generator) -> None:
        """Add noise to each entry of each matrix: normal, `noise` times the root mean square of the matrix.

        A matrix that is 0 throughout gets the noise of the least of its kind that is not.
        """
        sizes = {path: float(self.of(path).square().mean().sqrt()) for path in matrices(self.decoder) if self._has(path)}
        kinds: dict[str, list[float]] = {}
        for path, size in sizes.items():
            if size > 0:
                kinds.setdefault(path.rpartition(".")[2], []).append(size)
        least = min(size for size in sizes.values() if size > 0)
        for path, size in sizes.items():
            own = size or min(kinds.get(path.rpartition(".")[2], [least]))
            added: Floats = chance.standard_normal(tuple(self.of(path).shape)) * noise * own
            self.of(path).add_(torch.tensor(added, dtype=self.dtype))

    def _has(self, path: str) -> bool:
        return path.replace(".", "_") in self.weights


def _mask(mask: str, length: int) -> Tensor:
    """Return which keys (columns) are seen from which positions (rows)."""
    every = torch.ones(length, length, dtype=torch.bool)
    return every.tril() if mask == "future" else every.triu() if mask == "past" else every
