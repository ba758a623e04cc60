"""The training loop beside a plain one in PyTorch, of the same model: ``python benchmarks/training.py``.

The plain loop is nanoGPT's (Karpathy, 2022): all positions to the logits, `scaled_dot_product_attention`, AdamW in one
kernel, gradients clipped to norm 1, one thread, the same batches. It is timed as torch comes, and with the setting by
which ours multiplies (``_products`` in `tm2tfr.lab.training.loop`). All are timed in turns of a few steps, by the
processor's clock; what is shown is the median over the turns, and the median of their ratios.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tm2tfr.lab.training.compiled import build
from tm2tfr.lab.training.examples import Examples, adder_examples
from tm2tfr.lab.training.loop import train_model
from tm2tfr.lab.training.model import exact_matches
from tm2tfr.lab.training.record import ModelOptions, TrainingOptions

SHAPE = ModelOptions(width=128, positions="learned", spread=0.02)
LEAST = 0.9
TURNS, STEPS = 7, 6
"""The number of turns, and the steps that are timed in each; one step before them is not."""


class Block(nn.Module):
    """A layer of nanoGPT, with biases and without dropout."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream after this layer: (batch, positions, width)."""
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class Plain(nn.Module):
    """The same model: one layer, learned positions, an output of its own."""

    def __init__(self, vocabulary: int, positions: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary + 1, SHAPE.width), nn.Embedding(positions, SHAPE.width)
        self.h = nn.ModuleList(Block(SHAPE.width, SHAPE.heads) for _ in range(SHAPE.layers))
        self.ln_f, self.lm_head = nn.LayerNorm(SHAPE.width), nn.Linear(SHAPE.width, vocabulary, bias=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the loss: both (batch, positions)."""
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)


def plain_steps(model: Plain, examples: Examples, batch: int) -> Iterator[float]:
    """Yield the processor's time after each step of the plain loop."""
    some = examples.train
    fed, wanted = torch.tensor(some.fed), torch.tensor(np.where(some.scored, some.wanted, -1))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    while True:
        order = torch.randperm(len(fed))
        for chosen in order[: len(fed) // batch * batch].split(batch):
            loss = model(fed[chosen], wanted[chosen])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            loss.item()
            yield time.process_time()


def plain_turn(steps: Iterator[float], precision: str) -> float:
    """Return the seconds of a step of the plain loop, with this precision of torch's products."""
    torch.set_float32_matmul_precision(precision)
    began, *_, ended = (next(steps) for _ in range(STEPS + 1))
    torch.set_float32_matmul_precision("highest")
    return (ended - began) / STEPS


def own_turn(model: nn.Module, examples: Examples, batch: int) -> float:
    """Return the seconds of a step of `train_model`."""
    after: list[float] = []
    options = TrainingOptions(steps=STEPS + 1, batch=batch, lr=1e-3)
    train_model(model, examples, options, progress=lambda *_: after.append(time.process_time()))
    return (after[-1] - after[0]) / STEPS


def evaluation(model: nn.Module, examples: Examples) -> float:
    """Return the seconds of an evaluation on 1,000 unseen examples."""
    began = time.process_time()
    exact_matches(model, examples)
    return time.process_time() - began


def compare(bits: int, batch: int) -> None:
    """Print a line for one size."""
    examples = adder_examples(bits=bits, test_examples=1)
    tested = adder_examples(bits=bits, examples=1, test_examples=1_000)
    ours, plain = build(SHAPE, examples), Plain(len(examples.vocabulary), examples.longest)
    theirs = plain_steps(plain, examples, batch)
    turns = []
    for turn in range(TURNS + 1):
        times = own_turn(ours, examples, batch), plain_turn(theirs, "highest"), plain_turn(theirs, "medium")
        if turn:  # the first one warms up
            turns.append(times)
    tokens = batch * examples.longest
    own, plain_speed, _ = (tokens / median(some) for some in zip(*turns, strict=True))
    ratio, alike = (median(times[n] / times[0] for times in turns) for n in (1, 2))
    share = evaluation(ours, tested) / (250 * tokens / own)
    print(f"  n = {bits:<3} batch {batch:<4}{own:>12,.0f} tokens/s, plain {plain_speed:>10,.0f}", end="")
    print(f"  ours ÷ plain {ratio:>5.2f}, both by oneDNN {alike:>5.2f}  at least {LEAST}", end="")
    print(f"  evaluation ÷ 250 steps {share:.3f}", flush=True)


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    print(f"one layer, one head, width {SHAPE.width}, torch {torch.__version__}, one thread")
    for bits in (8, 16, 32):
        for batch in (64, 128):
            compare(bits, batch)


if __name__ == "__main__":
    main()
