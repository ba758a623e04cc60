"""The reference of an export: its program, or without a program the dense engine; and the labels of sequence models."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from tm2tfr._version import __version__
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.base.text.shown import code
from tm2tfr.contract.exported import GENERATOR, LABELLER, ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.source import ANY, AnyRow, Column, Source
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered, softly
from tm2tfr.sources.registry import named, of_program
from tm2tfr.targets.common.directory import Array
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Output, sections
from tm2tfr.transformer.provenance import Provenance
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

DENSE = "dense engine"
"""The reference of weights without a program."""
LONGEST = 1_024
"""Without a program, a run is compared up to this position, since it may never end."""
PROMPTS = (8, 32)
"""The lengths of the prompts that are drawn from a vocabulary."""


def reference_of(program: object, decoder: Decoder) -> ExportReference:
    """Return the reference of an export of `decoder`: `program`; for None, the weights themselves.

    Raises:
        ExportError: if it is a program of no known source.
    """
    if program is None:
        return WeightsReference(decoder)
    source = of_program(program)
    if source is None:
        raise ExportError(f"{program!r} is not a program: give a machine or a circuit")
    made: ExportReference = (source.exported or ExportReference)(decoder, source, program)
    return made


def canonical(decoder: Decoder, program: object) -> Decoder:
    """Return `decoder` as it is exported: a universal one with the names of its class, any other as it is.

    Args:
        program: what it was compiled from; of a class perhaps with a machine, whose names the decoder then has.
    """
    source = None if program is None else of_program(program)
    return decoder if source is None or source.canonical is None else source.canonical(decoder, program)


def source_of(stated: Provenance) -> Source[Any] | None:
    """Return the source that compiled the weights with this provenance; None if this version does not know it."""
    return named(provenance.construction(stated))


def in_prompt(stated: Provenance) -> bool:
    """Return whether the prompts of weights with this provenance begin with a program."""
    source = source_of(stated)
    return source is not None and source.split is not None


def smaller(stated: Provenance) -> str:
    """Return what to export instead of weights with this provenance that are too large."""
    return "a class with fewer states or symbols" if in_prompt(stated) else "a smaller machine"


# ── Weights without a program: the dense engine is the reference.
@dataclass(frozen=True)
class DenseRun:
    """The dense engine's run on an input, see `tm2tfr.contract.exported.ReferenceRun`."""

    decoder: Decoder
    input: str
    reference: ClassVar[str] = DENSE

    @property
    def prompt(self) -> Sequence[str]:
        """The tokens of the input."""
        return tokens_of(self.input) if self.decoder.labeller else self.input

    def refuse(self, layout: Residual) -> None:
        """Do nothing: all weights can be run."""

    def rows(self, columns: tuple[Column, ...]) -> Iterator[AnyRow]:
        """Yield the tokens fed and answered, or the answers of all outputs in their order.

        Raises:
            EngineError: for a token that is not in the vocabulary.
        """
        for step in generate(self.decoder, self.prompt, engine=Dense()):
            outputs = iter(answered(self.decoder, step.logits) if self.decoder.labeller else ())
            other = {"position": step.position, "fed": step.token, "answered": step.output}
            yield tuple(next(outputs) if column.kind == "output" else other[column.kind] for column in columns)


@dataclass(frozen=True)
class WeightsReference(ExportReference):
    """Weights without a program."""

    bounded: ClassVar[bool] = False
    tag: ClassVar[str] = ""
    longest_compared: ClassVar[int | None] = LONGEST

    def named(self, otherwise: str = "the decoder") -> str:
        """Return the name that is stated with the weights."""
        return provenance.name(self.decoder.provenance, otherwise)

    @property
    def example(self) -> str:
        """The first of the inputs on which it is tried."""
        words = self.of_words(inputs(self.decoder)) if self.decoder.labeller else prompts(self.decoder)
        return words[0]

    def word(self, word: str | None) -> str:
        """Return the input as it is."""
        return self.example if word is None else word

    def fed(self, word: str) -> Sequence[str]:
        """Return the tokens of the word, which is as it is fed."""
        return tokens_of(word)

    def truth(self, word: str) -> DenseRun:
        """Return the dense engine's run."""
        return DenseRun(self.decoder, word)

    def inputs(self, positions: int) -> list[str]:
        """Return prompts made from the vocabulary."""
        return [word for word in dict.fromkeys(prompts(self.decoder)) if len(word) < positions] or [""]

    def of_words(self, words: Iterable[str]) -> list[str]:
        """Return the words as the weights are fed them."""
        return [fed(self.decoder, word) for word in words]

    def introduction(self, given: str, tokenizer: str = "") -> str:
        """Return what it generates, and until when."""
        stop = self.decoder.stop
        end = f"until it answers with {' or '.join(map(code, stop))}" if stop else "and never ends by itself"
        more = f" {tokenizer}" if tokenizer else ""
        return f"""{self.origin(GENERATOR)} Given {given}
it generates one token after the other, {end}.{more}"""

    def origin(self, what: str = LABELLER) -> str:
        """Return that nothing is known of its origin."""
        lacking = "program" if self.decoder.labeller else "machine"
        return f"""{what[0].upper()}{what[1:]}.

Its weights were exported by tm2tfr {__version__}. No {lacking} is stored with them."""

    def checking(self, command: str) -> str:
        """Return how to compare it with the digest of its weights, and with the dense engine."""
        what = "label" if self.decoder.labeller else "token"
        return f"""**How to check it.** {command} compares the weights with the digest that was written
with them, runs them, and compares every {what} with that of tm2tfr's dense engine. With `--machine FILE.safetensors` they
are compared with the weights in that file."""

    @property
    def judge(self) -> str:
        """The dense engine."""
        return f"tm2tfr's {DENSE}"


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


# ── The labels of a decoder with outputs at every position, those that a model answers, and inputs to try a model on.
Told = tuple[str | float, ...]
"""The answer of each output at one position: a label as text, or a number."""
EVERY, DRAWN = 128, 32
"""The most inputs on which a model is tried: all up to some length, and random ones of any length."""
LONGEST_DRAWN = 64
"""The longest random input."""
CLOSE = 2.0**-16
"""The tolerance for a number, relative to its size if that is more than 1: sums of floats round."""
FRAME = ("BOS", "EOS")
"""The tokens that words are between, of weights for words of any length that have such tokens, the first one at least."""


@dataclass(frozen=True)
class WordFrame:
    """The tokens around a word in the sequence that is fed: ``BOS w1 … wn``, or for an encoder ``BOS w1 … wn EOS``.

    Args:
        before, after: the tokens; none for weights that are fed the word as it is.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before)

    def around(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the tokens of a word as they are fed."""
        return (*self.before, *tokens, *self.after)

    @property
    def said(self) -> str:
        """The frame in words, for use after a number of tokens."""
        if not self.before:
            return ""
        return f", after {self.before[0]}" if not self.after else f", between {self.before[0]} and {self.after[0]}"

    @property
    def size(self) -> int:
        """The number of tokens in the frame."""
        return len(self.before) + len(self.after)


def frame_of(decoder: Decoder) -> WordFrame:
    """Return the frame of words: empty unless the first token of a sequence model of any length is ``BOS``.

    Trained weights have a table of positions, whatever they were compiled from.
    """
    bounded = decoder.positions is not None and not provenance.is_hidden(decoder.provenance)
    if not decoder.labeller or bounded or decoder.vocabulary[:1] != FRAME[:1]:
        return WordFrame()
    return WordFrame(FRAME[:1], FRAME[1:] if FRAME[1] in decoder.vocabulary else ())


def letters_of(decoder: Decoder) -> tuple[str, ...]:
    """Return the tokens that words are made of."""
    frame = frame_of(decoder)
    return tuple(token for token in decoder.vocabulary if token not in (*frame.before, *frame.after))


def tokens_of(word: str) -> tuple[str, ...]:
    """Return the tokens of an input as text: one per character, or those of a JSON list, ``["a", 3]``.

    Raises:
        InputError: for a list that has anything but texts, numbers and truth values.
    """
    if not word.startswith("["):
        return tuple(word)
    try:
        found = json.loads(word, parse_float=Fraction)
    except ValueError:
        return tuple(word)
    if not isinstance(found, list) or not all(isinstance(token, str | bool | int | Fraction) for token in found):
        raise InputError(f"{word}: a token is text, a number, true or false: write for example '[\"a\", 3]'")
    return tuple({True: "T", False: "F"}[token] if isinstance(token, bool) else str(token) for token in found)


def as_word(tokens: Sequence[str]) -> str:
    """Return tokens as an input: plain text where each is one character, otherwise a JSON list of texts."""
    if all(len(token) == 1 for token in tokens) and tokens[:1] != ("[",):
        return "".join(tokens)
    return json.dumps(list(tokens), ensure_ascii=False)


def spaced(word: str) -> str:
    """Return an input as a tokenizer takes it: plain text if each token is one character, otherwise with spaces."""
    tokens = tokens_of(word)
    return word if as_word(tokens) == word and not word.startswith("[") else " ".join(tokens)


def inputs(decoder: Decoder) -> Iterator[str]:
    """Yield the words on which a model is tried, always the same: all up to some length, random ones, the longest too.

    They are without what they are fed between, see `frame_of`.
    """
    tokens, longest = letters_of(decoder), min(decoder.positions or LONGEST_DRAWN, LONGEST_DRAWN)
    length, room = 1, EVERY - len(tokens)
    while length <= longest and room >= 0:
        yield from map(as_word, product(tokens, repeat=length))
        length += 1
        room -= len(tokens) ** length
    draw = random.Random(0)
    for n in range(DRAWN if length <= longest else 0):
        size = longest if n % 4 == 0 else draw.randint(length, longest)
        yield as_word(tuple(draw.choices(tokens, k=size)))


def fed(decoder: Decoder, word: str) -> str:
    """Return a word as weights are fed it, see `frame_of`."""
    frame = frame_of(decoder)
    return as_word(frame.around(tokens_of(word))) if frame else word


def longest_fed(decoder: Decoder, positions: int) -> list[str]:
    """Return inputs of exactly `positions` tokens, as they are fed: a random one, the first letter alone, and the last.

    The list is empty if `inputs` has inputs of this length. Where all letters are alike, counts are largest.
    """
    if decoder.positions is not None or positions <= LONGEST_DRAWN:
        return []
    frame, letters = frame_of(decoder), letters_of(decoder)
    size = positions - frame.size
    words = (
        random.Random(0).choices(letters, k=size),
        *([letter] * size for letter in dict.fromkeys((letters[0], letters[-1]))),
    )
    return [as_word(frame.around(word)) for word in words]


def read_labels(outputs: Sequence[Output], logits: Array, *, soft: bool = False) -> list[Told]:
    """Return what logits, (n, answers), say: of each output with labels the first one of maximal logit, or the number.

    Args:
        soft: whether the weights have softmax of their own, so that a number counts as `softly` says.
    """
    numbers = softly(np.asarray(logits)[None])[0] if soft else np.asarray(logits)
    return [
        tuple(
            float(number[cut.start]) if output.labels is None else output.labels[int(np.argmax(row[cut]))]
            for output, cut in sections(outputs)
        )
        for row, number in zip(np.asarray(logits), numbers, strict=True)
    ]


def outputs_of(outputs: Sequence[Output]) -> list[PlainData]:
    """Return each output with its labels (none if it is a number) and the places of its logits, as plain data."""
    return [
        {
            "name": output.name,
            "labels": None if output.labels is None else list(output.labels),
            "logits": [cut.start, cut.stop],
        }
        for output, cut in sections(outputs)
    ]


def first_wrong(wanted: Sequence[Told], found: Sequence[Told]) -> tuple[int, int] | None:
    """Return the first position, and the number of the output there, at which labels differ; None if all agree."""
    for i, (want, have) in enumerate(zip(wanted, found, strict=True)):
        for k, (a, b) in enumerate(zip(want, have, strict=True)):
            if not _alike(a, b):
                return i, k
    return None


def _alike(want: Any, have: str | float) -> bool:
    if want is ANY or isinstance(want, str) or not isinstance(have, float):
        return bool(want == have)
    return bool(abs(have - float(want)) <= CLOSE * max(1.0, abs(float(want))))  # a NaN is not
