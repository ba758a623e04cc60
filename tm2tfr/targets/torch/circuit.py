"""A Boolean circuit's decoder in plain PyTorch: ``python circuit.py 0110`` prints the bits of its gates on 0110.

It needs `model.py`, and adds to it what a circuit's decoder has besides: a row of a table for each position, which says
what the next gate is; layer norms; heads whose weights are made for softmax. There is no BOS and no stop token: the input
bits alone start the run, and it ends where the table ends. Nothing here knows what it should compute.

Shapes are those of `model.py`; positions: the rows of the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from tm2tfr.targets.torch.model import Decoder, Layer, Memory, frozen


class StreamNorm(nn.Module):
    """A layer norm: ``gain · (x - mean) / √(variance + epsilon) + bias``."""

    def __init__(self, gain: Tensor, bias: Tensor, epsilon: float) -> None:
        super().__init__()
        self.gain = frozen(gain)  # (width, 1)
        self.bias = frozen(bias)  # (width, 1)
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return what a part reads of the stream: x (n, width) → (n, width)."""
        centred = x - x.mean(dim=-1, keepdim=True)
        root = ((centred * centred).mean(dim=-1, keepdim=True) + self.epsilon).sqrt()
        return centred / root * self.gain.T + self.bias.T


class CircuitLayer(Layer):
    """A layer of `model.py` whose parts may read the stream through norms."""

    def __init__(self, plain: Layer, norms: dict[str, StreamNorm]) -> None:
        super().__init__(list(plain.heads), plain.feed_forward)
        self.attention_norm = norms.get("attention_norm", nn.Identity())
        self.feed_forward_norm = norms.get("feed_forward_norm", nn.Identity())

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        """Return the stream after the layer: x (n, width) → (n, width)."""
        read = self.attention_norm(x)
        for each in [head(read, memory) for head in self.heads]:
            x = x + each
        return x if self.feed_forward is None else x + self.feed_forward(self.feed_forward_norm(x))


class CircuitDecoder(Decoder):
    """The whole decoder; arguments and hooks are those of `Decoder`.

    Args:
        attention, temperature: ``softmax`` only applies to weights that are made for average-hard attention.
    """

    def __init__(
        self, names: dict[str, Any], weights: dict[str, Tensor], attention: str = "average-hard", temperature: float = 0
    ) -> None:
        soft = any("weighting" in head for layer in names["layers"] for head in layer["heads"])
        if soft and (attention != "average-hard" or temperature):
            raise ValueError("these weights have softmax attention as they are: give no attention and no temperature")
        super().__init__(names, weights, attention, temperature)
        norms = {
            path: StreamNorm(weights[f"{path}.gain"], weights[f"{path}.bias"], epsilon)
            for path, epsilon in names.get("norms", {}).items()
        }
        for layer in names["layers"]:
            number, path = str(layer["layer"]), f"layers.{layer['layer']}."
            own = {name.removeprefix(path): norm for name, norm in norms.items() if name.startswith(path)}
            self.layers[number] = CircuitLayer(self.layers[number], own)
            for head, said in zip(self.layers[number].heads, layer["heads"], strict=True):
                if said.get("weighting") == "softmax":
                    head.temperature = 1.0
        self.norm = norms.get("norm", nn.Identity())
        self.position_table = frozen(weights["position_table"])  # (width, positions)
        self.program: dict[str, Any] = names.get("program", {})  # of weights that say nothing of theirs: none

    def _chunk(self, tokens: Tensor, memory: Memory) -> Tensor:
        x = self.embedding(self.embed(tokens, memory.length))
        memory.length += len(tokens)
        for layer in self.layers.values():
            x = layer(x, memory)
        return self.norm(x) @ self.unembedding.T + self.unembedding_bias.T

    def embed(self, tokens: Tensor, start: int) -> Tensor:
        """Return the stream before the first layer, for tokens from position `start` on: (n,) → (n, width)."""
        return super().embed(tokens, start) + self.position_table.T[start : start + len(tokens)]

    def encode(self, word: str) -> Tensor:
        """Return the prompt: a token for each input bit.

        Raises:
            ValueError: for anything but bits, or another number of them.
        """
        wanted = len(self.program["inputs"]) if self.program else min(max(1, len(word)), self.positions)
        if len(word) != wanted or word.strip("01"):
            raise ValueError(f"{word!r} is not an input: give {wanted} bits, 0 or 1")
        return torch.tensor([self.vocabulary.index(bit) for bit in word], device=self.token_embedding.device)

    @torch.inference_mode()
    def generate(self, word: str) -> Iterator[str]:
        """Yield the bit of each gate: the token with the largest logit.

        Raises:
            ValueError: see `encode`.
        """
        tokens, memory = self.encode(word), Memory()
        while memory.length < self.positions:
            number = int(self(tokens, memory)[-1].argmax())  # of several, the first
            yield self.vocabulary[number]
            tokens = tokens.new_tensor([number])

    def outputs(self, word: str) -> dict[str, str]:
        """Return the bit of each output of the circuit by its name. See `encode` for errors."""
        symbols = [*word, *self.generate(word)]
        return {name: symbols[number] for name, number in self.program.get("outputs", {}).items()}


def load(folder: str | Path = ".", attention: str = "average-hard", temperature: float = 0) -> CircuitDecoder:
    """Return the decoder whose files are in `folder`; see `CircuitDecoder`."""
    names = json.loads((Path(folder) / "tm2tfr.json").read_text(encoding="utf-8"))
    return CircuitDecoder(names, load_file(Path(folder) / "weights.safetensors"), attention, temperature)


def main() -> None:
    """Print the bits of the gates, and the outputs by their names."""
    parser = argparse.ArgumentParser(description="Run a Boolean circuit's decoder.")
    parser.add_argument("bits", help="the input bits, in the order of the circuit's inputs")
    parser.add_argument("--attention", choices=["average-hard", "softmax"], default="average-hard")
    parser.add_argument("--temperature", type=float, default=0, help="of softmax; by default the recommended one")
    given = parser.parse_args()
    try:
        decoder = load(Path(__file__).parent, given.attention, given.temperature)
        print(*given.bits, *decoder.generate(given.bits))
        print(*(f"{name}={bit}" for name, bit in decoder.outputs(given.bits).items()))
    except ValueError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
