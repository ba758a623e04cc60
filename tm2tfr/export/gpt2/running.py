"""An export in the program that it is for: loaded by `transformers`, run, and compared with the simulator.

The only module that imports torch and transformers, and only when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import ExportError
from tm2tfr.machine.simulator import Simulation
from tm2tfr.machine.spec import Machine
from tm2tfr.trace.reference import reference_rows

NEEDS = "pip install 'tm2tfr[hf]', or export with --no-verify"
LONGEST_GENERATED = 2048
"""Positions up to which a run is generated too, which takes a pass a token; beyond, it is teacher-forced only."""


def required() -> tuple[Any, Any]:
    """Return the modules torch and transformers.

    Raises:
        ExportError: if they are not installed.
    """
    try:
        return importlib.import_module("torch"), importlib.import_module("transformers")
    except ImportError as error:
        raise ExportError(f"running a GPT-2 needs torch and transformers ({error}): {NEEDS}") from error


class Running:
    """A model and a tokenizer loaded from a directory.

    Raises:
        ExportError: if torch or transformers is missing, or cannot load the directory.
    """

    def __init__(self, folder: Path) -> None:
        self._torch, transformers = required()
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            self.model = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            first = str(error).strip().partition("\n")[0]
            raise ExportError(f"{folder}: transformers cannot load it ({first}): export it again") from error
        self.model.eval()

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"transformers {importlib.import_module('transformers').__version__}, torch {self._torch.__version__}"

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word` and BOS, as the tokenizer has them.

        With spaces between its symbols, so that they are not taken for a token that they spell; none if a symbol is one.
        """
        between = "" if " " in self.tokenizer.get_vocab() else " "
        return list(self.tokenizer(between.join(word))["input_ids"])

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the token of maximal logit at every position of a given sequence."""
        with self._torch.inference_mode():
            logits = self.model(self._torch.tensor([list(tokens)])).logits[0]
        return [int(n) for n in logits.argmax(dim=-1)]

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        with self._torch.inference_mode():
            states = self.model(self._torch.tensor([list(tokens)]), output_hidden_states=True).hidden_states
        return np.array([state[0].double().numpy() for state in states])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and what the model makes of it, greedily, at most `most` tokens in all."""
        given = self._torch.tensor([list(prompt)])
        made = self.model.generate(given, attention_mask=self._torch.ones_like(given), max_length=most)
        return [int(n) for n in made[0]]


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
class Run:
    """A run of an export beside the simulator's.

    Args:
        tokens: the simulator's tokens, one a position; `answers`: what follows each.
        generated: whether it was generated as well.
        difference: the first; None if there is none.
    """

    word: str
    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    generated: bool
    difference: Difference | None


def compared(running: Running, vocabulary: Sequence[str], machine: Machine, word: str, positions: int) -> Run:
    """Run an export on `word`, given the simulator's tokens and on its own, for at most `positions` positions.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        ExportError: if the prompt alone has more than `positions` positions.
    """
    machine.check_input(word)
    if len(word) >= positions:
        what = f"the word has {len(word):,} symbols, which with BOS is more than {positions:,} positions"
        raise ExportError(f"{what}: give a shorter one, or export with --positions {len(word) + 1} or more")
    simulation = Simulation(machine, word, max_steps=positions)
    rows = list(islice(reference_rows(machine, word, simulation), positions))
    tokens, answers = [str(row.x) for row in rows], [row.y for row in rows]
    number = {token: n for n, token in enumerate(vocabulary)}
    difference = _difference(vocabulary, answers, running.answers([number[t] for t in tokens]), 0, "teacher-forced")
    prompt = running.prompt(word)
    if prompt != [number[t] for t in tokens[: len(word) + 1]]:
        difference = Difference(0, " ".join(tokens[: len(word) + 1]), repr(prompt), "as the tokenizer has the prompt")
    generated = difference is None and len(word) + 1 < LONGEST_GENERATED
    if generated:
        made = running.generated(prompt, most=min(len(tokens), LONGEST_GENERATED) + 1)
        start = len(word)
        wanted = answers[start : min(len(answers), LONGEST_GENERATED)]
        difference = _difference(vocabulary, wanted, made[start + 1 :], start, "generated")
    return Run(word, tuple(tokens), tuple(answers), generated, difference)


def _difference(
    vocabulary: Sequence[str], wanted: Sequence[str], found: Sequence[int], start: int, how: str
) -> Difference | None:
    named = [vocabulary[n] if n < len(vocabulary) else f"token {n}" for n in found]
    named += ["nothing"] * (len(wanted) - len(named))
    pairs = enumerate(zip([*wanted, *["nothing"] * (len(named) - len(wanted))], named, strict=True), start)
    return next((Difference(i, want, got, how) for i, (want, got) in pairs if want != got), None)


def words(machine: Machine, positions: int) -> list[str]:
    """Return the words that an export is tried on: the machine's own and its examples', as far as they fit."""
    own = [] if machine.input is None else [machine.input]
    found = dict.fromkeys([*own, *(example.input for example in machine.examples)])
    return [word for word in found if len(word) < positions] or [""]


def tried(folder: Path, vocabulary: Sequence[str], machine: Machine, positions: int) -> tuple[list[Run], str]:
    """Load an export and compare it with the simulator on the machine's words; return the runs, and what ran them.

    Raises:
        ExportError: if a run is not the simulator's, or see `Running`.
    """
    running = Running(folder)
    runs = [compared(running, vocabulary, machine, word, positions) for word in words(machine, positions)]
    for run in runs:
        if run.difference is not None:
            what = f"the exported model is not right on {run.word!r} in {running.versions}: {run.difference}"
            raise ExportError(f"{what}: nothing was written; try --dtype float64, or fewer --positions")
    return runs, running.versions
