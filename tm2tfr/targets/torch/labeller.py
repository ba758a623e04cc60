"""A transformer that labels a sequence, in plain PyTorch: ``python labeller.py hello`` prints the labels of hello.

It needs torch, safetensors, `model.py`, and two files next to it: `weights.safetensors`, the matrices, and `tm2tfr.json`,
the names of everything. Nothing here knows what it should compute: change a weight, and it computes something else.

The whole sequence is there at once. What a head sees of it from position i its mask says: ``future`` j ≤ i, ``past`` j ≥ i,
``none`` every position. Shapes, where … is nothing, or the batch, of sequences of one length:

    n             positions of a sequence                    width    the residual stream
    positions     the most that there are                    d_k      queries and keys of a head
    vocabulary    tokens; one token is one number            d_v      values of a head
    answers       the logits of all outputs, side by side
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from tm2tfr.targets.torch.model import FeedForward, feature, frozen


def computed(steps: list[Any], n: int) -> Tensor:
    """Return an expression in the position i and the length n at every position: float64, (n,).

    Its steps are those of a stack machine. Each value is a fraction of two whole numbers, so that nothing is rounded but
    the last division.

    Args:
        steps: whole numbers, ``"i"``, ``"n"`` and operators, as in ``["i", "n", "/"]``; ``["^", 2]``, ``["in", 1, 4]``.
    """
    i = torch.arange(n)
    one, stack = torch.ones_like(i), list[tuple[Tensor, Tensor]]()
    for step in steps:
        if isinstance(step, int) or (isinstance(step, str) and step in "in"):
            stack.append((i if step == "i" else one * (n if step == "n" else step), one))
            continue
        (c, d), (a, b) = stack.pop(), (one, one) if isinstance(step, list) or step == "!" else stack.pop()
        match step:
            case ["^", power]:
                stack.append((c**power, d**power))
            case ["in", *among]:
                stack.append((sum((c == d * each for each in among), one < 0).long(), one))
            case "!":
                stack.append(((c == 0).long(), one))
            case "+" | "-":
                stack.append((a * d + (c if step == "+" else -c) * b, b * d))
            case "*":
                stack.append((a * c, b * d))
            case "/":
                stack.append((a * d * c.sign(), b * c.abs()))
            case "%":  # of whole numbers; nothing is left of a division by 0
                stack.append((torch.where(c == 0, a, a % torch.where(c == 0, one, c)), one))
            case "&" | "|":
                both = (a != 0) & (c != 0) if step == "&" else (a != 0) | (c != 0)
                stack.append((both.long(), one))
            case _:
                stack.append((RELATIONS[step](a * d, c * b).long(), one))
    above, below = stack.pop()
    return above.double() / below.double()


RELATIONS = {"=": torch.eq, "!=": torch.ne, "<": torch.lt, "<=": torch.le, ">": torch.gt, ">=": torch.ge}


class WholeHead(nn.Module):
    """One attention head. Hook `shares`: its output, (…, n, n), is the attention pattern.

    Args:
        inverse: the steps of 1/τ, see `computed`; it times the scores at position i. None: it is 1.
    """

    def __init__(
        self, matrices: dict[str, Tensor], mask: str, temperature: float | None, inverse: list[Any] | None
    ) -> None:
        super().__init__()
        self.query = frozen(matrices["query"])  # (d_k, width)
        self.key = frozen(matrices["key"])  # (d_k, width)
        self.value = frozen(matrices["value"])  # (d_v, width)
        self.output = frozen(matrices["output"])  # (width, d_v)
        self.mask = mask
        self.temperature = temperature
        self.inverse = inverse
        self.shares = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return the head's output, which is added to the stream: x (…, n, width) → (…, n, width)."""
        queries, keys, values = x @ self.query.T, x @ self.key.T, x @ self.value.T

        n = x.shape[-2]
        scores = x.new_zeros(*x.shape[:-1], n)
        for component in range(len(self.query)):  # each product and each sum rounded once, in this order
            scores += queries[..., :, None, component] * keys[..., None, :, component]
        if self.inverse is not None:
            scores = scores * computed(self.inverse, n).to(x)[:, None]

        i, j = torch.arange(n, device=x.device)[:, None], torch.arange(n, device=x.device)[None, :]
        if self.mask == "future":
            scores = scores.masked_fill(j > i, -torch.inf)
        if self.mask == "past":
            scores = scores.masked_fill(j < i, -torch.inf)

        best = scores.amax(dim=-1, keepdim=True)
        if self.temperature is None:  # average-hard attention: all positions with the largest score share evenly
            shares = (scores == best).to(x.dtype)
        else:  # softmax: a share of e^(score/τ)
            shares = ((scores - best) / self.temperature).exp()
        shares = self.shares(shares)
        mean = (shares @ values) / shares.sum(dim=-1, keepdim=True)  # (…, n, d_v)
        return mean @ self.output.T


class WholeLayer(nn.Module):
    """Attention, possibly without any head, then a feed-forward layer, if there is one; each adds to the stream."""

    def __init__(self, heads: list[WholeHead], feed_forward: FeedForward | None) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream after the layer: x (…, n, width) → (…, n, width)."""
        added = [head(x) for head in self.heads]  # all read the stream before any of them writes to it
        for each in added:
            x = x + each
        return x if self.feed_forward is None else x + self.feed_forward(x)


class Passes(nn.Module):
    """Layers that are run again, in passes: each sequence for as many as it needs.

    Args:
        until: (1, width); a sequence has its last pass when this times the stream is 1/2 or more at every position.
        times: the most passes; None: `MOST_PASSES`, after which an error is raised.
    """

    def __init__(self, layers: list[int], until: Tensor | None, times: int | None) -> None:
        super().__init__()
        self.first, self.last = layers
        self.times = times
        self.until = None if until is None else frozen(until)

    def forward(self, x: Tensor, layers: list[WholeLayer]) -> Tensor:
        """Return the stream after the last pass: x (…, n, width) → (…, n, width).

        Raises:
            ValueError: if it does not end.
        """
        going = torch.ones(x.shape[:-2], dtype=torch.bool, device=x.device)
        for _ in range(self.times or MOST_PASSES):
            passed = x
            for layer in layers:
                passed = layer(passed)
            x = torch.where(going[..., None, None], passed, x)
            if self.until is not None:
                going = going & ~(x @ self.until.T >= 0.5).all(dim=-1).all(dim=-1)
                if not going.any():
                    return x
        if self.times is None:
            raise ValueError(f"the loop over layers {self.first} to {self.last} has not ended after {MOST_PASSES} passes")
        return x


MOST_PASSES = 10_000


class Labeller(nn.Module):
    """The whole model. Hook `embedding` for the stream before layer 1, and ``layers["3"]`` for the one after layer 3.

    A hook of a layer in a loop is called in every pass.

    Args:
        names: the contents of `tm2tfr.json`; weights: the matrices by name, as in ``layers.4.heads.0.query``.
        attention: ``average-hard`` or ``softmax``, for weights that are made for the former; temperature: τ of softmax.
    """

    def __init__(
        self, names: dict[str, Any], weights: dict[str, Tensor], attention: str = "average-hard", temperature: float = 0
    ) -> None:
        super().__init__()
        if attention not in ("average-hard", "softmax"):
            raise ValueError(f"attention must be average-hard or softmax, not {attention!r}")
        if (attention == "softmax") != (temperature > 0):
            raise ValueError("softmax attention has a temperature, and nothing else has: give both, for example 0.01")

        def part(name: str) -> dict[str, Tensor]:
            return {path.removeprefix(name): weights[path] for path in weights if path.startswith(name)}

        layers = {}
        self.expressions: dict[str, list[Any]] = names.get("expressions", {})
        for layer in names["layers"]:
            path = f"layers.{layer['layer']}."
            heads = [
                WholeHead(
                    part(f"{path}heads.{head['head']}."),
                    head.get("mask", "future"),
                    1.0 if head.get("weighting") == "softmax" else temperature or None,
                    self.expressions.get(head.get("inverse_temperature", "1")),
                )
                for head in layer["heads"]
            ]
            feed_forward = part(f"{path}feed_forward.")
            layers[str(layer["layer"])] = WholeLayer(heads, FeedForward(feed_forward) if feed_forward else None)
        self.token_embedding = frozen(weights["token_embedding"])  # (width, vocabulary)
        self.position_embedding = frozen(weights["position_embedding"])  # (width, features)
        if "position_table" in weights:
            self.position_table = frozen(weights["position_table"])  # (width, positions)
        self.embedding = nn.Identity()
        self.layers = nn.ModuleDict(layers)
        self.loops = nn.ModuleDict(
            {
                str(n): Passes(loop["layers"], weights.get(f"loops.{n}.until"), loop["times"])
                for n, loop in enumerate(names.get("loops", []), start=1)
            }
        )
        self.unembedding = frozen(weights["unembedding"])  # (answers, width)
        self.unembedding_bias = frozen(weights["unembedding_bias"])  # (answers, 1)
        self.features: list[str] = names["features"]
        self.vocabulary: list[str] = names["vocabulary"]
        self.outputs: list[dict[str, Any]] = names["outputs"]
        self.positions: int = names["recipe"]["positions"]

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of every output at every position: tokens (…, n) → (…, n, answers).

        Raises:
            ValueError: for more positions than the weights are made for, or a loop that does not end.
        """
        if tokens.shape[-1] > self.positions:
            raise ValueError(f"{tokens.shape[-1]} positions, but these weights are for {self.positions}")
        x = self.embedding(self.embed(tokens))
        layers, done = list(self.layers.values()), 0
        for loop in self.loops.values():
            for layer in layers[done : loop.first - 1]:
                x = layer(x)
            x = loop(x, layers[loop.first - 1 : loop.last])
            done = loop.last
        for layer in layers[done:]:
            x = layer(x)
        return x @ self.unembedding.T + self.unembedding_bias.T

    def embed(self, tokens: Tensor) -> Tensor:
        """Return the stream before the first layer: tokens (…, n) → (…, n, width)."""
        n, embedding = tokens.shape[-1], self.token_embedding
        i = torch.arange(n, dtype=torch.float64)
        columns = [
            computed(self.expressions[name], n) if name in self.expressions else feature(name, i) for name in self.features
        ]
        features = torch.stack(columns, dim=1) if columns else i.new_zeros(n, 0)  # (n, features)
        places = features.to(embedding.device, embedding.dtype) @ self.position_embedding.T
        if hasattr(self, "position_table"):
            places = places + self.position_table.T[:n]
        return embedding.T[tokens] + places

    def encode(self, word: str | Sequence[str]) -> Tensor:
        """Return the tokens of a word: one per character, or those of a list, which may be written in JSON.

        Raises:
            ValueError: if it is empty, or for a token that is not in the vocabulary.
        """
        tokens = listed(word)
        for token in tokens:
            if token not in self.vocabulary:
                raise ValueError(f"{token!r} is not in the vocabulary: use its tokens")
        if not tokens:
            raise ValueError("the sequence is empty: give at least one token")
        return torch.tensor([self.vocabulary.index(token) for token in tokens], device=self.token_embedding.device)

    @torch.inference_mode()
    def labels(self, word: str | Sequence[str]) -> dict[str, list[Any]]:
        """Return what each output says at every position: a label (that of the largest logit) or a number.

        Raises:
            ValueError: see `encode` and `forward`.
        """
        logits, found = self(self.encode(word)), {}
        for output in self.outputs:
            own = logits[:, slice(*output["logits"])]  # (n, labels)
            labels = output["labels"]
            found[output["name"]] = own[:, 0].tolist() if labels is None else [labels[int(n)] for n in own.argmax(dim=-1)]
        return found


def listed(word: str | Sequence[str]) -> list[str]:
    """Return the tokens of a word as text; see `Labeller.encode`."""
    if not isinstance(word, str):
        return list(word)
    try:
        found = json.loads(word, parse_float=Fraction) if word.startswith("[") else None
    except ValueError:
        found = None
    if not isinstance(found, list):
        return list(word)
    return [{True: "T", False: "F"}[token] if isinstance(token, bool) else str(token) for token in found]


def load(folder: str | Path = ".", attention: str = "average-hard", temperature: float = 0) -> Labeller:
    """Return the model whose files are in `folder`; see `Labeller`."""
    names = json.loads((Path(folder) / "tm2tfr.json").read_text(encoding="utf-8"))
    return Labeller(names, load_file(Path(folder) / "weights.safetensors"), attention, temperature)


def main() -> None:
    """Print the labels of a word."""
    parser = argparse.ArgumentParser(description="Label a sequence by a transformer.")
    parser.add_argument("word", help="a token per character, or a JSON list of tokens")
    parser.add_argument("--attention", choices=["average-hard", "softmax"], default="average-hard")
    parser.add_argument("--temperature", type=float, default=0, help="of softmax")
    given = parser.parse_args()
    try:
        labeller = load(Path(__file__).parent, given.attention, given.temperature)
        for name, labels in labeller.labels(given.word).items():
            print(f"{name}:", *labels)
    except ValueError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
