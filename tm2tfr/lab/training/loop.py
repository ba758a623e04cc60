"""The training loop: any torch module, any examples; seeded, evaluated on unseen examples, resumable."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tm2tfr.base.errors import TrainingError
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.line.folder import prepare
from tm2tfr.lab.line.pool import versions
from tm2tfr.lab.training.checkpoint import Checkpoint, read_checkpoint, read_weights, write_checkpoint, write_weights
from tm2tfr.lab.training.examples import Examples, Sequences
from tm2tfr.lab.training.made_on import made_on
from tm2tfr.lab.training.model import exact_matches
from tm2tfr.lab.training.record import (
    ALL_STEPS,
    CHECKPOINT,
    INTERRUPTED,
    RIGHT,
    RUN,
    SPEC_FILE,
    TrainingOptions,
    TrainingRun,
    load_run,
    plain,
)

LOSSES_EVERY = 50
"""The record has the mean loss of this many steps at a time."""

TrainingProgress = Callable[[int, int, float, float | None], None]
"""Called after each step with the number of steps done of all, its loss, the latest exact match or None."""


def train_model(
    model: nn.Module,
    examples: Examples,
    options: TrainingOptions | None = None,
    folder: str | Path | None = None,
    *,
    about: PlainData | None = None,
    resume: bool = False,
    progress: TrainingProgress | None = None,
    stop: Callable[[], bool] | None = None,
) -> TrainingRun:
    """Train any torch module on any examples, in place, and return the record of the run.

    Each step takes a batch of the training examples, in an order that the seed and the epoch determine, and minimises
    the cross-entropy at the scored positions by AdamW, with a learning rate that falls like a cosine over all steps. Every
    `evaluate_every` steps, greedy answers to unseen examples are compared with the right ones.

    With one thread on a CPU, the same model, examples and options have the same losses to the last bit, on the same
    machine; so has a run that is interrupted and resumed, wherever it was interrupted.

    Args:
        model: called with tokens (batch, positions), it returns logits (batch, positions, vocabulary) or, if its
            ``forward`` has a parameter ``first``, (batch, positions - first, vocabulary) for ``model(tokens, first)``.
            Only parameters that require a gradient are trained. The number ``len(examples.vocabulary)`` is padding.
        options: by default those of `TrainingOptions`.
        folder: the folder for the record, the weights and, until the end, a checkpoint; it may exist. None: not saved.
        about: the description of the model in the record, as plain data.
        resume: go on with the run in `folder`, from its checkpoint; a finished run is returned, with its weights loaded.
            If there is nothing in the folder yet, begin.
        progress: called after each step.
        stop: asked after each step whether to save the run and end it as interrupted.

    Raises:
        TrainingError: if the folder has a run and `resume` is not set, the run there is another one or damaged, a loss is
            not finite, or the device is missing.
        OutputError: if the folder cannot be written.
    """
    options = options or TrainingOptions()
    device = _device(options)
    run = _begun(model, examples, options, None if folder is None else Path(folder), about or {})
    if run.folder is not None:
        prepare(run.folder)
    with _apart(options):
        state = _State(model.to(device), options)
        there = _found(run, resume=resume)
        if there is not None and there.finished:
            read_weights(there, model)
            _end_checkpoint(there)
            return there
        if there is not None:
            elsewhere = tuple(place for place in run.made_on if place not in there.made_on)
            run = replace(_resumed(there, state), made_on=there.made_on + elsewhere)
        return _carried_out(run, state, examples, progress, stop)


@dataclass
class _State:
    """What changes from step to step, and is in a checkpoint."""

    model: nn.Module
    options: TrainingOptions
    step: int = 0
    sums: list[float] = field(default_factory=list)
    """The losses since the last pair of the record, and `since` those since the last evaluation."""
    since: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        trained = [each for each in self.model.parameters() if each.requires_grad]
        if not trained:
            raise TrainingError("the model has no parameter to train: let some of them require a gradient")
        groups = [
            {"params": [each for each in trained if each.ndim >= 2], "weight_decay": self.options.weight_decay},
            {"params": [each for each in trained if each.ndim < 2], "weight_decay": 0.0},
        ]
        self.trained, self.shortened = trained, "first" in signature(self.model.forward).parameters
        self.optimiser = torch.optim.AdamW(
            [group for group in groups if group["params"]], lr=self.options.lr, betas=self.options.betas, fused=True
        )

    def rate(self) -> float:
        """Return the learning rate of the next step."""
        warmup, steps = self.options.warmup, max(1, self.options.steps)
        if self.step < warmup:
            return self.options.lr * (self.step + 1) / warmup
        return self.options.lr * 0.5 * (1 + math.cos(math.pi * self.step / steps))


def _carried_out(
    run: TrainingRun,
    state: _State,
    examples: Examples,
    progress: TrainingProgress | None,
    stop: Callable[[], bool] | None,
) -> TrainingRun:
    """Take steps until the run ends, and evaluate the model."""
    options, clock = state.options, _Clock(run)
    batches = _Batches(examples.train, options, _device(options))
    tested = examples.test.some(slice(0, options.evaluated))
    while state.step < options.steps:
        loss = _stepped(state, *batches.of(state.step))
        run = _noted(run, state, loss)
        if progress is not None:
            progress(state.step, options.steps, loss, run.evaluations[-1][1] if run.evaluations else None)
        if state.step % options.evaluate_every == 0 and state.step < options.steps:
            matches = exact_matches(state.model, examples, tested)
            run = replace(run, evaluations=(*run.evaluations, (state.step, *matches[:2])))
            enough = matches.answer == 1 and float(np.mean(state.since)) < options.stop_loss
            state.since.clear()
            if enough:
                return _ended(run, state, examples, clock, RIGHT)
            _saved(clock.told(run), state)
        if stop is not None and stop():
            run = clock.told(run)
            _saved(run, state)
            return run
    return _ended(run, state, examples, clock, ALL_STEPS)


def _stepped(state: _State, fed: Tensor, wanted: Tensor, first: int) -> float:
    """Take one step, and return its loss."""
    for group in state.optimiser.param_groups:
        group["lr"] = state.rate()
    state.model.train()
    state.optimiser.zero_grad()
    with _products(fed.device):
        logits = state.model(fed, first) if state.shortened else state.model(fed)[:, first:]
        loss = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-1)
        loss.backward()
    if state.options.clip:
        nn.utils.clip_grad_norm_(state.trained, state.options.clip)
    state.optimiser.step()
    value = float(loss.detach())
    state.step += 1
    if not math.isfinite(value):
        raise TrainingError(f"the loss of step {state.step:,} is {value}: use a lower learning rate")
    return value


@contextmanager
def _products(device: torch.device) -> Iterator[None]:
    """Let oneDNN multiply the matrices of a step on processors where that is still in float32.

    MKL, which torch asks otherwise, takes twice as long on AMD's. What the setting permits, rounding to bfloat16, oneDNN
    does where there are AMX tiles. Evaluations are left to MKL: for the single rows of generating, oneDNN takes four times
    as long.
    """
    capable = getattr(torch.cpu, "get_capabilities", None)
    if device.type != "cpu" or capable is None or capable().get("amx_tile", True):
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _noted(run: TrainingRun, state: _State, loss: float) -> TrainingRun:
    """Return the record with a step's loss."""
    state.sums.append(loss)
    state.since.append(loss)
    run = replace(run, steps=state.step)
    if state.step % LOSSES_EVERY == 0 or state.step == state.options.steps:
        run = replace(run, losses=(*run.losses, (state.step, float(np.mean(state.sums)))))
        state.sums.clear()
    return run


def _ended(run: TrainingRun, state: _State, examples: Examples, clock: _Clock, why: str) -> TrainingRun:
    """Evaluate the model on all unseen examples, and keep the run."""
    matches = exact_matches(state.model, examples)
    evaluations = tuple(each for each in run.evaluations if each[0] != state.step)
    run = replace(
        run,
        evaluations=(*evaluations, (state.step, *matches[:2])),
        exact_match=matches.answer,
        every_token=matches.scored,
        token_accuracy=matches.tokens,
        ended=why,
    )
    if run.folder is None:
        return clock.told(run)
    run = clock.told(replace(run, weights_sha256=write_weights(run.folder, state.model)))
    run.write()
    _end_checkpoint(run)
    return run


def _end_checkpoint(run: TrainingRun) -> None:
    """Remove the checkpoint of a finished run: it may have been killed after writing its record."""
    if run.folder is not None:
        (run.folder / CHECKPOINT).unlink(missing_ok=True)


class _Batches:
    """The batches of all steps."""

    def __init__(self, some: Sequences, options: TrainingOptions, device: torch.device) -> None:
        wanted = np.where(some.scored, some.wanted, -1)
        self._fed, self._wanted = torch.tensor(some.fed, device=device), torch.tensor(wanted, device=device)
        self._size, self._seed, self._first = min(options.batch, len(some)), options.seed, some.first
        self._lengths = np.sum(some.fed != some.pad, axis=1)
        self._epoch, self._order = -1, np.zeros(0, dtype=np.int64)

    def of(self, step: int) -> tuple[Tensor, Tensor, int]:
        """Return the tokens fed and the targets of a step, (batch, positions) each, and the first target's position."""
        each = len(self._fed) // self._size
        epoch, place = divmod(step, each)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, np.random.default_rng([self._seed, epoch]).permutation(len(self._fed))
        which = self._order[place * self._size : (place + 1) * self._size]
        longest, chosen = int(self._lengths[which].max()), torch.from_numpy(which)
        return self._fed[chosen, :longest], self._wanted[chosen, self._first : longest], self._first


class _Clock:
    """The time that a run takes from here on, and the time that it took before."""

    def __init__(self, run: TrainingRun) -> None:
        self._before = run.seconds, run.cpu_seconds
        self._began = time.perf_counter(), time.process_time()

    def told(self, run: TrainingRun) -> TrainingRun:
        """Return the record with the times so far."""
        seconds, cpu = (
            now - began for now, began in zip((time.perf_counter(), time.process_time()), self._began, strict=True)
        )
        return replace(run, seconds=self._before[0] + seconds, cpu_seconds=self._before[1] + cpu)


def _begun(
    model: nn.Module, examples: Examples, options: TrainingOptions, folder: Path | None, about: PlainData
) -> TrainingRun:
    """Return the record of a run before its first step."""
    sizes = [(each.numel(), each.requires_grad) for each in model.parameters()]
    return TrainingRun(
        model=dict(about),
        data=examples.as_dict(),
        options=plain(options),
        versions=versions(("numpy", "torch", "transformers")),
        parameters=sum(size for size, _ in sizes),
        trained=sum(size for size, trained in sizes if trained),
        losses=(),
        evaluations=(),
        exact_match=None,
        every_token=None,
        steps=0,
        ended=INTERRUPTED,
        base_rate=examples.base_rate,
        made_on=(made_on(_device(options)),),
        folder=folder,
    )


def _found(run: TrainingRun, *, resume: bool) -> TrainingRun | None:
    """Return the run that the folder has, finished or with a checkpoint; None if it has none.

    Raises:
        TrainingError: if it is not to be resumed, or is another run.
    """
    folder = run.folder
    if folder is None or not ((folder / RUN).exists() or (folder / CHECKPOINT).exists()):
        return None
    if not resume:
        raise TrainingError(f"{folder}: there is a training run here: resume it with --resume, or choose another folder")
    there = load_run(folder) if (folder / RUN).exists() else None
    if there is None or not there.finished:
        there = read_checkpoint(folder).run
    for what in ("model", "data", "options", "versions"):
        before, now = dict(getattr(there, what)), json.loads(json.dumps(getattr(run, what)))
        for record in (before, now):
            record.pop(SPEC_FILE, None)  # the same data may be named in another way
        if before != now:
            other = ", ".join(name for name in {**before, **now} if before.get(name) != now.get(name))
            raise TrainingError(f"{folder}: the run here has different {what} ({other}): train this one in another folder")
    return there


def _resumed(there: TrainingRun, state: _State) -> TrainingRun:
    """Restore the state of the checkpoint."""
    found = read_checkpoint(there.folder or Path())
    found.into(state.model, state.optimiser)
    state.step, state.sums, state.since = there.steps, list(found.sums), list(found.since)
    return there


def _saved(run: TrainingRun, state: _State) -> None:
    """Write a checkpoint, and the record so far."""
    if run.folder is not None:
        write_checkpoint(run.folder, Checkpoint.of(run, state.model, state.optimiser, state.sums, state.since))
        run.write()


def _device(options: TrainingOptions) -> torch.device:
    """Return where to train.

    Raises:
        TrainingError: if there is no such device.
    """
    if options.device == "cuda" and not torch.cuda.is_available():
        raise TrainingError("torch finds no CUDA device: use the device cpu")
    return torch.device(options.device)


@contextmanager
def _apart(options: TrainingOptions) -> Iterator[None]:
    """Use as many threads as the options say, and random numbers of their seed; afterwards all is as before."""
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            yield
    finally:
        torch.set_num_threads(threads)
