"""Greedy answers, and how many are exactly right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tm2tfr.lab.training.examples import Examples, Sequences, TokenArray

AT_ONCE = 1_000
"""So many sequences are answered at once."""


class Matches(NamedTuple):
    """Shares of sequences, from 0 to 1.

    Args:
        answer: those whose answer is exactly right: of labels, all labels that count.
        scored: those of which every scored token is right.
    """

    answer: float
    scored: float


def exact_matches(model: nn.Module, examples: Examples, some: Sequences | None = None) -> Matches:
    """Return how many greedy answers are exactly right, on the unseen examples or on `some`.

    Every token after the prompt is the model's own, also the intermediate steps: as many are generated as the right
    sequence has.
    """
    some = examples.test if some is None else some
    right = np.zeros(2)
    for start in range(0, len(some), AT_ONCE):
        part = some.some(slice(start, start + AT_ONCE))
        wrong = answered(model, part, labels=examples.labels) != part.wanted
        right += [np.sum(~np.any(wrong & part.answer, axis=1)), np.sum(~np.any(wrong & part.scored, axis=1))]
    return Matches(*(float(share) for share in right / len(some)))


@torch.no_grad()
def answered(model: nn.Module, some: Sequences, *, labels: bool = False) -> TokenArray:
    """Return what a model answers at each position: (N, L); with `labels` in one go, otherwise token by token.

    A token that it answers from the last one of the prompt on is fed next. A model with `memory` and `following`, see
    `tm2tfr.lab.training.model.Transformer`, computes each position once; any other one from the start for each token.
    """
    was_training = model.training
    model.eval()
    try:
        fed = torch.tensor(some.fed, device=_device(model))
        if labels:
            return _greedy(model(fed))
        return np.concatenate(list(_generated(model, fed, some)), axis=1)
    finally:
        model.train(was_training)


def _generated(model: Any, fed: Tensor, some: Sequences) -> Iterator[TokenArray]:
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


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
