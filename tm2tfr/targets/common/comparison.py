"""A model in another program, compared with the simulator: given the simulator's tokens, and on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import ExportError, counted
from tm2tfr.machine.simulator import Simulation
from tm2tfr.machine.spec import Machine
from tm2tfr.trace.truth import reference_rows

WITHOUT = "export without running it: --no-verify"
"""What to do if the program that `export` is for is missing; a checkpoint cannot be verified without it."""


class Model(Protocol):
    """A model loaded from a directory by the program that it is for. Tokens are numbers here."""

    longest_generated: int
    """A run is also generated up to this position, with one pass per token; beyond it is only teacher-forced."""

    @property
    def versions(self) -> str:
        """What runs the model: ``torch 2.13.0``."""

    def prompt(self, word: str) -> list[int]:
        """Return the tokens of `word` and BOS, as the program's own tokenizer has them."""

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the token with the largest logit at every position of a given sequence."""

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""


@dataclass(frozen=True)
class Difference:
    """The first position at which a run is not the simulator's; `how`: teacher-forced, or generated."""

    position: int
    expected: str
    found: str
    how: str

    def __str__(self) -> str:
        return f"position {self.position}, {self.how}: the token should be {self.expected}, is {self.found}"


@dataclass(frozen=True)
class ComparedRun:
    """A run of an export, compared with the simulator's.

    Args:
        tokens: the simulator's tokens, one per position; `answers`: what follows each.
        generated: the number of positions that were generated as well.
        difference: the first difference; None if there is none.
        cut: whether the machine runs on beyond these positions.
    """

    word: str
    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    generated: int
    difference: Difference | None
    cut: bool

    @property
    def how(self) -> str:
        """How it was run."""
        if self.generated >= len(self.tokens):
            return "teacher-forced and generated"
        return f"teacher-forced, and generated to position {self.generated:,}" if self.generated else "teacher-forced"


def compared(model: Model, vocabulary: Sequence[str], machine: Machine, word: str, positions: int) -> ComparedRun:
    """Run an export on `word`, given the simulator's tokens and on its own, for at most `positions` positions.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        ExportError: if the prompt alone has more than `positions` positions.
    """
    machine.check_input(word)
    if len(word) >= positions:
        what = f"the word has {len(word):,} symbols, which with BOS is more than {positions:,} positions"
        raise ExportError(f"{what}: use a shorter one, or export with --positions {len(word) + 1} or more")
    rows = list(islice(reference_rows(machine, word, Simulation(machine, word, max_steps=positions)), positions + 1))
    cut, rows = len(rows) > positions, rows[:positions]
    tokens, answers = [str(row.x) for row in rows], [row.y for row in rows]
    number = {token: n for n, token in enumerate(vocabulary)}
    difference = first_difference(vocabulary, answers, model.answers([number[t] for t in tokens]), 0, "teacher-forced")
    prompt = model.prompt(word)
    if prompt != [number[t] for t in tokens[: len(word) + 1]]:
        difference = Difference(0, " ".join(tokens[: len(word) + 1]), repr(prompt), "as the tokenizer has the prompt")
    generated, start = 0, len(word)
    if difference is None and start + 1 < model.longest_generated:
        generated = min(len(tokens), model.longest_generated)
        ended = generated == len(tokens) < positions
        made = model.generated(prompt, most=generated + (2 if ended else 1))  # with room to go on where it should stop
        difference = first_difference(vocabulary, answers[start:generated], made[start + 1 :], start, "generated")
    return ComparedRun(word, tuple(tokens), tuple(answers), generated, difference, cut)


def first_difference(
    vocabulary: Sequence[str], wanted: Sequence[str], found: Sequence[int], start: int, how: str
) -> Difference | None:
    """Return the first place where the tokens `found`, from position `start` on, are not those `wanted`."""
    named = [vocabulary[n] if n < len(vocabulary) else f"token {n}" for n in found]
    named += ["nothing"] * (len(wanted) - len(named))
    pairs = enumerate(zip([*wanted, *["nothing"] * (len(named) - len(wanted))], named, strict=True), start)
    return next((Difference(i, want, got, how) for i, (want, got) in pairs if want != got), None)


def words(machine: Machine, positions: int) -> list[str]:
    """Return the words that an export is tried on: the machine's own and its examples', if they fit."""
    own = [] if machine.input is None else [machine.input]
    found = dict.fromkeys([*own, *(example.input for example in machine.examples)])
    return [word for word in found if len(word) < positions] or [""]


def tried(model: Model, vocabulary: Sequence[str], machine: Machine, positions: int) -> tuple[ComparedRun, ...]:
    """Compare a model with the simulator on the machine's words.

    Raises:
        ExportError: if a run is not the simulator's.
    """
    runs = tuple(compared(model, vocabulary, machine, word, positions) for word in words(machine, positions))
    for run in runs:
        if run.difference is not None:
            what = f"the exported model is not right on {run.word!r} in {model.versions}: {run.difference}"
            raise ExportError(f"{what}: nothing was written; try --dtype float64, or fewer --positions")
    return runs


def told(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return one line that says how an export was verified, or that it was not."""
    if not runs:
        return "not verified: see tm2tfr verify-checkpoint"
    many, tokens = counted(len(runs), "run"), counted(sum(len(run.tokens) for run in runs), "token")
    cut = sum(run.cut for run in runs)
    rest = f"; {cut:,} cut off at the last position" if cut else ""
    return f"verified: loaded and run in {versions}: {many}, {tokens}, all the simulator's{rest}"
