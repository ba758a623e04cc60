"""GPT-2's forward pass in numpy, written from its definition, with no torch: an answer of its own to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.targets.gpt2.kernels import Numpy
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.targets.gpt2.tensors import Gpt2

Array = NDArray[Any]


def logits(tensors: Mapping[str, Array], gpt2: Gpt2, tokens: Sequence[int], kernel: Numpy | None = None) -> Array:
    """Return the logits at every position: (positions, vocabulary); `kernel` adds up."""
    kernel = kernel or Numpy()
    n, size = len(tokens), gpt2.head_size
    hidden = np.tril(np.ones((n, n), dtype=bool))
    t = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    epsilon = t["wte.weight"].dtype.type(gpt2.recipe.epsilon)

    def norm(x: Array, name: str) -> Array:
        centred = x - kernel.mean(x)
        variance = kernel.mean(centred**2)
        return centred / np.sqrt(variance + epsilon) * t[f"{name}.weight"] + t[f"{name}.bias"]

    def active(x: Array) -> Array:
        if not gpt2.recipe.stock:
            return np.maximum(x, 0)
        return 0.5 * x * (1 + np.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x**3)))

    def attended(q: Array, k: Array, v: Array) -> Array:
        scores = np.where(hidden, kernel.scores(q, k) / np.sqrt(size).astype(q.dtype), -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return kernel.mixed(weights / weights.sum(axis=-1, keepdims=True), v)

    x = t["wte.weight"][list(tokens)] + t["wpe.weight"][:n]
    for layer in range(len(gpt2.decoder.layers)):
        p = f"h.{layer}."
        joined = kernel.product(norm(x, p + "ln_1"), t[p + "attn.c_attn.weight"], t[p + "attn.c_attn.bias"])
        q, k, v = (part.reshape(n, gpt2.heads, size).transpose(1, 0, 2) for part in np.split(joined, 3, axis=1))
        heads = (slice(h, h + 1) for h in range(gpt2.heads))  # one after the other: all of them take much memory
        mixed = np.concatenate([attended(q[h], k[h], v[h]) for h in heads]).transpose(1, 0, 2).reshape(n, -1)
        x = x + kernel.product(mixed, t[p + "attn.c_proj.weight"], t[p + "attn.c_proj.bias"])
        inner = active(kernel.product(norm(x, p + "ln_2"), t[p + "mlp.c_fc.weight"], t[p + "mlp.c_fc.bias"]))
        x = x + kernel.product(inner, t[p + "mlp.c_proj.weight"], t[p + "mlp.c_proj.bias"])
    weights = t["lm_head.weight"].T
    return kernel.product(norm(x, "ln_f"), weights, np.zeros(weights.shape[1], dtype=x.dtype))


def expected(machine: Machine, word: str, positions: int) -> list[Row]:
    """Return the simulator's rows, at most so many."""
    return list(islice(TuringTruth(machine, word).rows_of(Simulation(machine, word, max_steps=positions)), positions))


def wrong(
    gpt2: Gpt2, machine: Machine, word: str, tensors: Mapping[str, Array] | None = None, kernel: Numpy | None = None
) -> list[int]:
    """Return the positions at which the token of maximal logit is not the simulator's."""
    rows = expected(machine, word, gpt2.recipe.positions)
    found = logits(tensors or gpt2.tensors(), gpt2, [gpt2.numbers[str(row.x)] for row in rows], kernel).argmax(axis=-1)
    return [row.i for row, n in zip(rows, found, strict=True) if gpt2.vocabulary[n] != row.y]
