r"""How far floats carry the GPT-2 of a class of machines, with the machine in its prompt: N counts the whole prompt.

The chapter's layers are those of `limits`, with the same bounds: u, η, α, M, R, F and e(N, H) are explained there. B counts
a subspace once, also where it has a mean of one-hot vectors: their absolute values add up to 1. Of the layers, anew:

**Last key.** The score of j is 2·[key] - [key] + v·j/2: keys differ from other positions by 1/2 or more, and from each
other by v or more, since a value comes between two of them. [key] is read off R directions; products and sums round:

    (4·(2Ru(1 + RM) + 2η + (R + 1)α) + 40u + αS)·2N < 15/16.

**Moves.** m is read at all N positions, off R' directions, and m/(i+1) once, off R: in e(N, H) 2R'u(1 + R'M)N and
2Ru(1 + RMN) take the place of 2Ru(2 + RMN)N.

**Tape.** A lookup of -1, with the score v·(1 - (j + 1)²): a gap of 3v, and terms as large as those for cell 0.

**Length of the description.** k times 1/(i+1) is added up, k ≤ L = 2SK + 1 for S states and K symbols: as the vertex of the
parabola below, the sum is off by at most u·L(L + 2), and each [rule] by what a unit of layer 1 adds.

**Input symbol.** A lookup of t = h⁺ + k ≤ i. So lookups are about positions up to N - 1, whatever H is: c is near N/2, and
G = N - 1 - c, for all of them. e(N, H) has the error of k added here, and some more roundings. Before the description has
ended t is i + 1, and position i the nearest, by 3v.

**Rule.** Let ε bound the error of every bit of layers 1 to 5: 2ε = 72(u + η)(H + 4) + 80Ru(1 + RM) + 72α(S' + R), as in
`limits`, S' the span. A score is the sum of D = S + K products of two such bits: 0, 1 or 2, off by at most 5ε + Dε² + 5Du;
gaps are 1. So where there is a rule for (q, a), it has all the weight, to the last bit. Where there is none, weights may be
any: all that is used is that they add up to 1, but for (n + 1)u, and that no rule is for both q and a.

**Answer.** A mean by such weights is off by ν ≤ 2·1.01·(N + 3)u + 2ε. [r*_q=q] adds up ReLUs of which at most two are not
0, and [r*_a=a] too. The two flags together are at most 1 + 6ν without a rule, and 2 ± 6ν with one. The logit of an answer
is ReLU(out + flags - 2), at most 8ν where it is wrong, and F such units add up; that of HALT is [triple], a sum of S + 1
bits, less ReLU([triple] + flags - 2). So the right logit is larger than every other by at least

    1 - (2(S + 1)ε + 8(F + 1)ν) > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.sources.turing.universal.compiler import compile_class
from tm2tfr.sources.turing.universal.proof.prove import ClassProof
from tm2tfr.targets.common.fitting import Requested
from tm2tfr.targets.gpt2.limits import MORE, Errors, as_asked, below, chapter_conditions
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, centre, span
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.parts import refuse_export
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True, kw_only=True)
class PromptedGpt2Recipe(Gpt2Recipe):
    """How the decoder of a class of machines becomes a GPT-2."""

    proved_in: ClassVar[str] = "prompted"

    @property
    def centre(self) -> int:
        """c, in the middle of all positions: lookups are about places in the prompt as well."""
        return centre(self.positions - 1)


class ClassErrors(Errors):
    """The numbers of `Errors` for a class of machines; S, K and L from the decoder.

    Raises:
        ExportError: see `Errors`.
    """

    def __init__(self, decoder: Decoder, dtype: str, *, stock: bool) -> None:
        super().__init__(decoder, dtype, stock=stock)
        holder = decoder.layout.holder
        self.states, self.symbols = holder("r_q").width, holder("r_a").width
        self.description = 2 * self.states * self.symbols + 1
        self._moved = _reading(decoder, decoder.layout.holder("m").name)

    @property
    def _bit(self) -> Fraction:
        """What a unit of layer 1 adds to the error of a bit."""
        return 2 * self.reads * self.u * (1 + self.reads * self.mean)

    def moves(self, n: int) -> Fraction:
        """Return the same as `Errors.moves`, where fewer directions are read for m than for m/(i+1)."""
        once, every = 2 * self.reads * self.u, 2 * self._moved * self.u
        return once * (1 + self.reads * self.mean * n) + (self.eta + every * (1 + self._moved * self.mean)) * n

    def last_key(self, n: int, _: int) -> Fraction:
        """Return the share of 15/16 of the gap between two keys that rounding takes."""
        key = 4 * (self._bit + 2 * self.eta + (self.reads + 1) * self.alpha)
        return (key + 40 * self.u + self.alpha * span(n)) * 2 * n * Fraction(16, 15)

    def offset(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of the gap of the input symbol's lookup that rounding takes."""
        most, c = min(n, self.description), self.centre(n, h)
        counted = MORE * self.u * most * (most + 2) + (self._bit + self.eta + self.reads * self.alpha) * most
        more = 16 * (self.u + self.eta) * (n + c + 1) + 4 * self.alpha * n
        return self.rivals(n, h, self.vertex(n, h) + counted + more)

    def centre(self, n: int, h: int) -> int:
        """Return c, for lookups of positions up to N - 1."""
        return centre(n - 1)

    def rivals(self, n: int, h: int, vertex: Fraction) -> Fraction:
        """Return the same as `Errors.rivals`, for H = N - 1."""
        return super().rivals(n, n - 1, vertex)

    def rule(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of the gap between a rule and others that rounding takes."""
        bit, terms = self.bit(n, h) / 2, self.states + self.symbols
        return 2 * (5 * bit + terms * bit * bit + 5 * terms * self.u) * Fraction(16, 15)

    def answer(self, n: int, h: int) -> Fraction:
        """Return the share of the gap between the right logit and others that rounding takes."""
        twice = self.bit(n, h)
        mean = 2 * MORE * (n + 3) * (self.u + self.eta) + twice
        return (self.states + 1) * twice + 8 * (self.writers + 1) * mean


def prompted_conditions(proof: ClassProof, dtype: str, *, stock: bool = False) -> tuple[Condition, ...]:
    """Return the conditions for a GPT-2 of `dtype` that is a class of machines, in the order of the layers.

    Raises:
        ExportError: for an unknown dtype, or weights that are not proved right.
    """
    errors = ClassErrors(proof.decoder, dtype, stock=stock)
    found, named = chapter_conditions(proof, errors), proof.description
    if named is not None:
        text = f"about {8 * errors.reads + 40:,}·u·2N < 15/16"
        found.append(below(2, named.last_key, "earlier keys get no weight at all", text, errors.last_key))
        if named.given is not None:
            text = "2·e(N, H) + about 2·N²·u < 15/16"
            found.append(below(3, named.given, "rivals of position h + k get no weight at all", text, errors.offset))
        text = "about 360·(u + η)·(H + 4) < 15/16"
        found.append(
            below(6, named.rule, "other rules get no weight at all where there is one for q and a", text, errors.rule)
        )
    f, s = 8 * (errors.writers + 1), errors.states + 1
    text = f"about {72 * (s + f):,}·(u + η)·(H + 4) + {2 * f}·u·N < 1"
    found.append(below(7, "logits", "the right logit is the largest, also where there is no rule", text, errors.answer))
    return tuple(sorted(found, key=lambda c: c.layer))


def _reading(decoder: Decoder, direction: str) -> int:
    """Return the most directions that a unit of layer 1 reads which writes to `direction`."""
    layer, row = decoder.layers[0].feed_forward, decoder.layout.index(direction)
    inputs = [] if layer is None else layer.input.by_row()
    return max((len(inputs[unit]) for unit in (layer.output.by_row()[row] if layer else ())), default=0)


def _refuse_other_gaps(decoder: Decoder, right: ExportReference) -> None:
    """Check that the scores of the last key and of the rule are as large as is assumed above; a proof allows any factor.

    Raises:
        ExportError: if they are not those that the compiler writes.
    """
    own = compile_class(right.program.empty)
    for n in (1, 5):
        scores = [[(head.query, head.key) for head in each.layers[n].heads] for each in (decoder, own)]
        if scores[0] != scores[1]:
            what = f"{right.named()}: layer {n + 1} ({own.layers[n].name}) scores positions by other weights"
            what = f"{what} than the compiler's"
            raise ExportError(f"{what}, and bounds on rounding are about these: compile them again")


def least(right: ExportReference, dtype: str, *, stock: bool = False) -> Gpt2:
    """Return the GPT-2 with a single position, which is nearly as large as with all; nothing is proved.

    Raises:
        ExportError: if it is too large, or for other weights than average-hard ones.
    """
    refuse_export(right.decoder, "GPT-2")
    return Gpt2(right.decoder, PromptedGpt2Recipe(positions=1, max_head=0, dtype=dtype, stock=stock, scope=right.scope))


def fitted_class(decoder: Decoder, right: ExportReference, asked: Requested) -> PromptedGpt2Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Raises:
        ExportError: if the request does not fit (it says what would), or the weights are not proved right for the class.
    """
    least(right, asked.dtype, stock=asked.stock)  # before a proof, which takes a while for a large class
    _refuse_other_gaps(decoder, right)
    found = prompted_conditions(right.prove(), asked.dtype, stock=asked.stock)
    return PromptedGpt2Recipe(**as_asked(found, right.named(), asked), scope=right.scope)
