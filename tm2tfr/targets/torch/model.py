"""A transformer decoder in plain PyTorch: ``python model.py 11`` prints its run on 11.

It needs torch, safetensors, and two files next to it: `weights.safetensors`, the matrices, and `tm2tfr.json`, the names
of everything. Nothing here knows what it should compute: change a weight, and it computes something else.

Weights that run a Turing machine are those of Pérez et al., Attention is Turing-Complete (2021). Position i counts from
0. Shapes:

    n             tokens that are processed at once      width    the residual stream
    m             positions so far, these n included     d_k      queries and keys of a head
    vocabulary    tokens; one token is one number        d_v      values of a head
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

CHUNK = 128  # the most tokens that are processed at once, so that the scores of a long run fit into memory


def prime(i: Tensor) -> Tensor:
    """Return 1 where a whole number is prime, 0 elsewhere."""
    sieve = torch.ones(int(i.max()) + 2, dtype=i.dtype, device=i.device)
    sieve[:2] = 0
    for divisor in range(2, int(len(sieve) ** 0.5) + 1):
        sieve[divisor * divisor :: divisor] = 0
    return sieve[i.long()]


FEATURES: dict[str, Callable[[Tensor], Tensor]] = {  # of a position i
    "1/(i+1)": lambda i: 1 / (i + 1),
    "1": torch.ones_like,
    "i": lambda i: i,
    "i^2": lambda i: i * i,
    "(-1)^i": lambda i: 1 - 2 * (i % 2),
    "prime(i)": prime,
    "square(i)": lambda i: (i.sqrt().round() ** 2 == i).to(i),
    "power of 2(i)": lambda i: (torch.frexp(i).mantissa == 0.5).to(i),
}


def feature(name: str, i: Tensor) -> Tensor:
    """Return the position feature `name` of the positions i: one of `FEATURES`, or for example ``i mod 3 = 1``."""
    if name in FEATURES:
        return FEATURES[name](i)
    modulus, remainder = name.removeprefix("i mod ").split(" = ")
    return (i % float(modulus) == float(remainder)).to(i)


class Memory:
    """The KV cache: the keys, (m, d_k), and values, (m, d_v), of each head at all positions so far."""

    def __init__(self) -> None:
        self.length = 0
        self._kept: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def extend(self, head: nn.Module, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of n more positions, and return all."""
        if head in self._kept:
            before = self._kept[head]
            keys, values = torch.cat([before[0], keys]), torch.cat([before[1], values])
        self._kept[head] = keys, values
        return keys, values


class Head(nn.Module):
    """One attention head. Hook `shares`: its output, (n, m), is the attention pattern."""

    def __init__(self, matrices: dict[str, Tensor], temperature: float | None) -> None:
        super().__init__()
        self.query = frozen(matrices["query"])  # (d_k, width)
        self.key = frozen(matrices["key"])  # (d_k, width)
        self.value = frozen(matrices["value"])  # (d_v, width)
        self.output = frozen(matrices["output"])  # (width, d_v)
        self.temperature = temperature
        self.shares = nn.Identity()

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        """Return the head's output, which is added to the stream: x (n, width) → (n, width)."""
        queries = x @ self.query.T  # (n, d_k)
        keys, values = memory.extend(self, x @ self.key.T, x @ self.value.T)  # (m, d_k), (m, d_v)
        n, m = len(queries), len(keys)

        # One component after the other, each product and each sum rounded once: the tie-break comes last, when the
        # large terms have cancelled. A matrix product might add them up in another order.
        scores = x.new_zeros(n, m)
        for component in range(len(self.query)):
            scores += queries[:, component, None] * keys[None, :, component]

        i = torch.arange(m - n, m, device=x.device)[:, None]
        j = torch.arange(m, device=x.device)[None, :]
        scores.masked_fill_(j > i, -torch.inf)  # no position attends to the future

        best = scores.amax(dim=1, keepdim=True)  # (n, 1)
        if self.temperature is None:  # average-hard attention, Eq. 8.1: all positions with the largest score share evenly
            shares = (scores == best).to(x.dtype)
        else:  # softmax: a share of e^(score/τ)
            shares = ((scores - best) / self.temperature).exp()
        shares = self.shares(shares)  # (n, m)
        mean = (shares @ values) / shares.sum(dim=1, keepdim=True)  # (n, d_v)
        return mean @ self.output.T


class FeedForward(nn.Module):
    """A linear map, ReLU, a linear map."""

    def __init__(self, matrices: dict[str, Tensor]) -> None:
        super().__init__()
        self.input = frozen(matrices["input"])  # (hidden, width)
        self.input_bias = frozen(matrices["input_bias"])  # (hidden, 1)
        self.output = frozen(matrices["output"])  # (width, hidden)
        self.output_bias = frozen(matrices["output_bias"])  # (width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, which is added to the stream: x (n, width) → (n, width)."""
        hidden = torch.relu(x @ self.input.T + self.input_bias.T)  # (n, hidden)
        return hidden @ self.output.T + self.output_bias.T


class Layer(nn.Module):
    """Attention, possibly without any head, then a feed-forward layer, if there is one; each adds to the stream."""

    def __init__(self, heads: list[Head], feed_forward: FeedForward | None) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        """Return the stream after the layer: x (n, width) → (n, width)."""
        added = [head(x, memory) for head in self.heads]  # all read the stream before any of them writes to it
        for each in added:
            x = x + each
        return x if self.feed_forward is None else x + self.feed_forward(x)


class Decoder(nn.Module):
    """The whole decoder. Hook `embedding` for the stream before layer 1, and ``layers["3"]`` for the one after layer 3.

    Args:
        names: the contents of `tm2tfr.json`; weights: the matrices by name, as in ``layers.4.heads.0.query``.
        attention: ``average-hard`` or ``softmax``; temperature: τ of softmax, by default the one that `names` recommends.
    """

    def __init__(
        self, names: dict[str, Any], weights: dict[str, Tensor], attention: str = "average-hard", temperature: float = 0
    ) -> None:
        super().__init__()
        if attention not in ("average-hard", "softmax"):
            raise ValueError(f"attention must be average-hard or softmax, not {attention!r}")
        if attention == "softmax" and not temperature and names["temperature"] is None:
            raise ValueError("no temperature is recommended for these weights: give one")
        tau = (temperature or float(names["temperature"])) if attention == "softmax" else None

        def part(name: str) -> dict[str, Tensor]:
            return {path.removeprefix(name): weights[path] for path in weights if path.startswith(name)}

        layers = {}
        for layer in names["layers"]:
            path = f"layers.{layer['layer']}."
            heads = [Head(part(f"{path}heads.{k}."), tau) for k in range(len(layer["heads"]))]
            feed_forward = part(f"{path}feed_forward.")
            layers[str(layer["layer"])] = Layer(heads, FeedForward(feed_forward) if feed_forward else None)
        self.token_embedding = frozen(weights["token_embedding"])  # (width, vocabulary)
        self.position_embedding = frozen(weights["position_embedding"])  # (width, features)
        self.embedding = nn.Identity()
        self.layers = nn.ModuleDict(layers)
        self.unembedding = frozen(weights["unembedding"])  # (vocabulary, width)
        self.unembedding_bias = frozen(weights["unembedding_bias"])  # (vocabulary, 1)
        self.features: list[str] = names["features"]
        self.vocabulary: list[str] = names["vocabulary"]
        self.bos: str = names["bos"]
        self.stop: list[str] = names["stop"]
        self.positions: int = names["recipe"]["positions"]

    def forward(self, tokens: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the logits after each token: tokens (n,) → (n, vocabulary).

        Args:
            memory: that of the earlier tokens, by default a new one; these tokens are added to it.

        Raises:
            ValueError: for more positions than the weights are made for.
        """
        memory = Memory() if memory is None else memory
        if memory.length + len(tokens) > self.positions:
            raise ValueError(f"{memory.length + len(tokens)} positions, but these weights are for {self.positions}")
        return torch.cat([self._chunk(chunk, memory) for chunk in tokens.split(CHUNK)])

    def _chunk(self, tokens: Tensor, memory: Memory) -> Tensor:
        x = self.embedding(self.embed(tokens, memory.length))
        memory.length += len(tokens)
        for layer in self.layers.values():
            x = layer(x, memory)
        return x @ self.unembedding.T + self.unembedding_bias.T

    def embed(self, tokens: Tensor, start: int) -> Tensor:
        """Return the stream before the first layer, for tokens from position `start` on: (n,) → (n, width)."""
        dtype, device = self.token_embedding.dtype, self.token_embedding.device
        i = torch.arange(start, start + len(tokens), dtype=torch.float64)
        features = i.new_empty(len(i), len(self.features))  # (n, features)
        for n, name in enumerate(self.features):
            features[:, n] = feature(name, i)
        features = features.to(device, dtype)
        return self.token_embedding.T[tokens] + features @ self.position_embedding.T

    def encode(self, word: str) -> Tensor:
        """Return the prompt: the tokens of the symbols of `word`, and BOS, which starts the run.

        Raises:
            ValueError: for a symbol that is not in the vocabulary.
        """
        tokens = [*word, self.bos]
        for token in tokens:
            if token not in self.vocabulary:
                raise ValueError(f"{token!r} is not in the vocabulary: use its tokens of one sign")
        return torch.tensor([self.vocabulary.index(token) for token in tokens], device=self.token_embedding.device)

    @torch.inference_mode()
    def generate(self, word: str) -> Iterator[str]:
        """Yield the tokens of the run on `word`, up to the verdict: each has the largest logit.

        Raises:
            ValueError: see `encode` and `forward`; for a run that is too long, after the part that fits.
        """
        tokens, memory = self.encode(word), Memory()
        while True:
            number = int(self(tokens, memory)[-1].argmax())  # of several, the first
            yield self.vocabulary[number]
            if self.vocabulary[number] in self.stop:
                return
            tokens = tokens.new_tensor([number])


def frozen(matrix: Tensor) -> nn.Parameter:
    """Return a matrix that is not trained."""
    return nn.Parameter(matrix, requires_grad=False)


def load(folder: str | Path = ".", attention: str = "average-hard", temperature: float = 0) -> Decoder:
    """Return the decoder whose files are in `folder`; see `Decoder`.

    Raises:
        ValueError: for weights that label a sequence.
    """
    names = json.loads((Path(folder) / "tm2tfr.json").read_text(encoding="utf-8"))
    if "outputs" in names:
        raise ValueError("these weights label a sequence and generate nothing: use labeller.py")
    return Decoder(names, load_file(Path(folder) / "weights.safetensors"), attention, temperature)


def main() -> None:
    """Print the run on a word."""
    parser = argparse.ArgumentParser(description="Run a transformer decoder.")
    parser.add_argument("word", nargs="?", default="", help="the input word; empty by default")
    parser.add_argument("--attention", choices=["average-hard", "softmax"], default="average-hard")
    parser.add_argument("--temperature", type=float, default=0, help="of softmax; by default the recommended one")
    given = parser.parse_args()
    try:
        decoder = load(Path(__file__).parent, given.attention, given.temperature)
        decoder.encode(given.word)
        print(*given.word, decoder.bos, end="", flush=True)
        for token in decoder.generate(given.word):
            print("", token, end="", flush=True)
        print()
    except ValueError as error:
        raise SystemExit(f"\n{error}") from error


if __name__ == "__main__":
    main()
