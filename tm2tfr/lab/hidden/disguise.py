"""Weights and their key, from weights: the whole way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import DTYPES, Float
from tm2tfr.base.errors import DisguiseError, ShapeError
from tm2tfr.base.text.words import MANY, all_words, by_length, joined, number_of
from tm2tfr.engines.decode import generate, prompted
from tm2tfr.engines.dense import Dense, DenseDecoder
from tm2tfr.engines.reading import softly
from tm2tfr.lab.hidden.build import MOST_ROUNDS, Built, built
from tm2tfr.lab.hidden.dead_code import Profile, dead_code, profiled, prompts_of
from tm2tfr.lab.hidden.key import Key, hidden_digest
from tm2tfr.lab.hidden.narrow import Forms, forms_for, narrowed
from tm2tfr.lab.hidden.renaming import renamed
from tm2tfr.lab.hidden.verify import verified
from tm2tfr.lab.hidden.wide import written
from tm2tfr.targets.common import reference
from tm2tfr.targets.common.reference import CLOSE, reference_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim, Over, sections
from tm2tfr.transformer.weights import Decoder, digest

# ── How far floats keep hidden weights equal to the original: a comparison on inputs, and called that.
#
# In exact arithmetic they are equal on all inputs, which `verify` proves. The dense engine rounds, and rounds another
# basis differently; so both are run, the hidden weights fed the original's tokens, and their answers compared at every
# position.
RUNS, POSITIONS = 200, 1_024
"""How many inputs are compared at most, and the positions of each."""


@dataclass(frozen=True)
class FloatEquality:
    """What was compared, in floats of this dtype.

    Args:
        runs, tokens: how many inputs, and positions in all.
        longest: the positions of the longest run.
        different: the tokens of the inputs on which an answer differs.
        largest: the largest difference of two logits.
    """

    runs: int
    tokens: int
    longest: int
    different: tuple[tuple[str, ...], ...]
    dtype: str = "float64"
    largest: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether anything was compared, and every answer was the same."""
        return bool(self.runs) and not self.different

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        plain = {"dtype": self.dtype, "runs": self.runs, "positions": self.tokens, "longest": self.longest}
        return {**plain, "different": len(self.different)}


def compared(
    original: Decoder,
    hidden: Decoder,
    program: object,
    *,
    fed: Sequence[Sequence[str]] | None = None,
    dtype: Float = "float64",
) -> FloatEquality:
    """Return how the answers of `hidden` compare with those of `original`, which is run in float64.

    Labels and generated tokens have to be the same; numbers may differ by 2^-16 of their size, as in exports.

    Args:
        hidden: its tokens in the order of the original's.
        program: what the original was compiled from, whose inputs are used; None: prompts made from the vocabulary.
        fed: the prompts; None: some, see `prompts_of`.
        dtype: that in which the hidden weights are run.
    """
    made, found = DenseDecoder(original), DenseDecoder(hidden, dtype)
    if fed is None:
        fed = prompts_of(original, program, positions=POSITIONS, runs=RUNS)
    sequences = [_fed(original, prompt) for prompt in fed]
    different: list[tuple[str, ...]] = []
    largest = 0.0
    for batch in by_length([numbers for numbers, _ in sequences]):
        same = [sequences[number] for number in batch]
        tokens = np.array([numbers for numbers, _ in same])
        right, mine = made.run(tokens).logits, found.run(tokens).logits
        largest = max(largest, float(np.abs(right - mine).max(initial=0.0)))
        for k, (numbers, start) in enumerate(same):
            if not _alike(original, right[:, k, start:], mine[:, k, start:]):
                different.append(tuple(original.vocabulary[number] for number in numbers))
    lengths = [len(numbers) for numbers, _ in sequences]
    return FloatEquality(len(sequences), sum(lengths), max(lengths, default=0), tuple(different), dtype, largest)


def _fed(decoder: Decoder, prompt: Sequence[str]) -> tuple[tuple[int, ...], int]:
    """Return the tokens that are fed, by number, and the position from which on answers count."""
    if decoder.labeller:
        return tuple(prompted(decoder, prompt)), 0
    steps = generate(decoder, prompt, engine=Dense(), max_positions=POSITIONS)
    start = len(prompted(decoder, prompt)) - 1
    return tuple(decoder.numbers[step.token] for step in steps), start


def _alike(decoder: Decoder, right: NDArray[np.float64], found: NDArray[np.float64]) -> bool:
    """Return whether answers are the same: logits (answers, n)."""
    if not decoder.labeller:
        return bool((right.argmax(axis=0) == found.argmax(axis=0)).all())
    for output, cut in sections(decoder.outputs):
        wanted, got = right[cut], found[cut]
        if decoder.soft:
            wanted, got = softly(wanted), softly(got)
        if output.labels is None:
            if not (np.abs(wanted - got) <= CLOSE * np.maximum(1.0, np.abs(wanted))).all():
                return False
        elif not np.array_equal(wanted, got):
            return False
    return True


# ── All inputs up to a length, as weights are fed them: where equality in floats is compared on each of them.
MOST = 20_000
"""The most inputs that are compared."""


def every_prompt(decoder: Decoder, program: object, longest: int) -> list[tuple[str, ...]]:
    """Return all inputs of up to `longest` tokens, of a circuit all inputs, as `decoder` is fed them.

    Args:
        program: what it was compiled from.

    Raises:
        DisguiseError: if there are too many, or nothing says what an input is.
    """
    right = reference_of(program, decoder)
    letters, shortest = right.letters, 0
    if decoder.labeller:
        letters, shortest = reference.letters_of(decoder), 1
    if letters is None:
        if right.number_of_inputs is None:
            raise DisguiseError(
                "nothing says what the inputs of these weights are: omit --all-up-to, or name their program"
            )
        words = right.inputs(decoder.positions or longest)
        if len(words) < right.number_of_inputs:
            raise DisguiseError("this circuit has too many inputs to compare all of them: omit --all-up-to")
        return [tuple(right.truth(word).prompt) for word in words]
    if (many := number_of(len(letters), shortest, longest)) > MOST:
        there = f"{many:,} inputs" if many < MANY else "far too many inputs"
        raise DisguiseError(f"there are {there} of up to {longest} tokens, more than {MOST:,}: use fewer tokens")
    every_word = (word for n in range(shortest, longest + 1) for word in all_words(letters, n))
    if not decoder.labeller:
        return list(every_word)
    fed = [tuple(reference.tokens_of(reference.fed(decoder, joined(word)))) for word in every_word]
    return [tokens for tokens in fed if decoder.positions is None or len(tokens) <= decoder.positions]


GRADES = (1, 2, 3)
_FROM_WEAK: tuple[Over, ...] = ("square", "length", "position", "constant")
AGAIN, MOST_AGAIN, LOOKED_AT = 4, 12, 96
"""After a difference in floats the disguise is made again: the number of runs added, their most, and their length."""


@dataclass(frozen=True)
class Disguised:
    """Hidden weights and their key."""

    decoder: Decoder
    key: Key


def disguised(
    decoder: Decoder,
    program: object,
    *,
    grade: int,
    seed: int,
    rename: bool = False,
    all_up_to: int | None = None,
    dimensions: int | Literal["least"] | None = None,
) -> Disguised:
    """Return `decoder`, hidden, and its key; always the same for the same weights, grade and seed.

    Args:
        program: what it was compiled from; None: nothing is known of it.
        grade: 1, 2 or 3, see `tm2tfr.lab.hidden.build`.
        rename: whether tokens, outputs and labels get other names, and another order, see `tm2tfr.lab.hidden.renaming`.
        all_up_to: compare all inputs of up to this many tokens as well, in float64 and float32; None: do not.
        dimensions: the width to compress the stream to first, see `tm2tfr.lab.hidden.narrow`; ``least``: to as few as are
            found; None: not.

    Raises:
        DisguiseError: for another grade; for layer norms in grade 3; for weights with too many digits;
            for dimensions that are too few, or not fewer than there are.
    """
    if decoder.loops:
        what = "weights with loops are not disguised: a decoy would be run again in every pass"
        raise DisguiseError(f"{what}: use a program without 'repeat'")
    if decoder.tempered:
        what = "weights with a temperature that depends on the position are not disguised"
        raise DisguiseError(f"{what}: disguise the weights that they were made from")
    if grade not in GRADES:
        raise DisguiseError(f"there is no grade {grade!r}: use 1, 2 or 3")
    if decoder.unique:
        what = "weights with leftmost or rightmost attention are not disguised: a decoy would have to break ties as well"
        raise DisguiseError(f"{what}: disguise weights with average-hard attention")
    if decoder.normed and grade > 2:
        what = "these weights have layer norms, and what the decoys of grade 3 write would add to the variance"
        raise DisguiseError(f"{what}: use --grade 2, which has no decoys")
    every = None if all_up_to is None else every_prompt(decoder, program, all_up_to)
    more: list[tuple[str, ...]] = []
    source = Compressed(decoder)
    while True:
        if dimensions is not None:
            seen = profiled(decoder, program, more)
            kept = forms_for(decoder, seen.exact, None if dimensions == "least" else dimensions)
            source = Compressed(decoder, kept)
        found = _tried(source, profiled(source.narrow, program, more), grade=grade, seed=seed)
        equality = compared(decoder, found.decoder, program)
        fresh = [tokens[:LOOKED_AT] for tokens in equality.different[:AGAIN] if tokens[:LOOKED_AT] not in more]
        if not fresh or len(more) > MOST_AGAIN:
            break
        more += fresh  # something was taken for exact that is not in these
    equal = equality.as_dict() | ({} if dimensions is None else {"largest": equality.largest})
    if every is not None:
        on_all = [compared(decoder, found.decoder, program, fed=every, dtype=dtype) for dtype in DTYPES]
        equal["all_up_to"] = {"tokens": all_up_to, "found": [each.as_dict() for each in on_all]}
    found = Disguised(found.decoder, replace(found.key, equal=equal))
    return _renamed(found) if rename else found


def _renamed(made: Disguised) -> Disguised:
    """Return hidden weights with other tokens and outputs, proved again."""
    chance = random.Random(f"tm2tfr tokens {made.key.seed} {made.key.digest}")
    hidden, names, outputs = renamed(made.decoder, chance)
    key = replace(made.key, tokens=names, outputs=outputs, digest=hidden_digest(hidden))
    proof = verified(hidden, key)
    if not proof.proved:
        raise DisguiseError(
            f"the renamed tokens could not be proved equal to the original ({proof.refusals[0]}): report this"
        )
    return Disguised(hidden, key)


@dataclass(frozen=True)
class Compressed:
    """The original to hide, and the sums of directions kept of its stream; empty: all of it."""

    decoder: Decoder
    kept: Forms = ()

    @cached_property
    def narrow(self) -> Decoder:
        """The original with only the kept sums of directions."""
        return narrowed(self.decoder, self.kept) if self.kept else self.decoder


def _tried(source: Compressed, seen: Profile, *, grade: int, seed: int) -> Disguised:
    """Return the weights and the key, with a proof; whether floats keep them equal is another question."""
    decoder = source.narrow
    try:
        made = _built(decoder, seen, grade=grade, seed=seed)
        hidden = written(made.wide, decoder, common_claim(decoder), provenance.hidden())
    except ShapeError as error:
        raise DisguiseError(f"these weights cannot be hidden in grade {grade}: {error}") from error
    key = Key(
        name=provenance.name(decoder.provenance),
        grade=grade,
        seed=seed,
        digest=hidden_digest(hidden),
        original=source.decoder,
        basis=made.basis,
        constants=made.room.constants,
        copies=made.room.copies,
        layers=made.layers,
        tokens={},
        equal={},
        dead=dead_code(hidden),
        kept=source.kept,
    )
    proof = verified(hidden, key)
    if not proof.proved:
        raise DisguiseError(f"the disguise could not be proved equal to the original ({proof.refusals[0]}): report this")
    return Disguised(hidden, key)


DRAWS = 24
"""How often a single round is drawn for weights with layer norms that have no digits to spare."""


def _built(decoder: Decoder, seen: Profile, *, grade: int, seed: int) -> Built:
    """Return the disguise; with layer norms come weights such as 1.36, and it has as many rounds as their digits allow.

    Raises:
        ShapeError: if a weight would need more digits than a float64 has.
    """
    chance = random.Random(f"tm2tfr disguise {grade} {seed} {digest(decoder)}")
    for rounds in (*range(MOST_ROUNDS, 1, -1), *[1] * DRAWS) if decoder.normed else ():
        with suppress(ShapeError):
            return built(decoder, seen, grade, chance, rounds=rounds)
    return built(decoder, seen, grade, chance)


def common_claim(decoder: Decoder) -> Claim | None:
    """Return what is claimed of every hidden head, whatever it is: the least that is claimed of any; None: nothing.

    It says by how much a best score is ahead of others, which exports need, and of a head without others says nothing.
    """
    heads = [head for layer in decoder.layers for head in layer.heads if not head.uniform]
    claims = [head.claim for head in heads if head.claim is not None and head.claim.gap is not None]
    over = {claim.over for claim in claims}
    if not claims or len(claims) < len(heads) or {"square", "length"} <= over:
        return None
    weakest = next(each for each in _FROM_WEAK if each in over)
    gap = min(claim.gap for claim in claims if claim.gap is not None)
    return Claim(attends="", gap=gap, over=weakest, ties=any(claim.ties for claim in claims))
