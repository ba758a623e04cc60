"""Compares a model in another program with the reference: teacher-forced, and generating on its own.

The reference is that of the exported program; for weights without a program, it is the dense engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ExportError, UndefinedError, counted
from tm2tfr.contract.exported import ExportReference, ReferenceRun
from tm2tfr.contract.source import ANSWER
from tm2tfr.runs.comparison import Divergence
from tm2tfr.runs.rows import FED_TOKEN, columns_of
from tm2tfr.targets.common import reference
from tm2tfr.targets.common.reference import DENSE, WeightsReference, WordFrame
from tm2tfr.transformer.weights import Decoder

WITHOUT = "export without running it: --no-verify"
"""The remedy if the program that runs an export is not installed; without it, no export can be verified."""
AT_ONCE = "the whole sequence at once"
SHOWN_SIGNS = 200
"""How much of a word a message shows."""


class Model(Protocol):
    """A model loaded from a directory by the program that it is for. Tokens are numbers here."""

    longest_generated: int
    """A run is generated up to this position, with one pass per token; beyond it, it is only teacher-forced."""

    @property
    def versions(self) -> str:
        """What runs the model: ``torch 2.13.0``."""

    def prompt(self, word: str) -> list[int]:
        """Return the tokens of `word` and BOS, if there is one, as the program's own tokenizer has them."""

    def logits(self, tokens: Sequence[int]) -> NDArray[np.floating]:
        """Return the logits at every position: (positions, answers)."""

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the token, or the label, with the largest logit at every position."""
        return [int(n) for n in self.logits(tokens).argmax(axis=-1)]

    def answered(self, decoder: Decoder) -> tuple[int, ...]:
        """Return which outputs of `decoder` the model has logits of, in their order."""
        return tuple(range(len(decoder.outputs)))

    def labelled(self, decoder: Decoder, tokens: Sequence[int]) -> list[reference.Told]:
        """Return the answers of these outputs at every position."""
        outputs = [decoder.outputs[k] for k in self.answered(decoder)]
        return reference.read_labels(outputs, self.logits(tokens), soft=decoder.soft)


@dataclass(frozen=True)
class ComparedRun:
    """A run of an export, compared with the reference's run.

    Args:
        tokens: the right tokens, one per position; `answers`: what follows each.
        generated: the number of positions that were generated as well.
        divergence: the first place where the two differ; None if they agree.
        cut: whether the run continues beyond these positions.
        reference: the name of the reference: ``simulator``.
        of: the number of all inputs, where they all have one length; None: any number.
        frame: of labels of the whole sequence, with nothing generated: what the word is fed between; None: generated.
    """

    word: str
    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    generated: int
    divergence: Divergence | None
    cut: bool
    reference: str
    of: int | None = None
    frame: WordFrame | None = None

    @property
    def whose(self) -> str:
        """The possessive of the reference, for messages: ``the simulator's``."""
        return f"the {self.reference}'s"

    @property
    def labelled(self) -> bool:
        """Whether the answers are labels of the whole sequence, and nothing was generated."""
        return self.frame is not None

    @property
    def letters(self) -> tuple[str, ...]:
        """The tokens of a labelled word, without the tokens around it."""
        frame = self.frame or WordFrame()
        return self.tokens[len(frame.before) : len(self.tokens) - len(frame.after)]

    @property
    def given(self) -> str:
        """The word as messages show it; a long one is cut."""
        return shortened(self.word)

    @property
    def answered(self) -> str:
        """What it answers."""
        return "labels" if self.labelled else "tokens"

    @property
    def how(self) -> str:
        """How it was run."""
        if self.labelled:
            return AT_ONCE
        if self.generated >= len(self.tokens):
            return "teacher-forced and generated"
        return f"teacher-forced, and generated to position {self.generated:,}" if self.generated else "teacher-forced"


def compared(model: Model, vocabulary: Sequence[str], right: ExportReference, word: str, positions: int) -> ComparedRun:
    """Run an export on `word`, given the right tokens and on its own, for at most `positions` positions.

    Raises:
        InputError: if `word` is not an input of the program; SpecError: if, for a class of machines, it is not a prompt.
        EngineError: without a program, if `word` has symbols that are not in the vocabulary.
        ExportError: if the prompt alone has more than `positions` positions.
    """
    truth = right.truth(word)
    if right.decoder.labeller:
        return _labelled(model, truth, right.decoder, word, positions)
    fed = len(truth.prompt) + (right.decoder.bos is not None)
    if right.longest_compared is not None:
        positions = min(positions, max(right.longest_compared, len(truth.prompt) + 1))
    if fed > positions:
        what = f"{right.counted(len(truth.prompt))}, which with BOS is more than {positions:,} positions"
        raise ExportError(f"{what}: use a shorter one, or export with --positions {len(truth.prompt) + 1} or more")
    pairs = [(str(token), answer) for token, answer in islice(truth.rows((FED_TOKEN, ANSWER)), positions + 1)]
    cut, pairs = len(pairs) > positions, pairs[:positions]
    tokens, answers = [token for token, _ in pairs], [answer for _, answer in pairs]
    number = {token: n for n, token in enumerate(vocabulary)}
    divergence = first_divergence(vocabulary, answers, model.answers([number[t] for t in tokens]), 0, "teacher-forced")
    prompt = model.prompt(word)
    given = tokens[:fed]
    if prompt != [number[t] for t in given]:
        divergence = _divergence(0, " ".join(given), repr(prompt), "as the tokenizer has the prompt")
    generated, start = 0, len(given) - 1
    longest = min(model.longest_generated, right.longest_generated or model.longest_generated)
    if divergence is None and start + 1 < longest:
        generated = min(len(tokens), longest)
        ended = generated == len(tokens) < positions
        made = model.generated(prompt, most=generated + (2 if ended else 1))  # with room to go on where it should stop
        divergence = first_divergence(vocabulary, answers[start:generated], made[start + 1 :], start, "generated")
    return ComparedRun(
        word, tuple(tokens), tuple(answers), generated, divergence, cut, truth.reference, right.number_of_inputs
    )


def _divergence(position: int, expected: str, found: str, how: str, what: str = "the token") -> Divergence:
    return Divergence(position=position, column=what, expected=expected, found=found, how=how)


def _labelled(model: Model, truth: ReferenceRun, decoder: Decoder, word: str, positions: int) -> ComparedRun:
    """Compare the labels of a model on `word` with the reference's."""
    truth.refuse(decoder.layout)
    rows = list(truth.rows((FED_TOKEN, *columns_of(decoder)[2:])))
    tokens, right = tuple(str(token) for token, *_ in rows), [tuple(outputs) for _, *outputs in rows]
    if len(tokens) > positions:
        what = f"the input has {counted(len(tokens), 'token')}, and this export is for at most {positions:,}"
        raise ExportError(f"{what}: use a shorter one, or export weights for longer ones")
    numbers, divergence = [decoder.numbers[token] for token in tokens], None
    if (prompt := model.prompt(reference.as_word(tokens))) != numbers:
        divergence = _divergence(0, " ".join(tokens), repr(prompt), "as the tokenizer has the input")
    found, had = model.labelled(decoder, numbers), model.answered(decoder)
    chosen = [tuple(each[k] for k in had) for each in right]
    if divergence is None and (wrong := reference.first_wrong(chosen, found)) is not None:
        i, k = wrong
        divergence = _divergence(i, str(chosen[i][k]), str(found[i][k]), AT_ONCE, decoder.outputs[had[k]].name)
    answers = tuple(" ".join(map(str, outputs)) for outputs in right)
    frame = reference.frame_of(decoder)
    return ComparedRun(word, tokens, answers, 0, divergence, cut=False, reference=truth.reference, frame=frame)


def shortened(word: str) -> str:
    """Return a word in quotes; a long one is cut."""
    return repr(word) if len(word) <= SHOWN_SIGNS else f"{word[:SHOWN_SIGNS]!r}… ({len(word):,} characters)"


def first_divergence(
    vocabulary: Sequence[str], wanted: Sequence[str], found: Sequence[int], start: int, how: str
) -> Divergence | None:
    """Return the first place where the tokens `found`, from position `start` on, are not those `wanted`."""
    named = [vocabulary[n] if n < len(vocabulary) else f"token {n}" for n in found]
    named += ["nothing"] * (len(wanted) - len(named))
    pairs = enumerate(zip([*wanted, *["nothing"] * (len(named) - len(wanted))], named, strict=True), start)
    return next((_divergence(i, want, got, how) for i, (want, got) in pairs if want != got), None)


def words(right: ExportReference, positions: int) -> list[str]:
    """Return the inputs on which an export is tried: those of at most `positions` positions.

    Raises:
        ExportError: if no input can be made up.
    """
    if right.decoder.labeller:
        return [word for word in right.of_words(reference.inputs(right.decoder)) if 0 < _size(right, word) <= positions]
    found = right.inputs(positions)
    if right.decoder.bos is None and not any(found):
        what = "the tokens of these weights have several characters each, and no word of such is made up to try it on"
        raise ExportError(f"{what}: {WITHOUT}")
    return found


def _size(right: ExportReference, word: str) -> int:
    """Return the number of tokens that a sequence model is fed for `word`; 0 if `word` is not an input of it."""
    longest = right.decoder.positions
    try:
        many = len(right.truth(word).prompt)
    except UndefinedError:
        return 0
    return many if longest is None or many <= longest else 0


def tried(model: Model, vocabulary: Sequence[str], right: ExportReference, positions: int) -> tuple[ComparedRun, ...]:
    """Compare a model with the reference on the program's inputs, or on prompts made from the vocabulary.

    Raises:
        ExportError: if a run differs from the reference's.
    """
    runs = [compared(model, vocabulary, right, word, positions) for word in words(right, positions)]
    if right.decoder.labeller:
        dense = WeightsReference(right.decoder)
        longest = reference.longest_fed(right.decoder, positions)
        runs += [compared(model, vocabulary, dense, word, positions) for word in longest]
    for run in runs:
        if run.divergence is not None:
            what = f"the exported model is not right on {run.given} in {model.versions}: {run.divergence}"
            raise ExportError(f"{what}: nothing was written; try --dtype float64, or fewer --positions")
    return tuple(runs)


def told(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return one line about the verification of an export: the inputs, or that there was none."""
    if not runs:
        return "not verified: see tm2tfr verify-export"
    if runs[0].labelled:
        return _of_labels(runs, versions)
    many, tokens = counted(len(runs), "run"), counted(sum(len(run.tokens) for run in runs), "token")
    if (of := runs[0].of) is not None:
        many = f"all {len(runs):,} inputs" if len(runs) == of else f"{len(runs):,} of 2^{of.bit_length() - 1} inputs"
    dense, cut = runs[0].reference == DENSE, sum(run.cut for run in runs)
    rest = f"; {cut:,} cut off at the last position{' compared' if dense else ''}" if cut else ""
    made = ", on prompts made from the vocabulary, since no machine is stored" if dense else ""
    return f"verified: loaded and run in {versions}: {many}, {tokens}, all agree with the {runs[0].reference}{made}{rest}"


def _of_labels(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return the same line for labels: the number of inputs compared, and the length up to which these were all inputs."""
    longest = [run for run in runs if run.reference == DENSE and len(run.letters) > reference.LONGEST_DRAWN]
    tried = runs[: len(runs) - len(longest)]
    many, signs = Counter(len(run.letters) for run in tried), len({token for run in tried for token in run.letters})
    whole = next(n for n in count(1) if not many[n] or many[n] != signs**n) - 1
    every = f", including all of up to {counted(whole, 'token')}" if whole else ""
    frame = tried[0].frame or WordFrame()
    inputs = f"{counted(len(tried), 'input')} of up to {counted(max(many), 'token')}{every}{frame.said}"
    made = ", since no program is stored" if tried[0].reference == DENSE else ""
    more = f"; words of all {len(longest[0].tokens):,} positions agree with the {DENSE}" if longest else ""
    return f"verified: loaded and run in {versions}: {inputs}; every label agrees with the {tried[0].reference}{made}{more}"
