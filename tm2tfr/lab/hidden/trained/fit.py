"""Training: answers, interchanges of variables, and interchanges of the rest, after which answers have to stay.

Interchange intervention training is that of Geiger et al. (2022), "Inducing Causal Structure for Interpretable Neural
Networks"; strictness, that everything outside the variables must leave the answers as they are, is that of Gupta et al.
(2024), "InterpBench". Each step runs a batch of inputs, whose own answers are one part of the loss, and then the runs
into which parts of the first ones are put. The subspaces of variables stay fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tm2tfr.base.errors import DisguiseError
from tm2tfr.contract.model import ModelStage
from tm2tfr.lab.hidden.trained.draws import REST, Interchange, SourceRuns, logits_of, padded
from tm2tfr.lab.hidden.trained.network import Network
from tm2tfr.lab.hidden.trained.start import TrainedPlace, subspaces_of
from tm2tfr.transformer.matrix import Floats
from tm2tfr.transformer.weights import Decoder

EVERY, NOISY = 10, 0.6
LESS_NOISE = "use less noise (--noise, noise=…), or another seed"


@dataclass(frozen=True)
class Fit:
    """How weights are trained.

    Args:
        steps, batch: the number of steps, and of interchanges in each.
        lr: the highest learning rate of Adam; it falls like a cosine.
        warmup: the steps after which it is reached.
        noise: the noise that is added in all, see `Network.disturb`: a part every `EVERY` steps, over the first `NOISY` of
            them, so that training can follow.
    """

    steps: int
    noise: float
    batch: int = 64
    lr: float = 3e-3
    warmup: int = 50

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self.lr * min(1.0, (step + 1) / self.warmup) * 0.5 * (1 + math.cos(math.pi * step / self.steps))

    def noisy(self) -> range:
        """Return the steps before which noise is added; of independent parts the squares add up."""
        return range(0, max(1, int(NOISY * self.steps)), EVERY)


class InterchangePool:
    """Interchanges as tensors."""

    def __init__(
        self, runs: SourceRuns, drawn: Sequence[Interchange], places: Mapping[str, TrainedPlace], dtype: torch.dtype
    ) -> None:
        decoder = runs.decoder
        self.labeller, self.dtype = decoder.labeller, dtype
        self.tokens, self.lengths = _fed([each.tokens for each in drawn])
        self.other, self.other_lengths = _fed([each.other for each in drawn])
        self.wanted = _wanted(decoder, [each.wanted for each in drawn], dtype)
        own = {word: runs.wanted(word, runs.base(word).run) for word in {each.source for each in drawn}}
        self.other_wanted = _wanted(decoder, [own[each.source] for each in drawn], dtype)
        onto = dict.fromkeys((one.variable, one.stage) for each in drawn for one in each.exchanges)
        number = {place: n for n, place in enumerate(onto)}
        self.onto = torch.tensor(np.array([_onto(runs, places, *each) for each in onto]), dtype=dtype)
        self.stages = list(runs.stages)
        rows = [
            [(self.stages.index(one.stage), number[one.variable, one.stage], one.to, one.source) for one in each.exchanges]
            for each in drawn
        ]
        most = max(map(len, rows))
        self.exchanges = torch.tensor([[*row, *[(-1, 0, 0, 0)] * (most - len(row))] for row in rows])  # (B, most, 4)

    def __len__(self) -> int:
        return len(self.tokens)


def _onto(runs: SourceRuns, places: Mapping[str, TrainedPlace], variable: str, stage: ModelStage) -> Floats:
    """Return the projection onto a variable, or onto the rest after a stage: (width, width).

    Measuring has its own, so that neither can hide a mistake of the other.
    """
    order, width = runs.stages.index, next(iter(places.values())).basis.shape[1]
    names = subspaces_of(runs).get(variable, tuple(places))
    found = np.zeros((width, width))
    for place in (places[name] for name in names):
        if variable != REST or (place.since is not None and order(place.since) <= order(stage)):
            found = found + place.basis.T @ place.basis
    return np.eye(width) - found if variable == REST else found


def _fed(rows: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
    return torch.tensor(padded([np.array(row) for row in rows], 0)), torch.tensor([len(row) for row in rows])


def _wanted(decoder: Decoder, rows: Sequence[Floats], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the targets and whether each counts: logits of a sequence model, otherwise tokens."""
    if not decoder.labeller:
        tokens = padded([row[0] for row in rows], np.nan)
        return torch.tensor(np.nan_to_num(tokens)).long(), torch.tensor(~np.isnan(tokens))
    both = [logits_of(decoder, row) for row in rows]
    found = [torch.tensor(padded([each[n] for each in both], 0.0).transpose(0, 2, 1), dtype=dtype) for n in (0, 1)]
    return found[0], found[1]


def fit(
    network: Network, pool: InterchangePool, options: Fit, chance: np.random.Generator, progress: Callable[[int], None]
) -> None:
    """Add noise to weights and train them, in place, on one thread; `progress` is called with the number of steps done.

    Raises:
        DisguiseError: if the loss or a weight is not finite.
    """
    trained = list(network.parameters())
    noisy = options.noisy()
    optimiser = torch.optim.Adam(trained, lr=options.lr)
    with _one_thread():
        for step, which in enumerate(_batches(len(pool), options, chance)):
            for group in optimiser.param_groups:
                group["lr"] = options.rate(step)
            if step in noisy:
                network.disturb(options.noise / math.sqrt(len(noisy)), chance)
            optimiser.zero_grad()
            loss = _loss(network, pool, which)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            if not math.isfinite(error := float(loss.detach())):
                raise DisguiseError(f"training fails: the loss of step {step + 1:,} is {error}: {LESS_NOISE}")
            progress(step + 1)
    if not all(bool(each.isfinite().all()) for each in trained):
        raise DisguiseError(f"training fails: a weight is not a finite number: {LESS_NOISE}")


def _batches(number: int, options: Fit, chance: np.random.Generator) -> Iterator[Tensor]:
    """Yield the numbers of the interchanges of each step, all of them in each epoch."""
    size, order = min(options.batch, number), np.zeros(0, dtype=np.int64)
    for _ in range(options.steps):
        if len(order) < size:
            order = chance.permutation(number)
        yield torch.tensor(order[:size])
        order = order[size:]


def _loss(network: Network, pool: InterchangePool, which: Tensor) -> Tensor:
    kept: dict[ModelStage, Tensor] = {}

    def keep(stage: ModelStage, x: Tensor) -> Tensor:
        kept[stage] = x
        return x

    exchanges = pool.exchanges[which]

    def exchange(stage: ModelStage, x: Tensor) -> Tensor:
        row, slot = (exchanges[:, :, 0] == pool.stages.index(stage)).nonzero(as_tuple=True)
        if not len(row):
            return x
        onto, to, source = exchanges[row, slot, 1:].unbind(dim=1)
        moved = torch.einsum("kij,kj->ki", pool.onto[onto], kept[stage][row, source] - x[row, to])
        return x.index_put((row, to), moved, accumulate=True)

    other, tokens = _cut(pool.other, pool.other_lengths, which), _cut(pool.tokens, pool.lengths, which)
    plain = _error(pool, network(*other, keep), pool.other_wanted, which)
    return plain + _error(pool, network(*tokens, exchange), pool.wanted, which)


def _cut(tokens: Tensor, lengths: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
    own = lengths[which]
    return tokens[which, : int(own.max())], own


def _error(pool: InterchangePool, logits: Tensor, wanted: tuple[Tensor, Tensor], which: Tensor) -> Tensor:
    """Return the loss of logits, (B, L, answers): cross-entropy of tokens, and squared errors of a labeller's logits."""
    length = logits.shape[1]
    right, counts = (each[which, :length] for each in wanted)
    if pool.labeller:
        return ((logits - right).square() * counts).sum() / counts.sum() * logits.shape[2]
    return functional.cross_entropy(logits[counts], right[counts])


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
