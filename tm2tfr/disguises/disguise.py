"""Weights and their key, from weights: the whole way."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from tm2tfr.choices import DTYPES
from tm2tfr.disguises.build import built
from tm2tfr.disguises.dead_code import dead_code
from tm2tfr.disguises.equal import compared
from tm2tfr.disguises.every import every_prompt
from tm2tfr.disguises.key import Key, hidden_digest
from tm2tfr.disguises.narrow import Forms, forms_for, narrowed
from tm2tfr.disguises.profile import Profile, profiled
from tm2tfr.disguises.renaming import renamed
from tm2tfr.disguises.verify import verified
from tm2tfr.disguises.wide import written
from tm2tfr.errors import DisguiseError, ShapeError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.weights import Decoder, digest

GRADES = (1, 2, 3)
_FROM_WEAK: tuple[Over, ...] = ("square", "length", "position", "constant")
AGAIN, MOST_AGAIN, LOOKED_AT = 4, 12, 96
"""After a difference in floats it is made again, with a look at so many more runs, so many in all, of so many tokens."""


@dataclass(frozen=True)
class Disguised:
    """Hidden weights and their key."""

    decoder: Decoder
    key: Key


def disguised(
    decoder: Decoder,
    program: Any,
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
        grade: 1, 2 or 3, see `tm2tfr.disguises.build`.
        rename: whether tokens get other names, and another order.
        all_up_to: compare all inputs of up to so many tokens as well, in float64 and float32; None: not.
        dimensions: to compress the stream to so many first, see `tm2tfr.disguises.narrow`; ``least``: to as few as are
            found; None: not.

    Raises:
        DisguiseError: for another grade; for layer norms in grades 2 and 3; for weights with too many digits;
            for dimensions that are too few, or not fewer than there are.
    """
    if grade not in GRADES:
        raise DisguiseError(f"there is no grade {grade!r}: use 1, 2 or 3")
    if decoder.normed and grade > 1:
        what = "these weights have layer norms, which take the mean and the variance of the coordinates"
        raise DisguiseError(f"{what}, and another basis has others: use --grade 1, which permutes them")
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
    """Return hidden weights with other tokens, proved again."""
    chance = random.Random(f"tm2tfr tokens {made.key.seed} {made.key.digest}")
    hidden, names = renamed(made.decoder, chance)
    key = replace(made.key, tokens=names, digest=hidden_digest(hidden))
    proof = verified(hidden, key)
    if not proof.proved:
        raise DisguiseError(
            f"the renamed tokens could not be proved equal to the original ({proof.refusals[0]}): report this"
        )
    return Disguised(hidden, key)


@dataclass(frozen=True)
class Compressed:
    """What is hidden: the original, and what is kept of its stream; empty: all of it."""

    decoder: Decoder
    kept: Forms = ()

    @cached_property
    def narrow(self) -> Decoder:
        """The original in what is kept."""
        return narrowed(self.decoder, self.kept) if self.kept else self.decoder


def _tried(source: Compressed, seen: Profile, *, grade: int, seed: int) -> Disguised:
    """Return the weights and the key, with a proof; whether floats keep them equal is another question."""
    decoder = source.narrow
    chance = random.Random(f"tm2tfr disguise {grade} {seed} {digest(decoder)}")
    try:
        made = built(decoder, seen, grade, chance)
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
