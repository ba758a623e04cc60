"""A model in another program, compared with the simulator: given the simulator's tokens, and on its own.

Other programs than machines have a reference of their own, a circuit its evaluator. Where no program is stored with
weights, the dense engine's run of the same weights takes the place of the simulator's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import ANSWER, Column, Source, Truth
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.errors import ExportError, counted
from tm2tfr.sources.rasp.evaluate import Undefined
from tm2tfr.sources.registry import of_program
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import reference_rows
from tm2tfr.targets.common import labels
from tm2tfr.targets.common.prompted import LONGEST_GENERATED, Prompted
from tm2tfr.transformer.weights import Decoder

WITHOUT = "export without running it: --no-verify"
"""What to do if the program that `export` is for is missing; an export cannot be verified without it."""


@dataclass(frozen=True)
class Evaluated:
    """A program of another construction than that of machines, and the weights that were compiled from it."""

    program: Any
    decoder: Decoder
    runs: dict[str, Truth] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The reference's runs so far, of labellers alone: each of them is asked more than once."""

    @property
    def construction(self) -> Source[Any]:
        """The program's.

        Raises:
            ExportError: if there is none.
        """
        found = of_program(self.program)
        if found is None:
            raise ExportError(f"{self.program!r} is no program: give a machine or a circuit")
        return found

    @property
    def noun(self) -> str:
        """What the program is called."""
        return self.construction.noun_of(self.program)

    @property
    def reference(self) -> str:
        """What says what is right: ``interpreter``."""
        return self.truth(self.construction.own_input(self.program)).reference

    def truth(self, word: str) -> Truth:
        """Return the reference's run on `word`. Raises InputError."""
        if word in self.runs:
            return self.runs[word]
        found = self.construction.truth(self.program, word, self.decoder, None)
        if self.decoder.labeller:
            self.runs[word] = found
        return found

    def pairs(self, word: str) -> list[tuple[str, str]]:
        """Return the token at each position and the right answer; the latter equals anything where it does not matter."""
        return list(self.truth(word).rows((_FED, ANSWER)))

    def words(self) -> tuple[list[str], bool]:
        """Return the inputs that an export is tried on, and whether there are no others."""
        own, cases = self.construction.own_input(self.program), self.construction.cases
        if self.decoder.labeller:
            return [word for word in dict.fromkeys([own, *labels.inputs(self.decoder)]) if self.tokens(word)], False
        if cases is None:
            return [own], False
        most = max(LEAST_CASES, min(MOST_CASES, TRIED_TOKENS // max(1, self.decoder.positions or 1)))
        found, every = cases(self.program, most)
        return list(dict.fromkeys([own, *found])), every

    def tokens(self, word: str) -> int:
        """Return how many tokens a labeller is fed for `word`; 0 if the program or the weights have no such input."""
        longest = self.decoder.positions
        try:
            many = len(self.truth(word).prompt)
        except Undefined:
            return 0
        return many if longest is None or many <= longest else 0


Right = Machine | Decoder | Evaluated | Prompted
"""What says which tokens are right: a machine, or one in the prompt, by its simulator; another program, by its reference;
or weights without one, by the dense engine."""
LEAST_CASES, MOST_CASES, TRIED_TOKENS = 4, 256, 5_000
"""At how many inputs a program is tried at least and at most: as many as make so many tokens."""
_FED = Column(name="x", kind="fed", meaning="the token at this position")
SIMULATOR, DENSE = "the simulator's", "the dense engine's"
AT_ONCE = "the whole sequence at once"
LONGEST = 1_024
"""Without a machine, a run is compared up to this position: nothing says whether it ever ends."""
SHOWN_SIGNS = 200
"""How much of a word a message shows."""
PROMPTS = (8, 32)
"""The lengths of the prompts that are drawn from a vocabulary."""


class Model(Protocol):
    """A model loaded from a directory by the program that it is for. Tokens are numbers here."""

    longest_generated: int
    """A run is also generated up to this position, with one pass per token; beyond it is only teacher-forced."""

    @property
    def versions(self) -> str:
        """What runs the model: ``torch 2.13.0``."""

    def prompt(self, word: str) -> list[int]:
        """Return the tokens of `word` and BOS, if there is one, as the program's own tokenizer has them."""

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the token with the largest logit at every position of a given sequence."""

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""


class LabelModel(Model, Protocol):
    """A model of a decoder that labels sequences, or of one that does not."""

    def labelled(self, decoder: Decoder, tokens: Sequence[int]) -> list[labels.Told]:
        """Return what it says at every position: of each output of `decoder` that it has, a label or a number."""


@dataclass(frozen=True)
class Difference:
    """The first position at which a run is not the right one; `how`: teacher-forced, or generated."""

    position: int
    expected: str
    found: str
    how: str
    what: str = "the token"

    def __str__(self) -> str:
        return f"position {self.position}, {self.how}: {self.what} should be {self.expected}, is {self.found}"


@dataclass(frozen=True)
class ComparedRun:
    """A run of an export, compared with the right one.

    Args:
        tokens: the right tokens, one per position; `answers`: what follows each.
        generated: the number of positions that were generated as well.
        difference: the first difference; None if there is none.
        cut: whether the run continues beyond these positions.
        whose: who says what is right.
        frame: of labels of the whole sequence, with nothing generated: what the word is fed between; None: generated.
    """

    word: str
    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    generated: int
    difference: Difference | None
    cut: bool
    whose: str = SIMULATOR
    frame: labels.WordFrame | None = None

    @property
    def labelled(self) -> bool:
        """Whether the answers are labels of the whole sequence, and nothing was generated."""
        return self.frame is not None

    @property
    def letters(self) -> tuple[str, ...]:
        """The tokens of a labelled word, without what it is fed between."""
        frame = self.frame or labels.WordFrame()
        return self.tokens[len(frame.before) : len(self.tokens) - len(frame.after)]

    @property
    def given(self) -> str:
        """The word, as it is shown: of a long one the beginning."""
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


def compared(model: Model, vocabulary: Sequence[str], truth: Right, word: str, positions: int) -> ComparedRun:
    """Run an export on `word`, given the right tokens and on its own, for at most `positions` positions.

    Raises:
        InputError: if `word` is not over the machine's input alphabet; SpecError: if it is no prompt, of a class.
        EngineError: without a machine, if `word` has symbols that are not in the vocabulary.
        ExportError: if the prompt alone has more than `positions` positions.
    """
    if isinstance(truth, Decoder | Evaluated) and _decoder(truth).labeller:
        return _labelled(cast("LabelModel", model), truth, word, positions)
    bos = 0 if isinstance(truth, Evaluated | Decoder) and _decoder(truth).bos is None else 1
    longest, fed, what = model.longest_generated, len(word), f"the word has {len(word):,} symbols"
    if isinstance(truth, Machine):
        truth.check_input(word)
    elif isinstance(truth, Decoder):
        positions = min(positions, max(LONGEST, len(word) + 1))
    elif isinstance(truth, Prompted):
        longest, fed = min(longest, LONGEST_GENERATED), len(truth.tokens(word)) - bos
        what = f"the prompt has {fed:,} tokens"
    if fed + bos > positions:
        what = f"{what}, which with BOS is more than {positions:,} positions"
        raise ExportError(f"{what}: use a shorter one, or export with --positions {fed + 1} or more")
    pairs = _right(truth, word, positions + 1)
    cut, pairs = len(pairs) > positions, pairs[:positions]
    tokens, answers = [token for token, _ in pairs], [answer for _, answer in pairs]
    number = {token: n for n, token in enumerate(vocabulary)}
    difference = first_difference(vocabulary, answers, model.answers([number[t] for t in tokens]), 0, "teacher-forced")
    prompt = model.prompt(word)
    given = tokens[: fed + bos]
    if prompt != [number[t] for t in given]:
        difference = Difference(0, " ".join(given), repr(prompt), "as the tokenizer has the prompt")
    generated, start = 0, len(given) - 1
    if difference is None and start + 1 < longest:
        generated = min(len(tokens), longest)
        ended = generated == len(tokens) < positions
        made = model.generated(prompt, most=generated + (2 if ended else 1))  # with room to go on where it should stop
        difference = first_difference(vocabulary, answers[start:generated], made[start + 1 :], start, "generated")
    whose = SIMULATOR if isinstance(truth, Machine | Prompted) else DENSE
    if isinstance(truth, Evaluated):
        whose = f"the {truth.truth(word).reference}'s"
    return ComparedRun(word, tuple(tokens), tuple(answers), generated, difference, cut, whose)


def _decoder(truth: Decoder | Evaluated) -> Decoder:
    return truth.decoder if isinstance(truth, Evaluated) else truth


def _labelled(model: LabelModel, truth: Decoder | Evaluated, word: str, positions: int) -> ComparedRun:
    """Compare the labels of a model on `word` with the right ones."""
    decoder, reference = _decoder(truth), truth.truth(word) if isinstance(truth, Evaluated) else None
    tokens, right = labels.right_labels(decoder, reference, word)
    if len(tokens) > positions:
        what = f"the input has {counted(len(tokens), 'token')}, and this export is for at most {positions:,}"
        raise ExportError(f"{what}: use a shorter one, or export weights for longer ones")
    numbers, difference = [decoder.numbers[token] for token in tokens], None
    if (prompt := model.prompt(labels.as_word(tokens))) != numbers:
        difference = Difference(0, " ".join(tokens), repr(prompt), "as the tokenizer has the input")
    found = model.labelled(decoder, numbers)
    chosen = [each[: len(found[0])] for each in right]  # a model may answer the first output alone
    if difference is None and (wrong := labels.first_wrong(chosen, found)) is not None:
        i, k = wrong
        difference = Difference(i, str(right[i][k]), str(found[i][k]), AT_ONCE, decoder.outputs[k].name)
    whose = DENSE if reference is None else f"the {reference.reference}'s"
    answers = tuple(map(labels.told_labels, right))
    frame = labels.frame_of(decoder)
    return ComparedRun(word, tokens, answers, 0, difference, cut=False, whose=whose, frame=frame)


def _right(truth: Right, word: str, most: int) -> list[tuple[str, str]]:
    """Return the token at each of the first `most` positions, and the token that is the right answer there."""
    if isinstance(truth, Machine):
        rows = islice(reference_rows(truth, word, Simulation(truth, word, max_steps=most - 1)), most)
        return [(str(row.x), row.y) for row in rows]
    if isinstance(truth, Prompted):
        return truth.pairs(word, most)
    if isinstance(truth, Evaluated):
        return truth.pairs(word)[:most]
    return [(step.token, step.output) for step in generate(truth, word, engine=Dense(), max_positions=most)]


def shortened(word: str) -> str:
    """Return a word in quotes; of a long one the beginning."""
    return repr(word) if len(word) <= SHOWN_SIGNS else f"{word[:SHOWN_SIGNS]!r}… ({len(word):,} characters)"


def first_difference(
    vocabulary: Sequence[str], wanted: Sequence[str], found: Sequence[int], start: int, how: str
) -> Difference | None:
    """Return the first place where the tokens `found`, from position `start` on, are not those `wanted`."""
    named = [vocabulary[n] if n < len(vocabulary) else f"token {n}" for n in found]
    named += ["nothing"] * (len(wanted) - len(named))
    pairs = enumerate(zip([*wanted, *["nothing"] * (len(named) - len(wanted))], named, strict=True), start)
    return next((Difference(i, want, got, how) for i, (want, got) in pairs if want != got), None)


def words(truth: Right, positions: int) -> list[str]:
    """Return the words that an export is tried on, if they fit: the machine's own and its examples', or `prompts`."""
    if isinstance(truth, Prompted):
        return truth.prompts(positions)
    if isinstance(truth, Machine):
        own = [] if truth.input is None else [truth.input]
        found = dict.fromkeys([*own, *(example.input for example in truth.examples)])
    elif isinstance(truth, Evaluated):
        given = truth.words()[0]
        return [word for word in given if truth.tokens(word) <= positions] if truth.decoder.labeller else given
    elif truth.labeller:
        fed = (labels.fed(truth, word) for word in labels.inputs(truth))
        return [word for word in fed if len(labels.tokens_of(word)) <= positions]
    else:
        found = dict.fromkeys(prompts(truth))
        if truth.bos is None and not any(found):
            what = "the tokens of these weights have several characters each, and no word of such is made up to try it on"
            raise ExportError(f"{what}: {WITHOUT}")
    return [word for word in found if len(word) < positions] or [""]


def prompts(decoder: Decoder) -> list[str]:
    """Return prompts for weights without a machine, made from the signs in their vocabulary and always the same.

    All signs once, up to 32 of them; as many as `PROMPTS` says, drawn with a fixed seed; and none.
    """
    signs = [t for t in decoder.vocabulary if len(t) == 1 and t != decoder.bos and t not in decoder.stop]
    if not signs:
        return [""]
    draw = random.Random(0)
    found = ["".join(signs[: PROMPTS[-1]]), *("".join(draw.choices(signs, k=n)) for n in PROMPTS), ""]
    return found if decoder.bos is not None else [signs[0], *found[:-1]]


def tried(model: Model, vocabulary: Sequence[str], truth: Right, positions: int) -> tuple[ComparedRun, ...]:
    """Compare a model with the simulator on the machine's words, or with the dense engine on prompts.

    Raises:
        ExportError: if a run is not the right one.
    """
    runs = [compared(model, vocabulary, truth, word, positions) for word in words(truth, positions)]
    if isinstance(truth, Decoder | Evaluated) and (made := _decoder(truth)).labeller:
        runs += [compared(model, vocabulary, made, word, positions) for word in labels.longest_fed(made, positions)]
    for run in runs:
        if run.difference is not None:
            what = f"the exported model is not right on {run.given} in {model.versions}: {run.difference}"
            raise ExportError(f"{what}: nothing was written; try --dtype float64, or fewer --positions")
    return tuple(runs)


def told(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return one line that says how an export was verified, or that it was not."""
    if not runs:
        return "not verified: see tm2tfr verify-export"
    if runs[0].labelled:
        return _of_labels(runs, versions)
    if runs[0].whose not in (SIMULATOR, DENSE):
        return _of_cases(runs, versions)
    many, tokens = counted(len(runs), "run"), counted(sum(len(run.tokens) for run in runs), "token")
    cut = sum(run.cut for run in runs)
    rest = f"; {cut:,} cut off at the last position{'' if runs[0].whose == SIMULATOR else ' compared'}" if cut else ""
    made = "" if runs[0].whose == SIMULATOR else ", on prompts made from the vocabulary, since no machine is stored"
    return f"verified: loaded and run in {versions}: {many}, {tokens}, all {runs[0].whose}{made}{rest}"


def _of_cases(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return the same line for a program whose inputs all have the same number of bits."""
    bits, tokens = len(runs[0].word), sum(len(run.tokens) for run in runs)
    which = f"all {len(runs):,} inputs" if len(runs) == 2**bits else f"{len(runs):,} of 2^{bits} inputs"
    return f"verified: loaded and run in {versions}: {which}, {counted(tokens, 'token')}, all {runs[0].whose}"


def _of_labels(runs: Sequence[ComparedRun], versions: str) -> str:
    """Return the same line for labels: on how many inputs they were compared, and up to which length on all there are."""
    longest = [run for run in runs if run.whose == DENSE and len(run.letters) > labels.LONGEST_DRAWN]
    tried = runs[: len(runs) - len(longest)]
    many, signs = Counter(len(run.letters) for run in tried), len({token for run in tried for token in run.letters})
    whole = next(n for n in count(1) if not many[n] or many[n] != signs**n) - 1
    every = f", of up to {counted(whole, 'token')} all there are" if whole else ""
    frame = tried[0].frame or labels.WordFrame()
    inputs = f"{counted(len(tried), 'input')} of up to {counted(max(many), 'token')}{every}{frame.said}"
    made = ", since no program is stored" if tried[0].whose == DENSE else ""
    more = f"; with all {len(longest[0].tokens):,} positions {DENSE}" if longest else ""
    return f"verified: loaded and run in {versions}: {inputs}; every label is {tried[0].whose}{made}{more}"
