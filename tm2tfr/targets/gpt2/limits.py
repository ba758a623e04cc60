r"""How far floats carry an exported GPT-2: one condition on N (positions) and H (largest |h|) for each place that rounds.

u is the unit roundoff, v = 1/(i+1), S the span, c the centre, G = H - c the largest |h - c|; U, V and Q = U² + V² are of
the path of `Winding`. The machine's proof (`tm2tfr.sources.turing.proof.prove`) stands for everything that is not rounding.

**What is assumed of the kernels: no order.** The terms of every sum, also of a matrix product, may be added in any order,
one after the other, in lanes, in blocks or in a tree, and differently for each number of a result; a product may be
rounded or, by fused multiply-add, not. Each operation rounds to nearest, with all digits of the dtype (no TF32, bfloat16
or float16). A sum of n terms that are not 0 is then off by at most (n - 1)·u times the sum of their absolute values, and
one rounding more for products; zeros, of which there are most, add exactly. Sums of whole numbers, and of multiples of a
power of two, are exact while the sum of absolute values is within the digits. Softmax: e^0 is 1, e^x is 0 from some point
above -1,024 on, a weight is e^x divided by the sum, or values are summed first and divided afterwards, and what was
summed up for a smaller maximum is multiplied by e^(old - new), here 0 or 1 (blocks of SDPA). Weights of the best key are
1 and of the others 0, so that values arrive as they are.

**Layer norm.** By default it is the identity but for a shift: ε = 2^100 dwarfs a variance of a few ones, so that the
division is by 2^50, and the two copies of the stream cancel in the mean. A kernel leaves of that mean at most
M = (64 + 4B)u, where B directions have a value that is not 0 and at most 1: 2Bu if it adds in whatever order, and
the like if it keeps running means. It shifts both copies, x - μ and -x - μ, and goes with their difference: where 4M ≤ |x|
a single direction is read exactly, since the two are rounded alike, or so nearly that their sum, rounded, is 2x; any
other x is off by at most α = 4uM. A unit that reads R directions adds up to 2R terms: it is off by 2R·u times the sum of
their absolute values, of which RM comes from directions that are 0. With GPT-2's ε a value x is read as x + a,
|a| ≤ η|x| + α, and a mean is off by up to M = 8uC; η = 16u + B/C² for the B values beside the sink C, counted or lost,
and for roundings: ten, some halved by a root, where the variance is a mean of squares, more where it is a running one.

**Sum of moves.** Softmax of zeros is 1/n, off by 2u of itself at most, times -1, 0, +1, added up: p steps up and q down,
p + q ≤ n, p - q = h. In no order, and no tree, do the absolute values of all partial sums add up to more than
((n + h)²/4 - h²/2 + n)/n: a sequence 1, …, p, p - 1, …, h is the worst but for n (by induction over the two halves of a
tree). So h, the vertex of the parabola below, is off by at most u((n + h)²/4 - h²/2 + 3n), times 1.01 for
rounding partial sums that are rounded.

**Lookup.** Scores S_j = q(j - c) - v̂(j - c)²: two products, for which there is one order; q is ĉ = h/(i+1) less c·v̂,
twice, of six terms at most. Were q and v̂ taken as they are and nothing else rounded, it would be a parabola with vertex
h + e; |e| is the sum's error, that of m/(i+1), a unit of layer 1 that reads R directions, and some roundings of q:

    e ≤ 1.01·u((N + H)²/4 - H²/2 + 3N) + (η + 2Ru(2 + RMN))N + 16(u + η)(H + c + 1) + 4αN(1 + c).

Position j = h + d loses v(d² - 2de) ≥ vd²(1 - 2e). Rounding the two products and their sum costs S_h at most 4G²uv and
S_j at most (2G(G + |d|) + (G + |d|)² + max(G², 1)d²)uv, and less where a product is not rounded; divided by d² it is
largest for |d| = 1. Keys that are off by η and α count the same. (j - c)² is exact up to 2^p; beyond, d is large, and it
adds at most 4u if G ≤ 2^(p/2 - 1), else (G + 1)²u. What is left of the gap has to be a 16th, so that times the temperature,
S·2^14, it is 1,024 at least: softmax then gives the rivals exactly 0 (e^-746 is 0 in float64, e^-104 in float32).

**Latest write.** Times S the score is a sum of whole numbers, 2S·u(h)u(k), 2S·v(h)v(k), -S(u(k)² + v(k)²) and j
(`recipe`), and any of its partial sums is at most S(3Q + 1): exact if that is within 2^p, and the gap is 1. The values
have to be read exactly, the smallest of which are 1/S and 1/A, A the scale of u² + v², at least that of u and v:
4M·max(S, A) ≤ 1.
With GPT-2's ε they are off: u and v of h and h_{i-1}, fetched and read again, by (2η + 4u)U + 2αA; the products by
4Q(2η + 4u) + 8αA(U + V) in all, u² + v² by Q(3η + 4u) + α(2A + Q), the tie-break by 2η + 2α, and the four products and
three sums round by 4u(3Q + 1), of a gap of 1/S between two such scores, of which an eighth has to be left.

**Feed-forward.** Sums of integers, halved, are exact up to 2^(p - 2) (`Sums` of the proof) if there is nothing left of the
mean; else they are off. d = h_{j*-1} - h, at most 1 in absolute value, is the difference of four terms and has one more
added: off by 4(u + η)(H + 2) + 2αS; the flag of layer 4 by four times that. A bit of layer 5 takes over two flags, and what
the R directions of a unit add, a logit up to F such bits: as many units as write it, and of those that read a state
and a symbol only the ones that have one of the two right, 2(states + symbols) + 4 (the others are cut off at 0). Twice the
logits' error is less than 1 if F(72(u + η)(H + 4) + 80Ru(1 + RM) + 72α(S + R)) < 1. With GELU, x ≥ 1/N times K is past
the bend, where GELU is x or 0, and smaller x, which are noise, are made no larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Unpack

from tm2tfr.base.errors import ExportError
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.turing.proof.feed_forward import Sums
from tm2tfr.sources.turing.proof.prove import MachineProof
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.targets.common.fitting import Options, Requested, check_dtype, fitting, proved
from tm2tfr.targets.gpt2.recipe import POINT, POINT_SQUARE, SINK, Compared, Gpt2Recipe, Winding, centre, compared, span
from tm2tfr.transformer.parts import refuse_export
from tm2tfr.transformer.weights import Decoder

MORE = Fraction(101, 100)
"""For products of errors, and for partial sums that were rounded before."""


class Errors:
    """The numbers u, η, α and M for a dtype; R and F from the decoder.

    Raises:
        ExportError: for an unknown dtype, or a decoder whose latest write is not what the export rewrites.
    """

    def __init__(self, decoder: Decoder, dtype: str, *, stock: bool) -> None:
        check_dtype(dtype)
        self.digits, self.stock = DIGITS[dtype], stock
        self.u = Fraction(1, 2**self.digits)
        beside = len(decoder.layout.subspaces) + 2 + len((*POINT, POINT_SQUARE, *_compared(decoder).directions()))
        sink = Fraction(SINK[dtype])
        self.mean = 8 * self.u * sink if stock else (64 + 4 * beside) * self.u
        self.alpha = 4 * self.u * self.mean
        self.eta = 16 * self.u + Fraction(beside) / (sink * sink) if stock else Fraction(0)
        inputs = [layer.feed_forward.input for layer in decoder.layers if layer.feed_forward is not None]
        self.reads = max((len(row) for matrix in inputs for row in matrix.by_row()), default=0)
        self.writers = _writers(decoder)

    def vertex(self, n: int, h: int) -> Fraction:
        """Return the bound on e, the error of h as a lookup gets it."""
        sums = MORE * self.u * (Fraction((n + h) ** 2, 4) - Fraction(h * h, 2) + 3 * n)
        c = self.centre(n, h)
        return sums + self.moves(n) + 16 * (self.u + self.eta) * (h + c + 1) + 4 * self.alpha * n * (1 + c)

    def moves(self, n: int) -> Fraction:
        """Return what the error of e is of reading m and m/(i+1), in units of layer 1."""
        return (self.eta + 2 * self.reads * self.u * (2 + self.reads * self.mean * n)) * n

    def lookup(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of a lookup's gap that rounding takes."""
        return self.rivals(n, h, self.vertex(n, h))

    def centre(self, n: int, h: int) -> int:
        """Return c; nothing that is looked up is farther from it than G, whose greatest possible value is H - c."""
        return centre(h)

    def rivals(self, n: int, h: int, vertex: Fraction) -> Fraction:
        """Return the same for a lookup whose vertex is off by at most `vertex`."""
        g, s = h - self.centre(n, h), span(n)
        size = 4 * g * g + 2 * g * (g + 1) + (g + 1) ** 2 + max(g * g, 1)
        far = 4 if 4 * g * g <= 2**self.digits else (g + 1) ** 2
        rounding = (self.u + self.eta) * (size + far) + 4 * self.alpha * (2 * g * s + s * s)
        return (2 * vertex + MORE * rounding) * Fraction(16, 15)

    def whole(self, n: int, h: int) -> Fraction:
        """Return the largest partial sum of a latest write's score, in units of what floats count exactly."""
        return span(n) * (3 * Winding(h).square + 1) * self.u

    def small(self, n: int, h: int) -> Fraction:
        """Return what is left of a mean, in units of a quarter of the smallest value that has to be read exactly."""
        path = Winding(h)
        return 4 * self.mean * max(span(n), span(path.square))

    def tie(self, n: int, h: int) -> Fraction:
        """Return the share of 7/8 of the tie-break's gap that rounding takes with GPT-2's ε."""
        path = Winding(h)
        (far, along), most = path.reach, path.square
        twice, scale = 2 * self.eta + 4 * self.u, span(path.square)
        products = 4 * most * twice + 8 * self.alpha * scale * (far + along)
        squares = most * (twice + self.eta) + self.alpha * (2 * scale + most)
        last = 2 * self.eta + 2 * self.alpha + 4 * self.u * (3 * most + 1)
        return 2 * MORE * span(n) * (products + squares + last) * Fraction(8, 7)

    def noise(self, n: int, h: int) -> Fraction:
        """Return twice the error of a logit."""
        return self.writers * self.bit(n, h)

    def bit(self, n: int, h: int) -> Fraction:
        """Return twice the error of a bit of layer 5."""
        flags, r = 72 * (self.u + self.eta) * (h + 4), self.reads
        return flags + 80 * r * self.u * (1 + r * self.mean) + 72 * self.alpha * (span(n) + r)


def _compared(decoder: Decoder) -> Compared:
    found = compared(decoder)
    if found is None:
        what = "this export rewrites the head that finds the latest write, but there is not exactly one such head"
        raise ExportError(f"{what} that gets h and h_{{i-1}} from lookups alone: compile the machine again")
    return found


def _writers(decoder: Decoder) -> int:
    """Return F: the number of hidden units of the last layer that can add something to a logit at once."""
    layer, layout = decoder.layers[-1].feed_forward, decoder.layout
    rows = layer.output.by_row() if layer is not None else []
    known = sum(layout.holder(what).width for what in ("e_q", "e_a"))
    return min(max((len(row) for row in rows), default=0), 2 * known + 4)


def conditions(proof: MachineProof, dtype: str, *, stock: bool = False) -> tuple[Condition, ...]:
    """Return the conditions for a GPT-2 of `dtype`, in the order of the layers.

    Raises:
        ExportError: for an unknown dtype, or weights that are not proved right.
    """
    errors = Errors(proof.decoder, dtype, stock=stock)
    found = chapter_conditions(proof, errors)
    text = f"{errors.writers}·(72·(u + η)·(H + 4) + {80 * errors.reads:,}·u) < 1"
    claim = "logits are nearer to 0 or 1 than to 1/2"
    found.append(Condition(6, "feed_forward", "logits", claim, text, errors.noise, strict=True))
    return tuple(sorted(found, key=lambda c: c.layer))


def chapter_conditions(proof: MachineProof, errors: Errors) -> list[Condition]:
    """Return the conditions for the heads of layers 2 to 4, which all machines have, and for the sums of all layers.

    Raises:
        ExportError: for weights that are not proved right.
    """
    lookups, retrieval = proved(proof)
    latest, top = retrieval.name, 2**errors.digits
    text = "2·e(N, H) + about 2·H²·u < 15/16"
    found = [
        below(2, lookups.moves, "positions are exact", f"N < {top:,}", lambda n, _: Fraction(n, top)),
        below(3, lookups.here, "rivals of position h get no weight at all", text, errors.lookup),
        below(4, latest, "squares of head positions are exact", f"H² < {top:,}", lambda _, h: Fraction(h * h, top)),
    ]
    if errors.stock:
        claim = "earlier writes to the cell get no weight at all"
        found.append(below(4, latest, claim, "about 85·(u + η)·N·H < 1", errors.tie))
    else:
        claim, text = "scores are whole numbers that floats add exactly, in any order", f"about 3·N·H + N ≤ {top:,}"
        found.append(Condition(4, "attention", latest, claim, text, errors.whole))
        claim, text = "the whole numbers that are compared are read exactly", "4·M·N ≤ 1"
        found.append(Condition(4, "attention", latest, claim, text, errors.small))
    return found + [below(s.layer, s.where, "every sum of this layer is exact", *_sum(s, top)) for s in proof.sums]


def below(layer: int, where: str, claim: str, formula: str, use: Callable[[int, int], Fraction]) -> Condition:
    """Return the condition that `use` of N and H is less than 1, for attention."""
    return Condition(layer, "attention", where, claim, formula, use, strict=True)


def _sum(sums: Sums, top: int) -> tuple[str, Callable[[int, int], Fraction]]:
    """Return the formula and the use of what is available for a layer's sums of integers."""
    a, b = sums.constant, sums.slope
    return f"4·({a:,} + {b:,}·H) < {top:,}", lambda _, h: Fraction(4 * (a + b * h), top)


def fitted(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Raises:
        ExportError: if the request does not fit (it says what would), or `decoder` could not be proved to be the machine.
    """
    refuse_export(decoder, "GPT-2")
    asked = Requested(**options)
    found = conditions(right.prove(), asked.dtype, stock=asked.stock)
    return Gpt2Recipe(**as_asked(found, right.named(), asked))


def as_asked(found: Sequence[Condition], name: str, asked: Requested) -> PlainData:
    """Return the choices of a recipe as requested; see `fitting`."""
    kind, ways = (" with GPT-2's own epsilon and GELU", ["omit --stock"]) if asked.stock else ("", [])
    wanted, head = fitting(found, name, asked, kind=kind, ways=ways)
    return {"positions": wanted, "max_head": head, "dtype": asked.dtype, "stock": asked.stock}
