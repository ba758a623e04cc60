"""The reference and the description of an export, for a program of any source.

A source with something else to say has a class of its own, in its room `page`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from tm2tfr._version import __version__
from tm2tfr.base.errors import ExportError, a_or_an, plural, visible
from tm2tfr.base.text.words import read_word, written
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.source import AnyRow, Column, Truth
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

LEAST_CASES, MOST_CASES, TRIED_TOKENS = 4, 256, 5_000
"""The number of inputs on which a program is tried: at least, at most, and as many as make this number of tokens."""
LABELLER, GENERATOR = "a transformer that labels sequences", "a transformer decoder"
"""What weights are, in model cards."""


class ReferenceRun(Protocol):
    """The part of a `Truth` that exports are compared with."""

    @property
    def reference(self) -> str: ...  # what this run is of: ``simulator``
    @property
    def prompt(self) -> Sequence[str]: ...  # the tokens of the input
    def refuse(self, layout: Residual) -> None: ...  # see `Truth.refuse`
    def rows(self, columns: tuple[Column, ...]) -> Iterator[AnyRow]: ...  # see `Truth.rows`


@dataclass(frozen=True)
class ExportReference:
    """The reference and the description of an export of a program.

    Args:
        decoder: the weights, with the names that the export has.
        source, program: what they were compiled from; None: no program is known, see
            `tm2tfr.targets.common.reference.WeightsReference`.
    """

    decoder: Decoder
    source: Any = None
    program: Any = None
    _runs: dict[str, Truth] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The reference runs of a sequence model so far: each of them is used more than once."""

    in_prompt: ClassVar[bool] = False
    """Whether the prompt begins with the program that is run."""
    longest_compared: ClassVar[int | None] = None
    """A run is compared up to this position, where nothing says whether it ends; None: up to the last position."""
    longest_generated: ClassVar[int | None] = None
    """A run is generated up to this position, and teacher-forced beyond it; None: as far as the model is."""

    @property
    def name(self) -> str:
        """The name of the program."""
        return str(self.program.name)

    def named(self, otherwise: str = "the decoder") -> str:
        """Return the name of the program, or of the weights; `otherwise`: what weights without a name are called."""
        return self.name

    @property
    def noun(self) -> str:
        """The noun for the program: ``circuit``."""
        return str(self.source.noun_of(self.program))

    @property
    def scope(self) -> str:
        """The programs that the weights run, where they run more than one."""
        return ""

    # ── the proof ───────────────────────────────────────────────────────────────────────────────────────────
    @property
    def bounded(self) -> bool:
        """Whether a certificate is for runs with at most N positions and |h| ≤ H, and not for all runs or none."""
        return self.source.limit is not None

    def prove(self) -> Any:
        """Return the proof about the weights.

        Raises:
            ExportError: if there are no certificates of such programs.
        """
        if self.source.prove is None:
            problem = f"{visible(self.name)}: there are no certificates of {plural(self.source.noun)}"
            raise ExportError(f"{problem}: run it with tm2tfr")
        return self.source.prove(self.decoder, self.program)

    # ── inputs, and the reference's answers ───────────────────────────────────────────────────────────────────
    @property
    def example(self) -> str:
        """The input that a model card shows, as the model is given it: the program's own, cut where it is too long."""
        word = str(self.source.own_input(self.program))
        longest = self.decoder.positions
        if not self.decoder.labeller or longest is None or (excess := len(self.fed(word)) - longest) <= 0:
            return word
        return written(read_word(word)[:-excess])

    @property
    def parted(self) -> tuple[str, str]:
        """The same in two parts: the program in the prompt, if there is one, and its input."""
        return "", self.example

    def word(self, word: str | None) -> str:
        """Return an input as the model is given it, of an input as people write it; None: the one of model cards.

        Raises:
            InputError: if it is not an input of the program.
        """
        return self.example if word is None else str(self.source.given(self.program, word))

    def truth(self, word: str) -> ReferenceRun:
        """Return the right run on an input as the model is given it.

        Raises:
            InputError: if it is not an input of the program.
            UndefinedError: if the program has no values on it.
        """
        if word in self._runs:
            return self._runs[word]
        found: Truth = self.source.truth(self.program, word, self.decoder, None)
        if self.decoder.labeller:
            self._runs[word] = found
        return found

    def inputs(self, positions: int) -> list[str]:
        """Return the inputs on which an export with this number of positions is tried."""
        if self.source.cases is None:
            return [self.example]
        most = max(LEAST_CASES, min(MOST_CASES, TRIED_TOKENS // max(1, self.decoder.positions or 1)))
        return list(dict.fromkeys([self.example, *self.source.cases(self.program, most)[0]]))

    @property
    def number_of_inputs(self) -> int | None:
        """The number of all inputs, where they all have one length; None: any number."""
        return None

    @property
    def letters(self) -> Sequence[str] | None:
        """The symbols of which every word is an input; None: inputs are something else."""
        return None

    def of_words(self, words: Iterable[str]) -> list[str]:
        """Return the inputs on which a sequence model is tried, of words over its alphabet."""
        return list(dict.fromkeys([self.example, *words]))

    def fed(self, word: str) -> Sequence[str]:
        """Return the tokens that a sequence model is fed for a word."""
        tokens: Sequence[str] = word if self.source.fed is None else self.source.fed(self.program, word, self.decoder)
        return tokens

    def counted(self, fed: int) -> str:
        """Return how long an input is, in words."""
        return f"the word has {fed:,} symbols"

    def taking(self, program: object, name: str, noun: str) -> Any:
        """Return the reference of an export whose prompt begins with a program, for another program.

        Raises:
            ExportError: for a program that cannot be in its prompt; `name`, `noun`: what it is called.
        """
        return program

    # ── the texts of an export ──────────────────────────────────────────────────────────────────────────────
    @property
    def tag(self) -> str:
        """The first tag of a model card."""
        return str(self.source.name)

    @property
    def data(self) -> PlainData | None:
        """The names of the program in an export, beside those of its weights, as plain data."""
        return None

    @property
    def about(self) -> str:
        """The paragraph of a model card about this very program."""
        return ""

    def introduction(self, given: str, tokenizer: str = "") -> str:
        """Return the paragraphs of a model card about a model that generates.

        Args:
            given: the model's input; tokenizer: advice for its tokenizer.
        """
        return f"{self.origin(GENERATOR)} {tokenizer}".rstrip(" ")

    def origin(self, what: str = LABELLER) -> str:
        """Return the paragraphs of a model card that say where the model comes from; `what` it is."""
        about = f"\n{self.about}" if self.about else ""
        noun = a_or_an(self.noun)
        return f"""{noun[0].upper()}{noun[1:]} as {what}.

This model was not trained: its weights were compiled from {a_or_an(self.noun)} by tm2tfr {__version__}.{about}"""

    def checking(self, command: str) -> str:
        """Return the paragraph of a model card that says how to check the model: by a command, as Markdown."""
        problem, whose = "token", "reference"
        if self.decoder.labeller:
            problem, whose = "label", self.truth(self.example).reference
        return f"""**How to check it.** {command} compares the weights with those compiled
anew from the {self.noun}, runs them, and compares every {problem} with that of tm2tfr's {whose}."""

    @property
    def judge(self) -> str:
        """What says which labels are right: ``the program's interpreter``."""
        return f"the {self.noun}'s {self.truth(self.example).reference}"
