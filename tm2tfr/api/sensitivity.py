"""How far one changed symbol moves the logits: measured, beside a bound from the matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import DTYPES, Float
from tm2tfr.base.errors import InputError, UndefinedError, UsageError, visible
from tm2tfr.base.text.words import InputSpace, token_words, tokens_in
from tm2tfr.runs.plan import HARD, Soft, check_engine, is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.softness.sensitivity import FedWords, Sensitivity
    from tm2tfr.transformer.weights import Decoder

SHORTEST, LONGEST, MOST = 4, 64, 256
"""The shortest words by default, the longest by default, and the longest that are measured."""


def measure_sensitivity(
    subject: Given,
    word: str | None = None,
    *,
    length: int | None = None,
    soft: Soft = HARD,
    dtype: str | None = None,
    seed: int = 0,
) -> Sensitivity:
    """Measure how far one changed symbol moves the logits, beside the bound from the matrices (Hahn 2020, lemma 5).

    >>> import tm2tfr
    >>> found = tm2tfr.measure_sensitivity("odd-ones", length=8)
    >>> [(row.n, row.words, row.largest) for row in found.rows], found.holds
    ([(4, 16, 1.0), (8, 256, 1.0)], True)

    The logits are those of a program's first output, its answer, at the last symbol of a word; for weights that generate,
    those of the next token, at the last position of the prompt. Each change replaces one other symbol.

    Args:
        subject: see `Subject.of`; weights without a program are fed words over their vocabulary.
        word: measure each symbol of this word; None: words of growing length.
        length: the length of the longest words, after lengths 4, 8, …; by default 64, or the positions of the weights.
            soft: attention and temperature, see `Soft`; a temperature for a length is computed for the longest words.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.
        seed: the seed of random words, which replace all words if there are more than 1,024 of a length.

    Raises:
        UsageError: for a `length` beside a word, or an invalid length.
        InputError: for a word with fewer than two symbols, or inputs that are not fed symbol by symbol.
        CompileError: see `soften`; for weights with loops.
        EngineError: if the dense engine cannot run the weights.
    """
    from tm2tfr.api.softness import for_words
    from tm2tfr.lab.softness.sensitivity import Sensitivity, answer_of, attention_of, of_lengths, of_word, premises

    check_engine("dense", dtype)
    kind = _dtype(dtype)
    given = _Inputs.of(Subject.of(subject))
    if word is not None and length is not None:
        raise UsageError("tm2tfr sensitivity: --length is of growing words, and --input is one word: omit one of them")
    lengths = given.lengths(length) if word is None else [given.symbols(word)]
    found = _Inputs.of(for_words(given.subject, soft, lengths[-1] + given.overhead - 2))
    decoder = found.subject.decoder
    said = partial(
        Sensitivity,
        name=found.subject.name,
        attention=attention_of(decoder),
        dtype=kind,
        output=answer_of(decoder)[0],
        word=None if word is None else found.subject.word(word),
        premises=premises(decoder),
    )
    if word is None:
        rows, shares = of_lengths(decoder, found.fed_words, lengths, dtype=kind, seed=seed)
        return said(rows=rows, symbols=(), shares=shares)
    fed = found.fed_words(lengths[0])
    codes = {token: letter for letter, token in enumerate(fed.letters.tolist())}
    own = [codes[found.tokens(word)[place]] for place in fed.places.tolist()]
    shown = [decoder.vocabulary[token] for token in fed.letters.tolist()]
    row, symbols, shares = of_word(decoder, fed, own, shown, dtype=kind)
    return said(rows=(row,), symbols=symbols, shares=shares)


PARITY = "parity = odd(count(Q[1])) <-> (odd(count_right(Q[1])) <-> Q[1])"
"""At every position: the whole word has an odd number of ones."""


def parity_encoder(*, normed: bool = False) -> Decoder:
    """Return Chiang and Cholak's soft-attention transformer for PARITY (2022), see `tm2tfr.transformer.parity`.

    Its logits have the right sign at every length, but their difference shrinks as words get longer. With a layer norm they
    are exact, and `check` compares them with the evaluator of a formula for the parity of a whole word:

    >>> import tm2tfr
    >>> found = tm2tfr.measure_sensitivity(tm2tfr.parity_encoder(), length=32)
    >>> round(found.exponent, 1), round(found.bound_exponent, 1), found.holds
    (-1.8, -0.8, True)
    >>> tm2tfr.check(tm2tfr.parity_encoder(normed=True), "0110100").agrees
    True

    Args:
        normed: add a layer norm with ε = 0, which is not Lipschitz-continuous.
    """
    from tm2tfr.api.machines import formula
    from tm2tfr.base.choices import LOGIC
    from tm2tfr.transformer import provenance
    from tm2tfr.transformer.parity import BITS, chiang_cholak

    program = formula(PARITY, alphabet=BITS)
    options = {"alphabet": "".join(BITS), "mask": "none", "answers": "definitions"}
    said = provenance.stated(LOGIC, source=program.text, name="parity-encoder", options=options)
    return chiang_cholak(PARITY.partition(" ")[0], normed=normed, provenance=said)


def _dtype(dtype: str | None) -> Float:
    if dtype not in (None, *DTYPES):
        raise UsageError(f"tm2tfr sensitivity: {dtype!r} is not a dtype of the dense engine: use {' or '.join(DTYPES)}")
    return DTYPES[DTYPES.index(dtype)] if dtype in DTYPES else DTYPES[0]


@dataclass(frozen=True)
class _Inputs:
    """The inputs of a subject, and how its weights are fed them."""

    subject: Subject
    space: InputSpace

    @classmethod
    def of(cls, subject: Subject) -> _Inputs:
        """Return the inputs of a program, or words over the vocabulary of weights without one.

        Raises:
            InputError: if there are fewer than two symbols.
        """
        construction, program = subject.construction, subject.program
        if construction is not None and program is not None:
            space = construction.inputs(program)
        else:
            decoder = subject.decoder
            letters = [token for token in decoder.vocabulary if token != decoder.bos and token not in decoder.stop]
            space = token_words(letters, partial(tokens_in, vocabulary=decoder.vocabulary))
        if len(space.letters) < 2:
            what = f"{visible(subject.name)}: its inputs have fewer than two different symbols, so that none can be changed"
            raise InputError(f"{what}: measure another source")
        return cls(subject, space)

    def tokens(self, word: str) -> Sequence[int]:
        """Return the numbers of the tokens that the weights are fed on an input."""
        from tm2tfr.engines.decode import prompted

        try:
            return prompted(self.subject.decoder, self.subject.prompt(word))
        except UndefinedError as error:
            raise InputError(f"{visible(self.subject.name)}: {error}") from None

    def fed_words(self, n: int) -> FedWords:
        """Return how words of `n` symbols are fed."""
        from tm2tfr.lab.softness.sensitivity import fed_words

        def fed(places: Sequence[int]) -> Sequence[int]:
            return self.tokens(self.space.written("".join(self.space.letters[place] for place in places)))

        return fed_words(fed, len(self.space.letters), n, last=self.subject.decoder.labeller)

    @property
    def overhead(self) -> int:
        """The number of tokens that are fed beside the symbols of an input."""
        least = self.space.length or max(self.space.shortest, 1)
        return len(self.tokens(self.space.written(self.space.letters[0] * least))) - least

    def symbols(self, word: str) -> int:
        """Return the number of symbols of an input.

        Raises:
            InputError: for fewer than two.
        """
        found = len(self.tokens(word)) - self.overhead
        if found < 2:
            raise InputError(
                f"{visible(self.subject.name)}: {word!r} has no symbol to change beside the last: give a longer input"
            )
        return found

    def lengths(self, longest: int | None) -> list[int]:
        """Return the lengths that are measured: 4, 8, … and the longest.

        Raises:
            UsageError: for a longest one that is too short or too long, or of inputs that all have one length.
        """
        name, positions = visible(self.subject.name), self.subject.decoder.positions
        if (only := self.space.length) is not None:
            if longest is not None:
                raise UsageError(f"tm2tfr sensitivity: every input of {name} has {only} symbols: omit --length")
            return [only]
        most = MOST if positions is None else min(MOST, positions - self.overhead)
        least = max(2, self.space.shortest)
        last = min(LONGEST, most) if longest is None else longest
        if not is_count(last, least) or last > most:
            what = f"tm2tfr sensitivity: {name}: words of {last} symbols are not measured"
            raise UsageError(f"{what}: use --length {least} to {most}")
        doubled = [SHORTEST * 2**k for k in range(last.bit_length()) if least <= SHORTEST * 2**k < last]
        return [*doubled, last]
