"""What an export is compared with and described by: its program, or without one the dense engine's run of its weights."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tm2tfr._version import __version__
from tm2tfr.base.errors import ExportError
from tm2tfr.base.text.shown import code
from tm2tfr.contract.exported import GENERATOR, LABELLER, ExportReference
from tm2tfr.contract.source import AnyRow, Column, Source
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.sources.registry import named, of_program
from tm2tfr.targets.common import labels
from tm2tfr.transformer import provenance
from tm2tfr.transformer.provenance import Provenance
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

DENSE = "dense engine"
"""What says what is right of weights without a program."""
LONGEST = 1_024
"""Without a program, a run is compared up to this position: nothing says whether it ever ends."""
PROMPTS = (8, 32)
"""The lengths of the prompts that are drawn from a vocabulary."""


def reference_of(program: Any, decoder: Decoder) -> ExportReference:
    """Return what an export of `decoder` is compared with: `program`; if there is none, the weights themselves.

    Raises:
        ExportError: if it is a program of no known source.
    """
    if program is None:
        return WeightsReference(decoder)
    source = of_program(program)
    if source is None:
        raise ExportError(f"{program!r} is no program: give a machine or a circuit")
    made: ExportReference = (source.exported or ExportReference)(decoder, source, program)
    return made


def canonical(decoder: Decoder, program: Any) -> Decoder:
    """Return `decoder` as it is exported: that of a class of machines with the names of the class, any other as it is.

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


# ── Weights without a program: the dense engine says what is right.
@dataclass(frozen=True)
class DenseRun:
    """The dense engine's run on an input, see `tm2tfr.contract.exported.ReferenceRun`."""

    decoder: Decoder
    input: str
    reference: ClassVar[str] = DENSE

    @property
    def prompt(self) -> Sequence[str]:
        """The tokens of the input."""
        return labels.tokens_of(self.input) if self.decoder.labeller else self.input

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
        words = self.of_words(labels.inputs(self.decoder)) if self.decoder.labeller else prompts(self.decoder)
        return words[0]

    def word(self, word: str | None) -> str:
        """Return the input as it is."""
        return self.example if word is None else word

    def fed(self, word: str) -> Sequence[str]:
        """Return the tokens of the word, which is as it is fed."""
        return labels.tokens_of(word)

    def truth(self, word: str) -> DenseRun:
        """Return the dense engine's run."""
        return DenseRun(self.decoder, word)

    def inputs(self, positions: int) -> list[str]:
        """Return prompts made from the vocabulary."""
        return [word for word in dict.fromkeys(prompts(self.decoder)) if len(word) < positions] or [""]

    def of_words(self, words: Iterable[str]) -> list[str]:
        """Return the words as the weights are fed them."""
        return [labels.fed(self.decoder, word) for word in words]

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
