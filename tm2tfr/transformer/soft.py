"""Soft attention: the same weights under softmax, with queries divided by a temperature (Yang et al., Section 5).

A decoder is *uniform-tieless with gap* γ(n) if each head is uniform (queries or keys are 0), or has at every position
of every run of n positions one best score, by at least γ(n). Theorem 26: under softmax it still computes the same up
to 1/4, at a temperature τ(n) with ``1/τ ∈ O((1/γ)·log(n·x_max/γ))``. `theorem_26` computes such a τ.

The derivation is the proof of Theorem 26, with constants that are computed from the matrices. ‖W‖ is the largest
sum of absolute values of a column of W, so that ‖Wu‖₁ ≤ ‖W‖·‖u‖₁ (where the paper has d·p_max, Lemma 28). U is a bound on
the ‖u‖₁ of every stream before a layer, U ≤ C·x_max, and ε ≤ 1 one on ‖u - û‖₁, û being the stream under softmax.

Feed-forward: u + W₂·ReLU(W₁u + b₁) + b₂ makes a difference at most F = 1 + ‖W₂‖·‖W₁‖ times as large (Lemma 30), and
the stream itself at most F·‖u‖₁ + ‖W₂‖·‖b₁‖₁ + ‖b₂‖₁ (Lemma 29).
Scores: |q·k - q̂·k̂| ≤ ‖q - q̂‖₁·‖k‖_∞ + ‖q̂‖_∞·‖k - k̂‖₁ ≤ 3·‖Q‖·‖K‖·U·ε (Lemma 32): K₂ = 3·C·max ‖Q‖·‖K‖.
Weights: they differ by 2n·e^{-(γ - 2·K₂·x_max·ε)/τ} in a tieless head if K₂·x_max·ε < γ/2 (Lemma 33),
and not at all in a uniform one. In the first layer ε is 0: equal scores stay equal, and the lemma holds for positions that
share the best score as for a single one, where γ is their lead over all others.
Attention: with A = ‖O‖·‖V‖, summed over heads, the stream after it differs by (1 + ΣA)·ε + ΣA·U·(that of the weights)
(Lemma 34). So the layer is off by at most K₁·(ε + n·x_max·e^{…}) with K₁ = max F·max(1 + ΣA, 2·C·ΣA) (Lemma 25).
Theorem: with γ ≤ 1, E_L = γ/(4·K₂·x_max), E_l = E_{l+1}/(2·K₁) and e^{-γ/(2τ)} = E_1/(K₁·n·x_max), layer l is off by
at most E_l, by induction; the last by 1/4. Where the right logits are one-hot, the tokens are right.

Ties that decide nothing (`Claim.ties`: of a universal decoder, where its prompt has no rule): let ũ be the stream u, but
with the mean over the exact streams that has the weights of û. What the decoder answers is the same for ũ as for u, by
the claim; û differs from ũ by at most F·(1 + A)·ε after that layer, which is at most K₁·ε, since only the mean is new;
and no head reads it later. So Theorem 26 says the same of the answer, though û may differ from u.

A position table is part of the embedding. Layer norms, which can make a small difference as large as they like, are not
covered: there a temperature has to be given.

(The proofs of Lemma 25 and of the theorem print e^{-(γ + …)/τ}; the minus of the statement is what Lemma 33 gives.)

This temperature is one number for a run of n positions, and not one for each position i, though γ is 1/(2(i+1)) there:
a query divided by γ(i) would contain 4h(i+1), the product of two numbers that no linear map of the stream gives. Where the
temperature may be a function of the position, beside the weights, see `tm2tfr.transformer.tempered`.

Local bounds: each head's queries multiplied by what this head needs, and no more.

Where what a head carries is rounded to bits or whole numbers, errors under softmax do not add up from layer to layer: a
head reads exact values, and what it carries is exact again once it is rounded (Lemma 9). So each head has a bound of its
own. Let the best score be ahead by γ, and w be the weight elsewhere. Where the others are behind by different multiples of
γ, w ≤ e^{-γ/τ} (since, until: rivals with the same marker stand on one side, at the distances 1, 2, …, and those without
one are further behind); where two are behind by each multiple, w ≤ 2e^{-γ/τ}/(1 + e^{-γ/τ}) (lookups: rivals on both
sides, Lemma 6 before its last step). A bit is rounded right if w ≤ 1/4: for e^{γ/τ} ≥ 4 and ≥ 7. That number is the
head's `margin`, a claim of its construction, and ``1/τ = ln(margin)/γ`` the head's bound. A number that is compared without
being rounded is off by w times numbers of up to N: there the margin is times N^degree.

The temperature that a whole decoder needs is thus the worst head's, not a product over layers as in Theorem 26. Better
still is one for each head: `locally_softened` multiplies each head's queries by ln(margin)/γ. Where all gaps and
margins are the same at every position of every run, this holds for any length: there is softmax, and no temperature at all.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer


def softened(decoder: Decoder, temperature: float) -> Decoder:
    """Return `decoder` with softmax in place of average-hard attention, its queries divided by `temperature`.

    Heads whose queries or keys are 0 stay exactly uniform. A temperature that is a power of two causes no rounding:
    the scores are then exactly the old ones divided by it.

    Raises:
        CompileError: for a temperature that is not a positive number or is too small; for weights that are already soft.
    """
    refuse_loops(decoder)
    if decoder.soft:
        raise already_soft(decoder)
    if not 0 < temperature < math.inf:
        raise CompileError(f"the temperature must be positive, not {temperature:g}: use for example 0.001")

    def soft(head: Head) -> Head:
        with np.errstate(over="ignore"):
            values = head.query.values / temperature
        return with_softmax(head, values, f"queries divided by the temperature {temperature:g}", "use a higher one")

    layers = tuple(dataclasses.replace(layer, heads=tuple(map(soft, layer.heads))) for layer in decoder.layers)
    said = provenance.softened(decoder.provenance, temperature)
    return dataclasses.replace(decoder, layers=layers, provenance=said)


def with_softmax(head: Head, queries: Floats, what: str, remedy: str) -> Head:
    """Return `head` with softmax attention, and `queries` for the values of its query matrix.

    Raises:
        CompileError: if one of them is infinite, in the words ``what are too large: remedy``.
    """
    if not np.isfinite(queries).all():
        raise CompileError(f"{what} are too large: {remedy}")
    query = Matrix(head.query.shape, head.query.rows, head.query.columns, queries)
    return dataclasses.replace(head, query=query, weighting="softmax")


def refuse_loops(decoder: Decoder) -> None:
    """Raise CompileError if `decoder` runs layers again."""
    if decoder.loops:
        problem = "these weights have loops, in whose passes the errors of softmax add up, and no bound is known"
        raise CompileError(f"{problem}: use average-hard attention")


def already_soft(decoder: Decoder, do: str = "soften") -> CompileError:
    """Return the error for weights that have softmax attention: by a temperature, or by their construction."""
    if not provenance.is_softened(decoder.provenance):
        problem = "these weights have softmax attention by their construction, and no temperature"
        return CompileError(f"{problem}: use them as they are, or {do} a variant with average-hard attention")
    return CompileError(f"these weights already have softmax attention: {do} the weights they were made from")


def temperature_of(decoder: Decoder) -> float | str | None:
    """Return the temperature by which, according to `decoder`, its queries were divided, or None if it gives none.

    Where that is not one number it is ``local, for at most 50 positions`` or ``none``, see `tm2tfr.transformer.soft`.
    """
    said = decoder.provenance
    return (provenance.temperature(said) or provenance.words_for_temperature(said)) if decoder.soft else None


def smallest_gap(decoder: Decoder, n: int) -> float:
    """Return γ(n), the smallest gap claimed for any head at any of `n` positions; at most 1.

    Raises:
        CompileError: if nothing is claimed about a head: then nothing says either that the right logits are one-hot.
    """
    gaps = (claimed(head).smallest_gap(n) for layer in decoder.layers for head in layer.heads)
    return min([1.0, *(gap for gap in gaps if gap is not None)])


def claimed(head: Head) -> Claim:
    """Return the claim about `head`.

    Raises:
        CompileError: if there is none.
    """
    if head.claim is None:
        raise CompileError(f"the gap of head {head.name!r} is not known: give the temperature as a number")
    return head.claim


# ── the constants of Lemma 25 and the temperature of Theorem 26 ─────────────────────────────────────────────
def norm(matrix: Matrix) -> float:
    """Return ‖W‖, the largest sum of absolute values of a column."""
    return float(np.bincount(matrix.columns, np.abs(matrix.values)).max()) if matrix.nonzero else 0.0


def feed_forward_factor(layer: FeedForward | None) -> float:
    """Return F, the factor by which a feed-forward layer can enlarge a difference: 1 + ‖W₂‖·‖W₁‖ (Lemma 30)."""
    return 1.0 if layer is None else 1.0 + norm(layer.output) * norm(layer.input)


def carried_factor(layer: Layer) -> float:
    """Return ΣA, the sum of ‖O‖·‖V‖ over the heads of a layer."""
    return sum(norm(head.output) * norm(head.value) for head in layer.heads)


@dataclass(frozen=True)
class Constants:
    """K₁ and K₂ of Lemma 25, and the number of layers."""

    K1: float
    K2: float
    layers: int


def constants(decoder: Decoder) -> Constants:
    """Return the constants of Lemma 25 for `decoder`, computed from its matrices as described in this module.

    Raises:
        CompileError: if it has layer norms.
    """
    if decoder.normed:
        problem = "Theorem 26 says nothing about layer norms, which these weights have"
        raise CompileError(f"{problem}: soften them at a temperature given as a number")
    # Before the first layer at most this many entries are not 0, and none is larger than x_max.
    tokens = np.bincount(decoder.token_embedding.columns, minlength=1).max()
    table = decoder.position_table
    tabled = 0 if table is None else np.bincount(table.columns, minlength=1).max()
    size = max(1.0, float(tokens + len(np.unique(decoder.position_embedding.rows)) + tabled))
    first, second = 1.0, 1.0
    for layer in decoder.layers:
        factor, carried = feed_forward_factor(layer.feed_forward), carried_factor(layer)
        first = max(first, factor * max(1 + carried, 2 * size * carried))
        second = max([second, *(3 * size * norm(head.query) * norm(head.key) for head in layer.heads)])
        size = factor * (1 + carried) * size
        if (ffn := layer.feed_forward) is not None:
            size += norm(ffn.output) * norm(ffn.input_bias) + norm(ffn.output_bias)
    return Constants(first, second, len(decoder.layers))


def largest_entry(decoder: Decoder, n: int) -> float:
    """Return x_max(n), at least 1: an upper bound on the absolute values before the first layer at n positions."""
    tokens = float(np.abs(decoder.token_embedding.values).max(initial=0.0))
    numbers = np.array([feature(name).largest(n) for name in decoder.features])
    largest = float((np.abs(decoder.position_embedding.dense()) @ numbers).max(initial=0.0))
    if (table := decoder.position_table) is not None:
        largest += float(np.abs(table.values[table.columns < n]).max(initial=0.0))
    return max(1.0, tokens + largest)


def theorem_26(decoder: Decoder, n: int, gap: float) -> float:
    """Return a temperature at which Theorem 26 guarantees the right tokens in every run of `n` positions.

    In exact arithmetic; see the module for the derivation.

    Args:
        gap: γ(n), the gap of the best score of each head that is not uniform, under average-hard attention.

    Raises:
        CompileError: if a constant is too large for floats, or there is no gap, so that there is no such temperature; for
            weights with layer norms.
    """
    known, gap, x_max = constants(decoder), min(gap, 1.0), largest_entry(decoder, n)
    if not (math.isfinite(known.K1 * 4) and math.isfinite(known.K2 * 4) and math.isfinite(x_max) and gap > 0):
        problem = f"Theorem 26 guarantees no temperature: K₁ = {known.K1:.3g}, K₂ = {known.K2:.3g}, γ = {gap:.3g}"
        raise CompileError(f"{problem}: the weights are too large: use smaller ones")
    # log(K₁·n·x_max / E_1), as a sum of logarithms
    last = math.log(4 * known.K2) + math.log(x_max) - math.log(gap)
    total = math.log(known.K1) + math.log(n) + math.log(x_max) + (known.layers - 1) * math.log(2 * known.K1) + last
    return gap / (2 * total)


def power_of_two(temperature: float) -> float:
    """Return the largest power of two not above `temperature`: dividing by it causes no rounding."""
    return math.ldexp(0.5, math.frexp(temperature)[1])


# ── the lemmas on one vector of scores ──────────────────────────────────────────────────────────────────────
def lemma_6(gap: float) -> float:
    """Return the bound ``4·e^{-γ}`` on ‖hardmax(s) - softmax(s)‖₁ where every s_j ≤ s_j* - |j - j*|·γ."""
    return 4 * math.exp(-gap)


def lemma_7(gap: float) -> float | None:
    """Return the bound ``(3/2)·e^{-γ}`` on |c - Σ α_j·j| for the scores γ(2cj - j²) of a lookup; None if γ < 1.

    The paper counts j from 1 and this project from 0, which moves all scores by a constant once c moves along. Its proof
    bounds the sum over j > c; the sum over j < c, which has the other sign, is bounded in the same way.
    """
    return 1.5 * math.exp(-gap) if gap >= 1 else None


def lemma_33(n: int, gap: float, error: float, temperature: float) -> float | None:
    """Return the bound ``2n·e^{-(γ - 2ε)/τ}`` on the error of n weights whose scores are off by ε; None if ε ≥ γ/2."""
    return 2 * n * math.exp(-(gap - 2 * error) / temperature) if error < gap / 2 else None


# ── local bounds ──────────────────────────────────────────────────────────────────────────────────────────────
BITS = 6
"""The significant bits of a factor, which is rounded up: it is at most 3.2 % larger than needed, and scores of queries
that are small whole numbers are still exact."""


def bounded(decoder: Decoder) -> bool:
    """Return whether some head is not uniform, and each of those has a margin, so that local bounds are all it needs."""
    heads = list(_attending(decoder))
    return bool(heads) and all(_margin(head) is not None for _, head in heads)


def any_length(decoder: Decoder) -> bool:
    """Return whether the local bounds hold for runs of any length: no gap depends on the position or the length."""
    return all(_any_length(head) for _, head in _attending(decoder))


def needed(head: Head, n: int) -> float:
    """Return ln(margin·N^degree)/γ, the local bound of `head` on 1/τ in runs of at most `n` positions; 0 if it is uniform.

    Raises:
        CompileError: if nothing is proved about this head alone.
    """
    if head.uniform:
        return 0.0
    claim, margin = head.claim, _margin(head)
    gap = None if claim is None else claim.smallest_gap(n)
    if margin is None or gap is None:
        problem = f"head {head.name!r} has no local bound under softmax, since what it carries is not rounded"
        raise CompileError(f"{problem}: use the temperature theorem-26, or a number")
    degree = 0 if claim is None else claim.degree
    return (math.log(margin) + degree * math.log(n)) / gap


def local_temperature(decoder: Decoder, n: int) -> float:
    """Return the largest τ allowed by the local bounds of all heads in runs of at most `n` positions; ∞ if all are uniform.

    Raises:
        CompileError: if a head has no such bound.
    """
    most = max((needed(head, n) for layer in decoder.layers for head in layer.heads), default=0.0)
    return 1 / most if most else math.inf


def locally_softened(decoder: Decoder, n: int | None) -> Decoder:
    """Return `decoder` with softmax, each head's queries multiplied by its own local bound, rounded up.

    Args:
        n: it is right in runs of at most `n` positions; None: in all, which is for weights whose gaps and margins are all
            constant.

    Raises:
        CompileError: if a head has no local bound, or, for None, a gap that shrinks; for weights that are already soft.
    """
    refuse_loops(decoder)
    if decoder.soft:
        raise already_soft(decoder)

    def soft(number: int, head: Head) -> Head:
        if head.uniform:
            return dataclasses.replace(head, weighting="softmax")
        if n is None and head.claim is not None and not _any_length(head):
            over = "length" if head.claim.over == "length" else "position"
            why = "what it needs grows with the length" if head.claim.constant else f"its gap shrinks with the {over}"
            problem = f"layer {number}, head {head.name!r}: {why}, so softmax needs a temperature"
            other = "" if head.claim.constant else ", or per-position, or compile with --steep"
            raise CompileError(f"{problem}: use local, with the length of the runs{other}")
        factor = rounded_up(needed(head, 1 if n is None else n))
        with np.errstate(over="ignore"):
            values = head.query.values * factor
        return with_softmax(head, values, f"the queries of head {head.name!r} times {factor:g}", "use a shorter length")

    layers = tuple(
        dataclasses.replace(layer, heads=tuple(soft(number, head) for head in layer.heads))
        for number, layer in enumerate(decoder.layers, start=1)
    )
    said = provenance.locally_softened(decoder.provenance, n)
    return dataclasses.replace(decoder, layers=layers, provenance=said)


def rounded_up(number: float) -> float:
    """Return the least number with `BITS` significant bits that is not below the positive `number`, which may be ∞."""
    if number == math.inf:
        return number
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.ceil(math.ldexp(mantissa, BITS)), exponent - BITS)


def _attending(decoder: Decoder) -> Iterator[tuple[int, Head]]:
    """Yield the heads that are not uniform, each with its layer, counted from 1."""
    for number, layer in enumerate(decoder.layers, start=1):
        yield from ((number, head) for head in layer.heads if not head.uniform)


def _any_length(head: Head) -> bool:
    return head.claim is not None and head.claim.constant and not head.claim.degree


def _margin(head: Head) -> float | None:
    return None if head.claim is None else head.claim.margin
